export { encodeExtraction, extractRoutes } from './extract.js';
export { extractBatchRoutes } from './extract-batch.js';
export { createExtractRequests, type ExtractBody } from './extract-requests.js';
