/*
 * A document as an info dict of yt-dlp, for `yt-dlp --load-info-json`: the program then downloads without asking the
 * platform again. Fields that are not known are absent, as yt-dlp expects it; formats are sorted from the worst to the
 * best. The extractor has the platform's key, since the names of yt-dlp's own extractors would make it look for their
 * code. The addresses of files expire, and some work only from the gateway's own address: see `expires_at` and
 * `bound_to` in the document. Media links of the gateway, if there are any, take their place, and the merged video takes
 * that of manifests, as the best format. An item without video and audio is refused.
 */

import {
  type ExtractResult,
  field,
  type MediaEntry,
  optional,
  type PostData,
  Type,
  type VideoLink,
} from '../../core/contracts/index.js';
import { GatewayError } from '../../core/runtime/index.js';
import { Count, Text } from '../http/index.js';
import { withMediaLinks } from './answers.js';

/** Media type of an info dict, so that the API reference tells it from a document. */
export const INFO_TYPE = 'application/vnd.yt-dlp.info+json';

const INFO_SCHEMA = Type.Object(
  {
    _type: field(Type.Literal('video'), 'Always `video`.'),
    id: field(Text, "The platform's id of the item."),
    title: field(Text, 'Title of the item, or its id if it has none.'),
    webpage_url: field(Text, 'The permanent link of the item.'),
    extractor: field(Text, 'Platform key.', 'vidsite'),
    formats: field(
      Type.Array(
        Type.Object(
          {
            format_id: field(Text, 'Name of the format.', '720p-0'),
            url: field(Text, 'Address of the file.'),
            ext: field(Text, 'File extension.', 'mp4'),
            protocol: field(Text, 'How yt-dlp downloads the file.', 'https'),
          },
          { additionalProperties: true },
        ),
        { minItems: 1 },
      ),
      'The files of the item, worst first.',
    ),
    duration: optional(Type.Number(), 'Duration in seconds.'),
    view_count: optional(Count, 'Views.'),
  },
  { additionalProperties: true, description: 'An info dict of yt-dlp, with its field names.' },
);

export const INFO_ANSWER = { [INFO_TYPE]: { name: 'YtDlpInfo', schema: INFO_SCHEMA } };
export const INFO_QUERY = {
  format: {
    schema: Type.Literal('yt-dlp'),
    description: 'With `yt-dlp` the answer is an info dict for `yt-dlp --load-info-json`. Default: a document.',
  },
};

/** Fields that ask for a job. */
type AsyncFields = Partial<Readonly<Record<'async_mode' | 'force_async' | 'background', boolean>>>;

/**
 * Whether the query asks for an info dict. Jobs of shop links have none: they are of products.
 * @throws GatewayError `invalid_value`, `unsupported_value` with `param`.
 */
export function wantsInfoDict(
  { format }: Readonly<Record<string, unknown>>,
  { async_mode: isJob, force_async: isRefresh, background }: AsyncFields,
): boolean {
  if (format === undefined) return false;
  const param = 'format';
  if (format !== 'yt-dlp') {
    throw new GatewayError('invalid_value', 'format must be yt-dlp, or absent for a document.', { param });
  }
  if (background || (!isJob && !isRefresh)) return true;
  const message = 'format=yt-dlp has no background jobs of products: leave async_mode and force_async out.';
  throw new GatewayError('unsupported_value', message, { param });
}

/**
 * @throws GatewayError `unsupported_value` with `param` if the item has no video and no audio.
 */
export function encodeInfoDict({
  data: found,
  mediaLinks,
  videoLink,
  platform,
  inputUrl,
  link,
}: ExtractResult): Buffer {
  const data = mediaLinks ? withMediaLinks(found, mediaLinks) : found;
  const formats = 'common' in data ? [...formatsOf(data, videoLink), ...mergedFormats(data, videoLink)] : [];
  if (!('common' in data) || formats.length === 0) {
    throw new GatewayError(
      'unsupported_value',
      'The item has no video and no audio file that yt-dlp could download. Without format=yt-dlp, the answer is the document.',
      { param: 'format', platform },
    );
  }
  const { common, ids, metrics, media } = data;
  const { author = {}, music = {} } = common;
  const webpageUrl = ids.canonical_url ?? link.url;
  return Buffer.from(
    JSON.stringify({
      _type: 'video',
      id: ids.video_id ?? ids.post_id ?? ids.shortcode ?? link.id,
      title: common.title ?? common.caption ?? link.id,
      formats,
      webpage_url: webpageUrl,
      original_url: inputUrl,
      // The names of yt-dlp's own extractors would make it look for their code.
      extractor: platform,
      extractor_key: platform,
      description: common.description ?? common.caption,
      uploader: author.name,
      uploader_id: author.username ?? author.id,
      uploader_url: author.url,
      channel: author.name,
      channel_id: ids.channel_id ?? author.id,
      channel_follower_count: metrics.subscriber_count,
      ...timesOf(common),
      duration: common.duration_seconds,
      view_count: metrics.views ?? metrics.plays,
      concurrent_view_count: metrics.concurrent_viewers,
      like_count: metrics.likes,
      comment_count: metrics.comments,
      repost_count: metrics.shares,
      age_limit: common.age_limit,
      categories: common.category === undefined ? undefined : [common.category],
      tags: common.tags,
      language: common.language,
      location: common.location,
      track: music.title,
      artist: music.artist,
      album: music.album,
      availability: common.is_unlisted ? 'unlisted' : 'public',
      chapters: chaptersOf(common),
      thumbnails: thumbnailsOf(data),
      subtitles: subtitlesOf(media.entries, false),
      automatic_captions: subtitlesOf(media.entries, true),
    }),
  );
}

const LIVE_STATUS = { upcoming: 'is_upcoming', live: 'is_live', ended: 'was_live', none: 'not_live' } as const;

function timesOf({
  published_at: published,
  live_status: live,
  live_start_at: start,
  is_live: isLive,
}: PostData['common']) {
  return {
    timestamp: secondsOf(published),
    upload_date: published?.slice(0, 10).replaceAll('-', ''),
    release_timestamp: secondsOf(start),
    live_status: live ? LIVE_STATUS[live] : undefined,
    is_live: isLive,
  };
}

function secondsOf(time: string | undefined): number | undefined {
  return time === undefined ? undefined : Math.floor(Date.parse(time) / 1000);
}

function chaptersOf({ chapters = [], duration_seconds: end }: PostData['common']) {
  if (chapters.length === 0) return undefined;
  return chapters.map(({ title, start_seconds: start }, index) => ({
    title,
    start_time: start,
    end_time: chapters[index + 1]?.start_seconds ?? end,
  }));
}

function thumbnailsOf({ common, media }: PostData) {
  const images = (media.entries ?? []).filter(({ kind }) => kind === 'image');
  const others = images.map((image) => ({ url: addressOf(image), width: image.width, height: image.height }));
  // yt-dlp takes the last one as the best.
  const best = common.thumbnail === undefined ? [] : [{ url: common.thumbnail }];
  return [...others.filter(({ url }) => url !== common.thumbnail), ...best];
}

/** By language. */
function subtitlesOf(entries: readonly MediaEntry[] = [], automatic: boolean) {
  const tracks = entries.filter((one) => one.kind === 'subtitle' && (one.auto_generated ?? false) === automatic);
  const byLanguage = Map.groupBy(tracks, ({ language = 'und' }) => language);
  return Object.fromEntries(
    Array.from(byLanguage, ([language, some]) => [
      language,
      some.map((one) => ({ url: addressOf(one), name: one.label, ext: extensionOf(one, 'vtt') })),
    ]),
  );
}

/** The video with picture and sound that the gateway makes of separate tracks or of a stream of parts. */
function mergedFormats({ media }: PostData, link: VideoLink | undefined) {
  if (!link?.isMerged) return [];
  const ext = link.urls.webm === link.url ? 'webm' : 'mp4';
  const pictures = (media.entries ?? []).filter(({ kind, height }) => kind === 'video' && height !== undefined);
  const best = pictures.toSorted((one, other) => (other.height ?? 0) - (one.height ?? 0))[0];
  return [
    {
      format_id: `merged-${ext}`,
      format_note: 'picture and sound, merged by the gateway',
      url: link.url,
      ext,
      protocol: new URL(link.url).protocol.slice(0, -1),
      width: best?.width,
      height: best?.height,
      fps: best?.fps,
    },
  ];
}

/** Worst first, as yt-dlp has them; those that it can download. */
function formatsOf({ ids, media, common }: PostData, merged: VideoLink | undefined) {
  const entries = media.entries ?? media.video_urls.map((url): MediaEntry => ({ url, kind: 'video' }));
  return (
    entries
      .filter(isDownloadable)
      // The addresses in a manifest are the platform's; the gateway reads it itself.
      .filter(({ proxy_url: link }) => merged === undefined || link !== undefined)
      .toReversed()
      .map((entry, index) => {
        const { quality, label, bound_to: bound = [] } = entry;
        const page = ids.canonical_url ?? common.author?.url;
        return {
          format_id: `${quality ?? label ?? entry.kind}-${index}`.replace(/[^\w.-]+/g, '_'),
          format_note: [quality, label].filter((note) => note !== undefined).join(', ') || undefined,
          url: addressOf(entry),
          ext: entry.kind === 'manifest' ? 'mp4' : extensionOf(entry, entry.kind === 'audio' ? 'm4a' : 'mp4'),
          protocol: entry.kind === 'manifest' ? 'm3u8_native' : new URL(addressOf(entry)).protocol.slice(0, -1),
          width: entry.width,
          height: entry.height,
          fps: entry.fps,
          tbr: entry.bitrate === undefined ? undefined : entry.bitrate / 1000,
          filesize: entry.size,
          language: entry.language,
          ...codecsOf(entry),
          http_headers:
            bound.includes('referer') && page !== undefined && entry.proxy_url === undefined
              ? { Referer: page }
              : undefined,
          preference: label?.includes('watermark') ? -2 : undefined,
        };
      })
  );
}

/** Where yt-dlp fetches it: at the gateway, if it has a media link. */
function addressOf({ url, proxy_url: link = url }: MediaEntry): string {
  return link;
}

/** Manifests of DASH would have to be read; their files are entries of their own. */
function isDownloadable({ kind, url, mime = '' }: MediaEntry): boolean {
  if (kind === 'manifest') return /mpegurl/i.test(mime) || new URL(url).pathname.endsWith('.m3u8');
  return kind === 'video' || kind === 'audio';
}

/** `none` for a track that the file does not have; absent if it is not known. */
function codecsOf({ kind, codecs = '', has_audio: hasAudio, has_video: hasVideo }: MediaEntry) {
  const all = codecs.split(',').map((codec) => codec.trim());
  const audio = all.find((codec) => AUDIO_CODEC.test(codec));
  const video = all.find((codec) => codec !== '' && codec !== audio);
  return {
    vcodec: kind === 'audio' || hasVideo === false ? 'none' : video,
    acodec: hasAudio === false ? 'none' : audio,
  };
}

const AUDIO_CODEC = /^(?:mp4a|opus|vorbis|mp3|ac-3|ec-3|flac)/i;

const EXTENSIONS: Readonly<Record<string, string>> = {
  'video/mp4': 'mp4',
  'video/webm': 'webm',
  'audio/mp4': 'm4a',
  'audio/webm': 'webm',
  'audio/mpeg': 'mp3',
  'text/vtt': 'vtt',
  'application/x-subrip': 'srt',
  'application/ttml+xml': 'ttml',
};

function extensionOf({ url, mime = '' }: MediaEntry, fallback: string): string {
  const known = EXTENSIONS[mime] ?? /\.(\w{2,4})$/.exec(new URL(url).pathname)?.[1]?.toLowerCase();
  return known !== undefined && /^(?:mp4|webm|m4a|mp3|mov|vtt|srt|ttml|ogg|aac)$/.test(known) ? known : fallback;
}
