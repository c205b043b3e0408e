/*
 * Readers for values that TikTok spells in several ways: handles, lists of addresses, hashtags, language tags, and a
 * field with several names.
 */

import { absoluteUrl, asArray, asString, at, hashtagsIn } from 'mediagate/plugin';

/** An account's handle. */
export function username(value: unknown): string | undefined {
  const text = asString(value)?.replace(/^@/, '');
  return text && /^[\w.-]{1,64}$/.test(text) ? text : undefined;
}

/** Addresses in the several shapes that one member has had: a text, a list, `{urlList}`, `{url_list}`, `[{src}]`. */
export function urlsIn(value: unknown): string[] {
  const list = asArray(value) ?? asArray(at(value, 'urlList') ?? at(value, 'UrlList') ?? at(value, 'url_list'));
  const items = list ?? [value];
  return [...new Set(items.flatMap((item) => absoluteUrl(item) ?? absoluteUrl(at(item, 'src')) ?? []))];
}

/** The first member that is there, of several spellings. */
export function member(value: unknown, ...names: readonly string[]): unknown {
  for (const name of names) {
    const found = at(value, name);
    if (found !== undefined && found !== null && found !== '') return found;
  }
  return undefined;
}

/** The hashtags of a caption, and those that the source lists itself. */
export function tagsOf(text: string | undefined, ...listed: readonly unknown[]): string[] | undefined {
  return hashtagsIn(text, { listed, adjacent: true, numbers: true, emoji: false });
}

/** BCP 47 tag of what the site writes as `eng-US`, `en` or `cmn-Hans-CN`; undefined for "unknown". */
export function languageTag(value: unknown): string | undefined {
  const text = asString(value);
  if (!text || /^(?:un|und|mul)$/i.test(text)) return undefined;
  try {
    return Intl.getCanonicalLocales(text.replaceAll('_', '-'))[0];
  } catch {
    // Not a language tag.
    return undefined;
  }
}
