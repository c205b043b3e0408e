/*
 * The catalogues of texts that scripts of pages show. `page` reaches every page; another one reaches the pages that load
 * the script of its name, such as `payment` for `payment.js`. They are plain strings, with `{name}` for values, since
 * they are JSON in the page.
 */

import type { LanguageCode } from './formats.js';
import { imageEditScript, imagesScript } from './texts/images.js';
import { keysScript } from './texts/keys.js';
import { pageScript } from './texts/page-script.js';
import { paymentScript } from './texts/payment.js';
import { playgroundAudioScript } from './texts/playground-audio.js';
import { playgroundBatchScript } from './texts/playground-batch.js';
import { playgroundChatScript } from './texts/playground-chat.js';
import { playgroundImagesScript } from './texts/playground-images.js';
import { playgroundLinksScript } from './texts/playground-links.js';

const CATALOGUES = {
  keys: keysScript,
  'image-edit': imageEditScript,
  images: imagesScript,
  page: pageScript,
  payment: paymentScript,
  'playground-audio': playgroundAudioScript,
  'playground-batch': playgroundBatchScript,
  'playground-chat': playgroundChatScript,
  'playground-images': playgroundImagesScript,
  'playground-links': playgroundLinksScript,
};

export type ScriptTexts = { readonly [Name in keyof typeof CATALOGUES]: (typeof CATALOGUES)[Name]['en'] };

/** Texts for these scripts, by the name of the catalogue. @param scripts Names of files: `payment.js`. */
export function scriptTexts(language: LanguageCode, scripts: readonly string[]): Partial<ScriptTexts> {
  const names = new Set(scripts.map((file) => file.replace(/\.js$/, '')));
  return Object.fromEntries(
    Object.entries(CATALOGUES)
      .filter(([name]) => names.has(name))
      .map(([name, catalogue]) => [name, catalogue[language]]),
  );
}
