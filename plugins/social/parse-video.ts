import {
  asArray,
  asNumber,
  asPositive,
  asString,
  at,
  type JsonRecord,
  type MediaEntry,
  type PartialPost,
  toIsoTime,
} from 'mediagate';
import type { ItemNodes } from './item-nodes.js';
import { absoluteUrl, imageEntry, unique } from './media-address.js';
import { parseManifest } from './parse-manifest.js';
import { manifestTexts, playlistsOf, prefetchedFiles, progressiveFiles } from './video-files.js';

/** What the nodes of one video say: files, length, pictures, subtitles, whether it runs live. */
export function parseVideo(videos: readonly JsonRecord[], prefetched: ItemNodes['prefetched']): PartialPost {
  const first = <Value>(read: (video: JsonRecord) => Value | undefined): Value | undefined => {
    for (const video of videos) {
      const value = read(video);
      if (value !== undefined) return value;
    }
    return undefined;
  };
  const silent = videos.some(({ audio_availability }) => audio_availability === 'UNAVAILABLE');
  const duration_seconds = first(durationOf);
  const live = first(liveState);
  const progressive = videos.flatMap((video) => progressiveFiles(video, !silent));
  const whole = unique(progressive).map((file) => ({
    ...file,
    // The node's length is exact, the one in the address is not.
    duration_seconds: duration_seconds ?? file.duration_seconds,
  }));
  const listed = videos.flatMap((video) => manifestTexts(video).flatMap(parseManifest));
  // What the page fetches beforehand is a part of the same list.
  const separate = unique(listed.length > 0 ? listed : prefetchedFiles(videos, prefetched));
  const playlists = unique(videos.flatMap(playlistsOf));
  const pictures = picturesOf(videos);
  const subtitles = unique(videos.flatMap(subtitlesOf));
  const playable =
    whole.length > 0 ? whole : [...playlists.filter(isHls), ...separate.filter(({ has_video }) => has_video)];
  const sounding = whole.some(({ has_audio }) => has_audio) || separate.some(({ has_audio }) => has_audio);
  return {
    common: {
      title: first(({ name, title }) => asString(name) ?? asString(at(title, 'text')) ?? asString(title)),
      caption: first(
        (video) => asString(at(video, 'savable_description', 'text')) ?? asString(at(video, 'message', 'text')),
      ),
      thumbnail: pictures[0]?.url,
      published_at: first(({ publish_time, created_time }) => toIsoTime(publish_time) ?? toIsoTime(created_time)),
      duration_seconds,
      ...live,
    },
    metrics: {
      concurrent_viewers: live?.is_live ? first(({ liveViewerCount }) => asPositive(liveViewerCount)) : undefined,
    },
    media: {
      image_urls: pictures.slice(0, 1).map(({ url }) => url),
      video_urls: playable.map(({ url }) => url),
      entries: [...whole, ...separate, ...playlists, ...pictures, ...subtitles],
    },
    ...(sounding && !silent && !live?.is_live && { audio: true }),
  };
}

function durationOf(video: JsonRecord): number | undefined {
  const milliseconds = asNumber(video.playable_duration_in_ms);
  const seconds = milliseconds
    ? milliseconds / 1000
    : (asNumber(video.length_in_second) ?? asNumber(video.playable_duration));
  return seconds && seconds > 0 ? seconds : undefined;
}

function liveState(video: JsonRecord): PartialPost['common'] {
  const status = asString(video.broadcast_status);
  if (video.is_live_streaming === true || status === 'LIVE') return { is_live: true, live_status: 'live' };
  if (status?.startsWith('SCHEDULED')) {
    return { is_live: false, live_status: 'upcoming', live_start_at: toIsoTime(video.planned_start_time) };
  }
  if (status?.startsWith('VOD') || video.is_video_broadcast === true) return { is_live: false, live_status: 'ended' };
  return video.is_live_streaming === false ? { is_live: false, live_status: 'none' } : undefined;
}

function isHls({ mime }: MediaEntry): boolean {
  return mime === 'application/vnd.apple.mpegurl';
}

/** The chosen picture first, the frame that the video begins with last. */
function picturesOf(videos: readonly JsonRecord[]): MediaEntry[] {
  const images = [
    ...videos.map((video) => at(video, 'preferred_thumbnail', 'image')),
    ...videos.map(({ thumbnailImage }) => thumbnailImage),
    ...videos.map(({ image }) => image),
    ...videos.map(({ first_frame_thumbnail }) => ({ uri: first_frame_thumbnail })),
  ];
  return unique(
    images.flatMap((image) => {
      const url = absoluteUrl(at(image, 'uri'));
      return url ? [imageEntry(url, at(image, 'width'), at(image, 'height'))] : [];
    }),
  );
}

function subtitlesOf(video: JsonRecord): MediaEntry[] {
  const locales = asArray(video.video_available_captions_locales) ?? [];
  const listed = locales.flatMap((one): MediaEntry[] => {
    const url = absoluteUrl(at(one, 'captions_url'));
    if (!url) return [];
    const how = asString(at(one, 'localized_creation_method'));
    return [
      {
        url,
        kind: 'subtitle',
        language: asString(at(one, 'locale'))?.replace('_', '-'),
        label: asString(at(one, 'localized_language')),
        auto_generated: how !== undefined,
      },
    ];
  });
  const url = absoluteUrl(video.captions_url);
  return url ? [...listed, { url, kind: 'subtitle' }] : listed;
}
