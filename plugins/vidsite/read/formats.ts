/*
 * Reads the files of a player reply. A file is listed only if it has a URL that can be fetched: ciphered, protected and
 * segmented ones become limitations. Files that the platform enlarged come last, because they have more pixels and show
 * no more. The original audio track is recognized by tags, which are a protocol buffer in base64 or part of the URL.
 * Media URLs are bound to the IP address of the request and state when they expire. The audio file is chosen by track,
 * then by the preferred formats of the configuration.
 */

import {
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
  queryValue,
  toIsoTime,
} from 'mediagate/plugin';
import { siteUrl } from './values.js';

const HLS = 'application/vnd.apple.mpegurl';
/** Tags of the first and second field of a protocol buffer, where they are texts or messages. */
const FIRST_FIELD = 0x0a;
const SECOND_FIELD = 0x12;

/** Reads `streamingData`. Files without a URL (ciphered, or streamed by the player only) are not listed. */
export function parseFormats(streamingData: unknown) {
  const formats = readFormats(streamingData);
  const manifests = readManifests(streamingData);
  // The true files first: an enlarged one has more pixels and shows no more.
  const listed = [...formats].sort((one, other) => Number(one.isEnlarged) - Number(other.isEnlarged));
  const files = listed.flatMap(({ url, fetchable, entry, isEnlarged }) =>
    url && fetchable ? [{ isEnlarged, file: { url, ...entry } }] : [],
  );
  const video = files
    .filter(({ file }) => file.has_video)
    .sort((one, other) => Number(one.isEnlarged) - Number(other.isEnlarged) || betterFirst(one.file, other.file))
    .map(({ file }) => file);
  const whole = video.filter((file) => file.has_audio);
  const tracks = formats.filter(({ entry }) => entry.language);
  const spoken = tracks.find((track) => track.isOriginalTrack) ?? tracks.find((track) => track.isDefaultTrack);
  const playable = whole.length > 0 ? whole : [...manifests.filter(({ mime }) => mime === HLS), ...video];
  return {
    media: {
      video_urls: playable.map((file) => file.url),
      entries: [
        ...whole,
        ...video.filter((file) => !file.has_audio),
        ...files.flatMap(({ file }) => (file.has_video ? [] : [file])),
        ...manifests,
      ],
    },
    hasAudio: formats.some(({ entry }) => entry.has_audio) || manifests.length > 0,
    /** BCP 47 tag of the original audio track, if the reply has several. */
    language: spoken?.entry.language,
    limitations: limitationsOf(streamingData, formats, files.length + manifests.length, whole.length),
  };
}

/** The file to take the audio from: of the original track, in the order of the itags, otherwise the smallest. */
export function chooseAudio(streamingData: unknown, itags: readonly number[]): MediaEntry | undefined {
  const rank = (format: Format) => {
    const place = itags.indexOf(format.itag ?? -1);
    return [
      format.isEnlarged ? 1 : 0,
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

function readFormats(streamingData: unknown) {
  const lists = [at(streamingData, 'formats'), at(streamingData, 'adaptiveFormats')];
  return lists.flatMap(asRecords).flatMap((format) => readFormat(format) ?? []);
}

type Format = ReturnType<typeof readFormats>[number];

const MEDIA_TYPE = /^((video|audio)\/[\w.+-]+)(?:;\s*codecs="?([^"]*)"?)?/;

/** Reads one element of `formats` or `adaptiveFormats`. */
function readFormat(format: JsonRecord) {
  const [, mime, family, codecs] = MEDIA_TYPE.exec(asString(format.mimeType) ?? '') ?? [];
  if (!mime) return undefined;
  const url = siteUrl(format.url);
  const segmented = format.targetDurationSec !== undefined || format.type === 'FORMAT_STREAM_TYPE_OTF';
  const protectedContent = (asArray(format.drmFamilies)?.length ?? 0) > 0;
  const has_video = family === 'video';
  const has_audio = !has_video || (codecs?.includes(',') ?? false) || format.audioQuality !== undefined;
  const track = asRecord(format.audioTrack);
  const isCompressed = format.isDrc === true;
  const tags = readTags(format, url);
  const isEnlarged = tags.includes('sr=1');
  const label = [
    asString(track?.displayName),
    trackLabel(tags, asString(track?.displayName)),
    isCompressed && 'even loudness',
    isEnlarged && 'enlarged by the platform',
  ]
    .filter(Boolean)
    .join(', ');
  const milliseconds = asNumber(format.approxDurationMs) ?? 0;
  const [, audioQuality] = /^AUDIO_QUALITY_(\w+)$/.exec(asString(format.audioQuality) ?? '') ?? [];
  const entry: Omit<MediaEntry, 'url'> = {
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
    duration_seconds: milliseconds > 0 ? milliseconds / 1000 : undefined,
    quality: asString(format.qualityLabel) ?? audioQuality?.toLowerCase(),
    language: asString(track?.id)?.split('.', 1)[0] || undefined,
    label: label || undefined,
    ...(url && lifeOf(url)),
  };
  return {
    entry,
    url,
    itag: asNumber(format.itag),
    /** Has a URL that can be fetched: not protected, and not part of a live stream, which has manifests. */
    fetchable: url !== undefined && !segmented && !protectedContent,
    segmented,
    ciphered: !url && (format.signatureCipher ?? format.cipher) !== undefined,
    protectedContent,
    isDefaultTrack: track?.audioIsDefault !== false,
    isOriginalTrack: tags.includes('acont=original'),
    isCompressed,
    isEnlarged,
  };
}

/** By the tag of the track; none for an original. */
const TRACK_LABELS: Readonly<Record<string, string>> = {
  'acont=dubbed': 'dubbed',
  'acont=dubbed-auto': 'dubbed by the platform',
  'acont=descriptive': 'describes the picture',
};

/** What kind of track it is, where its name does not say so. */
function trackLabel(tags: readonly string[], name = ''): string | undefined {
  const label = tags.map((tag) => TRACK_LABELS[tag]).find((one) => one !== undefined);
  const [word = ''] = label?.split(' ') ?? [];
  return name.toLowerCase().includes(word.slice(0, 5)) ? undefined : label;
}

/**
 * The tags of a file, such as `acont=original` and `sr=1` (enlarged by the platform). `xtags` is a protocol buffer in
 * base64, a list of pairs of texts; the URL has the same as `acont=original:lang=en`.
 */
function readTags(format: JsonRecord, url: string | undefined): string[] {
  const bytes = Buffer.from(asString(format.xtags) ?? '', 'base64');
  const written = url === undefined ? undefined : queryValue(url, 'xtags')?.replace(/%3d/gi, '=');
  return [...readPairs(bytes), ...`${written ?? ''}:${bytes.toString('latin1')}`.split(/:|%3a/i)];
}

/** Reads a list of messages whose first two fields are texts, as `name=value`; what follows something else is left out. */
function readPairs(bytes: Buffer): string[] {
  const pairs: string[] = [];
  const textAt = (at: number) => bytes.toString('latin1', at + 2, at + 2 + (bytes[at + 1] ?? 0));
  for (let at = 0; bytes[at] === FIRST_FIELD && bytes[at + 2] === FIRST_FIELD; at += 2 + (bytes[at + 1] ?? 0)) {
    const name = textAt(at + 2);
    const second = at + 4 + name.length;
    if (bytes[second] === SECOND_FIELD) pairs.push(`${name}=${textAt(second)}`);
  }
  return pairs;
}

/** Media URLs have their expiry time and the client's IP address in the query, manifests in the path. */
function lifeOf(url: string): Pick<MediaEntry, 'expires_at' | 'bound_to'> {
  const bound = queryValue(url, 'ip') !== undefined || url.includes('/ip/');
  return {
    expires_at: expiryOf(url) ?? toIsoTime(/\/expire\/(\d{10})\//.exec(url)?.[1]),
    bound_to: bound ? ['ip'] : undefined,
  };
}

function readManifests(streamingData: unknown): MediaEntry[] {
  const manifest = (name: string, mime: string): MediaEntry[] => {
    const url = siteUrl(at(streamingData, name));
    return url ? [{ url, kind: 'manifest', mime, has_video: true, has_audio: true, ...lifeOf(url) }] : [];
  };
  return [...manifest('hlsManifestUrl', HLS), ...manifest('dashManifestUrl', 'application/dash+xml')];
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
