/*
 * Reads files and state of a video, and media entries in general. Files with video and audio come first, then separate
 * tracks of the manifests, then the files that the page prefetches, which are used only without a manifest. A URL of
 * the media hosts states duration, bitrate and expiry in its own parameters. Durations of records are preferred,
 * because those in URLs are rounded. Videos marked as silent list no audio. Playlists on the site's own host are for
 * debugging and are left out.
 */

import {
  absoluteUrl,
  asArray,
  asNumber,
  asPositive,
  asRecord,
  asRecords,
  asString,
  at,
  expiryOf,
  type JsonRecord,
  type MediaEntry,
  type PartialPost,
  readDashManifest,
  toIsoTime,
  tryParseJson,
} from 'mediagate/plugin';
import type { ItemNodes } from './item.js';
import { firstValue } from './relay.js';

/** An http or https URL; paths are those of the site. */
export function siteUrl(value: unknown): string | undefined {
  return absoluteUrl(value, 'https://www.facebook.com/');
}

/** What a URL of the media hosts states: `efg` is JSON in base64 with the duration and the encoding. */
export function readAddress(address: string) {
  const query = URL.parse(address)?.searchParams;
  const efg = tryParseJson(Buffer.from(query?.get('efg') ?? '', 'base64').toString('utf8'));
  const tag = asString(at(efg, 'vencode_tag')) ?? asString(query?.get('tag'));
  const seconds = asNumber(at(efg, 'duration_s'));
  const bitrate = asNumber(query?.get('bitrate') ?? at(efg, 'bitrate'));
  return {
    expires_at: expiryOf(address),
    bitrate: bitrate && bitrate > 0 ? Math.round(bitrate) : undefined,
    duration_seconds: seconds && seconds > 0 ? seconds : undefined,
    quality: /(?:^|[._-])(\d{3,4}p)(?:$|[._-])/.exec(tag ?? '')?.[1],
  };
}

/** A picture with the size that its node states. */
export function imageEntry(url: string, width?: unknown, height?: unknown): MediaEntry {
  return { url, kind: 'image', width: asPositive(width), height: asPositive(height), expires_at: expiryOf(url) };
}

/** The picture in `uri`, `width` and `height` of a node. */
export function imageIn(node: unknown): MediaEntry[] {
  const url = siteUrl(at(node, 'uri'));
  return url ? [imageEntry(url, at(node, 'width'), at(node, 'height'))] : [];
}

/** A file with video and audio; `label` is its quality if the URL states none. */
export function videoEntry(url: string, label?: string): MediaEntry {
  const { expires_at, bitrate, quality = label } = readAddress(url);
  return { url, kind: 'video', mime: 'video/mp4', has_video: true, has_audio: true, bitrate, quality, expires_at };
}

/** The files that the text of a DASH manifest lists, with video or audio each. */
export function manifestFiles(xml: unknown): MediaEntry[] {
  const { files, durationSeconds } = readDashManifest(xml);
  return files.map((file) => ({
    ...file,
    duration_seconds: durationSeconds ?? readAddress(file.url).duration_seconds,
  }));
}

/** The media of a part: the URLs of its images and videos, and their entries. */
export function mediaOf(entries: readonly MediaEntry[]): NonNullable<PartialPost['media']> {
  const urls = (wanted: string) => entries.filter(({ kind }) => kind === wanted).map(({ url }) => url);
  return { image_urls: urls('image'), video_urls: urls('video'), entries: [...entries] };
}

/** The first entry of each URL. */
export function unique(entries: readonly MediaEntry[]): MediaEntry[] {
  const urls = new Set<string>();
  return entries.filter(({ url }) => !urls.has(url) && urls.add(url));
}

const HLS = 'application/vnd.apple.mpegurl';

/** Reads the nodes of one video: files, duration, pictures, subtitles, live state. */
export function parseVideo(videos: readonly JsonRecord[], prefetched: ItemNodes['prefetched']): PartialPost {
  const first = <Value>(read: (video: JsonRecord) => Value | undefined) => firstValue(videos, read);
  const silent = videos.some(({ audio_availability }) => audio_availability === 'UNAVAILABLE');
  const duration_seconds = first(durationOf);
  const live = first(liveState);
  const progressive = videos.flatMap((video) => progressiveFiles(video, !silent));
  const whole = unique(progressive).map((file) => ({
    ...file,
    // The duration of the node is exact, that of the URL is not.
    duration_seconds: duration_seconds ?? file.duration_seconds,
  }));
  const listed = videos.flatMap(filesInManifests);
  // The files that the page prefetches are a part of the same list.
  const separate = unique(listed.length > 0 ? listed : prefetchedFiles(videos, prefetched));
  const playlists = unique(videos.flatMap(playlistsOf));
  const pictures = picturesOf(videos);
  const subtitles = unique(videos.flatMap(subtitlesOf));
  const playable =
    whole.length > 0
      ? whole
      : [...playlists.filter(({ mime }) => mime === HLS), ...separate.filter(({ has_video }) => has_video)];
  const hasAudio = whole.some(({ has_audio }) => has_audio) || separate.some(({ has_audio }) => has_audio);
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
    ...(hasAudio && !silent && !live?.is_live && { audio: true }),
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

/** The chosen picture first, the first frame last. */
function picturesOf(videos: readonly JsonRecord[]): MediaEntry[] {
  const images = [
    ...videos.map((video) => at(video, 'preferred_thumbnail', 'image')),
    ...videos.map(({ thumbnailImage }) => thumbnailImage),
    ...videos.map(({ image }) => image),
    ...videos.map(({ first_frame_thumbnail }) => ({ uri: first_frame_thumbnail })),
  ];
  return unique(images.flatMap(imageIn));
}

function subtitlesOf(video: JsonRecord): MediaEntry[] {
  const locales = asArray(video.video_available_captions_locales) ?? [];
  const listed = locales.flatMap((one): MediaEntry[] => {
    const url = siteUrl(at(one, 'captions_url'));
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
  const url = siteUrl(video.captions_url);
  return url ? [...listed, { url, kind: 'subtitle' }] : listed;
}

const DELIVERY = ['videoDeliveryResponseFragment', 'videoDeliveryResponseResult'] as const;

/** Files with video and audio, the better one first. */
function progressiveFiles(video: JsonRecord, has_audio: boolean): MediaEntry[] {
  const [width, height] = [asPositive(video.width), asPositive(video.height)];
  const file = (value: unknown, label: string): MediaEntry[] => {
    const url = siteUrl(value);
    if (!url) return [];
    const entry = { ...videoEntry(url, label), has_audio, duration_seconds: readAddress(url).duration_seconds };
    // The size of the node is that of one of the files.
    return [width && height && entry.quality === `${Math.min(width, height)}p` ? { ...entry, width, height } : entry];
  };
  const listed = asArray(at(video, ...DELIVERY, 'progressive_urls')) ?? [];
  const delivered = listed.flatMap((one) =>
    file(at(one, 'progressive_url'), at(one, 'metadata', 'quality') === 'HD' ? 'HD' : 'SD'),
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

function filesInManifests(video: JsonRecord): MediaEntry[] {
  const delivered = asArray(at(video, ...DELIVERY, 'dash_manifests')) ?? [];
  const manifests = [
    at(video, 'videoDeliveryLegacyFields', 'dash_manifest_xml_string'),
    video.dash_manifest_xml_string,
    video.dash_manifest,
    video.playlist,
    ...delivered.map((one) => at(one, 'manifest_xml')),
  ];
  return manifests.flatMap(manifestFiles);
}

/** The files of a video that the page prefetches. */
function prefetchedFiles(videos: readonly JsonRecord[], prefetched: ItemNodes['prefetched']): MediaEntry[] {
  const ids = new Set(videos.map(({ id }) => id));
  const own = [...ids].flatMap((id) => prefetched.get(id) ?? []);
  return own.flatMap(({ representations }) =>
    asRecords(representations).flatMap((one): MediaEntry[] => {
      const url = siteUrl(one.base_url);
      const mime = asString(one.mime_type);
      const kind = mime?.startsWith('video/') ? 'video' : mime?.startsWith('audio/') ? 'audio' : undefined;
      if (!url || !kind) return [];
      const { expires_at, duration_seconds } = readAddress(url);
      return [
        {
          url,
          kind,
          mime,
          codecs: asString(one.codecs),
          has_video: kind === 'video',
          has_audio: kind === 'audio',
          ...(kind === 'video' && { width: asPositive(one.width), height: asPositive(one.height) }),
          bitrate: asPositive(one.bandwidth),
          duration_seconds,
          expires_at,
        },
      ];
    }),
  );
}

/** Playlists for players; those on the site's own host are for debugging. */
function playlistsOf(video: JsonRecord): MediaEntry[] {
  const kinds = [
    ['hls_playlist_urls', 'hls_playlist_url', HLS],
    ['dash_manifest_urls', 'manifest_url', 'application/dash+xml'],
  ] as const;
  return kinds.flatMap(([list, member, mime]) =>
    (asArray(at(video, ...DELIVERY, list)) ?? []).flatMap((one): MediaEntry[] => {
      const url = siteUrl(at(one, member));
      if (!url || !new URL(url).hostname.endsWith('.fbcdn.net')) return [];
      return [{ url, kind: 'manifest', mime, has_video: true, expires_at: readAddress(url).expires_at }];
    }),
  );
}
