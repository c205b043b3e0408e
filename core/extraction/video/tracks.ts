/*
 * Tracks of a video as lists of parts to fetch, as manifests or files list them. Parts are chosen by time, so
 * a cut fetches what it needs. A cut begins and ends where parts do, which is at key frames.
 */

import type { ByteRange } from '../../contracts/index.js';
import { GatewayError } from '../../runtime/index.js';

/** Bytes at an address: a range, or all of them. */
export interface Part {
  url: string;
  range?: ByteRange;
  /** AES-128 with a key at another address. Default: the bytes are not encrypted. */
  key?: { url: string; iv: Uint8Array };
}

/** A part that begins with a key frame. */
export interface Segment extends Part {
  /** Seconds since the beginning of the item. */
  at: number;
  seconds: number;
}

/** The parts of a track in order. */
export interface Track {
  /** What decoders need before any segment. */
  init?: Part;
  segments: readonly Segment[];
  /** The only segment is a whole file, whose own index may list shorter ones. Default false. */
  isFile?: boolean;
}

/** A time within an item, in seconds. */
export interface TimeSpan {
  start: number;
  end: number;
}

/** What a list says about a track, to choose by. */
export interface Offer {
  mime?: string | undefined;
  codecs?: string | undefined;
  height?: number | undefined;
  bitrate?: number | undefined;
  language?: string | undefined;
  /** A note such as `watermarked`. */
  label?: string | undefined;
}

/** A container of merged files, which is also the ending of their names. */
export type VideoContainer = 'mp4' | 'webm';

export interface VideoRequest {
  container: VideoContainer;
  /** Pixels. Default: no limit. */
  maxHeight?: number | undefined;
}

/**
 * Codecs that MP4 does not take. It takes VP9, but ffmpeg describes it there only with a decoder, which is not opened,
 * and browsers refuse an empty description.
 */
const WEBM_ONLY = /\b(?:vp0?[89]|theora|vorbis)\b/;
const SECOND_RATE = /\b(?:enlarged|watermarked)\b/i;
const NOT_THE_SOUND = /\b(?:even loudness|dubbed|descriptive|music)\b/i;
/** Containers that MP4 is merged from. */
const MP4_TYPES: ReadonlySet<string> = new Set(['video/mp4', 'audio/mp4', 'video/mp2t', 'audio/mp2t', 'audio/aac']);

/** Whether a track can be copied to the container. */
export function fits({ mime, codecs = '' }: Offer, container: VideoContainer): boolean {
  if (container === 'webm') return mime === 'video/webm' || mime === 'audio/webm';
  return (mime === undefined || MP4_TYPES.has(mime)) && !WEBM_ONLY.test(codecs);
}

/** The highest picture within the limit; the lowest of all if none is. Of equal ones, the first. */
export function choosePicture<One extends Offer>(
  offers: readonly One[],
  { container, maxHeight = Number.POSITIVE_INFINITY }: VideoRequest,
): One | undefined {
  const fitting = offers.filter((one) => fits(one, container));
  const first = fitting.filter(({ label = '' }) => !SECOND_RATE.test(label));
  const listed = first.length > 0 ? first : fitting;
  const height = (one: One) => one.height ?? 0;
  const within = listed.filter((one) => height(one) <= maxHeight);
  if (within.length > 0) return best(within, (one, other) => height(one) - height(other));
  return best(listed, (one, other) => height(other) - height(one));
}

/** The sound of the original language, unchanged, with the highest bit rate. */
export function chooseSound<One extends Offer>(
  offers: readonly One[],
  container: VideoContainer,
  language: string | undefined,
): One | undefined {
  const rank = ({ label = '', language: own, bitrate = 0 }: One) =>
    (NOT_THE_SOUND.test(label) ? 0 : 2e12) + (own === undefined || own === language ? 1e12 : 0) + bitrate;
  return best(
    offers.filter((one) => fits(one, container)),
    (one, other) => rank(one) - rank(other),
  );
}

/** The first of the largest. */
function best<One>(list: readonly One[], compare: (one: One, other: One) => number): One | undefined {
  return list.reduce<One | undefined>((found, one) => (found && compare(one, found) <= 0 ? found : one), undefined);
}

/**
 * Where a cut begins and ends: the segments that have the wanted times, whole.
 * @throws GatewayError `invalid_value` with `param` if it is outside.
 */
export function cutOf({ segments }: Track, start: number, end: number | undefined): TimeSpan {
  const first = segments.findLast(({ at }) => at <= start) ?? segments[0];
  const last = segments.at(-1);
  if (!first || !last) throw unplayable('The video has no parts.');
  const whole = last.at + last.seconds;
  if (start >= whole) {
    throw new GatewayError('invalid_value', `start must be before the end of the video, ${whole.toFixed(3)} s.`, {
      param: 'start',
    });
  }
  const ending = segments.find(({ at, seconds }) => at + seconds >= (end ?? whole)) ?? last;
  return { start: first.at, end: ending.at + ending.seconds };
}

/** The parts of a track within a time. Neighbours in one file become one part. */
export function partsWithin({ init, segments }: Track, span: TimeSpan | undefined): Part[] {
  const inside = ({ at, seconds }: Segment) => !span || (at < span.end - SLACK && at + seconds > span.start + SLACK);
  const parts: Part[] = init ? [init] : [];
  for (const segment of segments.filter(inside)) {
    const before = parts.at(-1);
    if (before?.range && segment.range && before.url === segment.url && isNext(before, segment)) {
      parts[parts.length - 1] = { ...before, range: { start: before.range.start, end: segment.range.end } };
    } else parts.push(segment);
  }
  return parts;
}

/** Lists round durations; a part that only touches a time is not within it. */
const SLACK = 0.001;

function isNext({ range: before, key }: Part, { range, key: own }: Part): boolean {
  return !key && !own && before !== undefined && range?.start === before.end + 1;
}

/** The error of a video that cannot be merged. */
export function unplayable(message: string, retryable = false): GatewayError {
  return new GatewayError('media_unavailable', message, { retryable });
}
