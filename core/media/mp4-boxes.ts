/*
 * Reads and rewrites the `moov` box of MP4 files (ISO/IEC 14496-12), which describes all that follows. A file that has it
 * at its end cannot be read from a pipe: moved to the beginning, its offsets of media are other ones. A file in fragments,
 * as ffmpeg writes it while it does not know the end, gets the duration of the whole: in the headers of the movie and
 * its tracks, which browsers read, and in the box that the standard has for it. Lengths that lead outside of a buffer are a RangeError.
 */

/** A part of a file. */
export interface Mp4Box {
  type: string;
  /** Where it begins. */
  at: number;
  /** Where its content begins. */
  body: number;
  /** The byte after it; beyond the buffer if it continues there, and infinite if it is as long as the file. */
  end: number;
}

/** Boxes on the way to the tables of offsets. */
const CONTAINERS: ReadonlySet<string> = new Set(['moov', 'trak', 'mdia', 'minf', 'stbl']);
const MAX_UINT32 = 0xffffffff;
const HEADER_BYTES = 8;
const LONG_HEADER_BYTES = 16;

/** The box at a position; undefined if its header is not whole or no header. */
export function boxAt(bytes: Buffer, at: number): Mp4Box | undefined {
  if (at + HEADER_BYTES > bytes.length) return undefined;
  const type = bytes.toString('latin1', at + 4, at + HEADER_BYTES);
  const short = bytes.readUInt32BE(at);
  if (short === 0) return { type, at, body: at + HEADER_BYTES, end: Number.POSITIVE_INFINITY };
  if (short !== 1) return short < HEADER_BYTES ? undefined : { type, at, body: at + HEADER_BYTES, end: at + short };
  if (at + LONG_HEADER_BYTES > bytes.length) return undefined;
  const long = Number(bytes.readBigUInt64BE(at + HEADER_BYTES));
  return long < LONG_HEADER_BYTES ? undefined : { type, at, body: at + LONG_HEADER_BYTES, end: at + long };
}

/** The boxes between two positions, up to the first that is none. */
function* boxesIn(bytes: Buffer, from: number, to: number): Generator<Mp4Box> {
  for (let box = boxAt(bytes, from); box && box.at < to; box = boxAt(bytes, box.end)) {
    if (box.end > to) throw new RangeError('a box is longer than what it is in');
    yield box;
  }
}

function childOf(bytes: Buffer, parent: Mp4Box, type: string): Mp4Box | undefined {
  for (const box of boxesIn(bytes, parent.body, Math.min(parent.end, bytes.length))) if (box.type === type) return box;
  return undefined;
}

/** Where a movie box is in its file. */
export interface MoviePlace {
  /** Where it is now. */
  at: number;
  /** Bytes of the file. */
  fileBytes: number;
}

/**
 * The movie box of a file, for a place before all media.
 * @returns Undefined for a compressed one.
 * @throws RangeError if it is damaged.
 */
export function movedMovie(movie: Buffer, { at, fileBytes }: MoviePlace): Buffer | undefined {
  const box = boxAt(movie, 0);
  if (!box || box.end !== movie.length || childOf(movie, box, 'cmov')) return undefined;
  // Twice its length is more than its tables can grow.
  const isWide = fileBytes + 2 * movie.length > MAX_UINT32;
  const { length } = rebuilt(movie, box, { isWide, moved: (offset) => offset });
  const moved = (offset: number) => offset + (offset < at ? length : length - movie.length);
  return rebuilt(movie, box, { isWide, moved });
}

interface Moving {
  /** Offsets need 64 bits. */
  isWide: boolean;
  moved(offset: number): number;
}

function rebuilt(bytes: Buffer, box: Mp4Box, moving: Moving): Buffer {
  if (box.type === 'stco' || box.type === 'co64') return offsetsBox(bytes, box, moving);
  if (!CONTAINERS.has(box.type)) return bytes.subarray(box.at, box.end);
  return boxOf(
    box.type,
    [...boxesIn(bytes, box.body, box.end)].map((child) => rebuilt(bytes, child, moving)),
  );
}

function boxOf(type: string, parts: readonly Uint8Array[]): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeUInt32BE(parts.reduce((sum, { byteLength }) => sum + byteLength, HEADER_BYTES));
  header.write(type, 4, 'latin1');
  return Buffer.concat([header, ...parts]);
}

/** Version and flags, a count, and where each chunk of a track begins in the file. */
function offsetsBox(bytes: Buffer, { type, body, end }: Mp4Box, { isWide, moved }: Moving): Buffer {
  const width = type === 'co64' ? 8 : 4;
  const count = bytes.readUInt32BE(body + 4);
  if (body + 8 + count * width > end) throw new RangeError('a table is longer than its box');
  const wide = isWide || type === 'co64';
  const table = Buffer.alloc(8 + count * (wide ? 8 : 4));
  bytes.copy(table, 0, body, body + 8);
  for (let index = 0; index < count; index += 1) {
    const from = body + 8 + index * width;
    const offset = moved(type === 'co64' ? Number(bytes.readBigUInt64BE(from)) : bytes.readUInt32BE(from));
    if (wide) table.writeBigUInt64BE(BigInt(offset), 8 + index * 8);
    else table.writeUInt32BE(offset, 8 + index * 4);
  }
  return boxOf(wide ? 'co64' : 'stco', [table]);
}

/** Where fields of `mvhd` and `mdhd` are in their content. */
const SHORT_FIELDS = { timescale: 12, duration: 16 };
const LONG_FIELDS = { timescale: 20, duration: 24 };

interface TimeHeader {
  timescale: number;
  /** Where the duration is. */
  at: number;
  isLong: boolean;
}

function headerOf(bytes: Buffer, parent: Mp4Box, type: 'mvhd' | 'mdhd'): TimeHeader | undefined {
  const box = childOf(bytes, parent, type);
  if (!box) return undefined;
  const isLong = bytes[box.body] === 1;
  const fields = isLong ? LONG_FIELDS : SHORT_FIELDS;
  return { timescale: bytes.readUInt32BE(box.body + fields.timescale), isLong, at: box.body + fields.duration };
}

/** @returns The duration in its units. */
function setDuration(bytes: Buffer, { timescale, at, isLong }: TimeHeader, seconds: number): number {
  const units = Math.min(Math.round(seconds * timescale), MAX_UINT32 - 1);
  if (isLong) bytes.writeBigUInt64BE(BigInt(units), at);
  else bytes.writeUInt32BE(units, at);
  return units;
}

/** Seconds that the first bytes of a file state; undefined if they state none. */
export function statedSeconds(head: Buffer): number | undefined {
  try {
    for (let box = boxAt(head, 0); box; box = boxAt(head, box.end)) {
      if (box.type !== 'moov') continue;
      // Its header comes first; the rest of it may not be there yet.
      const first = boxAt(head, box.body);
      const header = first && headerOf(head.subarray(0, first.end), { ...box, end: first.end }, 'mvhd');
      if (!header) return undefined;
      const units = header.isLong ? Number(head.readBigUInt64BE(header.at)) : head.readUInt32BE(header.at);
      const isUnknown = units === 0 || units >= MAX_UINT32;
      return isUnknown || header.timescale === 0 ? undefined : units / header.timescale;
    }
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
  }
  return undefined;
}

/** Of a `mehd` box: header, version and flags, and the duration in the units of the movie. */
const EXTENDS_BYTES = 16;

/**
 * The beginning of a file in fragments with the duration of the whole. Its length stays: the duration takes room of the
 * writer's name, so that no offset behind it changes.
 * @param head From its first byte to the end of the `moov` box.
 */
export function withSeconds(head: Buffer, seconds: number): Buffer {
  const copy = Buffer.from(head);
  const movie = [...boxesIn(copy, 0, copy.length)].find(({ type }) => type === 'moov');
  const header = movie && headerOf(copy, movie, 'mvhd');
  if (!header) return head;
  const units = setDuration(copy, header, seconds);
  for (const track of boxesIn(copy, movie.body, movie.end)) {
    const media = track.type === 'trak' ? childOf(copy, track, 'mdia') : undefined;
    const own = media && headerOf(copy, media, 'mdhd');
    // Chromium reads the durations of tracks alone.
    if (own) setDuration(copy, own, seconds);
  }
  const extended = childOf(copy, movie, 'mvex');
  const named = childOf(copy, movie, 'udta');
  if (!extended || named?.at !== extended.end || named.end - named.at < EXTENDS_BYTES + HEADER_BYTES) return copy;
  const stated = Buffer.alloc(EXTENDS_BYTES - HEADER_BYTES);
  stated.writeUInt32BE(units, 4);
  const extension = boxOf('mvex', [boxOf('mehd', [stated]), copy.subarray(extended.body, extended.end)]);
  const free = named.end - extended.at - extension.length;
  const parts = [copy.subarray(0, extended.at), extension, boxOf('free', [Buffer.alloc(free - HEADER_BYTES)])];
  return Buffer.concat([...parts, copy.subarray(named.end)]);
}

/** Those of ffmpeg have some thousand bytes. */
const MAX_HEAD_BYTES = 1024 * 1024;

/** Receives the bytes of a file in fragments, and passes them on with the duration of the whole: see {@link withSeconds}. */
export class DurationWriter {
  readonly #seconds: number;
  readonly #write: (chunk: Uint8Array) => Promise<void>;
  /** Undefined once the `moov` box is passed on. */
  #head: Buffer | undefined = Buffer.alloc(0);

  constructor(seconds: number, write: (chunk: Uint8Array) => Promise<void>) {
    this.#seconds = seconds;
    this.#write = write;
  }

  async write(chunk: Uint8Array): Promise<void> {
    if (!this.#head) return this.#write(chunk);
    const head = Buffer.concat([this.#head, chunk]);
    this.#head = head;
    let movie = boxAt(head, 0);
    while (movie && movie.type !== 'moov') movie = boxAt(head, movie.end);
    if (movie && movie.end <= head.length) {
      const stated = withSeconds(head.subarray(0, movie.end), this.#seconds);
      this.#head = Buffer.concat([stated, head.subarray(movie.end)]);
    } else if (head.length < MAX_HEAD_BYTES) return;
    await this.flush();
  }

  /** Call it at the end of the file. */
  async flush(): Promise<void> {
    const head = this.#head;
    this.#head = undefined;
    if (head && head.length > 0) await this.#write(head);
  }
}
