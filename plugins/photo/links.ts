import type { LinkMatch, LinkRef } from 'mediagate';
import { isShortcode } from './shortcode.js';

const HOSTS: ReadonlySet<string> = new Set([
  'instagram.com',
  'www.instagram.com',
  'm.instagram.com',
  'instagr.am',
  'www.instagr.am',
]);

/** Path segments whose next one is a post's shortcode. */
const ITEM_PATHS: ReadonlySet<string> = new Set(['p', 'reel', 'reels', 'tv']);
const USERNAME = /^[A-Za-z0-9._]{1,30}$/;
const SHARE_CODE = /^[A-Za-z0-9_-]{5,64}$/;

const KINDS: Readonly<Record<string, string>> = {
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
  web: 'another page of the site',
  api: 'an address of the API',
};
/** First segments that no user has as a name. */
const RESERVED: ReadonlySet<string> = new Set([
  'stories',
  's',
  'explore',
  'direct',
  'reels',
  'reel',
  'tv',
  'p',
  'share',
  'accounts',
  'challenge',
  'web',
  'api',
]);
const PROFILE_TABS: ReadonlySet<string> = new Set(['saved', 'tagged', 'reels', 'channel', 'guide', 'guides', 'live']);

/** Link forms that are accepted, for the capabilities list and README. */
export const LINK_FORMS = [
  'https://www.instagram.com/p/{shortcode}/',
  'https://www.instagram.com/reel/{shortcode}/',
  'https://www.instagram.com/reels/{shortcode}/',
  'https://www.instagram.com/tv/{shortcode}/',
  'https://www.instagram.com/{user}/p/{shortcode}/',
  'https://www.instagram.com/{user}/reel/{shortcode}/',
  'https://www.instagram.com/p/{shortcode}/embed/',
  'https://www.instagram.com/share/{code}',
  'https://www.instagram.com/share/reel/{code}',
  'https://instagr.am/p/{shortcode}/',
] as const;

/** The one address of a post; reels answer to it too. */
export function canonicalUrl(shortcode: string): string {
  return `https://www.instagram.com/p/${shortcode}/`;
}

/** Whether the URL is one of the site's own pages, item or not. */
export function isSite(url: URL): boolean {
  return (
    HOSTS.has(url.hostname) &&
    /^https?:$/.test(url.protocol) &&
    url.port === '' &&
    url.username === '' &&
    url.password === ''
  );
}

/** The post behind a link, without any request; undefined if the link is not the site's. */
export function matchPost(url: URL): LinkMatch {
  if (!isSite(url)) return undefined;
  const segments = url.pathname.split('/').filter((segment) => segment !== '');
  const shared = shareLink(segments);
  if (shared) return shared;
  const shortcode = shortcodeIn(segments);
  if (shortcode !== undefined && isShortcode(shortcode)) {
    return { kind: 'post', id: shortcode, url: canonicalUrl(shortcode) };
  }
  return { unsupported: kindOf(segments, shortcode) };
}

/** The shortcode in an address that a page states of itself, absolute or not. */
export function shortcodeInAddress(address: string | undefined): string | undefined {
  const url = address === undefined ? null : URL.parse(address, 'https://www.instagram.com');
  if (!url || !isSite(url)) return undefined;
  return shortcodeIn(url.pathname.split('/').filter((segment) => segment !== ''));
}

/** The user name in an address like `/{user}/reel/{shortcode}/`, which a page states of itself. */
export function usernameInAddress(address: string | undefined): string | undefined {
  const url = address === undefined ? null : URL.parse(address, 'https://www.instagram.com');
  if (!url || !isSite(url)) return undefined;
  const [first = '', second = ''] = url.pathname.split('/').filter((segment) => segment !== '');
  return ITEM_PATHS.has(second) && isUsername(first) ? first : undefined;
}

function shareLink(segments: readonly string[]): LinkRef | undefined {
  const [first, second = '', third = ''] = segments;
  if (first !== 'share') return undefined;
  const form = ITEM_PATHS.has(second) ? `${second}/` : '';
  const code = form ? third : second;
  const length = form ? 3 : 2;
  if (segments.length !== length || !SHARE_CODE.test(code)) return undefined;
  return { kind: 'short_link', id: code, url: `https://www.instagram.com/share/${form}${code}` };
}

function shortcodeIn(segments: readonly string[]): string | undefined {
  const [first = '', second, third] = segments;
  if (ITEM_PATHS.has(first)) return second === 'audio' && first === 'reels' ? undefined : second;
  return second !== undefined && ITEM_PATHS.has(second) && isUsername(first) ? third : undefined;
}

function isUsername(segment: string): boolean {
  return USERNAME.test(segment) && !RESERVED.has(segment);
}

function kindOf(segments: readonly string[], shortcode: string | undefined): string {
  const [first = '', second = ''] = segments;
  if (shortcode !== undefined) return 'a link with a malformed shortcode';
  if (first === '') return 'the home page';
  if (first === 'reels' && second === 'audio') return 'a list of reels that use a sound';
  if (Object.hasOwn(KINDS, first)) return KINDS[first] ?? '';
  if (!USERNAME.test(first)) return 'another page of the site';
  return second === '' || PROFILE_TABS.has(second) ? 'a profile' : 'another page of the site';
}
