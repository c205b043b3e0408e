/*
 * Checks what an extractor answered: a document that breaks its schema is a fault of the plugin and reaches no client.
 */

import { type Extraction, type ExtractionData, PostDataSchema, ProductDataSchema } from '../contracts/index.js';
import { type Checked, createValidator } from '../runtime/index.js';

/**
 * Checks the result of an extractor against its contract.
 * @throws Error naming the field; it is a plugin fault, and the message is not shown to callers.
 */
export function checkExtraction(extraction: Extraction): Extraction {
  if (!isObject(extraction)) throw new Error('extract() answered nothing');
  const { method, data, limitations = [] } = extraction;
  if (typeof method !== 'string') throw new Error('the method of what extract() answered must be a text');
  if (!isObject(data)) throw new Error('the data of what extract() answered must be an object');
  if (!Array.isArray(limitations) || !limitations.every((one) => typeof one === 'string')) {
    throw new Error('the limitations of what extract() answered must be a list of texts');
  }
  const checked = checkDocument(data);
  if (checked.ok) return extraction;
  const [issue] = checked.issues;
  throw new Error(`the document that extract() answered breaks its schema: data.${issue?.path} ${issue?.message}`);
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

const postData = createValidator(PostDataSchema);
const productData = createValidator(ProductDataSchema);

/** Checks a document against the schema of its kind, which allows no unknown fields. */
export function checkDocument(data: ExtractionData): Checked<ExtractionData> {
  return ('product' in data ? productData : postData).check(data);
}
