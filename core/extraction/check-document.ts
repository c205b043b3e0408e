import { type ExtractionData, PostDataSchema, ProductDataSchema } from '../contracts/index.js';
import { type Checked, createValidator } from '../runtime/index.js';

const postData = createValidator(PostDataSchema);
const productData = createValidator(ProductDataSchema);

/** Holds a document to the schema of its kind, which takes no member that it does not name. */
export function checkDocument(data: ExtractionData): Checked<ExtractionData> {
  return ('product' in data ? productData : postData).check(data);
}
