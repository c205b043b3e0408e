import type { LinkRef, PartialPost } from 'mediagate';
import type { PageAnswer } from '../fetch.js';
import { isAlias, itemAt } from '../links.js';
import type { Found, PostOutcome } from '../outcomes.js';
import { parseMessage } from './embed.js';
import { parseLinkedData } from './older/linked-data.js';
import { parsePublishTime, parseScript } from './older/scripts.js';
import { type PageParts, type PageRoute, readStoryId, takeApart } from './parts.js';
import { parseRelay, type RelayReading } from './post.js';
import { readRelayPage } from './relay.js';
import type { SiteConfig } from './state.js';
import { isLoginForm, readPageState, stateOfRest } from './state.js';
import { parseTags } from './tags.js';
import { isCut } from './text.js';

/** What a page of the item amounts to: its data first, then what it says of itself in other ways. */
export function readPage(answer: PageAnswer, link: LinkRef, siteConfig: SiteConfig): PostOutcome {
  const page = takeApart(answer.html);
  const state = readPageState(answer, page, siteConfig);
  if (state.kind === 'definitive') return state;
  if (state.kind === 'transient') return state;

  const aboutItem = isAboutItem(answer, page, link);
  const numeric = numberOf(page, { id: link.id, aboutItem });
  const results = () => readRelayPage(page.scripts, siteConfig.markers.relay);
  // A page may show the post under another alias than the link: then the number it stands for is looked for.
  const names = new Set([link.id, numeric, movedTo(answer, link)]);
  const relay = [...names].reduce<RelayReading | undefined>(
    (known, id) =>
      known ?? (id ? parseRelay(results(), { ...link, id, pageIsItems: aboutItem }, siteConfig) : undefined),
    undefined,
  );
  const found: PartialPost[] = [];
  if (relay) found.push(relay.post);
  found.push(...parseLinkedData(page.linkedData, link.id, aboutItem));
  const script = parseScript(page.code, numeric ?? link.id);
  if (script) found.push(script);
  const walled = isLoginForm(page.tags(), siteConfig);
  if (aboutItem && !walled) found.push(withoutRepeats(tagsPart(page, { link, numeric, siteConfig }), found));
  if (found.length > 0) {
    const ids = numeric && numeric !== link.id ? [{ ids: { post_id: numeric } }] : [];
    const dated = found.some(({ common }) => common?.published_at);
    const published_at = dated ? undefined : parsePublishTime(page.html, numeric ?? link.id);
    const times = published_at ? [{ common: { published_at } }] : [];
    return { kind: 'found', found: [...found, ...times, ...ids], limitations: relay?.limitations };
  }
  if (walled) return { kind: 'definitive', code: 'login_required', reason: page.tags().title ?? 'a login form' };
  return nothingFound(page, link, siteConfig);
}

function tagsPart(
  page: PageParts,
  { link, numeric, siteConfig }: { link: LinkRef; numeric?: string; siteConfig: SiteConfig },
): PartialPost {
  const tags = page.tags();
  return parseTags(tags, {
    siteConfig,
    inGroup: link.url.includes('/groups/') || (tags.canonical ?? tags.address ?? '').includes('/groups/'),
    isVideo: link.kind !== 'post',
    isPhoto: new URL(link.url).pathname === '/photo/',
    authorId: authorIdOf(page, numeric ?? link.id),
    // Whole texts need no other text beside them.
    message: tags.description && isCut(tags.description) ? parseMessage(page.markup) : undefined,
  });
}

/** The tags show the same pictures and files again, smaller ones under other addresses. */
function withoutRepeats(tags: PartialPost, found: Found): PartialPost {
  const { image_urls = [], video_urls = [], entries = [] } = tags.media ?? {};
  const has = (name: 'image_urls' | 'video_urls') => found.some(({ media }) => (media?.[name]?.length ?? 0) > 0);
  const [pictured, filmed] = [has('image_urls'), has('video_urls')];
  return {
    ...tags,
    media: {
      image_urls: pictured ? [] : image_urls,
      video_urls: filmed ? [] : video_urls,
      entries: entries.filter(({ kind }) => (kind === 'image' ? !pictured : !filmed)),
    },
  };
}

function nothingFound(page: PageParts, { id, url }: LinkRef, siteConfig: SiteConfig): PostOutcome {
  const tags = page.tags();
  const isGroup = /^https:\/\/[\w-]+\.facebook\.com\/groups\/[^/?#]+\/?(?:[?#]|$)/.test(
    tags.canonical ?? tags.address ?? '',
  );
  if (isGroup && url.includes('/groups/')) {
    return { kind: 'definitive', code: 'login_required', reason: 'the page of the group in place of the post' };
  }
  const others = [tags.canonical, tags.address].map((address) => itemAt(address)?.id);
  if (others.some((one) => one !== undefined && one !== id)) {
    return { kind: 'transient', code: 'upstream_refused', reason: 'a page about another item' };
  }
  const state = stateOfRest(page, siteConfig);
  if (state && state.kind !== 'open') return state;
  const isPage = /<html[\s>]/i.test(page.html.slice(0, 2_000));
  return isPage
    ? { kind: 'transient', code: 'upstream_changed', reason: 'no data of the item in the page' }
    : { kind: 'transient', code: 'upstream_refused', reason: 'something else than a page' };
}

/** Whether the parts have what an answer needs: something of the post, and whose it is or what it shows. */
export function isReadable(posts: Found): boolean {
  const has = (test: (post: PartialPost) => unknown) => posts.some((post) => Boolean(test(post)));
  const author = has(({ common }) => common?.author?.name);
  const media = has(({ media }) => (media?.image_urls?.length ?? 0) + (media?.video_urls?.length ?? 0) > 0);
  // Of a group's post the tags have the text, and nothing else.
  if (has(({ common }) => common?.caption)) return true;
  return has(({ common }) => common?.title) ? author || media : author && media;
}

/** Whether the page as a whole is the item's, by its addresses or its route. */
export function isAboutItem(answer: PageAnswer, page: PageParts, link: LinkRef): boolean {
  const { html } = page;
  const { id } = link;
  const tags = page.tags();
  const items = [tags.canonical, tags.address].flatMap((address) => itemAt(address) ?? []);
  if (items.some((item) => item.id === id)) return true;
  const { subjects, story } = page.route();
  if (subjects.has(id)) return true;
  // The story's number in code counts where the addresses do not name another.
  if (items.every((item) => isAlias(item.id)) && story?.posts.includes(id)) return true;
  const moved = movedTo(answer, link);
  if (moved !== undefined && items.some((item) => item.id === moved)) return true;
  if (!isAlias(id) || items.length === 0) return false;
  if (isAnsweredFor(html, id)) return true;
  // Behind an alias the page names the number; the alias is left in a link to another form of the page.
  const end = html.indexOf('</head');
  return html.slice(0, end < 0 ? 100_000 : end).includes(id);
}

/** A post that is a video, a reel or a photo is shown at that one's address: the other id that the site led us to. */
export function movedTo({ url }: PageAnswer, { id, kind }: LinkRef): string | undefined {
  const moved = kind === 'post' ? itemAt(url.href)?.id : undefined;
  return moved === id ? undefined : moved;
}

/** How far around an alias the tag reaches that it stands in, in characters. */
const REACH = 2_000;

/** Whether the page offers to log in and come back to this alias: then it was asked for by it. */
function isAnsweredFor(html: string, alias: string): boolean {
  for (let place = html.indexOf(alias); place >= 0; place = html.indexOf(alias, place + alias.length)) {
    const before = html.slice(Math.max(0, place - REACH), place);
    const tag = before.slice(before.lastIndexOf('<') + 1);
    const [rest] = html.slice(place, place + REACH).split('>', 1);
    if (tag.startsWith('input') ? `${tag}${rest}`.includes('name="next"') : /[?;&]next=https?%3A/i.test(tag))
      return true;
  }
  return false;
}

/** The number behind an alias; undefined where the page is not the item's. */
export function numberOf(page: PageParts, { id, aboutItem }: { id: string; aboutItem: boolean }): string | undefined {
  if (!isAlias(id)) return id;
  if (!aboutItem) return undefined;
  const tags = page.tags();
  const named = [tags.canonical, tags.address]
    .map((address) => itemAt(address)?.id)
    .find((one) => one && !isAlias(one));
  return named ?? page.route().story?.posts.at(-1);
}

/** Numeric id of the profile whose the item is, where the page's route, an old script or the address tells. */
export function authorIdOf(page: PageParts, id: string): string | undefined {
  const { canonical, address } = page.tags();
  return storyOf(page.route(), id) ?? storyAuthor(page.code, id) ?? ownerNumber(canonical ?? address);
}

function storyOf({ story }: PageRoute, id: string): string | undefined {
  return story && (isAlias(id) || story.posts.includes(id)) ? story.author : undefined;
}

/** Pages before 2023 name the story in bare form, in a script. */
function storyAuthor(scripts: readonly string[], id: string): string | undefined {
  for (const text of scripts) {
    for (let mark = text.indexOf('storyID:"S:_I'); mark >= 0; mark = text.indexOf('storyID:"S:_I', mark + 1)) {
      const story = readStoryId(/^S:[\w:]+/.exec(text.slice(mark + 9, mark + 120))?.[0]);
      if (story?.posts.includes(id)) return story.author;
    }
  }
  return undefined;
}

/** Profiles without a name of their own have a number in its place. */
function ownerNumber(address: string | undefined): string | undefined {
  return /^https:\/\/www\.facebook\.com\/(\d{5,20})\/(?:posts|videos|photos)\//.exec(address ?? '')?.[1];
}
