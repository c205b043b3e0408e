import { asArray, asString, at, type PartialPost } from 'mediagate';

/** Ids are strings of digits, however they were sent. */
export function idText(value: unknown): string | undefined {
  const text = typeof value === 'number' ? String(value) : asString(value);
  return text && /^[1-9]\d{0,20}$/.test(text) ? text : undefined;
}

/** An account's handle. */
export function username(value: unknown): string | undefined {
  const text = asString(value)?.replace(/^@/, '');
  return text && /^[\w.-]{1,64}$/.test(text) ? text : undefined;
}

export function absoluteUrl(value: unknown): string | undefined {
  const text = asString(value);
  const url = text?.startsWith('//') ? `https:${text}` : text;
  return url && /^https?:\/\/[^/]/.test(url) && URL.canParse(url) ? url : undefined;
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

/** Members as they stood in the source; what is neither text, number nor truth value is left out. */
export function rawStats(members: Readonly<Record<string, unknown>>): NonNullable<PartialPost['raw_stats']> {
  return Object.fromEntries(
    Object.entries(members).flatMap(([name, value]) =>
      (typeof value === 'string' && value !== '') || typeof value === 'number' || typeof value === 'boolean'
        ? [[name, value]]
        : [],
    ),
  );
}

/** Words after `#` in a text, and names that the source lists itself; each once. */
export function tagsOf(text: string | undefined, ...names: readonly unknown[]): string[] | undefined {
  const listed = names.flatMap((name) => asString(name)?.trim().replace(/^#/, '') || []);
  const written = Array.from((text ?? '').matchAll(/#([\p{L}\p{M}\p{N}_]{1,100})/gu), ([, tag]) => tag ?? '');
  const tags = new Map<string, string>();
  for (const tag of [...written, ...listed]) if (!tags.has(tag.toLowerCase())) tags.set(tag.toLowerCase(), tag);
  return tags.size > 0 ? [...tags.values()] : undefined;
}

/** BCP 47 tag of what the site writes as `eng-US`, `en` or `cmn-Hans-CN`; undefined for "unknown". */
export function languageTag(value: unknown): string | undefined {
  const text = asString(value);
  if (!text || /^(?:un|und|mul)$/i.test(text)) return undefined;
  try {
    return Intl.getCanonicalLocales(text.replaceAll('_', '-'))[0];
  } catch {
    // Not a language tag at all: nothing to be said.
    return undefined;
  }
}
