import { createHash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import { LRUCache } from 'lru-cache';
import type { ByteRange } from '../contracts/index.js';
import { damagedFile } from '../runtime/index.js';
import { readTrailer, type Trailer, versionOf } from './file-trailer.js';

const CHUNK_BYTES = 64 * 1024;
/** Some hundred bytes each. A file that was pushed out is read once more. */
const MAX_KNOWN = 10_000;

/** Whether files on a disk still are what was written. Each is read for that once, and again when it has changed. */
export interface FileChecks {
  /** @throws GatewayError `storage_error`, not to be retried, where it is not. */
  check(name: string, handle: FileHandle): Promise<Trailer>;
  /** To be called when it bears its name: whoever wrote it has hashed it. */
  written(name: string, handle: FileHandle): Promise<void>;
}

interface Known {
  version: string;
  isWhole: Promise<boolean>;
}

export function createFileChecks(): FileChecks {
  const known = new LRUCache<string, Known>({ max: MAX_KNOWN });

  /** Those who ask meanwhile wait for the same reading. */
  function look(name: string, handle: FileHandle, trailer: Trailer, version: string): Promise<boolean> {
    const before = known.get(name);
    if (before?.version === version) return before.isWhole;
    const next = { version, isWhole: isWhole(name, handle, trailer) };
    known.set(name, next);
    next.isWhole.catch(() => {
      if (known.peek(name) === next) known.delete(name);
    });
    return next.isWhole;
  }

  return {
    async check(name, handle) {
      const { trailer, version } = await readTrailer(name, handle);
      if (await look(name, handle, trailer, version)) return trailer;
      throw damagedFile(`The bytes of ${name} are not those that were written.`);
    },
    async written(name, handle) {
      const version = versionOf(await handle.stat({ bigint: true }));
      known.set(name, { version, isWhole: Promise.resolve(true) });
    },
  };
}

/** Whether the content has the hash that its trailer says. */
export async function isWhole(name: string, handle: FileHandle, { size, sha256 }: Trailer): Promise<boolean> {
  const hash = createHash('sha256');
  for await (const chunk of readRange(name, handle, { start: 0, end: size - 1 })) hash.update(chunk);
  return hash.digest('hex') === sha256;
}

/** Content of a stored file, which its trailer says to be as long as that. */
export async function* readRange(
  name: string,
  handle: FileHandle,
  { start, end }: ByteRange,
): AsyncGenerator<Uint8Array> {
  for (let position = start; position <= end; ) {
    const length = Math.min(CHUNK_BYTES, end + 1 - position);
    const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(length), 0, length, position);
    if (bytesRead === 0) throw damagedFile(`${name} is shorter than it should be.`);
    position += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}
