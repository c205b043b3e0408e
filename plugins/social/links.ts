/*
 * Recognizes Facebook links without a request, in more than forty forms. Reels and videos stay different kinds, because
 * their pages have different data. A post may have an opaque alias instead of a number; visitors get different aliases
 * of one post. An address inside another one, as in plugins, share dialogs and logins, is unwrapped one level deep and
 * only if it is of the site. Names of profiles are distinguished from the site's own paths by a list, which also names
 * pages that are refused.
 */

import { isPlainUrl, kindOfPage, type LinkMatch, type LinkRef, pathSegments } from 'mediagate/plugin';

const SITE = 'https://www.facebook.com';

const NUMBER = /^\d{5,20}$/;
/** Opaque alias of a post; visitors get different ones. */
const ALIAS = /^pfbid[A-Za-z0-9]{16,150}$/;
const SHARE_CODE = /^[A-Za-z0-9_-]{4,40}$/;
/** Kinds of share links that lead to items: posts, videos and reels. Others lead to groups, events and the like. */
const SHARE_KIND = /^(?:[pvr]|reel)$/;

/** The number of a version of the API, before the path of a plugin. */
const VERSION = /^v\d{1,3}\.\d{1,3}$/;

/** Path of a page that leads to another address → the parameter that has the address. */
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

/** Link forms that are accepted, for the capabilities list and the docs. */
export const LINK_FORMS = [
  'https://www.facebook.com/{user}/posts/{id}',
  'https://www.facebook.com/{user}/posts/{slug}-{id}',
  'https://www.facebook.com/{user}/posts/{slug}/{id}',
  'https://www.facebook.com/permalink.php?story_fbid={id}&id={user}',
  'https://m.facebook.com/story.php?story_fbid={id}&id={user}',
  'https://www.facebook.com/profile.php?id={user}&story_fbid={id}',
  'https://www.facebook.com/groups/{group}/posts/{id}',
  'https://www.facebook.com/groups/{group}/permalink/{id}',
  'https://www.facebook.com/groups/{group}/?multi_permalinks={id}',
  'https://www.facebook.com/pages/{name}/{user}/posts/{id}',
  'https://www.facebook.com/people/{name}/{user}/posts/{id}',
  'https://www.facebook.com/pg/{user}/posts/{id}',
  'https://www.facebook.com/pg/{user}/videos/{id}',
  'https://www.facebook.com/p/{name}-{user}/posts/{id}',
  'https://www.facebook.com/p/{name}-{user}/videos/{id}',
  'https://www.facebook.com/{user}_{id}',
  'https://www.facebook.com/photo/?fbid={id}',
  'https://www.facebook.com/photo.php?fbid={id}',
  'https://www.facebook.com/photo/{id}',
  'https://www.facebook.com/{user}/photos/{id}',
  'https://www.facebook.com/{user}/photos/{set}/{id}',
  'https://www.facebook.com/media/set/?set=pcb.{id}',
  'https://www.facebook.com/reel/{id}',
  'https://www.facebook.com/reel/?v={id}',
  'https://www.facebook.com/{user}/reels/{id}',
  'https://www.facebook.com/watch/?v={id}',
  'https://www.facebook.com/watch/live/?v={id}',
  'https://www.facebook.com/watch/live/{id}',
  'https://www.facebook.com/video.php?v={id}',
  'https://www.facebook.com/video/embed?video_id={id}',
  'https://www.facebook.com/videos/{id}',
  'https://www.facebook.com/{user}/videos/{id}',
  'https://www.facebook.com/{user}/videos/{slug}/{id}',
  'https://www.facebook.com/plugins/video.php?href={link}',
  'https://www.facebook.com/plugins/post.php?href={link}',
  'https://www.facebook.com/v{version}/plugins/video.php?href={link}',
  'https://www.facebook.com/share/{code}',
  'https://www.facebook.com/share/p/{code}',
  'https://www.facebook.com/share/v/{code}',
  'https://www.facebook.com/share/r/{code}',
  'https://www.facebook.com/share/reel/{code}',
  'https://m.facebook.com/{user}/posts/{id}',
  'https://mbasic.facebook.com/story.php?story_fbid={id}&id={user}',
  'https://{language}.facebook.com/{user}/posts/{id}',
  'https://fb.watch/{code}',
  'https://fb.watch/v/{code}',
] as const;

/** The subdomains are those of the site itself, and interface languages (`de-de`, `zh-hk`, `fr`). */
const SITE_HOST =
  /^(?:(?!lm\.)(?:www|web|m|mbasic|touch|mobile|free|lite|d|p|x|beta|business|[a-z]{2}|[a-z]{2,3}-[a-z]{2})\.)?(?:facebook|fb)\.com$/;
/** Hosts that only redirect to the address in their query. */
const REDIRECT_HOST = /^lm?\.(?:facebook|fb)\.com$/;
const SHORT_HOST = /^(?:www\.)?fb\.(?:watch|me|gg)$/;

/** The item of a link, without any request; undefined if the link is not the site's. */
export function matchItem(url: URL): LinkMatch {
  if (!isOwnHost(url) && !(isPlainUrl(url) && REDIRECT_HOST.test(url.hostname))) return undefined;
  return linkOf(url) ?? wrapped(url) ?? { unsupported: kindOf(pathSegments(url)) };
}

/** The item that an address or path of the site names itself; undefined for everything else. */
export function itemAt(address: string | undefined): LinkRef | undefined {
  const url = siteUrlOf(address);
  const link = url && isPlainUrl(url) ? itemOf(url) : undefined;
  return link?.kind === 'short_link' ? undefined : link;
}

/** Whether a URL is one of the site itself or of one of its short link hosts. */
export function isOwnHost(url: URL): boolean {
  return isPlainUrl(url) && (SHORT_HOST.test(url.hostname) || SITE_HOST.test(url.hostname));
}

function siteUrlOf(address: string | undefined): URL | undefined {
  const url = address === undefined ? null : URL.parse(address, SITE);
  return url && SITE_HOST.test(url.hostname) ? url : undefined;
}

export function isAlias(id: string): boolean {
  return ALIAS.test(id);
}

/** The user name in the address of a profile; undefined for numbers and for the site's own paths. */
export function usernameIn(address: string | undefined): string | undefined {
  const url = siteUrlOf(address);
  const [first = ''] = url ? pathSegments(url) : [];
  const isName = /^[A-Za-z0-9.]{3,60}$/.test(first) && !/^\d+$|\.php$/.test(first);
  return isName && !Object.hasOwn(KINDS, first) ? first : undefined;
}

/** The item or short link that the address is itself. */
function linkOf(url: URL): LinkRef | undefined {
  const { hostname } = url;
  return SHORT_HOST.test(hostname)
    ? shareLink(`https://${hostname.replace(/^www\./, '')}`, pathSegments(url))
    : itemOf(url);
}

function shareLink(base: string, segments: readonly string[]): LinkRef | undefined {
  const isKnown = segments.length === 1 || (segments.length === 2 && SHARE_KIND.test(segments[0] ?? ''));
  const code = isKnown ? segments.at(-1) : undefined;
  return code && SHARE_CODE.test(code)
    ? { kind: 'short_link', id: code, url: `${base}/${segments.join('/')}/` }
    : undefined;
}

/** The item of an address that is a parameter of another; of this site only, and one level deep. */
function wrapped(url: URL): LinkRef | undefined {
  const segments = pathSegments(url);
  const path = segments
    .slice(VERSION.test(segments[0] ?? '') ? 1 : 0)
    .join('/')
    .toLowerCase();
  const parameter = Object.hasOwn(WRAPPERS, path) ? WRAPPERS[path] : undefined;
  const address = parameter === undefined ? null : url.searchParams.get(parameter);
  // Plugins also name an item by its path.
  const inner = address ? URL.parse(address, /^\/(?!\/)/.test(address) ? SITE : undefined) : null;
  return inner && isOwnHost(inner) ? linkOf(inner) : undefined;
}

function itemOf(url: URL): LinkRef | undefined {
  const segments = pathSegments(url);
  const first = segments[0]?.toLowerCase() ?? '';
  const query = (name: string) => url.searchParams.get(name) ?? undefined;
  switch (first) {
    case 'watch':
      return numbered('video', query('v') ?? (isWatched(segments) ? segments.at(-1) : undefined));
    case 'videos':
      return segments.length > 3 ? undefined : numbered('video', segments.at(-1));
    case 'video.php':
      return numbered('video', query('v'));
    case 'video':
      return numbered('video', query('v') ?? query('video_id'));
    case 'reel':
    case 'reels':
      return numbered('reel', segments[1] ?? query('v'));
    case 'photo':
    case 'photo.php':
      return (
        numbered('photo', query('fbid')) ??
        numbered('video', query('v')) ??
        (segments.length === 2 ? numbered('photo', segments[1]) : undefined)
      );
    case 'photos':
      return numbered('photo', query('photo') ?? segments.at(-1));
    case 'permalink.php':
    case 'story.php':
    case 'profile.php':
      return post(query('id'), query('story_fbid'));
    case 'media':
      // The set of the pictures of one post has its id; an album (`a.`) is not one item.
      return numbered('set', /^pcb\.(\d+)$/.exec(query('set') ?? '')?.[1]);
    case 'groups': {
      const [, group, section, ...rest] = segments;
      const listed = query('multi_permalinks')?.split(',', 1)[0];
      const inQuery = listed ?? (query('view') === 'permalink' ? query('id') : undefined);
      return post(group, section === 'posts' || section === 'permalink' ? withoutSlug(rest.at(-1)) : inQuery, true);
    }
    case 'share':
      return shareLink(`${SITE}/share`, segments.slice(1));
    case 'pg':
      return ofProfile(segments.slice(1));
    case 'p':
    case 'pages':
    case 'people':
      return ofPage(segments);
    default:
      return ofProfile(segments);
  }
}

/** `watch/{id}` and `watch/live/{id}`; other words are names of pages. */
function isWatched(segments: readonly string[]): boolean {
  return segments.length === 2 || (segments.length === 3 && segments[1]?.toLowerCase() === 'live');
}

/** `p/{name}-{id}/…`, `pages/{name}/{id}/…` and `pages/category/{category}/{name}-{id}/…`. */
function ofPage(segments: readonly string[]): LinkRef | undefined {
  const at = segments.findIndex((segment) => /^(?:posts|videos|photos|reels|activity)$/i.test(segment));
  const owner = at > 1 && at < 5 ? /(?:^|-)(\d{5,20})$/.exec(segments[at - 1] ?? '')?.[1] : undefined;
  return owner === undefined ? undefined : ofProfile([owner, ...segments.slice(at)]);
}

/** The id at the end of words that the site puts before it. */
function withoutSlug(text: string | undefined): string | undefined {
  return /-(\d{5,20}|pfbid[A-Za-z0-9]{16,150})$/.exec(text ?? '')?.[1] ?? text;
}

/** The item of a link that begins with the name of a profile. */
function ofProfile(segments: readonly string[]): LinkRef | undefined {
  const [owner, section, ...rest] = segments;
  const last = rest.at(-1);
  if (!owner || Object.hasOwn(KINDS, owner.toLowerCase()) || /\.php$/i.test(owner)) return undefined;
  // The platform's API names a post by its author and its id.
  const both = section === undefined ? /^(\d{5,20})_(\d{5,20})$/.exec(owner) : null;
  if (both) return post(both[1], both[2]);
  switch (section?.toLowerCase()) {
    case 'posts':
    case 'activity':
      return post(owner, withoutSlug(last));
    case 'videos':
    case 'live_videos':
      return numbered('video', withoutSlug(last));
    case 'reel':
    case 'reels':
      return numbered('reel', last);
    case 'photos':
      return numbered('photo', last);
    default:
      return undefined;
  }
}

const PATHS = { video: '/watch/?v=', reel: '/reel/', photo: '/photo/?fbid=', set: '/media/set/?set=pcb.' } as const;

function numbered(form: keyof typeof PATHS, id: string | undefined): LinkRef | undefined {
  const kind = form === 'video' || form === 'reel' ? form : 'post';
  return id && NUMBER.test(id) ? { kind, id, url: `${SITE}${PATHS[form]}${id}` } : undefined;
}

/** @param owner The name of a profile, or of a group; other scripts than Latin are encoded. */
function post(owner: string | undefined, given: string | undefined, isGroup = false): LinkRef | undefined {
  // Old links number the parts of a post after a colon.
  const id = given?.split(':', 1)[0];
  if (!id || !(NUMBER.test(id) || isAlias(id))) return undefined;
  if (!owner || !/^[A-Za-z0-9._%-]{1,200}$/.test(owner) || /%(?:2f|5c|00)/i.test(owner)) return undefined;
  const path = isGroup ? `groups/${owner}/permalink/${id}/` : `${owner}/posts/${id}`;
  return { kind: 'post', id, url: `${SITE}/${path}` };
}

/** First segment of a path that is no item, without `.php` → what it is. */
const KINDS: Readonly<Record<string, string>> = {
  ads: 'an advertisement',
  accounts: 'an account page',
  ajax: 'an internal address of the site',
  dialog: 'a dialog',
  events: 'an event',
  gaming: 'a gaming page',
  groups: 'a group',
  hashtag: 'a hashtag',
  help: 'a help page',
  l: 'a redirect to another site',
  checkpoint: 'an account check',
  login: 'the login page',
  plugins: 'a page for other sites that shows no item',
  marketplace: 'a marketplace page',
  media: 'an album',
  messages: 'a conversation',
  notes: 'a note',
  p: 'a profile',
  pages: 'a profile',
  people: 'a profile',
  pg: 'a profile',
  photo: 'a list of photos',
  photos: 'a list of photos',
  profile: 'a profile',
  public: 'a search',
  reel: 'a list of reels',
  reels: 'a list of reels',
  search: 'a search',
  share: 'a share link without a code',
  sharer: 'a dialog',
  stories: 'a story, which only signed-in users can see',
  video: 'a list of videos',
  videos: 'a list of videos',
  watch: 'a list of videos',
  watchparty: 'a watch party',
};

/** The kind of a link of the site that is not an item. */
function kindOf([first = '', second = '', third]: readonly string[]): string {
  const name = first.toLowerCase().replace(/\.php$/, '');
  if (name === '') return 'the home page';
  if (name === 'share' && third !== undefined) return 'a share link of another kind than a post, video or reel';
  const known = kindOfPage(KINDS, name);
  if (known !== undefined) return known;
  if (second === '') return 'a profile';
  if (/^(?:about\w*|avatar|info|friends|followers|following|directory)$/i.test(second)) return 'a profile';
  return /^(?:videos|photos\w*|posts|reels|live_videos|events|groups|reviews|mentions)$/i.test(second)
    ? 'a list of a profile'
    : 'another page of the site';
}
