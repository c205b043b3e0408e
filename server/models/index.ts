export { messageRoutes } from './messages.js';
export { encodeModelList } from './model-list.js';
export { modelRoutes, storedResponseRoutes } from './models.js';
export {
  type ClosableStoredResponses,
  createBackgroundResponses,
  createStoredResponses,
  responseMigrations,
} from './response-store.js';
export { MODEL_ERRORS, ModelId, textRoutes } from './text.js';
