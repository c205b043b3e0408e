import type { LinkMatch, LinkRef } from 'mediagate';

const NUMBER = /^\d{5,20}$/;
/** Opaque alias of a post; which one a visitor is shown depends on who looks. */
const ALIAS = /^pfbid[A-Za-z0-9]{16,150}$/;
const SHARE_CODE = /^[A-Za-z0-9_-]{4,40}$/;
/** Kinds of share links that lead to items: posts, videos and reels. Others lead to groups, events and the like. */
const SHARE_KIND = /^[pvr]$/;

/** Path of a page that stands around another link → the parameter that holds it. */
const WRAPPERS: Readonly<Record<string, string>> = {
  'l.php': 'u',
  'flx/warn': 'u',
  'plugins/video.php': 'href',
  'plugins/post.php': 'href',
  'video/embed/video.php': 'href',
  sharer: 'u',
  'sharer.php': 'u',
  'sharer/sharer.php': 'u',
  'dialog/share': 'href',
  login: 'next',
  'login.php': 'next',
};

/** Link forms that are accepted, for the capabilities list and README. */
export const LINK_FORMS = [
  'https://www.facebook.com/{user}/posts/{id}',
  'https://www.facebook.com/permalink.php?story_fbid={id}&id={user}',
  'https://m.facebook.com/story.php?story_fbid={id}&id={user}',
  'https://www.facebook.com/groups/{group}/posts/{id}',
  'https://www.facebook.com/photo/?fbid={id}',
  'https://www.facebook.com/{user}/photos/{set}/{id}',
  'https://www.facebook.com/reel/{id}',
  'https://www.facebook.com/watch/?v={id}',
  'https://www.facebook.com/{user}/videos/{id}',
  'https://www.facebook.com/share/p/{code}',
  'https://www.facebook.com/share/v/{code}',
  'https://www.facebook.com/share/r/{code}',
  'https://fb.watch/{code}',
] as const;

/** The item behind a link, without any request; undefined if the link is not the site's. */
export function matchItem(url: URL): LinkMatch {
  if (!isPlainWebLink(url)) return undefined;
  const short = SHORT_HOSTS.has(url.hostname);
  const name = siteName(url.hostname);
  const leading = name !== undefined && LEADING_NAMES.has(name);
  if (!short && !leading && !isSiteName(name)) return undefined;
  const link = short ? shortLink(url) : (itemOf(url) ?? wrapped(url));
  return link ?? { unsupported: kindOf(segmentsOf(url)) };
}

/** The item a link names, where it does so itself; undefined for everything else, be it malformed or foreign. */
export function itemAt(address: string | undefined): LinkRef | undefined {
  const url = address === undefined ? null : URL.parse(address, 'https://www.facebook.com/');
  if (!url || !isPlainWebLink(url) || !isSiteName(siteName(url.hostname))) return undefined;
  const link = itemOf(url);
  return link?.kind === 'short_link' ? undefined : link;
}

export function isAlias(id: string): boolean {
  return ALIAS.test(id);
}

/** A profile's own name in an address of its; undefined for numbers and for paths that are nobody's name. */
export function usernameIn(address: string | undefined): string | undefined {
  const url = address === undefined ? null : URL.parse(address, 'https://www.facebook.com/');
  if (!url || !isSiteName(siteName(url.hostname))) return undefined;
  const [first = ''] = segmentsOf(url);
  return /^[A-Za-z0-9.]{3,60}$/.test(first) &&
    !/^\d+$/.test(first) &&
    !first.endsWith('.php') &&
    !Object.hasOwn(KINDS, first)
    ? first
    : undefined;
}

function segmentsOf(url: URL): string[] {
  return url.pathname.split('/').filter((segment) => segment !== '');
}

function shortLink(url: URL): LinkRef | undefined {
  const segments = segmentsOf(url);
  const plain = segments.length === 1 || (segments.length === 2 && SHARE_KIND.test(segments[0] ?? ''));
  const code = plain ? segments.at(-1) : undefined;
  if (!code || !SHARE_CODE.test(code)) return undefined;
  const host = url.hostname.replace(/^www\./, '');
  return { kind: 'short_link', id: code, url: `https://${host}/${segments.join('/')}/` };
}

/** An address that is given as the parameter of another; unwrapped once, and of this site only. */
function wrapped(url: URL): LinkRef | undefined {
  const path = segmentsOf(url).join('/').toLowerCase();
  const parameter = Object.hasOwn(WRAPPERS, path) ? WRAPPERS[path] : undefined;
  const inner = parameter === undefined ? null : URL.parse(url.searchParams.get(parameter) ?? '');
  if (!inner || !isPlainWebLink(inner)) return undefined;
  if (SHORT_HOSTS.has(inner.hostname)) return shortLink(inner);
  return isSiteName(siteName(inner.hostname)) ? itemOf(inner) : undefined;
}

function itemOf(url: URL): LinkRef | undefined {
  const segments = segmentsOf(url);
  const first = segments[0]?.toLowerCase() ?? '';
  const query = (name: string) => url.searchParams.get(name) ?? undefined;
  switch (first) {
    case 'watch':
      return video(query('v') ?? (segments.length === 2 ? segments[1] : undefined));
    case 'video.php':
      return video(query('v'));
    case 'video':
      return video(query('v') ?? query('video_id'));
    case 'reel':
    case 'reels':
      return reel(segments[1]);
    case 'photo':
    case 'photo.php':
      return photo(query('fbid')) ?? video(query('v'));
    case 'photos':
      return photo(query('photo') ?? segments.at(-1));
    case 'permalink.php':
    case 'story.php':
      return post(query('id'), query('story_fbid'));
    case 'media':
      return photoSet(query('set'));
    case 'groups':
      return groupPost(
        segments,
        query('multi_permalinks')?.split(',', 1)[0] ?? (query('view') === 'permalink' ? query('id') : undefined),
      );
    case 'share':
      return shareLink(segments.slice(1));
    default:
      return ofProfile(segments);
  }
}

/** Links that begin with a profile's name. */
function ofProfile(segments: readonly string[]): LinkRef | undefined {
  const [owner, section, ...rest] = segments;
  const last = rest.at(-1);
  if (!owner || Object.hasOwn(KINDS, owner.toLowerCase()) || /\.php$/i.test(owner)) return undefined;
  // As the platform's API names a post: its author and the post.
  const both = section === undefined ? /^(\d{5,20})_(\d{5,20})$/.exec(owner) : null;
  if (both) return post(both[1], both[2]);
  switch (section?.toLowerCase()) {
    case 'posts':
    case 'activity':
      return post(owner, last);
    case 'videos':
    case 'live_videos':
      return video(last);
    case 'reel':
    case 'reels':
      return reel(last);
    case 'photos':
      return photo(last);
    default:
      return undefined;
  }
}

function video(id: string | undefined): LinkRef | undefined {
  return id && NUMBER.test(id) ? { kind: 'video', id, url: `https://www.facebook.com/watch/?v=${id}` } : undefined;
}

function reel(id: string | undefined): LinkRef | undefined {
  return id && NUMBER.test(id) ? { kind: 'reel', id, url: `https://www.facebook.com/reel/${id}` } : undefined;
}

function photo(id: string | undefined): LinkRef | undefined {
  return id && NUMBER.test(id) ? { kind: 'post', id, url: `https://www.facebook.com/photo/?fbid=${id}` } : undefined;
}

function post(owner: string | undefined, given: string | undefined): LinkRef | undefined {
  // Parts of a post were once numbered behind a colon.
  const id = given?.split(':', 1)[0];
  if (!id || !owner || !isPostId(id) || !isName(owner)) return undefined;
  return { kind: 'post', id, url: `https://www.facebook.com/${owner}/posts/${id}` };
}

function groupPost(segments: readonly string[], asked: string | undefined): LinkRef | undefined {
  const [, group, section, ...rest] = segments;
  const id = section === 'posts' || section === 'permalink' ? rest.at(-1) : asked;
  if (!group || !id || !isPostId(id) || !isName(group)) return undefined;
  return { kind: 'post', id, url: `https://www.facebook.com/groups/${group}/permalink/${id}/` };
}

/** The pictures of one post bear its id; an album (`a.`) is not one item. */
function photoSet(set: string | undefined): LinkRef | undefined {
  const id = /^pcb\.(\d{5,20})$/.exec(set ?? '')?.[1];
  return id ? { kind: 'post', id, url: `https://www.facebook.com/media/set/?set=pcb.${id}` } : undefined;
}

function shareLink(segments: readonly string[]): LinkRef | undefined {
  const isKnown = segments.length === 1 || (segments.length === 2 && SHARE_KIND.test(segments[0] ?? ''));
  const code = isKnown ? segments.at(-1) : undefined;
  if (!code || !SHARE_CODE.test(code)) return undefined;
  return { kind: 'short_link', id: code, url: `https://www.facebook.com/share/${segments.join('/')}/` };
}

function isPostId(id: string): boolean {
  return NUMBER.test(id) || ALIAS.test(id);
}

/** Names of profiles and groups are letters, digits, points and hyphens; other scripts come encoded. */
function isName(text: string): boolean {
  return /^[A-Za-z0-9._%-]{1,200}$/.test(text) && !/%(?:2f|5c|00)/i.test(text);
}

const SITE_DOMAINS = ['facebook.com', 'fb.com'] as const;
/** Subdomains that serve the site itself; interface languages (`de-de`, `zh-hk`, `fr`) do as well. */
const SITE_NAMES: ReadonlySet<string> = new Set([
  'www',
  'web',
  'm',
  'mbasic',
  'touch',
  'mobile',
  'free',
  'lite',
  'd',
  'p',
  'x',
  'beta',
  'business',
]);
const LANGUAGE_NAME = /^(?!lm$)(?:[a-z]{2}|[a-z]{2,3}-[a-z]{2})$/;
/** Hosts that only lead on to the address in their query. */
export const LEADING_NAMES: ReadonlySet<string> = new Set(['l', 'lm']);
export const SHORT_HOSTS: ReadonlySet<string> = new Set([
  'fb.watch',
  'www.fb.watch',
  'fb.me',
  'www.fb.me',
  'fb.gg',
  'www.fb.gg',
]);

/** Whether the site itself, or one of its short link hosts, is asked. */
export function isOwnHost(url: URL): boolean {
  return isPlainWebLink(url) && (SHORT_HOSTS.has(url.hostname) || isSiteName(siteName(url.hostname)));
}

/** Over the web, with nothing in it that no public link has. */
export function isPlainWebLink(url: URL): boolean {
  return /^https?:$/.test(url.protocol) && url.port === '' && url.username === '' && url.password === '';
}

/** The subdomain; empty for the bare domain, undefined for other sites. */
export function siteName(hostname: string): string | undefined {
  for (const domain of SITE_DOMAINS) {
    if (hostname === domain) return '';
    if (hostname.endsWith(`.${domain}`)) return hostname.slice(0, -domain.length - 1);
  }
  return undefined;
}

export function isSiteName(name: string | undefined): boolean {
  return name !== undefined && (name === '' || SITE_NAMES.has(name) || LANGUAGE_NAME.test(name));
}

/** First segment of a path that is no item → what it is. */
export const KINDS: Readonly<Record<string, string>> = {
  '': 'the home page',
  ads: 'an advertisement',
  ajax: 'an inner address of the site',
  dialog: 'a dialog',
  events: 'an event',
  gaming: 'a gaming page',
  groups: 'a group',
  hashtag: 'a hashtag',
  help: 'a help page',
  l: 'a redirect to another site',
  'l.php': 'a redirect to another site',
  login: 'the login page',
  'login.php': 'the login page',
  marketplace: 'a marketplace page',
  media: 'an album',
  messages: 'a conversation',
  notes: 'a note',
  p: 'a profile',
  pages: 'a profile',
  people: 'a profile',
  photo: 'a list of photos',
  photos: 'a list of photos',
  'profile.php': 'a profile',
  public: 'a search',
  reel: 'a list of reels',
  reels: 'a list of reels',
  search: 'a search',
  share: 'a share link without a code',
  sharer: 'a dialog',
  'sharer.php': 'a dialog',
  stories: 'a story, which only signed-in users are shown',
  video: 'a list of videos',
  watch: 'a list of videos',
  watchparty: 'a watch party',
};

/** Second segments that make a link of a profile's a list of the profile's. */
const LISTS: ReadonlySet<string> = new Set(['videos', 'photos', 'posts', 'reels', 'live_videos']);

/** What a link of the site is that is not an item, in words. */
export function kindOf(segments: readonly string[]): string {
  const [first = '', second = '', third] = segments;
  const name = first.toLowerCase();
  if (name === 'share' && third !== undefined) return 'a share link of another kind than a post, video or reel';
  const known = Object.hasOwn(KINDS, name) ? KINDS[name] : undefined;
  if (known !== undefined) return known;
  if (segments.length === 1) return 'a profile';
  return LISTS.has(second.toLowerCase()) ? 'a list of a profile' : 'another page of the site';
}
