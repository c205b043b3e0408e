import type { LinkRef, PartialPost } from 'mediagate';
import type { Facts } from './facts.js';
import { itemAt } from './links.js';
import type { Found, PostOutcome } from './outcomes.js';
import { authorIdOf, isAboutItem, movedTo, numberOf } from './page-identity.js';
import { type PageParts, takeApart } from './page-parts.js';
import { isLoginForm, readPageState, stateOfRest } from './page-state.js';
import { parseLinkedData } from './parse-linked-data.js';
import { parseMessage } from './parse-message.js';
import { parseRelay, type RelayReading } from './parse-relay.js';
import { parseScript } from './parse-script.js';
import { parseTags } from './parse-tags.js';
import { parsePublishTime } from './parse-times.js';
import { readRelayPage } from './relay-blocks.js';
import type { PageAnswer } from './requests.js';
import { isCut } from './text.js';

/** What a page of the item amounts to: its data first, then what it says of itself in other ways. */
export function readPage(answer: PageAnswer, link: LinkRef, facts: Facts): PostOutcome {
  const page = takeApart(answer.html);
  const state = readPageState(answer, page, facts);
  if (state.kind === 'definitive') return state;
  if (state.kind === 'transient') return state;

  const aboutItem = isAboutItem(answer, page, link);
  const numeric = numberOf(page, { id: link.id, aboutItem });
  const results = () => readRelayPage(page.scripts, facts.markers.relay);
  // A page may show the post under another alias than the link: then the number it stands for is looked for.
  const names = new Set([link.id, numeric, movedTo(answer, link)]);
  const relay = [...names].reduce<RelayReading | undefined>(
    (known, id) => known ?? (id ? parseRelay(results(), { ...link, id, pageIsItems: aboutItem }, facts) : undefined),
    undefined,
  );
  const found: PartialPost[] = [];
  if (relay) found.push(relay.post);
  found.push(...parseLinkedData(page.linkedData, link.id, aboutItem));
  const script = parseScript(page.code, numeric ?? link.id);
  if (script) found.push(script);
  const walled = isLoginForm(page.tags(), facts);
  if (aboutItem && !walled) found.push(withoutRepeats(tagsPart(page, { link, numeric, facts }), found));
  if (found.length > 0) {
    const ids = numeric && numeric !== link.id ? [{ ids: { post_id: numeric } }] : [];
    const dated = found.some(({ common }) => common?.published_at);
    const published_at = dated ? undefined : parsePublishTime(page.html, numeric ?? link.id);
    const times = published_at ? [{ common: { published_at } }] : [];
    return { kind: 'found', found: [...found, ...times, ...ids], limitations: relay?.limitations };
  }
  if (walled) return { kind: 'definitive', code: 'login_required', reason: page.tags().title ?? 'a login form' };
  return nothingFound(page, link, facts);
}

function tagsPart(
  page: PageParts,
  { link, numeric, facts }: { link: LinkRef; numeric?: string; facts: Facts },
): PartialPost {
  const tags = page.tags();
  return parseTags(tags, {
    facts,
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

function nothingFound(page: PageParts, { id, url }: LinkRef, facts: Facts): PostOutcome {
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
  const state = stateOfRest(page, facts);
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
