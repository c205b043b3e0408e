/*
 * Reads a file from its first byte to its last in an order that a pipe can be read in: an MP4 whose `moov` box is behind
 * its media, as most encoders write it, is sent with that box moved to the beginning. The box is found by the lengths of
 * those before it, so what is between is not fetched twice. Other files are sent as they are.
 */

import { boxAt, movedMovie } from '../../media/index.js';
import type { MediaReader } from '../media/media-reader.js';
import { unplayable } from './tracks.js';

/** That of a day of video has a fourth of it. */
const MAX_MOVIE_BYTES = 64 * 1024 * 1024;
/** Boxes before the movie: padding, and several of media. */
const MAX_BOXES = 64;
const HEADER_BYTES = 16;
/** Before one of these, the movie box has been. */
const LEADING: ReadonlySet<string> = new Set(['moof', 'sidx', 'styp']);
const TYPE = /^[\w ©-]{4}$/;

/** A reader of the file. @param size Bytes of the file, if they are known. */
type OpenFile = (size?: number) => MediaReader;

/** Where the movie box of a file is, and where it is expected. */
interface LateMovie {
  before: number;
  at: number;
  bytes: Buffer;
}

/** @throws GatewayError `media_unavailable`. */
export async function* readWhole(open: OpenFile, maxBytes: number): AsyncGenerator<Uint8Array, void, undefined> {
  const reader = open();
  try {
    const { size, head } = await reader.begin();
    if (size > maxBytes) throw unplayable('A part of the video is too large.');
    const late = await findLateMovie(head, size, open);
    if (!late) return yield* reader.read(0, size - 1);
    const { before, at, bytes } = late;
    yield Buffer.concat([head.subarray(0, before), movedTo(bytes, at, size)]);
    let skip = before;
    // From its first byte on, which is being received.
    for await (const chunk of reader.read(0, at - 1)) {
      yield chunk.subarray(skip);
      skip -= Math.min(skip, chunk.byteLength);
    }
    yield* reader.read(at + bytes.length, size - 1);
  } finally {
    reader.close();
  }
}

/** Undefined if the file is not an MP4, or has its movie box before its media. */
async function findLateMovie(start: Uint8Array, size: number, open: OpenFile): Promise<LateMovie | undefined> {
  const head = Buffer.from(start.buffer, start.byteOffset, start.byteLength);
  const first = boxAt(head, 0);
  const before = first?.type === 'ftyp' ? first.end : 0;
  if (before > head.length) return undefined;
  let hasMedia = false;
  for (let at = 0, count = 0; at < size && count < MAX_BOXES; count += 1) {
    const bytes = at + HEADER_BYTES <= head.length ? head.subarray(at) : await readBox(open(size), at, size);
    const box = boxAt(bytes, 0);
    if (!box || !TYPE.test(box.type) || LEADING.has(box.type)) return undefined;
    if (box.type === 'moov') {
      if (!hasMedia) return undefined;
      const isWhole = bytes.length === box.end;
      return { before, at, bytes: isWhole ? bytes : await readBox(open(size), at, size) };
    }
    hasMedia ||= box.type === 'mdat';
    at += box.end;
  }
  return undefined;
}

/** The header of a box; of a movie, all of it. */
async function readBox(reader: MediaReader, at: number, size: number): Promise<Buffer> {
  let bytes = Buffer.alloc(0);
  const parts: Uint8Array[] = [];
  let length = 0;
  let wanted = HEADER_BYTES;
  for await (const chunk of reader.read(at, size - 1)) {
    parts.push(chunk);
    length += chunk.byteLength;
    if (length < wanted) continue;
    bytes = Buffer.concat(parts, length);
    const box = boxAt(bytes, 0);
    if (box?.type !== 'moov') break;
    wanted = box.end;
    if (wanted > MAX_MOVIE_BYTES) throw unplayable('The video has an index that is too large.');
    if (length >= wanted) return bytes.subarray(0, wanted);
  }
  return bytes;
}

function movedTo(movie: Buffer, at: number, fileBytes: number): Buffer {
  try {
    const moved = movedMovie(movie, { at, fileBytes });
    if (moved) return moved;
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
  }
  throw unplayable('The video has an index that cannot be read.');
}
