/* The texts of the scripts of the API reference, which its pages have in an attribute. */

import type { ReferenceScriptTexts } from '../language/script-texts.js';

/** @throws SyntaxError on a page without them. */
export function docsTexts(): ReferenceScriptTexts {
  return JSON.parse(document.querySelector<HTMLElement>('.docs')?.dataset.texts ?? '') as ReferenceScriptTexts;
}
