/*
 * Reads the media files of an item: videos in each quality, covers, pictures, music and subtitles. Addresses that
 * return a page instead of a file are left out, and so are files in a codec that only the app plays. Each entry states
 * when its URL expires and whether a fetch needs the cookie and referer of the visit. The same file under two
 * signatures is listed once. The order of videos and the choice of the smallest file with audio are defined here as
 * well.
 */

import {
  absoluteUrl,
  asArray,
  asBoolean,
  asNumber,
  asPositive,
  asRecords,
  asString,
  at,
  expiryOf,
  type MediaEntry,
  queryValue,
  toIsoTime,
} from 'mediagate/plugin';
import { languageTag, member, urlsIn } from './values.js';

/** Formats of subtitles as the site names them → media types. */
const SUBTITLES: Readonly<Record<string, string>> = {
  webvtt: 'text/vtt',
  srt: 'application/x-subrip',
  creator_caption: 'application/json',
};

/** The files of an item's `video` node: every quality, the shown one, the one with a watermark. */
export function parseVideoFiles(video: unknown, muted: boolean): MediaEntry[] {
  const qualities = parseQualities(member(video, 'bitrateInfo', 'bit_rate'));
  const shown = at(video, 'PlayAddrStruct');
  const url = [...urlsIn(at(video, 'playAddr')), ...urlsIn(shown)].find(isFetchable);
  const listed = url !== undefined && isListed(qualities, url);
  const files = [
    ...qualities,
    ...videoAt(listed ? undefined : url, {
      codecs: codecOf(asString(at(video, 'codecType'))),
      width: asPositive(at(video, 'width')),
      height: asPositive(at(video, 'height')),
      bitrate: asPositive(at(video, 'bitrate')),
      size: asPositive(at(video, 'size')) ?? asPositive(at(shown, 'DataSize')),
      quality: asString(at(video, 'definition')) ?? asString(at(video, 'ratio')),
    }),
    ...videoAt(at(video, 'downloadAddr'), { label: 'watermarked' }),
  ];
  return unique(files).map((file) => ({ ...file, has_audio: !muted }));
}

/** The files of a `video_info` node, of the API of the embedded player. */
export function parsePlayerFiles(video: unknown): MediaEntry[] {
  const meta = at(video, 'meta');
  const shown = videoAt(at(video, 'url_list'), { ...sizeOf(meta), bitrate: asPositive(at(meta, 'bitrate')) });
  return unique([...parseQualities(at(video, 'profiles')), ...shown]);
}

/** The files of a `videoData` node, which lists URLs of one quality. */
export function parseListedFiles(video: unknown): MediaEntry[] {
  return urlsIn(at(video, 'urls')).flatMap((url) => videoAt(url, sizeOf(at(video, 'videoMeta'))));
}

/** The list of qualities, in the spellings of all replies. */
function parseQualities(qualities: unknown): MediaEntry[] {
  return (asArray(qualities) ?? []).flatMap((quality) => {
    const address = member(quality, 'PlayAddr', 'playAddr', 'play_addr');
    const codec = asString(member(quality, 'CodecType', 'codec_type'));
    // Only the app plays this codec.
    if (codec?.includes('bytevc2')) return [];
    return videoAt(address, {
      codecs: codecOf(codec),
      bitrate: asPositive(member(quality, 'Bitrate', 'bit_rate', 'bitrate')),
      fps: asPositive(member(quality, 'BitrateFPS', 'FPS', 'fps')),
      width: asPositive(member(address, 'Width', 'width')),
      height: asPositive(member(address, 'Height', 'height')),
      size: asPositive(member(address, 'DataSize', 'data_size')),
      quality: qualityOf(address, quality),
    });
  });
}

/** The first URL of an address that can be fetched, as a video with audio; none if it is an audio file. */
function videoAt(address: unknown, entry: Partial<MediaEntry>): MediaEntry[] {
  const url = urlsIn(address).find(isFetchable);
  const mime = (url && mimeOf(url)) ?? 'video/mp4';
  if (!url || mime.startsWith('audio/')) return [];
  return [{ url, kind: 'video', mime, has_video: true, has_audio: true, ...entry, ...lifeOf(url) }];
}

/** Each URL once, the first one. */
function unique(entries: readonly MediaEntry[]): MediaEntry[] {
  const first = new Map<string, MediaEntry>();
  for (const entry of entries) if (!first.has(entry.url)) first.set(entry.url, entry);
  return [...first.values()];
}

function sizeOf(node: unknown): Pick<MediaEntry, 'width' | 'height'> {
  return { width: asPositive(at(node, 'width')), height: asPositive(at(node, 'height')) };
}

/** Whether a file is in the list already, under a URL with another signature. */
function isListed(files: readonly MediaEntry[], url: string): boolean {
  const path = URL.parse(url)?.pathname;
  return path !== undefined && path.length > 20 && files.some((file) => URL.parse(file.url)?.pathname === path);
}

/** The site's label, which is in the middle of longer names. */
function qualityOf(address: unknown, quality: unknown): string | undefined {
  const lines =
    /_(\d{3,4})p(?:_|$)/.exec(asString(member(address, 'UrlKey', 'url_key')) ?? '')?.[1] ??
    /_(\d{3,4})(?:_|$)/.exec(asString(member(quality, 'GearName', 'gear_name')) ?? '')?.[1];
  return lines && `${lines}p`;
}

/** Subtitles: those that were heard, and those that were translated from them. */
export function parseSubtitles(video: unknown): MediaEntry[] {
  const subtitles = [...asRecords(at(video, 'subtitleInfos')), ...asRecords(at(video, 'claInfo', 'captionInfos'))];
  return unique(
    subtitles.flatMap((subtitle): MediaEntry[] => {
      const url = absoluteUrl(member(subtitle, 'Url', 'url'));
      if (!url) return [];
      const source = asString(at(subtitle, 'Source'));
      const format = asString(member(subtitle, 'Format', 'captionFormat'))?.toLowerCase() ?? '';
      return [
        {
          url,
          kind: 'subtitle',
          mime: Object.hasOwn(SUBTITLES, format) ? SUBTITLES[format] : undefined,
          language: languageTag(member(subtitle, 'LanguageCodeName', 'language')),
          size: asPositive(at(subtitle, 'Size')),
          auto_generated: source ? source === 'ASR' || source === 'MT' : asBoolean(at(subtitle, 'isAutoGen')),
          ...lifeOf(url, member(subtitle, 'UrlExpire', 'expire')),
        },
      ];
    }),
  );
}

/** The still pictures of an item's video, the one shown first. */
export function parseCovers(video: unknown): MediaEntry[] {
  const urls = ['cover', 'originCover', 'reflowCover', 'dynamicCover'].flatMap((name) => urlsIn(at(video, name)));
  return [...new Set(urls)].slice(0, 2).map(coverEntry);
}

/** The first still picture of each of several addresses. */
export function firstCovers(...addresses: readonly unknown[]): MediaEntry[] {
  return addresses.flatMap((address) => urlsIn(address).slice(0, 1)).map(coverEntry);
}

export function coverEntry(url: string): MediaEntry {
  return { url, kind: 'image', label: 'cover', ...lifeOf(url) };
}

/** The pictures of a slideshow, each once, in a format that everything shows. */
export function parsePictures(images: unknown): MediaEntry[] {
  return (asArray(images) ?? []).flatMap((image) => {
    const source = member(image, 'imageURL', 'display_image', 'urlList', 'url_list') ?? image;
    const urls = urlsIn(source);
    const url = urls.find((one) => !/\.hei[cf](?:[?]|$)/i.test(one)) ?? urls[0];
    if (!url) return [];
    const [holder] = [source, image].filter((node) => asNumber(member(node, 'width', 'imageWidth')) !== undefined);
    const width = asPositive(member(holder, 'imageWidth', 'width'));
    const height = asPositive(member(holder, 'imageHeight', 'height'));
    return [{ url, kind: 'image', width, height, ...lifeOf(url) } as const];
  });
}

/** The audio that a post is set to. */
export function parseMusicFile(music: unknown): MediaEntry | undefined {
  const [url] = urlsIn(member(music, 'playUrl', 'play_url'));
  if (!url) return undefined;
  return {
    url,
    kind: 'audio',
    mime: mimeOf(url),
    has_audio: true,
    has_video: false,
    duration_seconds: asPositive(at(music, 'duration')),
    label: 'music',
    ...lifeOf(url),
  };
}

const ENDINGS: Readonly<Record<string, string>> = { mp3: 'audio/mpeg', m4a: 'audio/mp4', mp4: 'video/mp4' };
/** Codec names of the site → what the media type's `codecs` parameter begins with. */
const CODECS: Readonly<Record<string, string>> = {
  h264: 'avc1',
  h265: 'hvc1',
  h265_hvc1: 'hvc1',
  bytevc1: 'hvc1',
  bytevc2: 'vvc1',
};

/** When an address expires, and what a fetch must share with the visit that got it. */
export function lifeOf(url: string, stated?: unknown): Pick<MediaEntry, 'expires_at' | 'bound_to'> {
  // `/<signature>/<seconds in hexadecimal>/video/…`
  const hex = /^https?:\/\/[^/]+\/[0-9a-f]{32}\/([0-9a-f]{8})\//.exec(url)?.[1];
  const seconds = typeof stated === 'string' && /^\d{10}$/.test(stated) ? stated : hex && Number.parseInt(hex, 16);
  const bound = queryValue(url, 'tk')?.startsWith('tt_') === true;
  return { expires_at: expiryOf(url) ?? toIsoTime(seconds), ...(bound && { bound_to: ['cookie', 'referer'] }) };
}

/** The media type that an address names. */
export function mimeOf(url: string): string | undefined {
  const ending = /^[^?#]*\.([a-z0-9]{3})(?:[?#]|$)/i.exec(url)?.[1]?.toLowerCase() ?? '';
  const stated = /^(video|audio)_(mp4|mpeg)$/.exec(queryValue(url, 'mime_type') ?? '');
  return stated ? `${stated[1]}/${stated[2]}` : ENDINGS[ending];
}

function codecOf(name: string | undefined): string | undefined {
  const known = name?.toLowerCase() ?? '';
  return Object.hasOwn(CODECS, known) ? CODECS[known] : undefined;
}

/**
 * Whether a file can be fetched by others: the site's own play address sends them a page, and files of one path have no
 * audio or are empty.
 */
export function isFetchable(url: string): boolean {
  return !/^https?:\/\/www\.tiktok\.com[/?#]/i.test(url) && !/^[^?#]*\/media-video-hvc1\/?(?:[?#]|$)/.test(url);
}

/** Files that need no cookie first, then those without a watermark, then common codecs, then the larger ones. */
export function betterFirst(one: MediaEntry, other: MediaEntry): number {
  return (
    Number(one.bound_to !== undefined) - Number(other.bound_to !== undefined) ||
    Number(isWatermarked(one)) - Number(isWatermarked(other)) ||
    Number(isRare(one)) - Number(isRare(other)) ||
    shorterSide(other) - shorterSide(one) ||
    (other.bitrate ?? 0) - (one.bitrate ?? 0)
  );
}

/** Whether an entry is the still picture of a video, as opposed to the pictures of a slideshow. */
export function isCover({ label }: MediaEntry): boolean {
  return label === 'cover';
}

export function isWatermarked({ label }: MediaEntry): boolean {
  return label === 'watermarked';
}

/**
 * Chooses the smallest file that has the item's audio. The music of a video is not its audio.
 * @param isUsable - whether a file can be fetched at all
 */
export function chooseAudio(
  entries: readonly MediaEntry[],
  isUsable: (entry: MediaEntry) => boolean = () => true,
): MediaEntry | undefined {
  const videos = entries.filter(({ kind }) => kind === 'video');
  const files = videos.length > 0 ? videos : entries.filter(({ kind }) => kind === 'audio');
  return files
    .filter((file) => file.has_audio && isUsable(file))
    .sort((one, other) => Number(isRare(one)) - Number(isRare(other)) || weight(one) - weight(other))[0];
}

function isRare({ codecs }: MediaEntry): boolean {
  return codecs !== undefined && codecs !== 'avc1';
}

function shorterSide({ width = 0, height = 0 }: MediaEntry): number {
  return Math.min(width, height);
}

function weight({ size, bitrate }: MediaEntry): number {
  return size ?? (bitrate === undefined ? Number.MAX_SAFE_INTEGER : bitrate * 10);
}
