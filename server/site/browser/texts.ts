/*
 * The texts of the pages' scripts, in the language of the page. A script before all others has named them, by the name
 * of the catalogue.
 */

import type { ScriptTexts } from '../language/script-texts.js';

/** The texts of a script. @throws TypeError if the script with the texts did not load. */
export function textsOf<Name extends keyof ScriptTexts>(name: Name): ScriptTexts[Name] {
  return (globalThis as unknown as { siteTexts: ScriptTexts }).siteTexts[name];
}

/** The text with its values: `fill('Press {keys}', { keys: 'Ctrl+C' })`. */
export function fill(text: string, values: Readonly<Record<string, string | number>>): string {
  return text.replace(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole));
}

/** Language of the page, for formats of Intl. English numbers are those of the United States. */
export function pageLanguage(): string {
  return document.documentElement.lang === 'vi' ? 'vi-VN' : 'en-US';
}
