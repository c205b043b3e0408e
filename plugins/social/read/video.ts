import {
  asArray,
  asNumber,
  asPositive,
  asRecord,
  asString,
  at,
  type JsonRecord,
  type MediaEntry,
  type PartialPost,
  toIsoTime,
} from 'mediagate';
import type { ItemNodes } from './item.js';
import { absoluteUrl, fileEntry, imageEntry, parseManifest, readAddress, unique } from './media.js';

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

const DELIVERY = ['videoDeliveryResponseFragment', 'videoDeliveryResponseResult'] as const;

/** Files with pictures and sound together, the better one first. */
export function progressiveFiles(video: JsonRecord, has_audio: boolean): MediaEntry[] {
  const [width, height] = [asPositive(video.width), asPositive(video.height)];
  const file = (value: unknown, label: string): MediaEntry[] => {
    const url = absoluteUrl(value);
    if (!url) return [];
    const { expires_at, bitrate, duration_seconds, quality } = readAddress(url);
    return [
      {
        url,
        kind: 'video',
        mime: 'video/mp4',
        has_video: true,
        has_audio,
        // The node's size is that of one of the files, by its lines.
        ...(width && height && quality === `${Math.min(width, height)}p` ? { width, height } : {}),
        bitrate,
        duration_seconds,
        quality: quality ?? label,
        expires_at,
      },
    ];
  };
  const listed = asArray(at(video, ...DELIVERY, 'progressive_urls')) ?? [];
  const delivered = ['HD', 'SD'].flatMap((wanted) =>
    listed.flatMap((one) => {
      const label = at(one, 'metadata', 'quality') === 'HD' ? 'HD' : 'SD';
      return label === wanted ? file(at(one, 'progressive_url'), label) : [];
    }),
  );
  const legacy = [asRecord(video.videoDeliveryLegacyFields), video].flatMap((holder) => [
    ...file(holder?.browser_native_hd_url, 'HD'),
    ...file(holder?.playable_url_quality_hd, 'HD'),
    ...file(holder?.browser_native_sd_url, 'SD'),
    ...file(holder?.playable_url, 'SD'),
  ]);
  return [...delivered, ...legacy].sort((one, other) => rank(one) - rank(other));
}

function rank({ quality }: MediaEntry): number {
  if (quality === 'HD') return 0;
  const lines = Number.parseInt(quality ?? '', 10);
  return Number.isNaN(lines) ? 1 : lines >= 720 ? 0 : 1;
}

/** DASH manifests, which some generations of the page hold as text. */
export function manifestTexts(video: JsonRecord): string[] {
  const delivered = asArray(at(video, ...DELIVERY, 'dash_manifests')) ?? [];
  const texts = [
    at(video, 'videoDeliveryLegacyFields', 'dash_manifest_xml_string'),
    video.dash_manifest_xml_string,
    video.dash_manifest,
    video.playlist,
    ...delivered.map((one) => at(one, 'manifest_xml')),
  ];
  return texts.flatMap((text) => asString(text) ?? []).filter((text) => text.includes('<MPD'));
}

/** What the page fetches beforehand of a video. */
export function prefetchedFiles(videos: readonly JsonRecord[], prefetched: ItemNodes['prefetched']): MediaEntry[] {
  const ids = new Set(videos.map(({ id }) => id));
  const own = [...ids].flatMap((id) => prefetched.get(id) ?? []);
  return own.flatMap(({ representations }) =>
    (asArray(representations) ?? []).flatMap((one) => {
      const url = absoluteUrl(at(one, 'base_url'));
      const mime = asString(at(one, 'mime_type'));
      if (!url || !mime || !/^(?:video|audio)\//.test(mime)) return [];
      const value = (name: string) => {
        const member = at(one, name);
        return typeof member === 'number' ? String(member) : asString(member);
      };
      return [fileEntry(url, mime, { value })];
    }),
  );
}

/** Playlists that a player may be given; those on the site's own host are for debugging. */
export function playlistsOf(video: JsonRecord): MediaEntry[] {
  const kinds = [
    ['hls_playlist_urls', 'hls_playlist_url', 'application/vnd.apple.mpegurl'],
    ['dash_manifest_urls', 'manifest_url', 'application/dash+xml'],
  ] as const;
  return kinds.flatMap(([list, member, mime]) =>
    (asArray(at(video, ...DELIVERY, list)) ?? []).flatMap((one): MediaEntry[] => {
      const url = absoluteUrl(at(one, member));
      if (!url || !new URL(url).hostname.endsWith('.fbcdn.net')) return [];
      return [{ url, kind: 'manifest', mime, has_video: true, expires_at: readAddress(url).expires_at }];
    }),
  );
}
