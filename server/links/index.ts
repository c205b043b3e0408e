export { encodeExtraction } from './document-frame.js';
export { createExtractRequests, type ExtractBody, extractRoutes } from './extract.js';
export { extractBatchRoutes } from './extract-batch.js';
