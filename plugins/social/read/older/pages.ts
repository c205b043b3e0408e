/*
 * Reads what older pages state: schema.org nodes, counters in script objects, the time in a page's statistics, and the
 * author in a story's id. Counters are read only near the id of the item, at most 2,500 characters to each side and not
 * beyond the next object of the same kind. A video node has no id of its own and counts only if the whole page is about
 * the item. Links of comments contain the post's id too and are skipped when the time is read.
 */

import {
  type Author,
  asId,
  hashtagsIn,
  type JsonRecord,
  type LinkedItem,
  type LinkedPerson,
  type PartialPost,
  readLinkedItem,
  toIsoTime,
} from 'mediagate/plugin';
import { itemAt, usernameIn } from '../../links.js';
import { imageEntry, mediaOf, siteUrl, videoEntry } from '../media.js';
import { readStoryId } from '../parts.js';

const POSTING = /^(?:SocialMediaPosting|DiscussionForumPosting|Article|NewsArticle|Photograph|ImageObject)$/;

/**
 * What the schema.org nodes of a page state of the item, best first: the posting, then the video. A video there has no id
 * of its own, so it counts only if the page as a whole is about the item.
 */
export function parseLinkedData(nodes: readonly JsonRecord[], id: string, pageIsItems: boolean): PartialPost[] {
  const items = nodes.map((node) => readLinkedItem(node, siteUrl('/')));
  const posting = items.find((item) => POSTING.test(item.type) && isAbout(item, id, pageIsItems));
  const alone = items.filter(({ type }) => type === 'VideoObject');
  const video = alone.find((item) => alone.length === 1 && isAbout(item, id, pageIsItems)) ?? posting?.videos[0];
  return [...(posting ? [parsePosting(posting, id)] : []), ...(video ? [parseVideoObject(video)] : [])];
}

/** By the ids that a node states; without any, by the page. */
function isAbout({ identifiers, addresses }: LinkedItem, id: string, pageIsItems: boolean): boolean {
  if (identifiers.some((text) => text.split(/[:;_]/).includes(id))) return true;
  const items = addresses.flatMap((address) => itemAt(address) ?? []);
  if (items.some((item) => item.id === id)) return true;
  return items.length === 0 && identifiers.length === 0 && pageIsItems;
}

function parsePosting(posting: LinkedItem, id: string): PartialPost {
  const images = posting.images.map(({ url, width, height }) => imageEntry(url, width, height));
  const caption = posting.text ?? posting.description;
  return {
    ...sharedParts(posting, caption),
    ids: { post_id: postIdIn(posting, id), author_id: authorOf(posting.author)?.id },
    media: mediaOf(images),
  };
}

/** `{post}:…` or `{author};{post};…`. */
function postIdIn({ identifiers: [identifier = ''] }: LinkedItem, id: string): string | undefined {
  if (/^\d+$/.test(id)) return undefined;
  const numbers = identifier.split(/[:;_]/).filter((part) => /^\d{5,20}$/.test(part));
  return numbers.at(identifier.includes(';') ? 1 : 0);
}

function parseVideoObject(video: LinkedItem): PartialPost {
  const { contentUrl, thumbnail, durationSeconds, isLive, node } = video;
  const size = /^(\d+(?:\.\d+)?)kB$/i.exec(String(node.contentSize))?.[1];
  const { common, ...shared } = sharedParts(video, video.description);
  return {
    ...shared,
    common: {
      ...common,
      thumbnail,
      duration_seconds: durationSeconds,
      category: typeof node.genre === 'string' ? node.genre : undefined,
      ...(isLive && { is_live: true, live_status: 'live' as const }),
      is_family_safe: video.isFamilyFriendly,
    },
    ids: { author_id: common?.author?.id },
    media: mediaOf([
      // The size of the node is that of the source, not of this file.
      ...(contentUrl ? [{ ...videoEntry(contentUrl), duration_seconds: durationSeconds }] : []),
      ...(thumbnail ? [imageEntry(thumbnail, video.width, video.height)] : []),
    ]),
    raw_stats: { ...(size && { contentSize: `${size}kB` }) },
    ...(contentUrl && !isLive && { audio: true }),
  };
}

function sharedParts({ author, images, publishedAt, language, counts }: LinkedItem, caption: string | undefined) {
  return {
    common: {
      caption,
      description: caption,
      author: authorOf(author),
      thumbnail: images[0]?.url,
      published_at: publishedAt,
      tags: hashtagsIn(caption),
      language,
    },
    metrics: counts,
  } satisfies PartialPost;
}

function authorOf(person: LinkedPerson | undefined): Author | undefined {
  if (!person?.name) return undefined;
  const { name, url, avatar, identifier } = person;
  return { name, url, username: usernameIn(url), id: asId(identifier), avatar };
}

/** Maximum characters of the object with an item's counters on either side of its id. */
const REACH = 2_500;

type Counters = Readonly<Partial<Record<'views' | 'likes' | 'comments' | 'shares', RegExp>>>;

const DESKTOP: Counters = {
  likes: /\breaction_count:\{count:(\d{1,12})[,}]/,
  comments: /\bcomment_count:\{total_count:(\d{1,12})[,}]/,
  shares: /\bshare_count:\{count:(\d{1,12})[,}]/,
  views: /\bvideo_view_count:(\d{1,12})[,}]/,
};
const MOBILE: Counters = {
  likes: /\blike_count:(\d{1,12})[,}]/,
  comments: /\bcomment_count:(\d{1,12})[,}]/,
  shares: /\bshare_count:(\d{1,12})[,}]/,
};

/**
 * The counters in plain script objects of pages before 2023: next to `share_fbid` on the desktop, next to
 * `ft_ent_identifier` on mobiles. Undefined if no object has the id.
 */
export function parseScript(scripts: readonly string[], id: string): PartialPost | undefined {
  return (
    readAround(scripts, `share_fbid:"${id}"`, ['share_fbid:', 'comment_count:{'], DESKTOP) ??
    readAround(scripts, `{ft_ent_identifier:${id},`, ['', '{ft_ent_identifier:'], MOBILE)
  );
}

/** The counters around a mark. Objects of the same kind on both sides bound it; without a beginning it starts there. */
function readAround(
  scripts: readonly string[],
  mark: string,
  [beginning, next]: readonly [string, string],
  counters: Counters,
): PartialPost | undefined {
  for (const text of scripts) {
    const place = text.indexOf(mark);
    if (place < 0) continue;
    const before = beginning === '' ? '' : text.slice(Math.max(0, place - REACH), place);
    const after = text.slice(place + mark.length, place + mark.length + REACH).split(next, 1)[0] ?? '';
    const object = before.slice(before.lastIndexOf(beginning) + 1) + after;
    const metrics: PartialPost['metrics'] = {};
    for (const [metric, pattern] of Object.entries(counters)) {
      const digits = pattern.exec(object)?.[1];
      if (digits) metrics[metric as keyof Counters] = Number(digits);
    }
    if (Object.keys(metrics).length > 0) return { metrics };
  }
  return undefined;
}

/** Maximum characters between the time of a post and its id in the statistics of a page. */
const STATISTICS_REACH = 260;
const MAX_PLACES = 400;
/** `publish_time:…, story_name:…, story_fbid:[…`, in JSON, in JSON inside of JSON, or in an attribute. */
const IN_STATISTICS =
  /publish_time(?:\\*"|&quot;):(\d{9,10})\b[^{}]{0,160}story_fbid(?:\\*"|&quot;):\[?(?:\\*"|&quot;)?$/;

/**
 * When a post was published: the time next to its id in the statistics of a page, or next to its link in pages before
 * 2021. Undefined if neither has the id.
 */
export function parsePublishTime(html: string, id: string): string | undefined {
  let places = 0;
  for (let place = html.indexOf(id); place >= 0 && places < MAX_PLACES; place = html.indexOf(id, place + id.length)) {
    places += 1;
    if (/[\w-]/.test(html[place + id.length] ?? '')) continue;
    const stated = IN_STATISTICS.exec(html.slice(Math.max(0, place - STATISTICS_REACH), place))?.[1];
    const time = stated ?? timeOfLink(html, place);
    if (time) return toIsoTime(time);
  }
  return undefined;
}

/** The links of comments have the id of the post as well, and do not count. */
function timeOfLink(html: string, place: number): string | undefined {
  const open = html.lastIndexOf('<', place);
  const link = html.slice(open, html.indexOf('>', place) + 1);
  if (link.length > 4_000 || !/^<a\s/.test(link) || link.includes('comment_id')) return undefined;
  return /^\s*<abbr\b[^>]{0,200}\sdata-utime="(\d{9,10})"/.exec(
    html.slice(open + link.length, open + link.length + 400),
  )?.[1];
}

/** The author in the plain id of the story, which scripts of pages before 2023 have. */
export function parseStoryAuthor(scripts: readonly string[], id: string): string | undefined {
  const ids = scripts.flatMap((text) => Array.from(text.matchAll(/storyID:"(S:[\w:]{1,110})/g), ([, story]) => story));
  return ids.map(readStoryId).find((story) => story?.posts.includes(id))?.author;
}
