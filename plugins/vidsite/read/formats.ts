import {
  asArray,
  asNumber,
  asPositive,
  asRecord,
  asString,
  at,
  expiryOf,
  type MediaEntry,
  type PartialPost,
  queryValue,
  toIsoTime,
} from 'mediagate/plugin';
import { siteUrl } from './values.js';

const HLS = 'application/vnd.apple.mpegurl';

/** The files of a player reply. */
export interface Formats {
  media: NonNullable<PartialPost['media']>;
  hasAudio: boolean;
  /** BCP 47 tag of the original audio track, if the reply has several. */
  language?: string;
  limitations: string[];
}

/** One element of `formats` or `adaptiveFormats`. */
interface Format {
  /** Has a URL that can be fetched: not protected, and not part of a live stream, which has manifests. */
  fetchable: boolean;
  segmented: boolean;
  ciphered: boolean;
  protectedContent: boolean;
  entry: Omit<MediaEntry, 'url'>;
  url?: string;
  itag?: number;
  isDefaultTrack: boolean;
  isOriginalTrack: boolean;
  isCompressed: boolean;
}

/** Reads `streamingData`. Files without a URL (ciphered, or streamed by the player only) are not listed. */
export function parseFormats(streamingData: unknown): Formats {
  const formats = readFormats(streamingData);
  const manifests = readManifests(streamingData);
  const files = formats.flatMap(({ url, fetchable, entry }) => (url && fetchable ? [{ url, ...entry }] : []));
  const video = files.filter((file) => file.has_video).sort(betterFirst);
  const whole = video.filter((file) => file.has_audio);
  const playable = whole.length > 0 ? whole : [...manifests.filter(({ mime }) => mime === HLS), ...video];
  return {
    media: {
      video_urls: playable.map((file) => file.url),
      entries: [
        ...whole,
        ...video.filter((file) => !file.has_audio),
        ...files.filter(({ has_video }) => !has_video),
        ...manifests,
      ],
    },
    hasAudio: formats.some(({ entry }) => entry.has_audio) || manifests.length > 0,
    language: originalLanguage(formats),
    limitations: limitationsOf(streamingData, formats, files.length + manifests.length, whole.length),
  };
}

/** The file to take the audio from: of the original track, in the order of the itags, otherwise the smallest. */
export function chooseAudio(streamingData: unknown, itags: readonly number[]): MediaEntry | undefined {
  const rank = (format: Format) => {
    const place = format.itag === undefined ? -1 : itags.indexOf(format.itag);
    return [
      format.entry.has_video ? 1 : 0,
      format.isOriginalTrack ? 0 : format.isDefaultTrack ? 1 : 2,
      format.isCompressed ? 1 : 0,
      place < 0 ? itags.length : place,
      format.entry.bitrate ?? Number.MAX_SAFE_INTEGER,
    ];
  };
  const [best] = readFormats(streamingData)
    .filter(({ fetchable, entry }) => fetchable && entry.has_audio)
    .map((format) => ({ format, rank: rank(format) }))
    .sort((one, other) => one.rank.map((value, index) => value - (other.rank[index] ?? 0)).find(Boolean) ?? 0);
  return best?.format.url ? { url: best.format.url, ...best.format.entry } : undefined;
}

function originalLanguage(formats: readonly Format[]): string | undefined {
  const tracks = formats.filter(({ entry }) => entry.language);
  return (tracks.find((track) => track.isOriginalTrack) ?? tracks.find((track) => track.isDefaultTrack))?.entry
    .language;
}

function readFormats(streamingData: unknown): Format[] {
  return [at(streamingData, 'formats'), at(streamingData, 'adaptiveFormats')].flatMap((list) =>
    (asArray(list) ?? []).flatMap((format) => readFormat(format) ?? []),
  );
}

const MEDIA_TYPE = /^((video|audio)\/[\w.+-]+)(?:;\s*codecs="?([^"]*)"?)?/;

function readFormat(item: unknown): Format | undefined {
  const format = asRecord(item);
  const [, mime, family, codecs] = MEDIA_TYPE.exec(asString(format?.mimeType) ?? '') ?? [];
  if (!format || !mime || (family !== 'video' && family !== 'audio')) return undefined;
  const url = siteUrl(format.url);
  const segmented = format.targetDurationSec !== undefined || format.type === 'FORMAT_STREAM_TYPE_OTF';
  const protectedContent = (asArray(format.drmFamilies)?.length ?? 0) > 0;
  const has_video = family === 'video';
  const has_audio = !has_video || (codecs?.includes(',') ?? false) || format.audioQuality !== undefined;
  const track = asRecord(format.audioTrack);
  const isCompressed = format.isDrc === true;
  const label = [asString(track?.displayName), isCompressed && 'even loudness'].filter(Boolean).join(', ');
  const milliseconds = asNumber(format.approxDurationMs);
  return {
    url,
    itag: asNumber(format.itag),
    fetchable: url !== undefined && !segmented && !protectedContent,
    segmented,
    ciphered: !url && (format.signatureCipher ?? format.cipher) !== undefined,
    protectedContent,
    isDefaultTrack: track?.audioIsDefault !== false,
    isOriginalTrack: isOriginal(format.xtags),
    isCompressed,
    entry: {
      kind: has_video ? 'video' : 'audio',
      mime,
      has_video,
      has_audio,
      codecs: codecs || undefined,
      width: asPositive(format.width),
      height: asPositive(format.height),
      fps: asPositive(format.fps),
      bitrate: asPositive(format.averageBitrate ?? format.bitrate),
      size: asPositive(format.contentLength),
      duration_seconds: milliseconds && milliseconds > 0 ? milliseconds / 1000 : undefined,
      quality: asString(format.qualityLabel) ?? audioQuality(format.audioQuality),
      language: asString(track?.id)?.split('.', 1)[0] || undefined,
      label: label || undefined,
      ...(url && lifeOf(url)),
    },
  };
}

/** `xtags` is a protocol buffer in base64 with the kind of the track in plain ASCII. */
function isOriginal(xtags: unknown): boolean {
  const text = asString(xtags);
  return text !== undefined && Buffer.from(text, 'base64').includes('original');
}

function audioQuality(value: unknown): string | undefined {
  return /^AUDIO_QUALITY_(\w+)$/.exec(asString(value) ?? '')?.[1]?.toLowerCase();
}

/** Media URLs have their expiry time and the client's IP address in the query, manifests in the path. */
function lifeOf(url: string): Pick<MediaEntry, 'expires_at' | 'bound_to'> {
  const expires_at = expiryOf(url) ?? toIsoTime(/\/expire\/(\d{10})\//.exec(url)?.[1]);
  const bound = queryValue(url, 'ip') !== undefined || url.includes('/ip/');
  return { ...(expires_at && { expires_at }), ...(bound && { bound_to: ['ip'] }) };
}

function readManifests(streamingData: unknown): MediaEntry[] {
  const kinds = [
    ['hlsManifestUrl', HLS],
    ['dashManifestUrl', 'application/dash+xml'],
  ] as const;
  return kinds.flatMap(([name, mime]) => {
    const url = siteUrl(at(streamingData, name));
    return url ? [{ url, kind: 'manifest', mime, has_video: true, has_audio: true, ...lifeOf(url) } as const] : [];
  });
}

/** Larger first; the more common codec if the size is equal. */
function betterFirst(one: MediaEntry, other: MediaEntry): number {
  return (
    (other.height ?? 0) - (one.height ?? 0) ||
    Number(other.mime === 'video/mp4') - Number(one.mime === 'video/mp4') ||
    (other.bitrate ?? 0) - (one.bitrate ?? 0)
  );
}

function limitationsOf(data: unknown, formats: readonly Format[], listed: number, wholeFiles: number): string[] {
  const streamed = formats.every((format) => !format.url && !format.ciphered);
  const isStreamed = formats.length > 0 ? streamed : Boolean(at(data, 'serverAbrStreamingUrl'));
  const separate = formats.some((format) => format.url && !format.segmented);
  return [
    formats.some((format) => format.protectedContent) || at(data, 'licenseInfos') !== undefined ? 'drm' : '',
    formats.some((format) => format.ciphered) ? 'media_ciphered' : '',
    listed === 0 && isStreamed ? 'sabr_only' : '',
    listed > 0 && wholeFiles === 0 && separate ? 'media_separate_tracks' : '',
  ].filter((note) => note !== '');
}
