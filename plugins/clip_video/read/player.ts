import {
  absoluteUrl,
  asId,
  asNumber,
  asPositive,
  asRecords,
  asString,
  at,
  type Outcome,
  type PartialPost,
} from 'mediagate/plugin';
import { coverEntry, firstCovers, parseListedFiles, parsePictures, parsePlayerFiles } from './files.js';
import { ofPlayer, parseAuthor, parseCounters, parseFollowers, postOf, postOfSummary } from './item.js';
import { languageTag, member } from './values.js';

/** `videoData`, which the page of the embedded player has for an item, and all pages had until 2020. */
export function parseVideoData(data: unknown, id: string): PartialPost {
  const item = at(data, 'itemInfos');
  const video = at(item, 'video');
  const written = asRecords(at(data, 'textExtra')).map((one) => member(one, 'hashtagName', 'HashtagName'));
  const listed = asRecords(at(data, 'challengeInfoList')).map(({ challengeName }) => challengeName);
  return postOf({
    id,
    caption: at(item, 'text'),
    author: parseAuthor({ author: at(data, 'authorInfos'), authorId: at(item, 'authorId') }),
    createdAt: at(item, 'createTime'),
    durationSeconds: asPositive(at(video, 'videoMeta', 'duration')),
    hashtags: [...written, ...listed],
    files: parseListedFiles(video),
    pictures: parsePictures(at(data, 'imagePostInfo', 'displayImages')),
    covers: firstCovers(at(item, 'covers'), at(item, 'coversOrigin')),
    music: at(data, 'musicInfos'),
    counters: [ofPlayer(parseCounters(item)), parseFollowers(at(data, 'authorStats'))],
  });
}

/** Durations are milliseconds here; a number below this one is none. */
const LEAST_MILLISECONDS = 1_000;

/** An element of `items` in the reply that the embedded player requests. It has no count of plays. */
export function parsePlayerItem(item: unknown, id: string): PartialPost {
  const video = at(item, 'video_info');
  const milliseconds = asNumber(at(video, 'meta', 'duration')) ?? 0;
  return postOf({
    id,
    caption: at(item, 'desc'),
    author: parseAuthor({ author: at(item, 'author_info') }),
    createdAt: at(item, 'create_time'),
    durationSeconds: milliseconds >= LEAST_MILLISECONDS ? milliseconds / 1000 : undefined,
    hashtags: asRecords(at(item, 'text_extra')).map(({ hashtag_name }) => hashtag_name),
    files: parsePlayerFiles(video),
    pictures: parsePictures(at(item, 'image_post_info', 'images')),
    covers: firstCovers(at(video, 'cover'), at(video, 'origin_cover')),
    music: at(item, 'music_info'),
    playAddress: at(video, 'url_list'),
    counters: [ofPlayer(parseCounters(at(item, 'statistics_info')))],
    more: { language: languageTag(at(item, 'desc_language')) },
  });
}

/** The outcome of the oEmbed reply, in which every id must be the requested item's. */
export function outcomeOfOembed(reply: unknown, id: string): Outcome<PartialPost> {
  const html = asString(at(reply, 'html')) ?? '';
  const stated = [
    asId(/data-video-id="(\d+)"/.exec(html)?.[1]),
    asId(/\bcite="[^"]*\/(?:video|photo)\/(\d+)/.exec(html)?.[1]),
    asId(at(reply, 'embed_product_id')),
  ].filter((value) => value !== undefined);
  if (stated.length === 0 || stated.some((value) => value !== id)) {
    return { kind: 'transient', code: 'upstream_refused', reason: 'the oEmbed answer was not about the item' };
  }
  const thumbnail = absoluteUrl(at(reply, 'thumbnail_url'));
  const post = postOfSummary({
    id,
    caption: asString(at(reply, 'title'))?.trim() || undefined,
    name: asString(at(reply, 'author_name')),
    handle: at(reply, 'author_unique_id'),
    address: absoluteUrl(at(reply, 'author_url')),
    thumbnail,
  });
  const width = asPositive(at(reply, 'thumbnail_width'));
  const height = asPositive(at(reply, 'thumbnail_height'));
  const entries = thumbnail ? [{ ...coverEntry(thumbnail), width, height }] : [];
  return { kind: 'found', found: { ...post, media: { ...post.media, entries } } };
}
