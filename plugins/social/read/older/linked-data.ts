import {
  type Author,
  asArray,
  asNumber,
  asRecord,
  asString,
  at,
  type JsonRecord,
  type MediaEntry,
  type PartialPost,
  parseDuration,
  toIsoTime,
  tryParseJson,
} from 'mediagate';
import { itemAt, usernameIn } from '../../links.js';
import { absoluteUrl, imageEntry, readAddress } from '../media.js';
import { recordsIn } from '../relay.js';
import { hashtagsIn } from '../text.js';

const MAX_SCRIPTS = 20;
const POSTINGS: ReadonlySet<string> = new Set([
  'SocialMediaPosting',
  'DiscussionForumPosting',
  'Article',
  'NewsArticle',
  'Photograph',
  'ImageObject',
]);

/**
 * What the page's scripts of schema.org's words say of the item, best first: the posting, then the video. A video there bears no id
 * of its own, so it counts only where the page as a whole is about the item.
 */
export function parseLinkedData(scripts: readonly string[], id: string, pageIsItems: boolean): PartialPost[] {
  const values = scripts.slice(0, MAX_SCRIPTS).map(tryParseJson);
  const nodes = values.flatMap((value) => asArray(value) ?? asArray(at(value, '@graph')) ?? [value]);
  const records = recordsIn(nodes);
  const posting = records.find((record) => POSTINGS.has(typeOf(record)) && isAbout(record, id, pageIsItems));
  const ofPosting = asRecord(at(posting, 'video')) ?? asRecord(asArray(at(posting, 'video'))?.[0]);
  const alone = records.filter((record) => typeOf(record) === 'VideoObject');
  const video = alone.find((record) => alone.length === 1 && isAbout(record, id, pageIsItems)) ?? ofPosting;
  return [...(posting ? [parsePosting(posting, id)] : []), ...(video ? [parseVideoObject(video)] : [])];
}

function typeOf(record: JsonRecord): string {
  return asString(record['@type']) ?? asString(asArray(record['@type'])?.[0]) ?? '';
}

/** By the ids that it states; where it states none, by the page. */
function isAbout(record: JsonRecord, id: string, pageIsItems: boolean): boolean {
  const identifier = textOf(record.identifier);
  if (identifier?.split(/[:;_]/).includes(id)) return true;
  const addresses = [record.url, record['@id'], record.mainEntityOfPage, at(record, 'mainEntityOfPage', '@id')];
  const items = addresses.flatMap((address) => itemAt(asString(address)) ?? []);
  if (items.some((item) => item.id === id)) return true;
  return items.length === 0 && identifier === undefined && pageIsItems;
}

function parsePosting(posting: JsonRecord, id: string): PartialPost {
  const caption =
    asString(posting.articleBody) ??
    asString(posting.text) ??
    asString(posting.caption) ??
    asString(posting.description);
  const images = (asArray(posting.image) ?? [posting.image]).flatMap((image): MediaEntry[] => {
    const url = absoluteUrl(at(image, 'contentUrl') ?? at(image, 'url') ?? image);
    return url ? [imageEntry(url, at(image, 'width'), at(image, 'height'))] : [];
  });
  const author = parsePerson(posting.author ?? posting.creator);
  return {
    common: {
      caption,
      description: caption,
      author,
      thumbnail: images[0]?.url,
      published_at: toIsoTime(posting.dateCreated) ?? toIsoTime(posting.datePublished),
      tags: hashtagsIn(caption),
      language: asString(posting.inLanguage),
    },
    ids: { post_id: postIdIn(posting, id), author_id: author?.id },
    metrics: countsIn(posting),
    media: { image_urls: images.map(({ url }) => url), entries: images },
  };
}

/** `{post}:…` or `{author};{post};…`. */
function postIdIn(posting: JsonRecord, id: string): string | undefined {
  if (/^\d+$/.test(id)) return undefined;
  const numbers =
    textOf(posting.identifier)
      ?.split(/[:;_]/)
      .filter((part) => /^\d{5,20}$/.test(part)) ?? [];
  return numbers.at(textOf(posting.identifier)?.includes(';') ? 1 : 0);
}

function parseVideoObject(video: JsonRecord): PartialPost {
  const url = absoluteUrl(video.contentUrl);
  const caption = asString(video.description);
  const picture = absoluteUrl(
    asArray(video.thumbnailUrl)?.[0] ?? video.thumbnailUrl ?? at(video, 'thumbnail', 'contentUrl'),
  );
  const duration = parseDuration((asString(video.duration) ?? '').replace(/^(?=T)/, 'P')) || undefined;
  const size = /^(\d+(?:\.\d+)?)kB$/i.exec(asString(video.contentSize) ?? '')?.[1];
  const author = parsePerson(video.author ?? video.creator);
  const isLive = (asArray(video.publication) ?? [video.publication]).some(
    (one) => at(one, 'isLiveBroadcast') === true && at(one, 'endDate') === undefined,
  );
  const file: MediaEntry[] = url
    ? [
        {
          url,
          kind: 'video',
          mime: 'video/mp4',
          has_video: true,
          has_audio: true,
          duration_seconds: duration,
          ...knownBy(url),
        },
      ]
    : [];
  const genre = asString(video.genre);
  return {
    common: {
      caption,
      description: caption,
      author,
      thumbnail: picture,
      published_at: toIsoTime(video.uploadDate) ?? toIsoTime(video.datePublished),
      duration_seconds: duration,
      language: asString(video.inLanguage),
      category: genre,
      tags: hashtagsIn(caption),
      ...(isLive && { is_live: true, live_status: 'live' as const }),
      is_family_safe: typeof video.isFamilyFriendly === 'boolean' ? video.isFamilyFriendly : undefined,
    },
    ids: { author_id: author?.id },
    metrics: countsIn(video),
    media: {
      video_urls: file.map((one) => one.url),
      image_urls: picture ? [picture] : [],
      entries: [...file, ...(picture ? [imageEntry(picture, video.width, video.height)] : [])],
    },
    raw_stats: { ...(size && { contentSize: `${size}kB` }) },
    ...(file.length > 0 && !isLive && { audio: true }),
  };
}

/** The sizes named beside are those of the source, not of this file. */
function knownBy(url: string): Partial<MediaEntry> {
  const { expires_at, bitrate, quality } = readAddress(url);
  return { expires_at, bitrate, quality };
}

/** The author or publisher of a node. */
export function parsePerson(value: unknown): Author | undefined {
  const person = asRecord(asArray(value)?.[0] ?? value);
  const name = asString(person?.name);
  if (!person || !name) return undefined;
  const url = absoluteUrl(person.url);
  const id = textOf(person.identifier);
  return {
    name,
    url,
    username: usernameIn(url),
    id: id && /^\d{3,20}$/.test(id) ? id : undefined,
    avatar: absoluteUrl(person.image) ?? absoluteUrl(at(person, 'image', 'contentUrl')),
  };
}

const ACTIONS: Readonly<Record<string, 'likes' | 'comments' | 'shares' | 'views'>> = {
  LikeAction: 'likes',
  ReactAction: 'likes',
  CommentAction: 'comments',
  ShareAction: 'shares',
  WatchAction: 'views',
  ViewAction: 'views',
};

/** The item's own counters: those of its author and its comments lie deeper. */
export function countsIn(record: JsonRecord): PartialPost['metrics'] {
  const counts: PartialPost['metrics'] = {};
  for (const one of asArray(record.interactionStatistic) ?? [record.interactionStatistic]) {
    const type = asString(at(one, 'interactionType')) ?? asString(at(one, 'interactionType', '@type')) ?? '';
    const action = type.slice(type.lastIndexOf('/') + 1);
    const metric = Object.hasOwn(ACTIONS, action) ? ACTIONS[action] : undefined;
    const value = countOf(at(one, 'userInteractionCount'));
    if (metric && value !== undefined) counts[metric] ??= value;
  }
  counts.comments ??= countOf(record.commentCount);
  counts.views ??= countOf(record.interactionCount);
  return counts;
}

function countOf(value: unknown): number | undefined {
  const count = asNumber(value);
  return count !== undefined && Number.isSafeInteger(count) && count >= 0 ? count : undefined;
}

/** Numbers that fit are numbers, longer ones texts already. */
export function textOf(value: unknown): string | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) ? String(value) : asString(value);
}
