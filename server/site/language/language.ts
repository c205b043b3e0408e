/*
 * The language of a page: that of the visitor's account, else that of the cookie that the switch of the header sets, else
 * what the browser asks for, else English. A page renders with a locale: the texts of the catalogues and the formats of
 * one language, and what the operator shows as their own.
 */

import { type RequestContext, readCookie } from '../../http/index.js';
import { type Brand, MEDIAGATE } from '../brand.js';
import { FORMATS, type Formats, type LanguageCode } from './formats.js';
import { TEXTS, type Texts } from './texts.js';

declare module '../../http/koa-app.js' {
  interface RequestState {
    /** What the pages of this app show of its operator. Default: that of mediagate. */
    brand?: Brand;
    /** Address of the site, without a trailing slash. */
    siteUrl?: string;
    /** Of the page that was asked for, once its account is known. */
    language?: LanguageCode;
  }
}

/** Every language of the site, with its own name. The first one is the default. */
export const LANGUAGES: readonly { readonly code: LanguageCode; readonly name: string }[] = [
  { code: 'en', name: 'English' },
  { code: 'vi', name: 'Tiếng Việt' },
];

/** What pages render with. */
export interface Locale extends Formats {
  readonly language: LanguageCode;
  /** Catalogues by page. */
  readonly texts: Texts;
  readonly brand: Brand;
  /** Address of the site, without a trailing slash; undefined if it is not known. */
  readonly siteUrl?: string | undefined;
}

export const LOCALES: Readonly<Record<LanguageCode, Locale>> = {
  en: { ...FORMATS.en, language: 'en', texts: TEXTS.en, brand: MEDIAGATE },
  vi: { ...FORMATS.vi, language: 'vi', texts: TEXTS.vi, brand: MEDIAGATE },
};

export const LANGUAGE_COOKIE = 'language';

export function isLanguage(text: unknown): text is LanguageCode {
  return LANGUAGES.some(({ code }) => code === text);
}

/** The locale of a visitor. @param chosen The language of their account. Default: none. */
export function localeOf(context: RequestContext, chosen?: string | null): Locale {
  const language = languageOf(context, chosen);
  const locale = LOCALES[language];
  // A page of an error after this has no account.
  context.state.language = language;
  const { brand, siteUrl } = context.state;
  return { ...locale, ...(brand && { brand }), siteUrl };
}

function languageOf(context: RequestContext, chosen: string | null | undefined): LanguageCode {
  const known = [chosen, context.state.language, readCookie(context, LANGUAGE_COOKIE)].find(isLanguage);
  if (known) return known;
  const accepted = context.acceptsLanguages(...LANGUAGES.map(({ code }) => code));
  return isLanguage(accepted) ? accepted : 'en';
}
