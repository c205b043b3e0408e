export {
  addExtractRoutes,
  BatchBodySchema,
  checkExtractBody,
  decodeExtract,
  type ExtractBody,
  ExtractBodySchema,
  encodeExtraction,
  ignoredOptions,
} from './extract.js';
export { addExtractBatchRoute } from './extract-batch.js';
