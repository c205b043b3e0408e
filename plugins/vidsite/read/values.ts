/*
 * Readers for the small values that all replies of the site have: texts, URLs, ids, channels, pictures and days. A
 * reply is about the requested video only if every id that it states is that of the video. Days are read in many
 * interface languages, in three orders of numbers and with names of months; a day that two languages read differently
 * is left out. URLs are made absolute and https. Of several pictures, the largest comes first and each URL is listed
 * once.
 */

import {
  absoluteUrl,
  asArray,
  asPositive,
  asRecords,
  asString,
  at,
  type JsonRecord,
  latinDigits,
  type MediaEntry,
  type PartialPost,
  toIsoTime,
} from 'mediagate/plugin';
import { canonicalUrl } from '../links.js';
import months from './months.json' with { type: 'json' };

/** The text of a node: `{simpleText}`, `{runs: [{text}]}`, `{content}` or a string. Undefined if it is blank. */
export function textOf(value: unknown): string | undefined {
  const runs = asArray(at(value, 'runs'))?.map((run) => asString(at(run, 'text')) ?? '');
  const whole = asString(value) ?? asString(at(value, 'simpleText')) ?? asString(at(value, 'content'));
  const text = whole ?? runs?.join('');
  return text?.trim() ? text : undefined;
}

/** The texts in a list; undefined if there are none. */
export function textsIn(list: unknown): string[] | undefined {
  const texts = (asArray(list) ?? []).flatMap((item) => asString(item) ?? []);
  return texts.length > 0 ? texts : undefined;
}

/** The label of a node for screen readers. */
export function accessibilityLabel(value: unknown): string | undefined {
  const holders = ['accessibility', 'accessibilityData'].map((name) => at(value, name));
  const labels = holders.flatMap((holder) => [at(holder, 'accessibilityData', 'label'), at(holder, 'label')]);
  return labels.map(asString).find((label) => label !== undefined);
}

/** Without the invisible marks of writing direction. */
export function withoutMarks(text: string): string {
  return text.replace(/[\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, '');
}

/** The absolute https URL for a URL of the site, which may lack scheme or host, or be http. */
export function siteUrl(value: unknown): string | undefined {
  return absoluteUrl(value, 'https://www.youtube.com')?.replace(/^http:/i, 'https:');
}

const CHANNEL_ID = /^UC[0-9A-Za-z_-]{22}$/;

/** The value if it is a channel id. */
export function channelId(value: unknown): string | undefined {
  const text = asString(value);
  return text && CHANNEL_ID.test(text) ? text : undefined;
}

/** The id in a `/channel/` URL. */
export function channelIdIn(url: unknown): string | undefined {
  return channelId(/\/channel\/([^/?#]+)/.exec(asString(url) ?? '')?.[1]);
}

export type PartialAuthor = NonNullable<NonNullable<PartialPost['common']>['author']>;

/** The author for a channel; `url` is the channel's URL or path. */
export function channelAuthor({ url, ...channel }: Omit<PartialAuthor, 'url'> & { url: unknown }): PartialAuthor {
  return { ...channel, username: usernameIn(url), url: siteUrl(url) };
}

/** The handle or old user name in a channel's URL; `/channel/` and `/c/` URLs have none. */
function usernameIn(url: unknown): string | undefined {
  const name = /(?:^|youtube\.com)\/(?:@|user\/)([^/?#]+)/.exec(asString(url) ?? '')?.[1];
  if (!name) return undefined;
  try {
    return decodeURIComponent(name);
  } catch {
    // A stray percent sign: the name is not encoded.
    return name;
  }
}

/** The author that a page shows: a name, the endpoint that it links to, and pictures in several sizes. */
export function shownAuthor(
  name: string,
  endpoint: unknown,
  avatars: unknown,
  { handle, verified }: { handle?: string | undefined; verified?: boolean } = {},
): PartialAuthor {
  return channelAuthor({
    name,
    id: channelId(at(endpoint, 'browseId')),
    url: handle ? `/${handle}` : at(endpoint, 'canonicalBaseUrl'),
    avatar: parseImages(avatars)[0]?.url,
    ...(verified && { verified }),
  });
}

/** The ids of a video and its channel. */
export function videoIds(id: string, channel: string | undefined): NonNullable<PartialPost['ids']> {
  return { video_id: id, canonical_url: canonicalUrl(id), channel_id: channel, author_id: channel };
}

/** The video id in a URL of a video or its picture (`/watch?v=`, `/embed/`, `/shorts/`, `/vi/`). */
export function videoIdIn(url: unknown): string | undefined {
  const pattern = /(?:[?&]v=|\/(?:embed|shorts|live|v|vi|vi_webp)\/)([0-9A-Za-z_-]{11})(?![0-9A-Za-z_-])/;
  return pattern.exec(asString(url) ?? '')?.[1];
}

/** Which video a reply is about; `unknown` if it has no id, as most refusals. */
export type Subject = 'requested' | 'other' | 'unknown';

/** The subject of a reply: every id that it states for its video must be the requested one. */
export function subjectOf(stated: readonly unknown[], id: string): Subject {
  const ids = stated.filter((value) => asString(value) !== undefined);
  if (ids.length === 0) return 'unknown';
  return ids.every((value) => value === id) ? 'requested' : 'other';
}

/** The first renderer with one of the names among the items. */
export function rendererIn(items: readonly unknown[], ...names: readonly string[]): JsonRecord | undefined {
  return asRecords(items.flatMap((item) => names.map((name) => at(item, name))))[0];
}

/** The panels of a page, which open beside or over the video. */
export function panelsOf(next: unknown): { name: string; renderer: unknown }[] {
  return (asArray(at(next, 'engagementPanels')) ?? []).map((panel) => {
    const renderer = at(panel, 'engagementPanelSectionListRenderer');
    return { name: asString(at(renderer, 'panelIdentifier')) ?? asString(at(renderer, 'targetId')) ?? '', renderer };
  });
}

/** The pictures of lists like `[{url, width, height}]`, largest first, each URL once. */
export function parseImages(...lists: readonly unknown[]): MediaEntry[] {
  const images = new Map<string, MediaEntry>();
  for (const item of lists.flatMap((list) => asArray(list) ?? [])) {
    const url = siteUrl(at(item, 'url'));
    if (!url || images.has(url)) continue;
    images.set(url, {
      url,
      kind: 'image',
      width: asPositive(at(item, 'width')),
      height: asPositive(at(item, 'height')),
    });
  }
  return [...images.values()].sort(largerFirst);
}

/** Orders pictures. One without a known size is the smallest. */
export function largerFirst(one: MediaEntry | undefined, other: MediaEntry | undefined): number {
  const area = (entry: MediaEntry | undefined) => (entry?.width ?? 0) * (entry?.height ?? 0);
  return area(other) - area(one);
}

const BUDDHIST_OFFSET = 543;

/**
 * The day in a text such as `Streamed live on Mar 9, 2020`, in many interface languages, as midnight UTC. Undefined if
 * the text has no day or is ambiguous.
 */
export function parseShownDate(text: string): string | undefined {
  if (text.length > 120) return undefined;
  const plain = latinDigits(withoutMarks(text));
  return eastAsianDate(plain) ?? numericDate(plain) ?? namedMonthDate(plain);
}

function isoDay(year: string | number, month: string | number, day: string | number): string | undefined {
  return toIsoTime(`${year}-${String(month).padStart(2, '0')}-${String(day).padStart(2, '0')}`);
}

/** The year first: 2020年3月9日, 2020. 3. 9., 2020/03/09. */
function eastAsianDate(text: string): string | undefined {
  const match = /(?<!\d)(\d{4})\s?[年년./-]\s?(\d{1,2})\s?[月월./-]\s?(\d{1,2})(?!\d)/.exec(text);
  return match?.[1] && match[2] && match[3] ? isoDay(match[1], match[2], match[3]) : undefined;
}

/** 09.03.2020 has the day first; with other separators only a number above 12 shows which one is the day. */
function numericDate(text: string): string | undefined {
  const match = /(?<!\d)(\d{1,2})([./-])\s?(\d{1,2})\2\s?(\d{4})(?!\d)/.exec(text);
  const [, first, separator, second, year] = match ?? [];
  if (!first || !second || !year) return undefined;
  if (separator === '.' || Number(first) > 12 || first === second) return isoDay(year, second, first);
  return Number(second) > 12 ? isoDay(year, first, second) : undefined;
}

/** A day, a year and the name of a month, in any order. */
function namedMonthDate(text: string): string | undefined {
  const numbers = text.match(/\d+/g) ?? [];
  const years = numbers.filter((number) => number.length === 4);
  const days = numbers.filter((number) => number.length <= 2);
  if (years.length !== 1 || numbers.length !== years.length + days.length) return undefined;
  const year = Number(years[0]) > 2400 ? Number(years[0]) - BUDDHIST_OFFSET : Number(years[0]);
  const [day, month] = days;
  if (!day) return undefined;
  // Vietnamese numbers its months: "9 thg 3, 2020".
  if (month) return days.length === 2 && /thg|tháng/i.test(text) ? isoDay(year, month, day) : undefined;
  const plain = text.toLowerCase().replaceAll('.', '');
  const words = plain.match(/[\p{L}\p{M}]+/gu) ?? [];
  const [named, ...more] = monthsIn(words, months.english) ?? monthsIn(words, months.other) ?? [];
  return named && more.length === 0 ? isoDay(year, named, day) : undefined;
}

/**
 * The numbers of the months that a table names, which has the long and short names of each month. English has a table
 * of its own: in no other language do its names mean another month. The other table omits names that mean different
 * months in two languages.
 */
function monthsIn(words: readonly string[], table: readonly string[]): number[] | undefined {
  // Hebrew writes "in" and the month as one word.
  const known = new Set([...words, ...words.map((word) => word.replace(/^ב/, ''))]);
  const found = table.flatMap((names, index) => (names.split(' ').some((name) => known.has(name)) ? [index + 1] : []));
  return found.length > 0 ? found : undefined;
}
