export { answerSchema } from './answer-schemas.js';
export { openApiRoutes } from './openapi.js';
