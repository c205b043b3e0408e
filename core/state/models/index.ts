export { createBackgroundResponses } from './background-responses-sql.js';
export { createStoredResponses } from './stored-responses-sql.js';
