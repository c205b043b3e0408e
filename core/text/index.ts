export type { Texts } from './requests.js';
export { createTexts, type TextService, type TextsOptions } from './text.js';
export { createTokenCounter, samplePrompt, type TokenCounter } from './tokens.js';
export { findVendorFields, type VendorField } from './vendor-fields.js';
