import {
  asArray,
  asNumber,
  asRecord,
  asString,
  at,
  type JsonRecord,
  type PartialPost,
  parseDuration,
  toIsoTime,
} from 'mediagate';
import { canonicalUrl } from '../links.js';
import { parseChapters } from './description.js';
import { rawStats } from './player.js';
import { absoluteUrl, channelId, parseImages, usernameIn, videoIdIn } from './text.js';

/** Metric → its field in `statistics`. */
const COUNTERS = { views: 'viewCount', likes: 'likeCount', comments: 'commentCount' };

/** The item with the id in a `videos.list` or `channels.list` reply; undefined if there is none. */
export function itemOf(reply: unknown, id: string): JsonRecord | undefined {
  return (asArray(at(reply, 'items')) ?? []).map(asRecord).find((item) => item?.id === id);
}

/** Reads a video and, if given, its channel. */
export function parseVideo(video: unknown, channel: unknown, id: string): PartialPost {
  const snippet = at(video, 'snippet');
  const statistics = at(video, 'statistics');
  const owner = channelId(at(snippet, 'channelId'));
  const about = owner !== undefined && at(channel, 'id') === owner ? channel : undefined;
  const images = thumbnails(at(snippet, 'thumbnails'));
  const description = asString(at(snippet, 'description'));
  const restricted = at(video, 'contentDetails', 'contentRating', 'ytRating') === 'ytAgeRestricted';
  const duration = parseDuration(asString(at(video, 'contentDetails', 'duration')) ?? '') || undefined;
  const hidden = at(about, 'statistics', 'hiddenSubscriberCount') === true;
  const subscribers = hidden ? undefined : asNumber(at(about, 'statistics', 'subscriberCount'));
  return {
    common: {
      title: asString(at(snippet, 'title')),
      description,
      caption: description,
      author: authorOf(snippet, about, owner),
      thumbnail: images[0]?.url,
      published_at: toIsoTime(at(snippet, 'publishedAt')),
      duration_seconds: duration,
      language: asString(at(snippet, 'defaultAudioLanguage')) ?? asString(at(snippet, 'defaultLanguage')),
      tags: strings(at(snippet, 'tags')),
      is_unlisted: unlisted(asString(at(video, 'status', 'privacyStatus'))),
      age_limit: restricted ? 18 : undefined,
      available_countries: strings(at(video, 'contentDetails', 'regionRestriction', 'allowed')),
      chapters: parseChapters(undefined, description),
      ...liveOf(video),
    },
    ids: { video_id: id, canonical_url: canonicalUrl(id), channel_id: owner, author_id: owner },
    metrics: {
      views: asNumber(at(statistics, 'viewCount')),
      likes: asNumber(at(statistics, 'likeCount')),
      comments: asNumber(at(statistics, 'commentCount')),
      concurrent_viewers: asNumber(at(video, 'liveStreamingDetails', 'concurrentViewers')),
      subscriber_count: subscribers,
      channel_id: owner,
    },
    media: { image_urls: images.map((image) => image.url), entries: images },
    // The API rounds subscribers to three digits.
    precision: {
      // The API omits the counters that the owner hides.
      ...Object.fromEntries(
        Object.entries(statistics === undefined ? {} : COUNTERS).flatMap(([metric, name]) =>
          at(statistics, name) === undefined ? [[metric, 'hidden' as const]] : [],
        ),
      ),
      ...(hidden && { subscriber_count: 'hidden' }),
      ...(subscribers !== undefined && subscribers >= 1000 && { subscriber_count: 'rounded' }),
    },
    raw_stats: rawStats({ ...asRecord(statistics), subscriberCount: at(about, 'statistics', 'subscriberCount') }),
  };
}

function authorOf(snippet: unknown, channel: unknown, id: string | undefined) {
  const handle = asString(at(channel, 'snippet', 'customUrl'));
  const address = handle?.startsWith('@') ? `/${handle}` : undefined;
  return {
    id,
    name: asString(at(snippet, 'channelTitle')) ?? asString(at(channel, 'snippet', 'title')),
    username: usernameIn(address),
    url: absoluteUrl(address),
    avatar: thumbnails(at(channel, 'snippet', 'thumbnails'))[0]?.url,
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

function strings(value: unknown): string[] | undefined {
  const found = (asArray(value) ?? []).flatMap((item) => asString(item) ?? []);
  return found.length > 0 ? found : undefined;
}

function unlisted(privacy: string | undefined): boolean | undefined {
  return privacy === undefined ? undefined : privacy === 'unlisted';
}

/** Reads an oEmbed reply; undefined unless its player or picture is of the requested video. */
export function parseOembed(reply: unknown, id: string): PartialPost | undefined {
  const embedded = asString(at(reply, 'html'))?.match(/src="([^"]+)"/)?.[1];
  const thumbnail = at(reply, 'thumbnail_url');
  const stated = [videoIdIn(embedded), videoIdIn(thumbnail)].filter((value) => value !== undefined);
  if (stated.length === 0 || stated.some((value) => value !== id)) return undefined;
  const images = parseImages([
    { url: thumbnail, width: asNumber(at(reply, 'thumbnail_width')), height: asNumber(at(reply, 'thumbnail_height')) },
  ]);
  const address = asString(at(reply, 'author_url'));
  const channel = channelId(/\/channel\/([^/?#]+)/.exec(address ?? '')?.[1]);
  return {
    common: {
      title: asString(at(reply, 'title')),
      author: {
        id: channel,
        name: asString(at(reply, 'author_name')),
        username: usernameIn(address),
        url: absoluteUrl(address),
      },
      thumbnail: images[0]?.url,
    },
    ids: { video_id: id, canonical_url: canonicalUrl(id), channel_id: channel, author_id: channel },
    media: { image_urls: images.map((image) => image.url), entries: images },
  };
}
