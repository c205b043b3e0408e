/*
 * The API reference for programs: the OpenAPI document, and the route that serves it. The pages of the API reference
 * are rendered from the same document.
 */

export { type ApiDocument, createApiDocument, type OpenApiDocument, openApiRoutes } from './openapi.js';
