export { openApiRoutes } from './openapi.js';
