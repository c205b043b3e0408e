/*
 * Languages of the site: the choice of one for each request, the catalogues of texts, and the formats of numbers, money
 * and dates. Pages import them here; a catalogue of its own for each page stands in `texts`.
 */

export { counted, FORMATS, type Formats, type LanguageCode } from './formats.js';
export { isLanguage, LANGUAGE_COOKIE, LANGUAGES, LOCALES, type Locale, localeOf } from './language.js';
export { type ScriptTexts, scriptTextFiles, scriptTexts } from './script-texts.js';
export { VIETNAMESE_SENTENCES } from './sentences.js';
export { languageRoutes } from './switch.js';
export { TEXTS, type Texts } from './texts.js';
export { readTypedDay } from './typed-day.js';
