import type { BigIntStats } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { damagedFile } from '../runtime/index.js';

/** What is known about a stored file. */
export interface Trailer {
  contentType: string;
  /** Bytes of content, this trailer not counted. */
  size: number;
  /** Of the content, in lower-case hex. */
  sha256: string;
  /** Milliseconds since 1970. */
  modifiedAt: number;
  /** Likewise. */
  expiresAt?: number;
}

/*
 * Layout: content, trailer as JSON, its length as 32-bit big-endian number, mark. Behind the content, where programs that
 * open the file directly do not look for anything, and where it can be written when the content has gone by.
 */
const MARK = Buffer.from('mgfile01', 'latin1');
const FOOT_BYTES = 4 + MARK.length;
const MAX_TRAILER_BYTES = 4096;

export function writeTrailer(trailer: Trailer): Buffer {
  const json = Buffer.from(JSON.stringify(trailer));
  const length = Buffer.alloc(4);
  length.writeUInt32BE(json.length);
  return Buffer.concat([json, length, MARK]);
}

/**
 * The trailer, and the version of the file that it was read from.
 * @throws GatewayError `storage_error`, not to be retried, where the file was not written by this storage, or was damaged.
 */
export async function readTrailer(name: string, handle: FileHandle): Promise<{ trailer: Trailer; version: string }> {
  const stats = await handle.stat({ bigint: true });
  if (!stats.isFile()) throw damagedFile(`${name} is no file.`);
  const size = Number(stats.size);
  const window = Math.min(size, MAX_TRAILER_BYTES + FOOT_BYTES);
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(window), 0, window, size - window);
  const foot = bytesRead - FOOT_BYTES;
  if (foot >= 0 && buffer.subarray(foot + 4, bytesRead).equals(MARK)) {
    const begin = foot - buffer.readUInt32BE(foot);
    const trailer = begin >= 0 ? parse(buffer.toString('utf8', begin, foot)) : undefined;
    if (trailer && trailer.size === size - (bytesRead - begin)) return { trailer, version: versionOf(stats) };
  }
  throw damagedFile(`${name} does not end as the files of this storage do.`);
}

/** Another one whenever the file was changed. Not by the time of its content, which says when it expires. */
export function versionOf({ ino, size, ctimeNs }: BigIntStats): string {
  return `${ino} ${size} ${ctimeNs}`;
}

function parse(text: string): Trailer | undefined {
  try {
    return JSON.parse(text) as Trailer;
  } catch {
    // Damage, which the caller reports.
    return undefined;
  }
}
