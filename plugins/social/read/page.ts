import type { Failure, ItemCall, LinkRef, Outcome, PartialPost } from 'mediagate/plugin';
import { isAlias, itemAt } from '../links.js';
import { parseMessage, parsePlugin } from './embed.js';
import { parseLinkedData } from './older/linked-data.js';
import { parsePublishTime, parseScript } from './older/scripts.js';
import { type PageParts, type PageReply, readStoryId, takeApart } from './parts.js';
import { parseRelay, type RelayReading } from './post.js';
import { readRelayPage } from './relay.js';
import { isLoginForm, readPageState, type SiteConfig, stateOfRest } from './state.js';
import { isCut, parseTags } from './tags.js';

type PostOutcome = Outcome<readonly PartialPost[]>;

/** Reads a page of the item: its query results first, then linked data, scripts and tags. */
export function readPage(reply: PageReply, link: LinkRef, siteConfig: SiteConfig): PostOutcome {
  const page = takeApart(reply.html);
  const state = readPageState(reply, page, siteConfig);
  if (state) return state;

  const aboutItem = isAboutItem(reply, page, link);
  const numeric = numberOf(page, { id: link.id, aboutItem });
  // A page may show the post under another alias than the link. Then its number is searched for.
  const names = [...new Set([link.id, numeric, movedTo(reply, link)])].filter((id) => id !== undefined);
  let relay: RelayReading | undefined;
  for (const id of names) {
    if (relay) break;
    const results = readRelayPage(page.scripts, siteConfig.markers.relay);
    relay = parseRelay(results, { ...link, id, pageIsItems: aboutItem }, siteConfig);
  }
  const extracted: PartialPost[] = [];
  if (relay) extracted.push(relay.post);
  extracted.push(...parseLinkedData(page.linkedData, link.id, aboutItem));
  const script = parseScript(page.code, numeric ?? link.id);
  if (script) extracted.push(script);
  const isLogin = isLoginForm(page.tags, siteConfig);
  if (aboutItem && !isLogin) extracted.push(withoutRepeats(tagsPart(page, { link, numeric, siteConfig }), extracted));
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
  { link, numeric, siteConfig }: { link: LinkRef; numeric?: string | undefined; siteConfig: SiteConfig },
): PartialPost {
  const tags = page.tags;
  return parseTags(tags, {
    siteConfig,
    inGroup: link.url.includes('/groups/') || (tags.canonical ?? tags.address ?? '').includes('/groups/'),
    isVideo: link.kind !== 'post',
    isPhoto: new URL(link.url).pathname === '/photo/',
    authorId: authorIdOf(page, numeric ?? link.id),
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
  const { canonical, address } = page.tags;
  const isGroup = /^https:\/\/[\w-]+\.facebook\.com\/groups\/[^/?#]+\/?(?:[?#]|$)/.test(canonical ?? address ?? '');
  if (isGroup && url.includes('/groups/')) {
    return { kind: 'definitive', code: 'login_required', reason: 'the page of the group in place of the post' };
  }
  const others = [canonical, address].map((one) => itemAt(one)?.id);
  if (others.some((one) => one !== undefined && one !== id)) {
    return { kind: 'transient', code: 'upstream_refused', reason: 'a page about another item' };
  }
  const state = stateOfRest(page, siteConfig);
  if (state) return state;
  const isPage = /<html[\s>]/i.test(page.html.slice(0, 2_000));
  return isPage
    ? { kind: 'transient', code: 'upstream_changed', reason: 'no data of the item in the page' }
    : { kind: 'transient', code: 'upstream_refused', reason: 'something else than a page' };
}

/** Whether the page as a whole is about the item, by its addresses or its route. */
function isAboutItem(reply: PageReply, page: PageParts, link: LinkRef): boolean {
  const { html } = page;
  const { id } = link;
  const tags = page.tags;
  const items = [tags.canonical, tags.address].flatMap((address) => itemAt(address) ?? []);
  if (items.some((item) => item.id === id)) return true;
  const { subjects, story } = page.route;
  if (subjects.has(id)) return true;
  // The number in the route counts if the addresses name no other.
  if (items.every((item) => isAlias(item.id)) && story?.posts.includes(id)) return true;
  const moved = movedTo(reply, link);
  if (moved !== undefined && items.some((item) => item.id === moved)) return true;
  if (!isAlias(id) || items.length === 0) return false;
  if (isLoginTarget(html, id)) return true;
  // The page has the number in place of an alias, except in a link to another form of the page.
  const end = html.indexOf('</head');
  return html.slice(0, end < 0 ? 100_000 : end).includes(id);
}

/** The id of the video, reel or photo that the site redirected a post to. */
function movedTo({ url }: PageReply, { id, kind }: LinkRef): string | undefined {
  const moved = kind === 'post' ? itemAt(url.href)?.id : undefined;
  return moved === id ? undefined : moved;
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

/** The number that an alias stands for; undefined if the page is not about the item. */
function numberOf(page: PageParts, { id, aboutItem }: { id: string; aboutItem: boolean }): string | undefined {
  if (!isAlias(id)) return id;
  if (!aboutItem) return undefined;
  const tags = page.tags;
  const named = [tags.canonical, tags.address]
    .map((address) => itemAt(address)?.id)
    .find((one) => one && !isAlias(one));
  return named ?? page.route.story?.posts.at(-1);
}

/** Numeric id of the author, from the page's route, an old script or its address. */
function authorIdOf(page: PageParts, id: string): string | undefined {
  const { canonical, address } = page.tags;
  const { story } = page.route;
  if (story && (isAlias(id) || story.posts.includes(id))) return story.author;
  return storyAuthor(page.code, id) ?? ownerNumber(canonical ?? address);
}

/** Scripts of pages before 2023 have the id of the story in plain form. */
function storyAuthor(scripts: readonly string[], id: string): string | undefined {
  for (const text of scripts) {
    for (let mark = text.indexOf('storyID:"S:_I'); mark >= 0; mark = text.indexOf('storyID:"S:_I', mark + 1)) {
      const story = readStoryId(/^S:[\w:]+/.exec(text.slice(mark + 9, mark + 120))?.[0]);
      if (story?.posts.includes(id)) return story.author;
    }
  }
  return undefined;
}

/** The addresses of profiles without a user name have a number in its place. */
function ownerNumber(address: string | undefined): string | undefined {
  return /^https:\/\/www\.facebook\.com\/(\d{5,20})\/(?:posts|videos|photos)\//.exec(address ?? '')?.[1];
}
