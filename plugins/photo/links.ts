/*
 * Recognizes Instagram links without a request, and converts between shortcode and media id: a shortcode is the id in
 * base 64. Private posts have a key of 28 letters behind the shortcode, which is not part of the id. The id holds the
 * time at which it was made; later than the year 2100 means an invented one. All addresses of a post lead to one
 * canonical address. Stories, profiles and lists are refused by name, and words that the site reserves are not taken
 * for user names.
 */

import { isPlainUrl, kindOfPage, type LinkMatch, type LinkRef, pathSegments } from 'mediagate/plugin';

const HOSTS: ReadonlySet<string> = new Set([
  'instagram.com',
  'www.instagram.com',
  'm.instagram.com',
  'instagr.am',
  'www.instagr.am',
]);
/** Interface languages: `de.instagram.com`, `pt-br.instagram.com`. */
const LANGUAGE_HOST = /^[a-z]{2}(?:-[a-z]{2})?\.instagram\.com$/;

/** Path segments before a post's shortcode. */
const ITEM_PATHS: ReadonlySet<string> = new Set(['p', 'reel', 'reels', 'tv']);
/** The words of {@link ITEM_PATHS} in share links. */
const SHARE_PATHS: ReadonlySet<string> = new Set([...ITEM_PATHS, 'r']);
/** Words in the place of a shortcode → what the link is. */
const REELS_KINDS: Readonly<Record<string, string>> = {
  audio: 'a list of reels with the same audio',
  videos: 'a list of reels',
};
/** A media id, with the owner's id or without. */
const MEDIA_ID = /^([1-9]\d{14,19})(?:_\d{1,20})?$/;
const USERNAME = /^[A-Za-z0-9._]{1,30}$/;
const SHARE_CODE = /^[A-Za-z0-9_-]{5,64}$/;

/** What links of the site are, by their first segment. No user has one of these as a name. */
const RESERVED_KINDS: Readonly<Record<string, string>> = {
  stories: 'a story',
  s: 'a highlight',
  explore: 'an explore page',
  direct: 'a conversation',
  reels: 'a list of reels',
  reel: 'a list of reels',
  tv: 'a list of videos',
  p: 'a list of posts',
  share: 'a share link without its code',
  accounts: 'an account page',
  challenge: 'an account check',
  web: 'another page of the site',
  api: 'an address of the API',
};
const KINDS: Readonly<Record<string, string>> = {
  ...RESERVED_KINDS,
  guide: 'a guide',
  guides: 'a guide',
  channel: 'a broadcast channel',
  live: 'a live stream',
  ar: 'an effect',
  a: 'an effect',
  about: 'a page about the company',
  legal: 'a page about the company',
  developer: 'a page about the company',
  directory: 'a directory',
};
const PROFILE_TABS: ReadonlySet<string> = new Set(
  'saved tagged reels channel guide guides live posts highlights followers following feed'.split(' '),
);

/** For the capabilities list and the docs. */
export const LINK_FORMS = [
  'https://www.instagram.com/p/{shortcode}/',
  'https://www.instagram.com/reel/{shortcode}/',
  'https://www.instagram.com/reels/{shortcode}/',
  'https://www.instagram.com/tv/{shortcode}/',
  'https://www.instagram.com/{user}/p/{shortcode}/',
  'https://www.instagram.com/{user}/reel/{shortcode}/',
  'https://www.instagram.com/{user}/tv/{shortcode}/',
  'https://www.instagram.com/p/{media_id}/',
  'https://www.instagram.com/p/{shortcode}/embed/',
  'https://www.instagram.com/share/{code}',
  'https://www.instagram.com/share/p/{code}',
  'https://www.instagram.com/share/r/{code}',
  'https://www.instagram.com/share/reel/{code}',
  'https://{language}.instagram.com/p/{shortcode}/',
  'https://instagr.am/p/{shortcode}/',
] as const;

/** The canonical address of a post or reel. */
export function canonicalUrl(shortcode: string): string {
  return `https://www.instagram.com/p/${shortcode}/`;
}

/** Whether the URL is on the site, item or not. */
export function isSite(url: URL): boolean {
  return (HOSTS.has(url.hostname) || LANGUAGE_HOST.test(url.hostname)) && isPlainUrl(url);
}

/** The post or share link in a URL; undefined if the URL is not on the site. */
export function matchPost(url: URL): LinkMatch {
  if (!isSite(url)) return undefined;
  const segments = pathSegments(url);
  const shared = shareLink(segments);
  if (shared) return shared;
  const shortcode = shortcodeIn(segments);
  if (shortcode !== undefined && isShortcode(shortcode)) {
    return { kind: 'post', id: shortcode, url: canonicalUrl(shortcode) };
  }
  return { unsupported: kindOf(segments, shortcode) };
}

/** The shortcode in an address that a page states for itself, absolute or not. */
export function shortcodeInAddress(address: string | undefined): string | undefined {
  return shortcodeIn(segmentsOf(address));
}

/** The user name in an address like `/{user}/reel/{shortcode}/`, which a page states for itself. */
export function usernameInAddress(address: string | undefined): string | undefined {
  const [first = '', second = ''] = segmentsOf(address);
  return ITEM_PATHS.has(second) && isUsername(first) ? first : undefined;
}

/** Empty for an address of another site. */
function segmentsOf(address: string | undefined): string[] {
  const url = address === undefined ? null : URL.parse(address, 'https://www.instagram.com');
  return url && isSite(url) ? pathSegments(url) : [];
}

function shareLink([first, ...rest]: readonly string[]): LinkRef | undefined {
  const code = rest.at(-1) ?? '';
  const isForm = rest.length === 1 || (rest.length === 2 && SHARE_PATHS.has(rest[0] ?? ''));
  if (first !== 'share' || !isForm || !SHARE_CODE.test(code)) return undefined;
  return { kind: 'short_link', id: code, url: `https://www.instagram.com/share/${rest.join('/')}` };
}

function shortcodeIn(segments: readonly string[]): string | undefined {
  const [first = '', second, third] = segments;
  if (first === 'reels' && second !== undefined && Object.hasOwn(REELS_KINDS, second)) return undefined;
  if (ITEM_PATHS.has(first)) return fromMediaId(second);
  return second !== undefined && ITEM_PATHS.has(second) && isUsername(first) ? fromMediaId(third) : undefined;
}

/** Links with the number of a post open it as well. A shortcode of so many digits does not exist. */
function fromMediaId(code: string | undefined): string | undefined {
  const mediaId = MEDIA_ID.exec(code ?? '')?.[1];
  if (mediaId === undefined) return code;
  let shortcode = '';
  for (let rest = BigInt(mediaId); rest > 0n; rest /= 64n) shortcode = ALPHABET.charAt(Number(rest % 64n)) + shortcode;
  return shortcode;
}

function isUsername(segment: string): boolean {
  return USERNAME.test(segment) && !Object.hasOwn(RESERVED_KINDS, segment);
}

function kindOf(segments: readonly string[], shortcode: string | undefined): string {
  const [first = '', second = ''] = segments;
  if (shortcode !== undefined) return 'a link with a malformed shortcode';
  if (first === '') return 'the home page';
  if (first === 'stories' && second === 'highlights') return 'a highlight';
  if (first === 'reels' && Object.hasOwn(REELS_KINDS, second)) return REELS_KINDS[second] ?? 'a list of reels';
  const isProfile = USERNAME.test(first) && (second === '' || PROFILE_TABS.has(second));
  return kindOfPage(KINDS, first) ?? (isProfile ? 'a profile' : 'another page of the site');
}

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
/** Shortcodes of private accounts' posts end with a key of this many letters, which is not part of the id. */
const KEY_LENGTH = 28;
const SHORTCODE = /^[A-Za-z0-9_-]+$/;
const MAX_LENGTH = 12;

/** The epoch of the time in an id, in milliseconds since 1970. */
const ID_EPOCH = 1_314_220_021_721n;
/** Smaller ids are older than the scheme and hold no time. */
const FIRST_TIMED_ID = 1_000_000_000_000n;

/** The two identifiers of a post. */
export interface PostIdentity {
  /** As in the link, including the key of a private post. */
  shortcode: string;
  /** Decimal digits. */
  mediaId: string;
}

function isShortcode(text: string): boolean {
  return SHORTCODE.test(text) && bareShortcode(text).length <= MAX_LENGTH;
}

/** Whether the shortcode has the key of a private account's post. */
export function hasPrivateKey(shortcode: string): boolean {
  return shortcode.length > KEY_LENGTH;
}

/** @param shortcode - that of a link which {@link matchPost} accepts. */
export function identityOf(shortcode: string): PostIdentity {
  let id = 0n;
  for (const letter of bareShortcode(shortcode)) id = id * 64n + BigInt(ALPHABET.indexOf(letter));
  return { shortcode, mediaId: id.toString() };
}

/** The shortcode without a private post's key. */
export function bareShortcode(shortcode: string): string {
  return hasPrivateKey(shortcode) ? shortcode.slice(0, -KEY_LENGTH) : shortcode;
}

/** When the id was made, to the second, minutes before the post was published. Undefined if the id holds no time. */
export function timeOfMediaId(mediaId: string): string | undefined {
  const id = BigInt(mediaId);
  if (id < FIRST_TIMED_ID) return undefined;
  const seconds = Number(((id >> 23n) + ID_EPOCH) / 1000n);
  // The year 2100: a later time means that the shortcode was invented.
  return seconds < 4_102_444_800 ? new Date(seconds * 1000).toISOString().replace('.000Z', 'Z') : undefined;
}
