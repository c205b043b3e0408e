export { createBackgroundResponses } from './background-responses.js';
export { messageRoutes } from './messages.js';
export { encodeModelList } from './model-list.js';
export { modelRoutes, storedResponseRoutes } from './models.js';
export { createStoredResponses } from './response-store.js';
export { MODEL_ERRORS, ModelId, textRoutes } from './text.js';
