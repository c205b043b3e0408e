/*
 * Writes a ZIP archive while its files arrive, without a temporary file. A file is stored as it is, as pictures and
 * videos are compressed already, or deflated on request. Sizes and checksums follow each file. An archive has less than 4 GiB, so that it needs
 * no 64-bit fields. If a file fails, the archive fails: it then has no directory, so no program takes it for a whole one.
 */

import { pipeline, Readable } from 'node:stream';
import { crc32, createDeflateRaw } from 'node:zlib';
import { GatewayError } from '../runtime/index.js';

export interface ZipFile {
  /** A plain name; two files must not have the same. */
  name: string;
  bytes: AsyncIterable<Uint8Array>;
  /** Default false. */
  isDeflated?: boolean;
}

/** A margin for the directory. */
export const MAX_ZIP_BYTES = 4 * 1024 ** 3 - 16 * 1024 ** 2;

/** The names are UTF-8, and sizes and checksum follow the file. */
const FLAGS = 0x0808;
const VERSION = 20;
/** Made on Unix, so that the mode of files counts. */
const MADE_BY = (3 << 8) | VERSION;
const MODE = 0o100644;

const STORED = 0;
const DEFLATED = 8;

interface Written {
  name: Buffer;
  method: number;
  crc: number;
  /** Bytes of the file. */
  size: number;
  /** Bytes of it in the archive. */
  stored: number;
  offset: number;
}

/**
 * The bytes of the archive. Fails with what a file fails with, or with GatewayError `media_unavailable` if it grows too
 * large.
 */
export async function* zip(files: AsyncIterable<ZipFile>, modifiedAt: Date): AsyncGenerator<Uint8Array> {
  const time = dosTime(modifiedAt);
  const directory: Written[] = [];
  let offset = 0;
  for await (const { name: plain, bytes, isDeflated = false } of files) {
    const method = isDeflated ? DEFLATED : STORED;
    const written: Written = { name: Buffer.from(plain), method, crc: 0, size: 0, stored: 0, offset };
    const header = localHeader(written, time);
    yield header;
    const content = summed(bytes, written);
    for await (const chunk of isDeflated ? deflate(content) : content) {
      written.stored += chunk.byteLength;
      if (offset + Math.max(written.size, written.stored) > MAX_ZIP_BYTES) {
        throw new GatewayError('media_unavailable', 'The files are larger than an archive can be.', {
          retryable: false,
        });
      }
      yield chunk;
    }
    const descriptor = Buffer.alloc(16);
    descriptor.writeUInt32LE(0x08074b50, 0);
    writeSums(descriptor, 4, written);
    yield descriptor;
    offset += header.length + written.stored + descriptor.length;
    directory.push(written);
  }
  const entries = directory.map((written) => directoryEntry(written, time));
  const size = entries.reduce((sum, entry) => sum + entry.length, 0);
  yield Buffer.concat([...entries, endOfDirectory(entries.length, size, offset)]);
}

/** The bytes of a file, which count as they pass. */
async function* summed(bytes: AsyncIterable<Uint8Array>, written: Written): AsyncGenerator<Uint8Array> {
  for await (const chunk of bytes) {
    written.crc = crc32(chunk, written.crc);
    written.size += chunk.byteLength;
    yield chunk;
  }
}

/** Ends both streams with whichever fails or is left first. */
function deflate(bytes: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  return pipeline(Readable.from(bytes, { objectMode: false }), createDeflateRaw(), () => undefined);
}

function localHeader({ name, method }: Written, time: number): Buffer {
  const header = Buffer.alloc(30);
  header.writeUInt32LE(0x04034b50, 0);
  header.writeUInt16LE(VERSION, 4);
  header.writeUInt16LE(FLAGS, 6);
  header.writeUInt16LE(method, 8);
  header.writeUInt32LE(time, 10);
  header.writeUInt16LE(name.length, 26);
  return Buffer.concat([header, name]);
}

function directoryEntry(written: Written, time: number): Buffer {
  const { name, method, offset } = written;
  const entry = Buffer.alloc(46);
  entry.writeUInt32LE(0x02014b50, 0);
  entry.writeUInt16LE(MADE_BY, 4);
  entry.writeUInt16LE(VERSION, 6);
  entry.writeUInt16LE(FLAGS, 8);
  entry.writeUInt16LE(method, 10);
  entry.writeUInt32LE(time, 12);
  writeSums(entry, 16, written);
  entry.writeUInt16LE(name.length, 28);
  entry.writeUInt32LE(MODE * 0x10000, 38);
  entry.writeUInt32LE(offset, 42);
  return Buffer.concat([entry, name]);
}

function endOfDirectory(count: number, size: number, offset: number): Buffer {
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(count, 8);
  end.writeUInt16LE(count, 10);
  end.writeUInt32LE(size, 12);
  end.writeUInt32LE(offset, 16);
  return end;
}

/** Checksum, size in the archive, size of the file. */
function writeSums(target: Buffer, at: number, { crc, stored, size }: Written): void {
  target.writeUInt32LE(crc, at);
  target.writeUInt32LE(stored, at + 4);
  target.writeUInt32LE(size, at + 8);
}

/** Time and date as ZIP has them, in UTC and from 1980 on. */
function dosTime(date: Date): number {
  const day =
    ((Math.max(1980, date.getUTCFullYear()) - 1980) << 9) | ((date.getUTCMonth() + 1) << 5) | date.getUTCDate();
  const second = (date.getUTCHours() << 11) | (date.getUTCMinutes() << 5) | (date.getUTCSeconds() >> 1);
  return day * 0x10000 + second;
}
