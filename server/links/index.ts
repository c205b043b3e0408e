export { encodeExtraction } from './answers.js';
export { createExtractRequests, type ExtractBody, extractRoutes } from './extract.js';
export { extractBatchRoutes } from './extract-batch.js';
