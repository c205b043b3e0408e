export { addExtractRoutes } from './extract.js';
export { addExtractBatchRoute } from './extract-batch.js';
export {
  BatchBodySchema,
  checkExtractBody,
  decodeExtract,
  type ExtractBody,
  ExtractBodySchema,
  ignoredOptions,
} from './extract-request.js';
export { encodeExtraction } from './extract-response.js';
