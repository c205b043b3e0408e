/*
 * The API reference for programs, as a route that serves the OpenAPI document.
 */

export { openApiRoutes } from './openapi.js';
