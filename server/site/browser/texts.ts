/*
 * The texts of the pages' scripts, in the language of the page. The page has them as a block of JSON, by the name of the
 * catalogue; a page without one is a mistake of the page that loads the script.
 */

import type { ScriptTexts } from '../language/script-texts.js';

let known: Partial<ScriptTexts> | undefined;

/** The texts of a script. @throws Error if the page has none of that name. */
export function textsOf<Name extends keyof ScriptTexts>(name: Name): ScriptTexts[Name] {
  known ??= JSON.parse(document.getElementById('texts')?.textContent ?? '{}') as Partial<ScriptTexts>;
  const texts = known[name];
  if (!texts) throw new Error(`the page has no texts for ${name}`);
  return texts;
}

/** The text with its values: `fill('Press {keys}', { keys: 'Ctrl+C' })`. */
export function fill(text: string, values: Readonly<Record<string, string | number>>): string {
  return text.replace(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole));
}

/** Language of the page, for formats of Intl. English numbers are those of the United States. */
export function pageLanguage(): string {
  return document.documentElement.lang === 'vi' ? 'vi-VN' : 'en-US';
}
