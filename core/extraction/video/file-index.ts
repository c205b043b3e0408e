/*
 * Reads the index that a media file has at its beginning, so that a cut fetches only its own bytes: the segment index of
 * an MP4 (`sidx`), and the cues of a WebM. A file without such an index, or with one of another form, has none here.
 * What an index says is checked against the size of the file; a wrong one yields no parts outside it.
 */

import type { Segment, Track } from './tracks.js';

/** Bytes at the beginning of a file in which an index is looked for. */
export const INDEX_BYTES = 512 * 1024;

/** A file to index. */
export interface IndexedFile {
  url: string;
  size: number;
  /** Its first bytes, {@link INDEX_BYTES} or all. */
  head: Buffer;
}

/** The parts of a file by its own index; undefined if there is none. */
export function indexOf(file: IndexedFile): Track | undefined {
  try {
    return file.head.readUInt32BE(0) === EBML ? webmIndex(file) : mp4Index(file);
  } catch (error) {
    // Lengths that lead outside of the buffer.
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

interface Entry {
  at: number;
  seconds: number;
  first: number;
  last: number;
}

function trackOf({ url, size }: IndexedFile, initBytes: number, entries: readonly Entry[]): Track | undefined {
  const isSound = entries.every(({ first, last, seconds }) => first >= initBytes && last >= first && seconds >= 0);
  const end = entries.at(-1)?.last;
  if (!isSound || end === undefined || end >= size) return undefined;
  const segments = entries.map(({ at, seconds, first, last }): Segment => {
    return { url, at, seconds, range: { start: first, end: last } };
  });
  return { isFile: true, init: { url, range: { start: 0, end: initBytes - 1 } }, segments };
}

function mp4Index(file: IndexedFile): Track | undefined {
  const { head } = file;
  let hasMovie = false;
  for (let at = 0; at + 8 <= head.length; ) {
    const length = head.readUInt32BE(at);
    const type = head.toString('latin1', at + 4, at + 8);
    if (type === 'sidx') return hasMovie ? trackOf(file, at, segmentIndex(head, at, length)) : undefined;
    if (type === 'mdat' || type === 'moof' || length < 8) return undefined;
    hasMovie ||= type === 'moov';
    at += length;
  }
  return undefined;
}

/** The entries of a `sidx` box; those that begin with no key frame belong to the one before. */
function segmentIndex(head: Buffer, box: number, length: number): Entry[] {
  const isLong = head[box + 8] === 1;
  const scale = head.readUInt32BE(box + 16) || 1;
  const read = (at: number) => (isLong ? Number(head.readBigUInt64BE(at)) : head.readUInt32BE(at));
  const width = isLong ? 8 : 4;
  let time = read(box + 20);
  let first = box + length + read(box + 20 + width);
  const list = box + 20 + 2 * width + 4;
  const count = head.readUInt16BE(list - 2);
  const entries: Entry[] = [];
  for (let index = 0; index < count; index += 1) {
    const at = list + index * 12;
    const reference = head.readUInt32BE(at);
    // An index of further indexes.
    if (reference > 0x7fffffff) return [];
    const duration = head.readUInt32BE(at + 4);
    const startsWithKey = head.readUInt32BE(at + 8) >>> 31 === 1;
    const last = first + reference - 1;
    const before = entries.at(-1);
    if (before && !startsWithKey) Object.assign(before, { last, seconds: before.seconds + duration / scale });
    else entries.push({ at: time / scale, seconds: duration / scale, first, last });
    time += duration;
    first = last + 1;
  }
  return entries;
}

const EBML = 0x1a45dfa3;
const SEGMENT = 0x18538067;
const CLUSTER = 0x1f43b675;
const INFO = 0x1549a966;
const TIMESTAMP_SCALE = 0x2ad7b1;
const DURATION = 0x4489;
const CUES = 0x1c53bb6b;
const CUE_POINT = 0xbb;
const CUE_TIME = 0xb3;
const CUE_POSITIONS = 0xb7;
const CUE_CLUSTER = 0xf1;
const CUE_OFFSET = 0xf0;
/** A key frame at a higher offset is not the first of its cluster. */
const MAX_OFFSET = 32;
const TRACKS = 0x1654ae6b;

interface EbmlElement {
  id: number;
  /** Where its content is. */
  start: number;
  end: number;
  /** Where it begins. */
  at: number;
}

function webmIndex(file: IndexedFile): Track | undefined {
  const { head, size } = file;
  const segment = elementsOf(head, 0, size).find(({ id }) => id === SEGMENT);
  if (!segment) return undefined;
  const parts = elementsOf(head, segment.start, size);
  const find = (wanted: number) => parts.find(({ id }) => id === wanted);
  const [info, tracks, cues] = [find(INFO), find(TRACKS), find(CUES)];
  if (!info || !tracks || !cues || cues.end > head.length) return undefined;
  const details = elementsOf(head, info.start, info.end);
  const scale = numberIn(head, details, TIMESTAMP_SCALE) ?? 1_000_000;
  const duration = details.find(({ id }) => id === DURATION);
  const toSeconds = (time: number) => (time * scale) / 1e9;
  const points = cuesOf(head, cues);
  if (points.some(({ offset }) => offset > MAX_OFFSET)) return undefined;
  const whole = duration ? toSeconds(floatIn(head, duration)) : (points.at(-1)?.time ?? 0);
  const entries = points.map(({ time, position }, index): Entry => {
    const next = points[index + 1];
    const at = toSeconds(time);
    return {
      at,
      seconds: (next ? toSeconds(next.time) : whole) - at,
      first: segment.start + position,
      last: next ? segment.start + next.position - 1 : size - 1,
    };
  });
  return trackOf(file, Math.max(info.end, tracks.end), entries);
}

/** The first cue of each cluster, in order. */
function cuesOf(head: Buffer, cues: EbmlElement): { time: number; position: number; offset: number }[] {
  const points = elementsOf(head, cues.start, cues.end).flatMap(({ id, start, end }) => {
    if (id !== CUE_POINT) return [];
    const fields = elementsOf(head, start, end);
    const place = fields.find((field) => field.id === CUE_POSITIONS);
    const positions = place ? elementsOf(head, place.start, place.end) : [];
    const time = numberIn(head, fields, CUE_TIME);
    const position = numberIn(head, positions, CUE_CLUSTER);
    const offset = numberIn(head, positions, CUE_OFFSET) ?? 0;
    return time === undefined || position === undefined ? [] : [{ time, position, offset }];
  });
  return points.filter(({ position }, index) => position !== points[index - 1]?.position);
}

/** The elements between two positions, up to the first cluster or the end of the buffer. */
function elementsOf(head: Buffer, from: number, to: number): EbmlElement[] {
  const found: EbmlElement[] = [];
  for (let at = from; at < Math.min(to, head.length - 12); ) {
    const idWidth = Math.clz32((head[at] ?? 0) << 24) + 1;
    if (idWidth > 4) break;
    const id = head.readUIntBE(at, idWidth);
    const sizeAt = at + idWidth;
    const width = Math.clz32((head[sizeAt] ?? 0) << 24) + 1;
    if (width > 8 || id === CLUSTER) break;
    const start = sizeAt + width;
    const length = lengthAt(head, sizeAt, width);
    const end = Math.min(to, start + length);
    found.push({ id, at, start, end });
    at = end;
  }
  return found;
}

/** A length without its mark; an unknown one is as long as can be. */
function lengthAt(head: Buffer, at: number, width: number): number {
  const bytes = head.subarray(at, at + width);
  const value = bytes.reduce((sum, byte, index) => sum * 256 + (index === 0 ? byte & (0xff >> width) : byte), 0);
  return value === 2 ** (7 * width) - 1 ? Number.MAX_SAFE_INTEGER : value;
}

function numberIn(head: Buffer, elements: readonly EbmlElement[], wanted: number): number | undefined {
  const found = elements.find(({ id }) => id === wanted);
  if (!found) return undefined;
  return head.subarray(found.start, found.end).reduce((sum, byte) => sum * 256 + byte, 0);
}

function floatIn(head: Buffer, { start, end }: EbmlElement): number {
  return end - start === 4 ? head.readFloatBE(start) : head.readDoubleBE(start);
}
