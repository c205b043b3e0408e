export {
  checkExtractBody,
  decodeExtract,
  type ExtractBody,
  encodeExtraction,
  extractRoutes,
  ignoredOptions,
} from './extract.js';
export { extractBatchRoutes } from './extract-batch.js';
