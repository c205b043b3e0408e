import {
  absoluteUrl,
  asArray,
  asId,
  asNumber,
  asPositive,
  asString,
  at,
  type MediaEntry,
  type Outcome,
  type PartialPost,
} from 'mediagate/plugin';
import { canonicalUrl } from '../links.js';
import { coverEntry, firstCovers, parseListedFiles, parsePictures, parsePlayerFiles } from './files.js';
import { ofPlayer, parseAuthor, parseCounters, parseFollowers, postOf, profileUrl } from './item.js';
import { languageTag, member, tagsOf, username } from './values.js';

/** `videoData`, which the page of the embedded player has for an item, and all pages had until 2020. */
export function parseVideoData(data: unknown, id: string): PartialPost {
  const item = at(data, 'itemInfos');
  const video = at(item, 'video');
  const listed = (asArray(at(data, 'challengeInfoList')) ?? []).map((one) => member(one, 'challengeName'));
  const written = (asArray(at(data, 'textExtra')) ?? []).map((one) => member(one, 'hashtagName', 'HashtagName'));
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
    hashtags: (asArray(at(item, 'text_extra')) ?? []).map((extra) => at(extra, 'hashtag_name')),
    files: parsePlayerFiles(video),
    pictures: parsePictures(at(item, 'image_post_info', 'images')),
    covers: firstCovers(at(video, 'cover'), at(video, 'origin_cover')),
    music: at(item, 'music_info'),
    playAddress: at(video, 'url_list'),
    counters: [ofPlayer(parseCounters(at(item, 'statistics_info')))],
    more: { language: languageTag(at(item, 'desc_language')) },
  });
}

/** The outcome of the oEmbed reply. */
export function outcomeOfOembed(reply: unknown, id: string): Outcome<PartialPost> {
  const post = parseOembed(reply, id);
  if (post) return { kind: 'found', found: post };
  return { kind: 'transient', code: 'upstream_refused', reason: 'the oEmbed answer was not about the item' };
}

/** The oEmbed reply; undefined unless the player in it is the requested item's. */
export function parseOembed(reply: unknown, id: string): PartialPost | undefined {
  const html = asString(at(reply, 'html')) ?? '';
  const stated = [
    asId(/data-video-id="(\d+)"/.exec(html)?.[1]),
    asId(/\bcite="[^"]*\/(?:video|photo)\/(\d+)/.exec(html)?.[1]),
    asId(at(reply, 'embed_product_id')),
  ].filter((value) => value !== undefined);
  if (stated.length === 0 || stated.some((value) => value !== id)) return undefined;
  const caption = asString(at(reply, 'title'))?.trim() || undefined;
  const address = absoluteUrl(at(reply, 'author_url'));
  const name = username(at(reply, 'author_unique_id')) ?? username(/\/@([^/?#]+)/.exec(address ?? '')?.[1]);
  const thumbnail = absoluteUrl(at(reply, 'thumbnail_url'));
  const image: MediaEntry | undefined = thumbnail
    ? {
        ...coverEntry(thumbnail),
        width: asPositive(at(reply, 'thumbnail_width')),
        height: asPositive(at(reply, 'thumbnail_height')),
      }
    : undefined;
  return {
    common: {
      caption,
      description: caption,
      author: { name: asString(at(reply, 'author_name')), username: name, url: name ? profileUrl(name) : address },
      thumbnail,
      tags: tagsOf(caption),
    },
    ids: { video_id: id, post_id: id, canonical_url: canonicalUrl(id) },
    media: { image_urls: image ? [image.url] : [], entries: image ? [image] : [] },
  };
}
