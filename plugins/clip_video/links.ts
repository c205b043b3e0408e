/*
 * Recognizes links to TikTok videos and slideshows without a request. An item's id is the same under each author name,
 * so that the canonical address has none. Some forms name the item in the query or behind the hash. Codes of short
 * links are distinguished from words by their first letter. Links of the shop return undefined, because another plugin
 * owns them; profiles, feeds and other pages are refused by name. A path without an author before `video` counts only
 * for players and redirects.
 */

import { isPlainUrl, kindOfPage, type LinkMatch, type LinkRef, pathSegments } from 'mediagate/plugin';

const SITE_HOSTS: ReadonlySet<string> = new Set([
  'tiktok.com',
  'www.tiktok.com',
  'm.tiktok.com',
  'lite.tiktok.com',
  'tiktokv.com',
  'www.tiktokv.com',
  'm.tiktokv.com',
]);
/** Hosts whose first path segment is the code of a short link. */
const SHORT_HOSTS: ReadonlySet<string> = new Set(['vm.tiktok.com', 'vt.tiktok.com', 't.tiktok.com', 'pro.tiktok.com']);
/** Shares links of its own. */
const LITE_HOST = 'lite.tiktok.com';
/** Resolves the codes that directly follow the site's own host. */
const SHORT_HOST = 'vt.tiktok.com';

/** Today 19 digits; what follows as `.html` belongs to the mobile share pages. */
const ITEM_ID = /^([1-9]\d{0,20})(?:\.html)?$/;
const SHORT_CODE = /^[A-Za-z0-9_-]{5,24}$/;
/** Behind the site's own host there are words as well, and all codes begin with this letter. */
const BARE_CODE = /^Z[A-Za-z0-9]{6,23}$/;

/** Segments that an item's id follows. */
const ITEM_SEGMENTS: ReadonlySet<string> = new Set(['video', 'photo', 'v']);
/** What precedes `video` and `photo`: the author, whose name may be empty, or a share page. */
const BEFORE_ITEM = /^(?:(?:@|%40).*|share)$/i;
const PLAYERS: ReadonlySet<string> = new Set(['embed', 'player']);
/** First segments of addresses that may name an item outside of the path. */
const SHARING: ReadonlySet<string> = new Set(['', 'share', 'i18n', 'h5', 'foryou']);
const SHOP_HOST = 'shop.tiktok.com';
/** First segments that belong to the shop. */
const SHOP_SEGMENTS: ReadonlySet<string> = new Set(['shop', 'view', 'oec']);

const KINDS: Readonly<Record<string, string>> = {
  tag: 'a hashtag',
  music: 'a piece of music',
  sticker: 'an effect',
  effect: 'an effect',
  discover: 'a topic page',
  topics: 'a topic page',
  channel: 'a topic page',
  search: 'a search',
  question: 'a question',
  foryou: 'a feed',
  following: 'a feed',
  friends: 'a feed',
  explore: 'a feed',
  live: 'a live stream',
  story: 'a story',
  stories: 'a story',
  place: 'a place',
  poi: 'a place',
  playlist: 'a playlist',
  collection: 'a collection',
  login: 'the login page',
  signup: 'the login page',
  notfound: 'a page that says nothing was found',
  messages: 'a page for signed-in users',
  upload: 'a page for signed-in users',
};

/** Link forms that are accepted, for the capabilities list and the docs. */
export const LINK_FORMS = [
  'https://www.tiktok.com/@{user}/video/{id}',
  'https://www.tiktok.com/@{user}/photo/{id}',
  'https://www.tiktok.com/@/video/{id}',
  'https://m.tiktok.com/v/{id}.html',
  'https://www.tiktok.com/embed/{id}',
  'https://www.tiktok.com/embed/v2/{id}',
  'https://www.tiktok.com/player/v1/{id}',
  'https://www.tiktok.com/share/video/{id}',
  'https://www.tiktok.com/i18n/share/video/{id}',
  'https://www.tiktok.com/foryou?item_id={id}',
  'https://www.tiktokv.com/share/video/{id}',
  'https://vm.tiktok.com/{code}',
  'https://vt.tiktok.com/{code}',
  'https://t.tiktok.com/{code}',
  'https://www.tiktok.com/t/{code}',
  'https://lite.tiktok.com/t/{code}',
  'https://www.tiktok.com/{code}',
] as const;

/** The address of an item that does not depend on its author's name, which may change. */
export function canonicalUrl(id: string): string {
  return `https://www.tiktok.com/@i/video/${id}`;
}

/** The id in an address of the platform's own, such as a redirect, which may leave the author out. */
export function itemIdIn(url: URL): string | undefined {
  return SITE_HOSTS.has(url.hostname) && isPlainUrl(url) ? idOf(url, pathSegments(url)) : undefined;
}

/** Whether a URL is the shop's; the shop's extractor decides what it is. */
export function isShop(url: URL): boolean {
  if (!isPlainUrl(url)) return false;
  const [first = ''] = pathSegments(url);
  return url.hostname === SHOP_HOST || (SITE_HOSTS.has(url.hostname) && SHOP_SEGMENTS.has(first));
}

/** The item or short link behind a link, without any request; undefined if it is not the site's, or is the shop's. */
export function matchClip(url: URL): LinkMatch {
  const short = SHORT_HOSTS.has(url.hostname);
  if (!isPlainUrl(url) || !(short || SITE_HOSTS.has(url.hostname))) return undefined;
  const segments = pathSegments(url);
  if (SHOP_SEGMENTS.has(segments[0] ?? '')) return undefined;
  const id = isNamed(segments) ? idOf(url, segments) : undefined;
  if (id) return { kind: 'video', id, url: canonicalUrl(id) };
  const link = short ? shortLink(segments, url.hostname) : siteShortLink(segments, url.hostname);
  return link ?? { unsupported: kindOf(segments, short) };
}

/** False for a link like `/video/{id}`, which the platform's redirects may have, or `/tag/video/{id}`. */
function isNamed(segments: readonly string[]): boolean {
  const place = segments.findIndex((segment) => segment === 'video' || segment === 'photo');
  return place < 0 || PLAYERS.has(segments[0] ?? '') || BEFORE_ITEM.test(segments[place - 1] ?? '');
}

function idOf(url: URL, segments: readonly string[]): string | undefined {
  const [first = '', second = '', third = ''] = segments;
  if (PLAYERS.has(first)) {
    const versioned = /^v\d$/.test(second) || ITEM_SEGMENTS.has(second);
    return ITEM_ID.exec((versioned ? third : second) || (url.searchParams.get('item_id') ?? ''))?.[1];
  }
  const place = segments.findIndex((segment) => ITEM_SEGMENTS.has(segment));
  if (place >= 0 && place <= 3) return ITEM_ID.exec(segments[place + 1] ?? '')?.[1];
  if (!SHARING.has(first)) return undefined;
  // Some shared addresses name the item in the query only, and older ones behind the hash.
  const named = url.searchParams.get('item_id') ?? /^#\/@[^/]*\/video\/(\d+)/.exec(url.hash)?.[1];
  return ITEM_ID.exec(named ?? '')?.[1];
}

function shortLink(segments: readonly string[], host: string): LinkRef | undefined {
  const [first, second] = segments;
  const code = first === 't' && second ? second : first;
  if (!code || !SHORT_CODE.test(code)) return undefined;
  return { kind: 'short_link', id: code, url: `https://${host}/${code}/` };
}

function siteShortLink([first = '', code = '']: readonly string[], hostname: string): LinkRef | undefined {
  if (first === 't' && SHORT_CODE.test(code)) {
    const host = hostname === LITE_HOST ? LITE_HOST : 'www.tiktok.com';
    return { kind: 'short_link', id: code, url: `https://${host}/t/${code}/` };
  }
  return code === '' && BARE_CODE.test(first) ? shortLink([first], SHORT_HOST) : undefined;
}

function kindOf(segments: readonly string[], short: boolean): string {
  const [first = '', second] = segments;
  if (short) return 'a short link without a code';
  if (first === '') return 'the home page';
  if (!isNamed(segments)) return kindOfPage(KINDS, first) ?? "an item's link without its author";
  if (segments.some((segment) => ITEM_SEGMENTS.has(segment))) return 'a link without a proper item id';
  const user = first.startsWith('@') || /^%40/i.test(first) || second?.startsWith('@');
  // The last segment is the most precise: `/@user/live`.
  return kindOfPage(KINDS, ...[...segments].reverse()) ?? (user ? 'a profile' : 'another page of the site');
}
