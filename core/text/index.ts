export type { Texts } from './requests.js';
export { createTexts, type TextsOptions } from './text.js';
export { samplePrompt } from './tokens.js';
