/*
 * Routes of text models, the list of models, and the stores of responses. Other folders import these from here alone.
 */

export { embeddingRoutes } from './embeddings.js';
export { messageRoutes } from './messages.js';
export { chooseModel, isMockModel } from './model-choice.js';
export { encodeModel, isWritingModel, mockEntries, orderModels, withoutAliases } from './model-list.js';
export { createModelPaths, modelRoutes, storedResponseRoutes } from './models.js';
export { responsePersonalRecords } from './personal-records.js';
export { responseSocketRoutes } from './response-socket.js';
export {
  type ClosableStoredResponses,
  createBackgroundResponses,
  createStoredResponses,
  responseMigrations,
} from './response-store.js';
export { MODEL_ERRORS, modelField, textRoutes } from './text.js';
