import type { LinkRef, PartialPost } from 'mediagate';
import type { Facts } from './facts.js';
import { isAlias, itemAt } from './links.js';
import type { Found, PostOutcome } from './outcomes.js';
import { readRoute, readStoryId } from './page-route.js';
import { isLoginForm, readPageState, stateOfRest } from './page-state.js';
import { type PageTags, readPageTags } from './page-tags.js';
import { parseLinkedData } from './parse-linked-data.js';
import { parseRelay, type RelayReading } from './parse-relay.js';
import { parseScript } from './parse-script.js';
import { parseTags } from './parse-tags.js';
import { parsePublishTime } from './parse-times.js';
import { readRelayPage } from './relay-blocks.js';
import type { PageAnswer } from './requests.js';

/** What a page of the item amounts to: its data first, then what it says of itself in other ways. */
export function readPage(answer: PageAnswer, link: LinkRef, facts: Facts): PostOutcome {
  const { html } = answer;
  let known: PageTags | undefined;
  const tags = () => {
    known ??= readPageTags(html);
    return known;
  };
  const state = readPageState(answer, tags, facts);
  if (state.kind === 'definitive') return state;
  if (state.kind === 'transient') return state;

  const aboutItem = isAboutItem(answer, tags(), link);
  const numeric = numberOf(html, link.id, tags(), aboutItem);
  const results = () => readRelayPage(html, facts.markers.relay);
  // A page may show the post under another alias than the link: then the number it stands for is looked for.
  const relay = [link.id, numeric, movedTo(answer, link)].reduce<RelayReading | undefined>(
    (known, id) => known ?? (id ? parseRelay(results(), { ...link, id, pageIsItems: aboutItem }, facts) : undefined),
    undefined,
  );
  const found: PartialPost[] = [];
  if (relay) found.push(relay.post);
  found.push(...parseLinkedData(html, link.id, aboutItem));
  const script = parseScript(html, numeric ?? link.id);
  if (script) found.push(script);
  const walled = isLoginForm(tags(), facts);
  if (aboutItem && !walled) found.push(withoutRepeats(tagsPart(html, tags(), link, facts), found));
  if (found.length > 0) {
    const ids = numeric && numeric !== link.id ? [{ ids: { post_id: numeric } }] : [];
    const dated = found.some(({ common }) => common?.published_at);
    const published_at = dated ? undefined : parsePublishTime(html, numeric ?? link.id);
    const times = published_at ? [{ common: { published_at } }] : [];
    return { kind: 'found', found: [...found, ...times, ...ids], limitations: relay?.limitations };
  }
  if (walled) return { kind: 'definitive', code: 'login_required', reason: tags().title ?? 'a login form' };
  return nothingFound(html, tags(), link, facts);
}

function tagsPart(html: string, tags: PageTags, link: LinkRef, facts: Facts): PartialPost {
  return parseTags(tags, {
    facts,
    inGroup: link.url.includes('/groups/') || (tags.canonical ?? tags.address ?? '').includes('/groups/'),
    isVideo: link.kind !== 'post',
    authorId: storyOf(html, link.id) ?? storyAuthor(html, link.id) ?? ownerNumber(tags.canonical ?? tags.address),
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

function storyOf(html: string, id: string): string | undefined {
  const { story } = readRoute(html);
  return story && (isAlias(id) || story.posts.includes(id)) ? story.author : undefined;
}

/** Pages before 2023 name the story in bare form, in a script. */
function storyAuthor(html: string, id: string): string | undefined {
  for (let mark = html.indexOf('storyID:"S:_I'); mark >= 0; mark = html.indexOf('storyID:"S:_I', mark + 1)) {
    const story = readStoryId(/^S:[\w:]+/.exec(html.slice(mark + 9, mark + 120))?.[0]);
    if (story?.posts.includes(id)) return story.author;
  }
  return undefined;
}

/** Profiles without a name of their own have a number in its place. */
function ownerNumber(address: string | undefined): string | undefined {
  return /^https:\/\/www\.facebook\.com\/(\d{5,20})\/(?:posts|videos|photos)\//.exec(address ?? '')?.[1];
}

/** Whether the page as a whole is the item's, by its addresses or its route. */
function isAboutItem(answer: PageAnswer, tags: PageTags, link: LinkRef): boolean {
  const { html } = answer;
  const { id } = link;
  const items = [tags.canonical, tags.address].flatMap((address) => itemAt(address) ?? []);
  if (items.some((item) => item.id === id)) return true;
  const { subjects, story } = readRoute(html);
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
function movedTo({ url }: PageAnswer, { id, kind }: LinkRef): string | undefined {
  const moved = kind === 'post' ? itemAt(url.href)?.id : undefined;
  return moved === id ? undefined : moved;
}

/** Whether the page offers to log in and come back to this alias: then it was asked for by it. */
function isAnsweredFor(html: string, alias: string): boolean {
  for (let place = html.indexOf(alias); place >= 0; place = html.indexOf(alias, place + alias.length)) {
    const open = html.lastIndexOf('<', place);
    const tag = html.slice(open, html.indexOf('>', place));
    if (tag.startsWith('<input') ? tag.includes('name="next"') : /[?;&]next=https?%3A/i.test(html.slice(open, place)))
      return true;
  }
  return false;
}

/** The number behind an alias. */
function numberOf(html: string, id: string, tags: PageTags, aboutItem: boolean): string | undefined {
  if (!isAlias(id)) return id;
  if (!aboutItem) return undefined;
  const named = [tags.canonical, tags.address]
    .map((address) => itemAt(address)?.id)
    .find((one) => one && !isAlias(one));
  return named ?? readRoute(html).story?.posts.at(-1);
}

function nothingFound(html: string, tags: PageTags, { id, url }: LinkRef, facts: Facts): PostOutcome {
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
  const state = stateOfRest(html, facts);
  if (state && state.kind !== 'open') return state;
  const isPage = /<html[\s>]/i.test(html.slice(0, 2_000));
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
