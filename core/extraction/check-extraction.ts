import type { Extraction } from '../contracts/index.js';
import { checkDocument } from './check-document.js';

/**
 * Holds what an extractor answered to its contract.
 * @throws Error naming the member; it is the plugin's fault, and no caller reads it.
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
