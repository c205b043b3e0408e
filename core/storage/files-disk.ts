/*
 * Stores files in one folder, readable only by their owner. A file is written to a temporary name, synced and renamed,
 * so a name always leads to a whole file, and it survives a power cut once the folder is synced too. Its metadata
 * follows its content in the same file, so both are written and removed together. A file is hashed at its first read
 * after each change; damage throws a `storage_error` instead of wrong bytes. Expired files and remains of crashes are
 * removed at the start and every hour, safely beside other processes.
 */

import { createHash, randomUUID } from 'node:crypto';
import { type BigIntStats, constants } from 'node:fs';
import { access, type FileHandle, mkdir, open, readdir, rename, stat, unlink } from 'node:fs/promises';
import path from 'node:path';
import type { ByteRange, Clock, FileStat, StoredFile } from '../contracts/index.js';
import { damagedFile, diskFailure, GatewayError, isSystemError } from '../runtime/index.js';
import { boundedTable } from './bounded-table.js';
import type { Files } from './files.js';
import { FolderSync } from './folders.js';

/**
 * As the Storage contract says. No separator, no leading dot: a name cannot leave the folder or name a temporary file.
 */
export const FILE_NAME = /^[A-Za-z0-9_-]{1,128}\.[a-z0-9]{1,8}$/;
const CONTENT_TYPE = /^[\x20-\x7e]{1,255}$/;
const SWEEP_MS = 3_600_000;

/** Storage that also removes expired files, and remains of crashes, when it opens and every hour. */
export interface DiskFiles extends Files {
  /** Every valid file name in the folder, even if another program wrote the file. */
  names(): Promise<string[]>;
  /** Sweeps now. */
  sweep(): Promise<void>;
  /** Ends the hourly sweep. */
  close(): Promise<void>;
}

/**
 * Files in one folder (0700). A file is written to a temporary name, synced and renamed, so that a name always leads to
 * a whole file. Its metadata is stored after its content, so that both are written and removed together. A file that
 * was changed is never read: it throws `storage_error`, which is not retryable.
 */
export async function openDiskFiles(folder: string, clock: Clock): Promise<DiskFiles> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const names = new FolderSync(folder);
  const checks = new FileChecks();
  const sweep = () => sweepFiles(folder, clock.now());
  await sweep();
  // A file that cannot be removed now is tried again in an hour; reading checks the expiry itself.
  const timer = setInterval(() => sweep().catch(() => undefined), SWEEP_MS).unref();

  async function describe(name: string): Promise<FileStat | undefined> {
    const handle = await openStored(folder, name);
    if (!handle) return undefined;
    try {
      const found = await checkFile(checks, name, handle);
      return found.expiresAt && found.expiresAt.getTime() <= clock.now() ? undefined : found;
    } finally {
      await handle.close();
    }
  }

  async function* contentOf(found: FileStat, range: ByteRange): AsyncGenerator<Uint8Array> {
    const handle = await openStored(folder, found.name);
    if (!handle) throw new GatewayError('file_not_found', 'The file no longer exists.');
    try {
      if ((await checkFile(checks, found.name, handle)).etag !== found.etag)
        throw new GatewayError('file_not_found', 'The file was replaced.');
      yield* readRange(found.name, handle, range);
    } finally {
      await handle.close();
    }
  }

  return {
    async write(file) {
      const handle = await writeInto(folder, file, clock.now(), checks);
      // A rename survives a power cut only when the folder has been synced as well.
      await Promise.all([names.sync(), handle.close()]).catch((error: unknown) => {
        throw diskFailure(error);
      });
      return 'local_cache';
    },
    async read(name, range) {
      const found = await describe(name);
      if (!found) return undefined;
      const start = range?.start ?? 0;
      const end = Math.min(range?.end ?? found.size - 1, found.size - 1);
      if (range && (start < 0 || start > end)) {
        throw new GatewayError('invalid_value', 'The range is outside of the file.', { param: 'range' });
      }
      return { ...found, body: contentOf(found, { start, end }) };
    },
    stat: describe,
    async delete(name) {
      try {
        await unlink(pathOf(folder, name));
      } catch (error) {
        if (isSystemError(error, 'ENOENT')) return;
        throw diskFailure(error);
      }
      await names.sync();
    },
    names: async () => (await readdir(folder)).filter((name) => FILE_NAME.test(name)),
    sweep,
    ping: () => access(folder),
    // Readable only by this user.
    awaiting: async () => 0,
    close() {
      clearInterval(timer);
      return names.close();
    },
  };
}

async function openStored(folder: string, name: string): Promise<FileHandle | undefined> {
  try {
    return await open(pathOf(folder, name), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    if (isSystemError(error, 'ENOENT')) return undefined;
    if (isSystemError(error, 'EACCES', 'EPERM', 'ELOOP')) throw damagedFile(`${name} may not be read.`, error);
    throw diskFailure(error);
  }
}

async function checkFile(checks: FileChecks, name: string, handle: FileHandle): Promise<FileStat> {
  try {
    return toStat(name, await checks.check(name, handle));
  } catch (error) {
    throw diskFailure(error);
  }
}

/** Writes the file under a temporary name, and then renames it. The caller closes it. */
async function writeInto(folder: string, file: StoredFile, now: number, checks: FileChecks): Promise<FileHandle> {
  const target = pathOf(folder, file.name);
  if (!CONTENT_TYPE.test(file.contentType)) {
    throw new GatewayError('invalid_value', 'That is not a media type.', { param: 'contentType' });
  }
  const incoming = path.join(folder, `${INCOMING}${randomUUID()}`);
  let handle: FileHandle | undefined;
  try {
    handle = await open(incoming, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o600);
    await writeWhole(handle, file, now);
    await rename(incoming, target);
    await checks.written(file.name, handle);
    return handle;
  } catch (error) {
    // Both are best effort: the sweep at the next start removes what remains.
    await handle?.close().catch(() => undefined);
    await unlink(incoming).catch(() => undefined);
    throw diskFailure(error);
  }
}

async function writeWhole(
  handle: FileHandle,
  { body, contentType, expiresAt }: StoredFile,
  now: number,
): Promise<void> {
  const hash = createHash('sha256');
  let size = 0;
  let last: Uint8Array = new Uint8Array();
  for await (const chunk of body instanceof Uint8Array ? [body] : body) {
    hash.update(chunk);
    if (last.byteLength > 0) await handle.writeFile(last);
    last = chunk;
    size += chunk.byteLength;
  }
  const trailer: Trailer = { contentType, size, sha256: hash.digest('hex'), modifiedAt: now };
  await writeBoth(handle, last, writeTrailer(expiresAt ? { ...trailer, expiresAt: expiresAt.getTime() } : trailer));
  // The file time lets the sweep skip files that are not due without opening them; if a power cut lost it, the sweep
  // reads the file.
  await Promise.all([expiresAt && handle.utimes(expiresAt, expiresAt), handle.sync()]);
}

/** In one write: each access to the disk costs as much as a small file. */
async function writeBoth(handle: FileHandle, content: Uint8Array, trailer: Uint8Array): Promise<void> {
  const { bytesWritten } = await handle.writev([content, trailer]);
  // A full disk accepts a part, and reports the error for the rest.
  if (bytesWritten < content.byteLength + trailer.byteLength) {
    await handle.writeFile(Buffer.concat([content, trailer]).subarray(bytesWritten));
  }
}

function pathOf(folder: string, name: string): string {
  if (!FILE_NAME.test(name))
    throw new GatewayError('invalid_value', 'That is not a file name of this storage.', { param: 'name' });
  return path.join(folder, name);
}

function toStat(name: string, { contentType, size, sha256, modifiedAt, expiresAt }: Trailer): FileStat {
  const etag = `"${sha256}"`;
  const stat: FileStat = { name, contentType, size, etag, modifiedAt: new Date(modifiedAt), source: 'local_cache' };
  return expiresAt === undefined ? stat : { ...stat, expiresAt: new Date(expiresAt) };
}

/** The metadata of a stored file. */
export interface Trailer {
  contentType: string;
  /** Bytes of content, without this trailer. */
  size: number;
  /** Hash of the content, in lower-case hex. */
  sha256: string;
  /** Milliseconds since 1970. */
  modifiedAt: number;
  /** Milliseconds since 1970. */
  expiresAt?: number;
}

/*
 * Layout: content, trailer as JSON, its length as a 32-bit big-endian number, mark. After the content, where programs
 * that open the file directly ignore it, and where it can be written after streaming the content.
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
 * @throws GatewayError `storage_error`, not retryable, if the file was not written by this storage, or was damaged.
 */
export async function readTrailer(name: string, handle: FileHandle): Promise<{ trailer: Trailer; version: string }> {
  const stats = await handle.stat({ bigint: true });
  if (!stats.isFile()) throw damagedFile(`${name} is not a file.`);
  const size = Number(stats.size);
  const window = Math.min(size, MAX_TRAILER_BYTES + FOOT_BYTES);
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(window), 0, window, size - window);
  const foot = bytesRead - FOOT_BYTES;
  if (foot >= 0 && buffer.subarray(foot + 4, bytesRead).equals(MARK)) {
    const begin = foot - buffer.readUInt32BE(foot);
    const trailer = begin >= 0 ? parse(buffer.toString('utf8', begin, foot)) : undefined;
    if (trailer && trailer.size === size - (bytesRead - begin)) return { trailer, version: versionOf(stats) };
  }
  throw damagedFile(`${name} has no file extension of this storage.`);
}

/** Changes with every change of the file. Not the modification time, which contains the expiry. */
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

const CHUNK_BYTES = 64 * 1024;
/** Some hundred bytes each. An evicted file is read once more. */
const MAX_KNOWN = 10_000;

interface Known {
  version: string;
  isWhole: Promise<boolean>;
}

/** Verifies that files on a disk are unchanged. Each is read once, and again when it has changed. */
export class FileChecks {
  readonly #known = boundedTable<Known>(MAX_KNOWN);

  /** @throws GatewayError `storage_error`, not retryable, if it has changed. */
  async check(name: string, handle: FileHandle): Promise<Trailer> {
    const { trailer, version } = await readTrailer(name, handle);
    if (await this.#inspect(name, handle, trailer, version)) return trailer;
    throw damagedFile(`The bytes of ${name} have changed since they were written.`);
  }

  /** Call it after the rename: the writer has hashed the content. */
  async written(name: string, handle: FileHandle): Promise<void> {
    const version = versionOf(await handle.stat({ bigint: true }));
    this.#known.set(name, { version, isWhole: Promise.resolve(true) });
  }

  /** Concurrent callers share the same check. */
  #inspect(name: string, handle: FileHandle, trailer: Trailer, version: string): Promise<boolean> {
    const before = this.#known.get(name);
    if (before?.version === version) return before.isWhole;
    const next = { version, isWhole: isWhole(name, handle, trailer) };
    this.#known.set(name, next);
    next.isWhole.catch(() => {
      if (this.#known.peek(name) === next) this.#known.delete(name);
    });
    return next.isWhole;
  }
}

/** Whether the content has the hash in its trailer. */
export async function isWhole(name: string, handle: FileHandle, { size, sha256 }: Trailer): Promise<boolean> {
  const hash = createHash('sha256');
  for await (const chunk of readRange(name, handle, { start: 0, end: size - 1 })) hash.update(chunk);
  return hash.digest('hex') === sha256;
}

/** Content of a stored file, with the length in its trailer. */
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

/** The temporary name of an incomplete file. */
export const INCOMING = '.incoming-';
/** Age at which a temporary file of a crash is removed, since no process can be writing it any more. */
const ABANDONED_MS = 3_600_000;

/** Removes expired files of a storage folder, and remains of crashes. Safe beside other processes that do the same. */
export async function sweepFiles(folder: string, now: number): Promise<void> {
  for (const name of await readdir(folder)) {
    const file = path.join(folder, name);
    try {
      const { mtimeMs } = await stat(file);
      // An expiring file has its expiry as modification time; the few older ones are read.
      const due = name.startsWith(INCOMING)
        ? Date.now() - mtimeMs > ABANDONED_MS
        : mtimeMs <= now && (await isOver(file, now));
      if (due) await unlink(file);
    } catch (error) {
      // Another process may have removed it first.
      if (!isSystemError(error, 'ENOENT')) throw error;
    }
  }
}

async function isOver(file: string, now: number): Promise<boolean> {
  const handle = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(
    () => undefined,
  );
  // Links were not made here, and stay.
  if (!handle) return false;
  try {
    const { expiresAt } = (await readTrailer(file, handle)).trailer;
    return expiresAt !== undefined && expiresAt <= now;
  } catch {
    // Not ours, or damaged: it stays for the operator.
    return false;
  } finally {
    await handle.close();
  }
}
