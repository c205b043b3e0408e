/*
 * The catalogues of texts that scripts of pages show, each for the scripts of its name, such as `payment` for
 * `payment.js`; `page` is for every script. They are plain strings, with `{name}` for values, since they are sent to the
 * browser: the catalogues of a language together are one file, which is compressed, and cached for every page. The page
 * of the playground, whose texts are most of them, has its own file, and the other pages have the others in theirs.
 */

import type { LanguageCode } from './formats.js';
import { imageEditScript, imagesScript } from './texts/images.js';
import { keysScript } from './texts/keys.js';
import { pageScript } from './texts/page-script.js';
import { passkeysScript } from './texts/passkeys.js';
import { paymentScript } from './texts/payment.js';
import { playgroundAudioScript } from './texts/playground/audio.js';
import { playgroundBatchScript } from './texts/playground/batch.js';
import { playgroundChatScript } from './texts/playground/chat.js';
import { playgroundLinksScript } from './texts/playground/links.js';
import type { reference } from './texts/reference.js';

const CATALOGUES = {
  keys: keysScript,
  'image-edit': imageEditScript,
  images: imagesScript,
  page: pageScript,
  passkeys: passkeysScript,
  payment: paymentScript,
  'playground-audio': playgroundAudioScript,
  'playground-batch': playgroundBatchScript,
  'playground-chat': playgroundChatScript,
  'playground-links': playgroundLinksScript,
};

/** Of the API reference, whose pages have them in an attribute: no other page needs them. */
export type ReferenceScriptTexts = (typeof reference)['en']['script'];

export type ScriptTexts = { readonly [Name in keyof typeof CATALOGUES]: (typeof CATALOGUES)[Name]['en'] };

/** Of all scripts, by the name of the catalogue. */
export function scriptTexts(language: LanguageCode): ScriptTexts {
  return Object.fromEntries(
    Object.entries(CATALOGUES).map(([name, catalogue]) => [name, catalogue[language]]),
  ) as ScriptTexts;
}

/** The files of a language with the script of each, which names the texts to those after it. */
export function scriptTextFiles(language: LanguageCode): readonly (readonly [name: string, script: string])[] {
  const all = scriptTexts(language);
  const isPlayground = (name: string) => name.startsWith('playground-');
  const select = (isIn: (name: string) => boolean) =>
    JSON.stringify(Object.fromEntries(Object.entries(all).filter(([name]) => isIn(name))));
  return [
    [`texts-${language}.js`, `globalThis.siteTexts=${select((name) => !isPlayground(name))};`],
    [
      `texts-playground-${language}.js`,
      `globalThis.siteTexts=${select((name) => isPlayground(name) || name === 'page')};`,
    ],
  ];
}
