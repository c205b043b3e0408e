import { type MediaEntry, toIsoTime } from 'mediagate';

const MIMES: Readonly<Record<string, string>> = {
  video_mp4: 'video/mp4',
  audio_mpeg: 'audio/mpeg',
  audio_mp4: 'audio/mp4',
};
const ENDINGS: Readonly<Record<string, string>> = { mp3: 'audio/mpeg', m4a: 'audio/mp4', mp4: 'video/mp4' };
/** Codec names of the site → what the media type's `codecs` parameter begins with. */
const CODECS: Readonly<Record<string, string>> = {
  h264: 'avc1',
  h265: 'hvc1',
  h265_hvc1: 'hvc1',
  bytevc1: 'hvc1',
  bytevc2: 'vvc1',
};

/** How long an address holds, and what a fetch must share with the visit that got it. */
export function lifeOf(url: string, stated?: unknown): Pick<MediaEntry, 'expires_at' | 'bound_to'> {
  const seconds =
    parameter(url, 'expire') ??
    parameter(url, 'x-expires') ??
    (typeof stated === 'string' ? stated : undefined) ??
    hexTime(url);
  const bound = parameter(url, 'tk')?.startsWith('tt_') === true;
  return {
    expires_at: seconds && /^\d{10}$/.test(seconds) ? toIsoTime(seconds) : undefined,
    ...(bound && { bound_to: ['cookie', 'referer'] }),
  };
}

/** A parameter of an address, as it is written: a page has a hundred addresses, and making URL objects of them would be felt. */
function parameter(url: string, name: string): string | undefined {
  const query = url.indexOf('?');
  for (let at = query; at >= 0; at = url.indexOf('&', at + 1)) {
    if (!url.startsWith(`${name}=`, at + 1)) continue;
    return /^[^&#]*/.exec(url.slice(at + name.length + 2))?.[0] || undefined;
  }
  return undefined;
}

/** `/<signature>/<seconds in hexadecimal>/video/…` */
function hexTime(url: string): string | undefined {
  const hex = /^https?:\/\/[^/]+\/[0-9a-f]{32}\/([0-9a-f]{8})\//.exec(url)?.[1];
  return hex && String(Number.parseInt(hex, 16));
}

/** The media type that an address names. */
export function mimeOf(url: string): string | undefined {
  const ending = /^[^?#]*\.([a-z0-9]{3})(?:[?#]|$)/i.exec(url)?.[1]?.toLowerCase() ?? '';
  const stated = parameter(url, 'mime_type') ?? '';
  return Object.hasOwn(MIMES, stated) ? MIMES[stated] : ENDINGS[ending];
}

export function codecOf(name: string | undefined): string | undefined {
  const known = name?.toLowerCase() ?? '';
  return Object.hasOwn(CODECS, known) ? CODECS[known] : undefined;
}

/**
 * Whether an address of a file can be given at all: the site's own play address answers with a page to everybody else,
 * and one kind of path holds pictures without sound, or nothing.
 */
export function isFetchable(url: string): boolean {
  return !/^https?:\/\/www\.tiktok\.com[/?#]/i.test(url) && !/^[^?#]*\/media-video-hvc1\/?(?:[?#]|$)/.test(url);
}

/** Files that anybody can fetch first, then those that every player plays, then the larger ones. */
export function betterFirst(one: MediaEntry, other: MediaEntry): number {
  return (
    Number(one.bound_to !== undefined) - Number(other.bound_to !== undefined) ||
    Number(isWatermarked(one)) - Number(isWatermarked(other)) ||
    Number(isRare(one)) - Number(isRare(other)) ||
    shorterSide(other) - shorterSide(one) ||
    (other.bitrate ?? 0) - (one.bitrate ?? 0)
  );
}

/** Marks the still picture of a video, as opposed to the pictures of a slideshow. */
export const COVER = 'cover';

export function isCover({ label }: MediaEntry): boolean {
  return label === COVER;
}

export const WATERMARKED = 'watermarked';

export function isWatermarked({ label }: MediaEntry): boolean {
  return label === WATERMARKED;
}

/**
 * Where to take an item's sound from: the smallest file that has it. The music that a video is set to is not its sound.
 * @param isUsable - whether a file can be fetched at all
 */
export function chooseSound(
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
