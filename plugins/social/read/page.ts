/*
 * Reads a page of the requested item from four sources, best first: query results in scripts, linked data, old scripts,
 * and tags. Tags and data without ids count only if the page as a whole is about the item, by its addresses or its
 * route. An alias is translated to the number that the page states; a page may show the post under a third alias. Tags
 * repeat pictures in smaller sizes, which are dropped if others are there. If nothing is found, the page is classified:
 * login, another item, or a changed layout.
 */

import type { Failure, ItemCall, LinkRef, Outcome, PartialPost } from 'mediagate/plugin';
import { isAlias, itemAt } from '../links.js';
import { parseMessage, parsePlugin } from './embed.js';
import { parseLinkedData, parsePublishTime, parseScript, parseStoryAuthor } from './older/pages.js';
import { type PageParts, type PageReply, takeApart } from './parts.js';
import { parseRelay } from './post.js';
import { firstValue, readRelayPage } from './relay.js';
import { isLoginForm, readPageState, type SiteConfig, stateOfRest } from './state.js';
import { isCut, parseTags } from './tags.js';

type PostOutcome = Outcome<readonly PartialPost[]>;

/** Reads a page of the item: its query results first, then linked data, scripts and tags. */
export function readPage(reply: PageReply, link: LinkRef, siteConfig: SiteConfig): PostOutcome {
  const page = takeApart(reply.html);
  const state = readPageState(reply, page, siteConfig);
  if (state) return state;

  // The site may redirect a post to the video, reel or photo in it.
  const moved = link.kind === 'post' ? itemAt(reply.url.href)?.id : undefined;
  const aboutItem = isAboutItem(page, link.id, moved);
  // An alias stands for a number, which the page has if it is about the item.
  const numeric = !isAlias(link.id) ? link.id : aboutItem ? numberOf(page) : undefined;
  // A page may show the post under another alias than the link. Then its number is searched for.
  const names = [...new Set([link.id, numeric, moved])].filter((id) => id !== undefined);
  const relay = firstValue(names, (id) => {
    const results = readRelayPage(page.scripts, siteConfig.markers.relay);
    return parseRelay(results, id, aboutItem, siteConfig);
  });
  const extracted: PartialPost[] = [];
  if (relay) extracted.push(relay.post);
  extracted.push(...parseLinkedData(page.linkedData, link.id, aboutItem));
  const script = parseScript(page.code, numeric ?? link.id);
  if (script) extracted.push(script);
  const isLogin = isLoginForm(page.tags, siteConfig);
  if (aboutItem && !isLogin) extracted.push(withoutRepeats(tagsPart(page, link, numeric, siteConfig), extracted));
  if (extracted.length === 0) {
    return isLogin
      ? { kind: 'definitive', code: 'login_required', reason: page.tags.title ?? 'a login form' }
      : nothingFound(page, link, siteConfig);
  }
  const isDated = extracted.some(({ common }) => common?.published_at);
  if (!isDated) extracted.push({ common: { published_at: parsePublishTime(page.html, numeric ?? link.id) } });
  if (numeric && numeric !== link.id) extracted.push({ ids: { post_id: numeric } });
  return { kind: 'found', found: extracted, limitations: relay?.limitations };
}

/**
 * Reads the page that other sites embed. Not every item may be embedded, so a refusal says nothing of the item itself.
 */
export function readEmbedPage(reply: PageReply, { id }: LinkRef, siteConfig: SiteConfig): Outcome<PartialPost> {
  const state = readPageState(reply, takeApart(reply.html), siteConfig);
  if (state?.kind === 'transient') return state;
  const post = state ? undefined : parsePlugin(reply.html, id);
  if (post) return { kind: 'found', found: post };
  const reason = state?.reason ?? 'the page for embedding does not show the item';
  return { kind: 'transient', code: 'upstream_refused', reason };
}

/** Whether a method found that the item is restricted by age, which it is on all pages. */
export function isAgeRestricted(outcomes: ItemCall<PartialPost>['outcomes']): boolean {
  return [...outcomes.values()].some((outcome) => outcome.kind === 'definitive' && outcome.code === 'age_restricted');
}

function tagsPart(
  page: PageParts,
  { kind, id, url }: LinkRef,
  numeric: string | undefined,
  siteConfig: SiteConfig,
): PartialPost {
  const { tags } = page;
  return parseTags(tags, {
    siteConfig,
    inGroup: url.includes('/groups/') || (tags.addresses[0]?.includes('/groups/') ?? false),
    isVideo: kind !== 'post',
    isPhoto: new URL(url).pathname === '/photo/',
    authorId: authorIdOf(page, numeric ?? id),
    message: tags.description && isCut(tags.description) ? parseMessage(page.markup) : undefined,
  });
}

/** The tags show the same pictures and files again, smaller ones under other addresses. */
function withoutRepeats(tags: PartialPost, extracted: readonly PartialPost[]): PartialPost {
  const { image_urls = [], video_urls = [], entries = [] } = tags.media ?? {};
  const has = (name: 'image_urls' | 'video_urls') => extracted.some(({ media }) => media?.[name]?.length);
  const [hasImages, hasVideos] = [has('image_urls'), has('video_urls')];
  return {
    ...tags,
    media: {
      image_urls: hasImages ? [] : image_urls,
      video_urls: hasVideos ? [] : video_urls,
      entries: entries.filter(({ kind }) => (kind === 'image' ? !hasImages : !hasVideos)),
    },
  };
}

function nothingFound(page: PageParts, { id, url }: LinkRef, siteConfig: SiteConfig): Failure {
  const [address = ''] = page.tags.addresses;
  const isGroup = /^https:\/\/[\w-]+\.facebook\.com\/groups\/[^/?#]+\/?(?:[?#]|$)/.test(address);
  if (isGroup && url.includes('/groups/')) {
    return { kind: 'definitive', code: 'login_required', reason: 'the page of the group in place of the post' };
  }
  if (itemsOf(page).some((item) => item.id !== id)) {
    return { kind: 'transient', code: 'upstream_refused', reason: 'a page about another item' };
  }
  const state = stateOfRest(page, siteConfig);
  if (state) return state;
  const isPage = /<html[\s>]/i.test(page.html.slice(0, 2_000));
  return isPage
    ? { kind: 'transient', code: 'upstream_changed', reason: 'no data of the item in the page' }
    : { kind: 'transient', code: 'upstream_refused', reason: 'something else than a page' };
}

/** The items that the addresses of a page name. */
function itemsOf({ tags }: PageParts): LinkRef[] {
  return tags.addresses.flatMap((address) => itemAt(address) ?? []);
}

/** Whether the page as a whole is about the item, by its addresses or its route. */
function isAboutItem(page: PageParts, id: string, moved: string | undefined): boolean {
  const { html, route } = page;
  const items = itemsOf(page);
  if (items.some((item) => item.id === id || item.id === moved) || route.subjects.has(id)) return true;
  // The number in the route counts if the addresses name no other.
  if (items.every((item) => isAlias(item.id)) && route.story?.posts.includes(id)) return true;
  if (!isAlias(id) || items.length === 0) return false;
  if (isLoginTarget(html, id)) return true;
  // The page has the number in place of an alias, except in a link to another form of the page.
  const end = html.indexOf('</head');
  return html.slice(0, end < 0 ? 100_000 : end).includes(id);
}

/** Maximum characters of a tag on either side of an alias. */
const REACH = 2_000;

/** Whether the page links to a login that returns to this alias. Then the alias is the one that was requested. */
function isLoginTarget(html: string, alias: string): boolean {
  for (let place = html.indexOf(alias); place >= 0; place = html.indexOf(alias, place + alias.length)) {
    const before = html.slice(Math.max(0, place - REACH), place);
    const tag = before.slice(before.lastIndexOf('<') + 1);
    const [rest] = html.slice(place, place + REACH).split('>', 1);
    if (tag.startsWith('input') ? `${tag}${rest}`.includes('name="next"') : /[?;&]next=https?%3A/i.test(tag))
      return true;
  }
  return false;
}

/** The number of the item in a page about it. */
function numberOf(page: PageParts): string | undefined {
  const named = itemsOf(page).find(({ id }) => !isAlias(id));
  return named?.id ?? page.route.story?.posts.at(-1);
}

/** Numeric id of the author, from the page's route, an old script or its address. */
function authorIdOf({ tags, route, code }: PageParts, id: string): string | undefined {
  const { story } = route;
  if (story && (isAlias(id) || story.posts.includes(id))) return story.author;
  // The addresses of profiles without a user name have a number in its place.
  const owner = /^https:\/\/www\.facebook\.com\/(\d{5,20})\/(?:posts|videos|photos)\//.exec(tags.addresses[0] ?? '');
  return parseStoryAuthor(code, id) ?? owner?.[1];
}
