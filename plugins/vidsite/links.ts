/*
 * Recognizes YouTube links without a request: videos in all path and query forms, on all subdomains of the site that
 * have videos. A clip and a channel's current broadcast become short links that `resolve` follows; a broadcast link is
 * marked as one whose target moves. The URL inside an attribution link is read only if it is of the same host.
 * Look-alike hosts in Punycode do not match. Channels, playlists and other pages are refused by name, and an id of the
 * wrong length says what is wrong with it.
 */

import { isPlainUrl, kindOfPage, type LinkMatch, type LinkRef, pathSegments } from 'mediagate/plugin';

const VIDEO_ID = /^[0-9A-Za-z_-]{11}$/;
/** Hosts whose path is the id. */
const SHORT_HOSTS: ReadonlySet<string> = new Set(['youtu.be', 'www.youtu.be', 'y2u.be', 'www.y2u.be']);
/** The site, with any subdomain (www, m, music, gaming …). None has a hyphen, but look-alikes in Punycode do. */
const SITE_HOST = /^(?:([a-z][a-z0-9]{0,15})\.)?(?:youtube|youtube-nocookie|youtubekids)\.com$/;
/** Subdomains without videos. */
const OTHER_SUBDOMAINS: ReadonlySet<string> = new Set(['consent', 'accounts', 'studio', 'developers', 'support', 'tv']);

/** First segment of paths whose second segment is a video's id. */
const ITEM_PATHS: ReadonlySet<string> = new Set(['watch', 'shorts', 'live', 'embed', 'v', 'e', 'w']);
const QUERY_PATHS: ReadonlySet<string> = new Set([
  '',
  'watch',
  'watch.php',
  'watch_popup',
  'movie',
  'movie_popup',
  'embed',
  'ytscreeningroom',
  'live_chat',
  'live_chat_replay',
]);
/** Words in the place of an embedded video's id. */
const EMBED_NAMES: ReadonlySet<string> = new Set(['videoseries', 'live_stream']);
const CLIP_ID = /^Ug[A-Za-z0-9_-]{6,60}$/;
const CHANNEL_ID = /^UC[A-Za-z0-9_-]{22}$/;
/** A handle, or an older name of a channel; those in other scripts are encoded. */
const CHANNEL_NAME = /^@?(?:[\w.·-]|%[0-9a-f]{2}){2,200}$/i;
const CHANNEL_TABS =
  /^(?:featured|home|videos|shorts|streams|playlists|community|posts|channels|about|podcasts|releases|store|search|courses|letsplay)$/;

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
  clip: 'a link of a clip without its id',
  browse: 'a page of an artist, album or list',
  search: 'a search',
  course: 'a playlist',
  podcast: 'a playlist',
  signin: 'the login page',
  news: 'a topic page',
  movies: 'a topic page',
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
  'https://www.youtube.com/v/{id}',
  'https://www.youtube.com/e/{id}',
  'https://www.youtube.com/watch/{id}',
  'https://www.youtube.com/watch_popup?v={id}',
  'https://www.youtube.com/attribution_link?u=/watch?v={id}',
  'https://m.youtube.com/watch?v={id}',
  'https://music.youtube.com/watch?v={id}',
  'https://gaming.youtube.com/watch?v={id}',
  'https://www.youtubekids.com/watch?v={id}',
  'https://www.youtube-nocookie.com/embed/{id}',
  'https://youtu.be/shorts/{id}',
  'https://youtu.be/live/{id}',
  'https://www.youtube.com/clip/{clip}',
  'https://www.youtube.com/@{handle}/live',
  'https://www.youtube.com/channel/{channel}/live',
  'https://www.youtube.com/c/{name}/live',
  'https://www.youtube.com/user/{name}/live',
  'https://www.youtube.com/{name}/live',
  'https://www.youtube.com/embed/live_stream?channel={channel}',
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
  const id = short ? idOnShortHost(url, segments) : idOnSite(url, segments);
  if (id && VIDEO_ID.test(id)) return { kind: 'video', id, url: canonicalUrl(id) };
  return shortLink(url, segments) ?? { unsupported: kindOf(segments, id) };
}

/** What `resolve` turns into a video: a clip, or what a channel broadcasts now. */
function shortLink(url: URL, segments: readonly string[]): LinkRef | undefined {
  const [first = '', second = ''] = segments;
  if (first === 'clip' && CLIP_ID.test(second)) {
    return { kind: 'short_link', id: second, url: `https://www.youtube.com/clip/${second}` };
  }
  const channel = channelPath(url, segments);
  if (!channel) return undefined;
  const id = channel.slice(channel.lastIndexOf('/') + 1);
  return { kind: 'short_link', id, url: `https://www.youtube.com/${channel}/live`, moves: true };
}

/** The path of the channel whose broadcast a link leads to. */
function channelPath(url: URL, segments: readonly string[]): string | undefined {
  const [first = '', second = '', third = ''] = segments;
  const id = url.searchParams.get('channel') ?? '';
  if (first === 'embed' && second === 'live_stream') return CHANNEL_ID.test(id) ? `channel/${id}` : undefined;
  if (second === 'live' && segments.length === 2) {
    const isName = CHANNEL_NAME.test(first) && !Object.hasOwn(KINDS, first) && !ITEM_PATHS.has(first);
    return isName && !QUERY_PATHS.has(first) ? first : undefined;
  }
  if (third !== 'live' || segments.length !== 3) return undefined;
  if (first === 'channel') return CHANNEL_ID.test(second) ? `channel/${second}` : undefined;
  return (first === 'c' || first === 'user') && CHANNEL_NAME.test(second) ? `${first}/${second}` : undefined;
}

/** `youtu.be/{id}`, and the site's own paths behind the short host. */
function idOnShortHost(url: URL, segments: readonly string[]): string | null | undefined {
  const [first, second] = segments;
  if (first === undefined || QUERY_PATHS.has(first)) return url.searchParams.get('v') ?? second;
  return (ITEM_PATHS.has(first) ? second : first)?.split('&', 1)[0];
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
  if (first.startsWith('@')) return 'a channel';
  if (id) return 'a link with a malformed video id (11 letters, digits, - or _ are one)';
  if (first === '') return 'the home page';
  const known = kindOfPage(KINDS, first);
  if (known !== undefined) return known;
  if (QUERY_PATHS.has(first) || ITEM_PATHS.has(first)) return 'a link of a video without its id';
  if (CHANNEL_TABS.test(segments[1] ?? '')) return 'a channel';
  return segments.length === 1 ? 'a channel or another page of the site' : 'another page of the site';
}
