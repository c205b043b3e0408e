/*
 * Reads HLS playlists (RFC 8216): the variants of a video, and the segments of one track. Nothing is fetched here, and an
 * address in a playlist is only text until it has passed the host list and the address guard like any other. Playlists
 * that have no end, that are protected, or that join parts of different clocks are refused with a reason.
 */

import { type Offer, type Segment, type Track, unplayable } from './tracks.js';

/** A choice of picture in a master playlist. */
export interface Variant extends Offer {
  /** Address of its media playlist. */
  url: string;
  /** Name of the group of its separate sound. Default: the variant has its own. */
  audioGroup?: string;
}

/** Separate sound in a master playlist. */
export interface Rendition extends Offer {
  group: string;
  /** Default: it is within the variants. */
  url?: string;
  isDefault: boolean;
}

export interface MasterPlaylist {
  variants: readonly Variant[];
  renditions: readonly Rendition[];
}

/** More than the segments of a day. */
const MAX_SEGMENTS = 50_000;
const MAX_VARIANTS = 500;
const MP4 = 'video/mp4';

/** Undefined if it is a media playlist. @throws GatewayError `media_unavailable` if it is no playlist. */
export function readMaster(text: string, base: string): MasterPlaylist | undefined {
  const lines = linesOf(text);
  if (!lines.some((line) => line.startsWith('#EXT-X-STREAM-INF:'))) return undefined;
  const variants: Variant[] = [];
  const renditions: Rendition[] = [];
  for (const [index, line] of lines.entries()) {
    if (variants.length + renditions.length > MAX_VARIANTS) throw unplayable('The playlist has too many variants.');
    const media = valueAfter(line, '#EXT-X-MEDIA:');
    const stream = valueAfter(line, '#EXT-X-STREAM-INF:');
    if (media !== undefined) renditions.push(...readRendition(attributesOf(media), base));
    if (stream === undefined) continue;
    const uri = lines.slice(index + 1, index + 20).find((next) => !next.startsWith('#'));
    if (uri !== undefined) variants.push(readVariant(attributesOf(stream), absolute(uri, base)));
  }
  return { variants, renditions };
}

function readVariant({ BANDWIDTH, RESOLUTION = '', CODECS, AUDIO }: Attributes, url: string): Variant {
  const [, height] = /^\d{1,5}x(\d{1,5})$/.exec(RESOLUTION) ?? [];
  return {
    url,
    mime: MP4,
    codecs: CODECS,
    ...(height && { height: Number(height) }),
    ...(BANDWIDTH && { bitrate: Number(BANDWIDTH) }),
    ...(AUDIO && { audioGroup: AUDIO }),
  };
}

function readRendition({ TYPE, URI, LANGUAGE, NAME, DEFAULT, ...more }: Attributes, base: string): Rendition[] {
  if (TYPE !== 'AUDIO') return [];
  const group = more['GROUP-ID'] ?? '';
  const isDefault = DEFAULT === 'YES';
  return [{ group, isDefault, mime: MP4, language: LANGUAGE, label: NAME, ...(URI && { url: absolute(URI, base) }) }];
}

/**
 * The segments of a media playlist.
 * @throws GatewayError `media_unavailable` if it cannot be fetched to its end.
 */
export function readSegments(text: string, base: string): Track {
  const lines = linesOf(text);
  if (!lines.includes('#EXT-X-ENDLIST')) throw unplayable('The playlist has no end: the video is still running.', true);
  const reading = new PlaylistReader(base);
  for (const line of lines) reading.read(line);
  return reading.track();
}

class PlaylistReader {
  readonly #base: string;
  readonly #segments: Segment[] = [];
  #init: Track['init'];
  #key: string | undefined;
  #iv: string | undefined;
  #sequence = 0;
  #seconds: number | undefined;
  #range: Segment['range'];
  #at = 0;

  constructor(base: string) {
    this.#base = base;
  }

  read(line: string): void {
    if (!line.startsWith('#')) this.#add(line);
    const [tag = '', value = ''] = splitOnce(line, ':');
    if (tag === '#EXT-X-DISCONTINUITY') throw unplayable('The playlist joins parts of several recordings.');
    if (tag === '#EXT-X-MEDIA-SEQUENCE') this.#sequence = wholeNumber(value);
    if (tag === '#EXTINF') this.#seconds = duration(value);
    if (tag === '#EXT-X-BYTERANGE') this.#range = this.#byteRange(value);
    if (tag === '#EXT-X-KEY') this.#readKey(attributesOf(value));
    if (tag === '#EXT-X-MAP') this.#readMap(attributesOf(value));
  }

  track(): Track {
    if (this.#segments.length === 0) throw unplayable('The playlist has no segments.');
    return { segments: this.#segments, ...(this.#init && { init: this.#init }) };
  }

  #add(uri: string): void {
    if (this.#seconds === undefined) return;
    if (this.#segments.length >= MAX_SEGMENTS) throw unplayable('The playlist has too many segments.');
    const key = this.#key === undefined ? undefined : { url: this.#key, iv: this.#ivOf(this.#sequence) };
    this.#segments.push({
      url: absolute(uri, this.#base),
      at: this.#at,
      seconds: this.#seconds,
      ...(this.#range && { range: this.#range }),
      ...(key && { key }),
    });
    this.#at += this.#seconds;
    this.#sequence += 1;
    this.#seconds = undefined;
    this.#range = undefined;
  }

  /** `length@start`; without a start it follows the range before. */
  #byteRange(text: string): Segment['range'] {
    const [, length, start] = /^(\d{1,12})(?:@(\d{1,15}))?$/.exec(text) ?? [];
    if (!length) throw unplayable('The playlist has a wrong byte range.');
    const first = start === undefined ? (this.#segments.at(-1)?.range?.end ?? -1) + 1 : Number(start);
    return { start: first, end: first + Number(length) - 1 };
  }

  #readKey({ METHOD, URI, IV }: Attributes): void {
    if (METHOD === 'NONE') this.#key = undefined;
    else if (METHOD !== 'AES-128' || !URI) throw unplayable('The video is protected.');
    else this.#key = absolute(URI, this.#base);
    this.#iv = IV;
  }

  #ivOf(sequence: number): Uint8Array {
    const iv = Buffer.alloc(16);
    if (this.#iv === undefined) iv.writeBigUInt64BE(BigInt(sequence), 8);
    else if (/^0x[0-9a-f]{32}$/i.test(this.#iv)) iv.write(this.#iv.slice(2), 'hex');
    else throw unplayable('The playlist has a wrong key.');
    return iv;
  }

  #readMap({ URI, BYTERANGE }: Attributes): void {
    if (!URI) throw unplayable('The playlist has a wrong map.');
    const init = { url: absolute(URI, this.#base), ...(BYTERANGE && { range: this.#byteRange(BYTERANGE) }) };
    if (this.#init && JSON.stringify(this.#init) !== JSON.stringify(init)) {
      throw unplayable('The playlist joins parts of several recordings.');
    }
    this.#init = init;
  }
}

function linesOf(text: string): string[] {
  if (!/^\uFEFF?#EXTM3U\s/.test(text)) throw unplayable('The source did not send a playlist.');
  return text
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== '');
}

function splitOnce(text: string, separator: string): [string, string?] {
  const at = text.indexOf(separator);
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}

function valueAfter(line: string, tag: string): string | undefined {
  return line.startsWith(tag) ? line.slice(tag.length) : undefined;
}

type Attributes = Partial<Record<string, string>>;

function attributesOf(text: string): Attributes {
  const found: Attributes = {};
  for (const [, name = '', quoted, plain] of text.matchAll(/([A-Z0-9-]{1,40})=(?:"([^"]*)"|([^",]*))/g)) {
    found[name] = quoted ?? plain ?? '';
  }
  return found;
}

function duration(text: string): number {
  const seconds = Number(/^\d{1,6}(?:\.\d{1,12})?/.exec(text)?.[0]);
  if (!(seconds >= 0)) throw unplayable('The playlist has a wrong duration.');
  return seconds;
}

function wholeNumber(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw unplayable('The playlist has a wrong number.');
  return Number(text);
}

/** An address of any scheme: the host list refuses what is not of the platform. */
export function absolute(text: string, base: string): string {
  const url = URL.parse(text, base);
  if (!url) throw unplayable('The playlist has an address that is no URL.');
  return url.href;
}
