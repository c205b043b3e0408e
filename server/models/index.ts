export { createBackgroundResponses } from './background-responses.js';
export { addMessageRoutes } from './messages.js';
export { encodeModelList } from './model-list.js';
export { addModelRoutes, addStoredResponseRoutes } from './models.js';
export { createStoredResponses } from './response-store.js';
export { addTextRoutes } from './text.js';
