export { addOpenApiRoute } from './openapi.js';
