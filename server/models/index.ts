export { createBackgroundResponses } from './background-responses.js';
export { addMessageRoutes } from './messages.js';
export { encodeModelList } from './model-list.js';
export { addModelRoutes } from './models.js';
export { createStoredResponses } from './response-store.js';
export { addStoredResponseRoutes } from './stored-responses.js';
export { addTextRoutes } from './text.js';
