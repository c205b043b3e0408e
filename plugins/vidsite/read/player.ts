/*
 * Reads a player reply or its microformat: ids, title, counters, times, live state, files and subtitles. It returns
 * nothing unless all ids in the reply are those of the video. A list of all 249 countries is no restriction and is left
 * out. Disabled ratings mark the likes as hidden. Subtitles that need a token of the player are left out with a
 * limitation; for the others one parameter is added to the URL, and the signed rest stays byte for byte.
 */

import {
  asArray,
  asBoolean,
  asCount,
  asPositive,
  asRecords,
  asString,
  at,
  expiryOf,
  hashtagsIn,
  type MediaEntry,
  type PartialPost,
  queryValue,
  rawStats,
  toIsoTime,
} from 'mediagate/plugin';
import { parseFormats } from './formats.js';
import {
  channelAuthor,
  channelId,
  parseImages,
  type Subject,
  siteUrl,
  subjectOf,
  textOf,
  textsIn,
  videoIdIn,
  videoIds,
} from './values.js';

/** Number of countries and territories in ISO 3166-1: a list of all of them is no restriction. */
const ALL_COUNTRIES = 249;

/**
 * Reads a player reply (`ytInitialPlayerResponse`, `/youtubei/v1/player`), whole or its microformat alone. `post` is
 * empty unless the reply is about the requested video.
 */
export function parsePlayer(
  player: unknown,
  id: string,
): { subject: Subject; post: PartialPost; limitations: string[] } {
  const details = at(player, 'videoDetails');
  const microformat = at(player, 'microformat', 'playerMicroformatRenderer');
  const stated = [
    at(details, 'videoId'),
    at(microformat, 'externalVideoId'),
    videoIdIn(at(microformat, 'embed', 'iframeUrl')),
    videoIdIn(at(microformat, 'thumbnail', 'thumbnails', 0, 'url')),
  ];
  const subject = subjectOf(stated, id);
  if (subject !== 'requested') return { subject, post: {}, limitations: [] };
  const captions = parseCaptions(at(player, 'captions'));
  const formats = parseFormats(at(player, 'streamingData'));
  const images = parseImages(at(details, 'thumbnail', 'thumbnails'), at(microformat, 'thumbnail', 'thumbnails'));
  const description = asString(at(details, 'shortDescription')) ?? textOf(at(microformat, 'description'));
  const channel = channelId(at(details, 'channelId')) ?? channelId(at(microformat, 'externalChannelId'));
  const familySafe = asBoolean(at(microformat, 'isFamilySafe'));
  const countries = asArray(at(microformat, 'availableCountries')) ?? [];
  const likesHidden = at(details, 'allowRatings') === false;
  const post: PartialPost = {
    common: {
      title: asString(at(details, 'title')) ?? textOf(at(microformat, 'title')),
      description,
      caption: description,
      author: channelAuthor({
        id: channel,
        name: asString(at(details, 'author')) ?? asString(at(microformat, 'ownerChannelName')),
        url: at(microformat, 'ownerProfileUrl'),
      }),
      thumbnail: images[0]?.url,
      published_at: toIsoTime(at(microformat, 'publishDate')) ?? toIsoTime(at(microformat, 'uploadDate')),
      duration_seconds: asPositive(at(details, 'lengthSeconds')) ?? asPositive(at(microformat, 'lengthSeconds')),
      language: formats.language ?? captions.spoken,
      tags: tagsOf(details, description),
      category: asString(at(microformat, 'category')),
      is_unlisted: asBoolean(at(microformat, 'isUnlisted')),
      is_family_safe: familySafe,
      age_limit: familySafe === false ? 18 : undefined,
      available_countries: countries.length < ALL_COUNTRIES ? textsIn(countries) : undefined,
      ...liveOf(player, details, microformat),
    },
    ids: videoIds(id, channel),
    metrics: {
      views: asCount(at(details, 'viewCount')) ?? asCount(at(microformat, 'viewCount')),
      likes: likesHidden ? undefined : asCount(at(microformat, 'likeCount')),
    },
    media: {
      image_urls: images.map((image) => image.url),
      video_urls: formats.media.video_urls,
      entries: [...formats.media.entries, ...captions.entries, ...images],
    },
    raw_stats: rawStats({
      viewCount: at(details, 'viewCount') ?? at(microformat, 'viewCount'),
      likeCount: at(microformat, 'likeCount'),
      lengthSeconds: at(details, 'lengthSeconds') ?? at(microformat, 'lengthSeconds'),
      publishDate: at(microformat, 'publishDate'),
      averageRating: at(details, 'averageRating'),
      allowRatings: at(details, 'allowRatings'),
    }),
    ...(likesHidden && { precision: { likes: 'hidden' } }),
    ...(formats.hasAudio && { audio: true }),
  };
  return { subject, post, limitations: [...formats.limitations, ...captions.limitations] };
}

function liveOf(player: unknown, details: unknown, microformat: unknown): NonNullable<PartialPost['common']> {
  const broadcast = at(microformat, 'liveBroadcastDetails');
  const announced = announcedStart(player);
  const live = at(details, 'isLive') === true || at(broadcast, 'isLiveNow') === true;
  const upcoming = !live && (at(details, 'isUpcoming') === true || announced !== undefined);
  const everLive = at(details, 'isLiveContent') === true || broadcast !== undefined;
  // A reply without details and without a broadcast has no live status.
  if (!live && !upcoming && !everLive && typeof at(details, 'isLiveContent') !== 'boolean') return {};
  return {
    is_live: live,
    live_status: live ? 'live' : upcoming ? 'upcoming' : everLive ? 'ended' : 'none',
    live_start_at: toIsoTime(at(broadcast, 'startTimestamp')) ?? toIsoTime(announced),
    live_end_at: toIsoTime(at(broadcast, 'endTimestamp')),
  };
}

/** When an announced stream or premiere begins, in Unix seconds. */
export function announcedStart(player: unknown): unknown {
  const slate = at(player, 'playabilityStatus', 'liveStreamability', 'liveStreamabilityRenderer', 'offlineSlate');
  return at(slate, 'liveStreamOfflineSlateRenderer', 'scheduledStartTime');
}

/** The owner's keywords, otherwise the hashtags of the description. */
function tagsOf(details: unknown, description: string | undefined): string[] | undefined {
  const keywords = textsIn(at(details, 'keywords')) ?? [];
  const tags = [...new Set(keywords.map((keyword) => keyword.trim().replace(/^#/, '')).filter(Boolean))];
  return tags.length > 0 ? tags : hashtagsIn(description);
}

/** Experiments in which the subtitle service requires a token of the player. */
const TOKEN_MARKS: ReadonlySet<string> = new Set(['xpe', 'xpv']);

/** Reads `captions`: one WebVTT URL for each track. The language of automatic captions is the spoken one. */
export function parseCaptions(captions: unknown) {
  const tracks = asRecords(at(captions, 'playerCaptionsTracklistRenderer', 'captionTracks')).map((track) => {
    const url = siteUrl(track.baseUrl);
    const marks = queryValue(url ?? '', 'exp')?.split(/,|%2C/i) ?? [];
    return {
      url,
      needsToken: marks.some((mark) => TOKEN_MARKS.has(mark)),
      language: asString(track.languageCode),
      label: textOf(track.name),
      auto_generated: track.kind === 'asr',
    };
  });
  const entries = tracks.flatMap(({ url, needsToken, ...track }): MediaEntry[] =>
    url && !needsToken
      ? [{ url: asWebVtt(url), kind: 'subtitle', mime: 'text/vtt', ...track, expires_at: expiryOf(url) }]
      : [],
  );
  return {
    entries,
    spoken: tracks.find(({ auto_generated, language }) => auto_generated && language)?.language,
    limitations: tracks.some(({ needsToken }) => needsToken) ? ['subtitles_withheld'] : [],
  };
}

/** The format is not a signed parameter; the others must stay byte for byte. */
function asWebVtt(address: string): string {
  const plain = address.replace(/([?&])fmt=[^&]*&?/, '$1').replace(/[?&]$/, '');
  return `${plain}${plain.includes('?') ? '&' : '?'}fmt=vtt`;
}
