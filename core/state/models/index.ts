export type { BackgroundCorrection, BackgroundResponse, BackgroundResponses } from './background-responses.js';
export { createBackgroundResponses } from './background-responses-sql.js';
export type { StoredResponse, StoredResponses } from './stored-responses.js';
export { createStoredResponses } from './stored-responses-sql.js';
