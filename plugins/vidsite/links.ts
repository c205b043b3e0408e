import { isPlainUrl, kindOfPage, type LinkMatch, pathSegments } from 'mediagate/plugin';

const VIDEO_ID = /^[0-9A-Za-z_-]{11}$/;
/** Hosts whose path is the id. */
const SHORT_HOSTS: ReadonlySet<string> = new Set(['youtu.be', 'www.youtu.be', 'y2u.be', 'www.y2u.be']);
/** The site, with any subdomain (www, m, music, gaming …). None has a hyphen, but look-alikes in Punycode do. */
const SITE_HOST = /^(?:([a-z][a-z0-9]{0,15})\.)?(?:youtube|youtube-nocookie|youtubekids)\.com$/;
/** Subdomains without videos. */
const OTHER_SUBDOMAINS: ReadonlySet<string> = new Set(['consent', 'accounts', 'studio', 'developers', 'support', 'tv']);

/** First segment of paths whose second segment is a video's id. */
const ITEM_PATHS: ReadonlySet<string> = new Set(['watch', 'shorts', 'live', 'embed', 'v', 'e', 'w']);
const QUERY_PATHS: ReadonlySet<string> = new Set(['', 'watch', 'watch_popup', 'movie', 'embed', 'ytscreeningroom']);
/** Words in the place of an embedded video's id. */
const EMBED_NAMES: ReadonlySet<string> = new Set(['videoseries', 'live_stream']);

const KINDS: Readonly<Record<string, string>> = {
  playlist: 'a playlist',
  channel: 'a channel',
  c: 'a channel',
  user: 'a channel',
  results: 'a search',
  feed: 'a feed',
  post: 'a community post',
  hashtag: 'a hashtag',
  redirect: 'a redirect to another site',
  clip: 'a clip',
  shorts: 'a list of shorts',
  live: 'a list of live streams',
  embed: 'an embedded list',
  source: 'a list of videos with the same audio',
  gaming: 'a topic page',
  music: 'a topic page',
  premium: 'a product page',
};

/** The accepted link forms, for the capabilities and the docs. */
export const LINK_FORMS = [
  'https://www.youtube.com/watch?v={id}',
  'https://youtu.be/{id}',
  'https://www.youtube.com/shorts/{id}',
  'https://www.youtube.com/live/{id}',
  'https://www.youtube.com/embed/{id}',
  'https://m.youtube.com/watch?v={id}',
  'https://music.youtube.com/watch?v={id}',
  'https://www.youtube-nocookie.com/embed/{id}',
] as const;

/** The canonical URL of a video. */
export function canonicalUrl(id: string): string {
  return `https://www.youtube.com/watch?v=${id}`;
}

/** The video behind a link, without any request; undefined if the link is not the site's. */
export function matchVideo(url: URL): LinkMatch {
  const short = SHORT_HOSTS.has(url.hostname);
  if (!short && !isSite(url.hostname)) return undefined;
  if (!isPlainUrl(url)) return undefined;
  const segments = pathSegments(url);
  const id = short ? (segments[0]?.split('&', 1)[0] ?? url.searchParams.get('v')) : idOnSite(url, segments);
  if (id && VIDEO_ID.test(id)) return { kind: 'video', id, url: canonicalUrl(id) };
  return { unsupported: kindOf(segments, id) };
}

function isSite(hostname: string): boolean {
  const [site, subdomain = ''] = SITE_HOST.exec(hostname) ?? [];
  return hostname === 'youtube.googleapis.com' || (site !== undefined && !OTHER_SUBDOMAINS.has(subdomain));
}

function idOnSite(url: URL, segments: readonly string[]): string | null | undefined {
  const [first = '', second] = segments;
  if (first === 'attribution_link') return idOfAttribution(url);
  if (second !== undefined && ITEM_PATHS.has(first)) {
    // Old embed URLs have parameters after an ampersand.
    return EMBED_NAMES.has(second) ? undefined : second.split('&', 1)[0];
  }
  if (!QUERY_PATHS.has(first) || segments.length > 1) return undefined;
  return url.searchParams.get('v');
}

/** `attribution_link?u=/watch?v=…`: the inner URL is of the same host. */
function idOfAttribution(url: URL): string | null | undefined {
  const target = url.searchParams.get('u');
  if (!target?.startsWith('/') || target.startsWith('//') || !URL.canParse(target, url.origin)) return undefined;
  const inner = new URL(target, url.origin);
  const segments = pathSegments(inner);
  return inner.host === url.host && segments[0] !== 'attribution_link' ? idOnSite(inner, segments) : undefined;
}

function kindOf(segments: readonly string[], id: string | null | undefined): string {
  const first = segments[0] ?? '';
  if (id) return 'a link with a malformed video id (11 letters, digits, - or _ are one)';
  if (first.startsWith('@')) return 'a channel';
  if (first === '') return 'the home page';
  return kindOfPage(KINDS, first) ?? 'another page of the site';
}
