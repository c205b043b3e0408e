/*
 * Reads the URLs of links, pages and media, and makes the headers that a browser sends for a page. Query parameters of
 * media URLs are read without parsing the URL, because a page has hundreds of them.
 */

import { toIsoTime } from './dates.js';

/** Whether a URL is plain http or https: no port, no user information. Every public link is. */
export function isPlainUrl({ protocol, port, username, password }: URL): boolean {
  return (protocol === 'https:' || protocol === 'http:') && port === '' && username === '' && password === '';
}

/** The segments of a path that are not empty, still encoded. */
export function pathSegments({ pathname }: URL): string[] {
  return pathname.split('/').filter((segment) => segment !== '');
}

/**
 * The kind of page that a path leads to, for links that are no items, by the first of its segments that a table names
 * (`{ playlist: 'a playlist' }`); undefined if it names none.
 */
export function kindOfPage(
  kinds: Readonly<Record<string, string>>,
  ...segments: readonly string[]
): string | undefined {
  const known = segments.find((segment) => Object.hasOwn(kinds, segment));
  return known === undefined ? undefined : kinds[known];
}

/** A template with its `{name}` placeholders replaced by encoded values; others stay. */
export function fillUrl(template: string, values: Readonly<Record<string, string>>): string {
  return template.replace(/\{(\w{1,40})\}/g, (placeholder, name: string) =>
    Object.hasOwn(values, name) ? encodeURIComponent(values[name] ?? '') : placeholder,
  );
}

/** The header `accept-language` of a browser with this interface language, a BCP 47 tag. */
export function acceptLanguage(language: string): string {
  if (language === 'en') return 'en-US,en;q=0.9';
  return `${language},en;q=${language.startsWith('en-') ? '0.9' : '0.8'}`;
}

/**
 * The headers that a browser sends when a person opens a page by its address. Sites answer pages without data to requests
 * that lack the `sec-fetch` fields. Requests of scripts and APIs have other headers.
 * @param language - value of `accept-language`, see {@link acceptLanguage}.
 */
export function navigationHeaders(userAgent: string, language: string): Record<string, string> {
  return {
    'user-agent': userAgent,
    accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8',
    'accept-language': language,
    'upgrade-insecure-requests': '1',
    'sec-fetch-dest': 'document',
    'sec-fetch-mode': 'navigate',
    'sec-fetch-site': 'none',
    'sec-fetch-user': '?1',
  };
}

const ABSOLUTE = /^https?:\/\/[^/?#\s]\S*$/i;

/**
 * An http or https URL as it is written; one without a scheme (`//host/path`) gets https. With a base, paths become
 * absolute too. Undefined for anything else.
 */
export function absoluteUrl(value: unknown, base?: string): string | undefined {
  if (typeof value !== 'string' || value === '') return undefined;
  const text = value.startsWith('//') ? `https:${value}` : value;
  if (ABSOLUTE.test(text)) return URL.canParse(text) ? text : undefined;
  const url = base === undefined ? null : URL.parse(text, base);
  return url && (url.protocol === 'https:' || url.protocol === 'http:') ? url.href : undefined;
}

/**
 * When a signed media URL expires, as ISO 8601: `expire` and `x-expires` are Unix seconds, `oe` is the same in
 * hexadecimal digits. Undefined without any of them.
 */
export function expiryOf(url: string): string | undefined {
  const seconds = queryValue(url, 'expire') ?? queryValue(url, 'x-expires');
  if (seconds !== undefined && /^\d{10}$/.test(seconds)) return toIsoTime(seconds);
  const hexadecimal = queryValue(url, 'oe') ?? '';
  return /^[0-9a-f]{8}$/i.test(hexadecimal) ? toIsoTime(Number.parseInt(hexadecimal, 16)) : undefined;
}

/** A query parameter as it is written. A page has a hundred media URLs; parsing each would take most of the time. */
export function queryValue(url: string, name: string): string | undefined {
  for (let at = url.indexOf('?'); at >= 0; at = url.indexOf('&', at + 1)) {
    if (!url.startsWith(`${name}=`, at + 1)) continue;
    return /^[^&#]*/.exec(url.slice(at + name.length + 2))?.[0] || undefined;
  }
  return undefined;
}
