/*
 * Reads the two documented APIs: the Data API, for which the operator has a key, and oEmbed. The Data API omits
 * counters that the owner hides, so an absent one is marked as hidden; it rounds subscribers to three digits, which is
 * marked as well. Channel data count only if the channel is the owner of the video. An oEmbed reply has title, author
 * and picture alone, and it counts only if its player or picture is that of the video.
 */

import {
  asNumber,
  asRecord,
  asRecords,
  asString,
  at,
  type JsonRecord,
  type PartialPost,
  parseDuration,
  rawStats,
  toIsoTime,
} from 'mediagate/plugin';
import { parseChapters } from './description.js';
import {
  channelAuthor,
  channelId,
  channelIdIn,
  parseImages,
  subjectOf,
  textsIn,
  videoIdIn,
  videoIds,
} from './values.js';

/** Metric → its field in `statistics`. */
const COUNTERS = [
  ['views', 'viewCount'],
  ['likes', 'likeCount'],
  ['comments', 'commentCount'],
] as const;

/** The item with the id in a `videos.list` or `channels.list` reply; undefined if there is none. */
export function itemOf(reply: unknown, id: string): JsonRecord | undefined {
  return asRecords(at(reply, 'items')).find((item) => item.id === id);
}

/** Reads a video and, if given, its channel. */
export function parseVideo(video: unknown, channel: unknown, id: string): PartialPost {
  const snippet = at(video, 'snippet');
  const statistics = asRecord(at(video, 'statistics'));
  const owner = channelId(at(snippet, 'channelId'));
  const about = owner !== undefined && at(channel, 'id') === owner ? channel : undefined;
  const images = thumbnails(at(snippet, 'thumbnails'));
  const handle = asString(at(about, 'snippet', 'customUrl'));
  const privacy = asString(at(video, 'status', 'privacyStatus'));
  const description = asString(at(snippet, 'description'));
  const restricted = at(video, 'contentDetails', 'contentRating', 'ytRating') === 'ytAgeRestricted';
  const hidden = at(about, 'statistics', 'hiddenSubscriberCount') === true;
  const subscribers = hidden ? undefined : asNumber(at(about, 'statistics', 'subscriberCount'));
  return {
    common: {
      title: asString(at(snippet, 'title')),
      description,
      caption: description,
      author: channelAuthor({
        id: owner,
        name: asString(at(snippet, 'channelTitle')) ?? asString(at(about, 'snippet', 'title')),
        url: handle?.startsWith('@') ? `/${handle}` : undefined,
        avatar: thumbnails(at(about, 'snippet', 'thumbnails'))[0]?.url,
      }),
      thumbnail: images[0]?.url,
      published_at: toIsoTime(at(snippet, 'publishedAt')),
      duration_seconds: parseDuration(asString(at(video, 'contentDetails', 'duration')) ?? '') || undefined,
      language: asString(at(snippet, 'defaultAudioLanguage')) ?? asString(at(snippet, 'defaultLanguage')),
      tags: textsIn(at(snippet, 'tags')),
      is_unlisted: privacy === undefined ? undefined : privacy === 'unlisted',
      age_limit: restricted ? 18 : undefined,
      available_countries: textsIn(at(video, 'contentDetails', 'regionRestriction', 'allowed')),
      chapters: parseChapters(undefined, description),
      ...liveOf(video),
    },
    ids: videoIds(id, owner),
    metrics: {
      ...Object.fromEntries(COUNTERS.map(([metric, name]) => [metric, asNumber(statistics?.[name])])),
      concurrent_viewers: asNumber(at(video, 'liveStreamingDetails', 'concurrentViewers')),
      subscriber_count: subscribers,
    },
    media: { image_urls: images.map((image) => image.url), entries: images },
    // The API rounds subscribers to three digits.
    precision: {
      // The API omits the counters that the owner hides.
      ...Object.fromEntries(
        COUNTERS.flatMap(([metric, name]) => (statistics && !(name in statistics) ? [[metric, 'hidden']] : [])),
      ),
      ...(hidden && { subscriber_count: 'hidden' }),
      ...(subscribers !== undefined && subscribers >= 1000 && { subscriber_count: 'rounded' }),
    },
    raw_stats: rawStats({ ...statistics, subscriberCount: at(about, 'statistics', 'subscriberCount') }),
  };
}

function liveOf(video: unknown): NonNullable<PartialPost['common']> {
  const state = asString(at(video, 'snippet', 'liveBroadcastContent'));
  const details = asRecord(at(video, 'liveStreamingDetails'));
  if (state === undefined) return {};
  const live_status = state === 'live' || state === 'upcoming' ? state : details ? 'ended' : 'none';
  return {
    is_live: live_status === 'live',
    live_status,
    live_start_at: toIsoTime(details?.actualStartTime) ?? toIsoTime(details?.scheduledStartTime),
    live_end_at: toIsoTime(details?.actualEndTime),
  };
}

function thumbnails(value: unknown) {
  return parseImages(Object.values(asRecord(value) ?? {}));
}

/** Reads an oEmbed reply; undefined unless its player or picture is of the requested video. */
export function parseOembed(reply: unknown, id: string): PartialPost | undefined {
  const embedded = asString(at(reply, 'html'))?.match(/src="([^"]+)"/)?.[1];
  const thumbnail = at(reply, 'thumbnail_url');
  if (subjectOf([videoIdIn(embedded), videoIdIn(thumbnail)], id) !== 'requested') return undefined;
  const size = { width: at(reply, 'thumbnail_width'), height: at(reply, 'thumbnail_height') };
  const images = parseImages([{ url: thumbnail, ...size }]);
  const url = at(reply, 'author_url');
  const channel = channelIdIn(url);
  return {
    common: {
      title: asString(at(reply, 'title')),
      author: channelAuthor({ id: channel, name: asString(at(reply, 'author_name')), url }),
      thumbnail: images[0]?.url,
    },
    ids: videoIds(id, channel),
    media: { image_urls: images.map((image) => image.url), entries: images },
  };
}
