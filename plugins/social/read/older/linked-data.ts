import {
  type Author,
  hashtagsIn,
  type JsonRecord,
  type LinkedItem,
  type LinkedPerson,
  type PartialPost,
  readLinkedItem,
} from 'mediagate/plugin';
import { itemAt, usernameIn } from '../../links.js';
import { imageEntry, mediaOf, siteUrl, videoEntry } from '../media.js';

const POSTINGS: ReadonlySet<string> = new Set([
  'SocialMediaPosting',
  'DiscussionForumPosting',
  'Article',
  'NewsArticle',
  'Photograph',
  'ImageObject',
]);

/**
 * What the schema.org nodes of a page state of the item, best first: the posting, then the video. A video there has no id
 * of its own, so it counts only if the page as a whole is about the item.
 */
export function parseLinkedData(nodes: readonly JsonRecord[], id: string, pageIsItems: boolean): PartialPost[] {
  const items = nodes.map((node) => readLinkedItem(node, siteUrl('/')));
  const posting = items.find((item) => POSTINGS.has(item.type) && isAbout(item, id, pageIsItems));
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
  const id = identifier && /^\d{3,20}$/.test(identifier) ? identifier : undefined;
  return { name, url, username: usernameIn(url), id, avatar };
}
