export { encodeExtraction, extractRoutes } from './extract.js';
export { extractBatchRoutes } from './extract-batch.js';
export { checkExtractBody, decodeExtract, type ExtractBody, ignoredOptions } from './extract-requests.js';
