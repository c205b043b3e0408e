import { createHash, randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { access, type FileHandle, mkdir, open, readdir, rename, unlink } from 'node:fs/promises';
import path from 'node:path';
import type { ByteRange, Clock, FileStat, StoredFile } from '../contracts/index.js';
import { damagedFile, diskFailure, GatewayError, isSystemError } from '../runtime/index.js';
import { createFileChecks, readRange } from './file-checks.js';
import { INCOMING, sweepFiles } from './file-sweep.js';
import { type Trailer, writeTrailer } from './file-trailer.js';
import type { Files } from './files.js';
import { createFolderSync } from './folder-sync.js';

/** As the Storage contract says. No separator, no leading dot: a name cannot leave the folder or name a file being written. */
export const FILE_NAME = /^[A-Za-z0-9_-]{1,128}\.[a-z0-9]{1,8}$/;
const CONTENT_TYPE = /^[\x20-\x7e]{1,255}$/;
const SWEEP_MS = 3_600_000;

/** Storage that also clears up after itself: expired files, and what a crash has left, when it opens and every hour. */
export interface DiskFiles extends Files {
  /** Names of everything in the folder that bears one, whether it is a file of this storage or not. */
  names(): Promise<string[]>;
  /** Clears up now. */
  sweep(): Promise<void>;
  /** Ends the hourly sweep. */
  close(): Promise<void>;
}

/**
 * Files in one folder (0700). A file is written beside its name, synced and renamed, so that a name always leads to a whole
 * file; what is known about it stands behind its content, so that both come and go together. What is not as it was written is
 * never read: it throws `storage_error`, not to be retried.
 */
export async function openDiskFiles(folder: string, clock: Clock): Promise<DiskFiles> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const names = createFolderSync(folder);
  const checks = createFileChecks();
  const sweep = () => sweepFiles(folder, clock.now());
  await sweep();
  // What cannot be removed now is tried again in an hour; nobody waits for it, and reading goes by the clock.
  const timer = setInterval(() => sweep().catch(() => undefined), SWEEP_MS).unref();

  async function openStored(name: string): Promise<FileHandle | undefined> {
    try {
      return await open(pathOf(folder, name), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    } catch (error) {
      if (isSystemError(error, 'ENOENT')) return undefined;
      if (isSystemError(error, 'EACCES', 'EPERM', 'ELOOP')) throw damagedFile(`${name} may not be read.`, error);
      throw diskFailure(error);
    }
  }

  async function check(name: string, handle: FileHandle): Promise<FileStat> {
    return toStat(
      name,
      await checks.check(name, handle).catch((error) => {
        throw diskFailure(error);
      }),
    );
  }

  async function describe(name: string): Promise<FileStat | undefined> {
    const handle = await openStored(name);
    if (!handle) return undefined;
    try {
      const found = await check(name, handle);
      return found.expiresAt && found.expiresAt.getTime() <= clock.now() ? undefined : found;
    } finally {
      await handle.close();
    }
  }

  async function* contentOf(found: FileStat, range: ByteRange): AsyncGenerator<Uint8Array> {
    const handle = await openStored(found.name);
    if (!handle) throw new GatewayError('file_not_found', 'The file is gone.');
    try {
      if ((await check(found.name, handle)).etag !== found.etag)
        throw new GatewayError('file_not_found', 'The file was replaced.');
      yield* readRange(found.name, handle, range);
    } finally {
      await handle.close();
    }
  }

  return {
    async write(file) {
      const target = pathOf(folder, file.name);
      if (!CONTENT_TYPE.test(file.contentType)) {
        throw new GatewayError('invalid_value', 'That is not a media type.', { param: 'contentType' });
      }
      const incoming = path.join(folder, `${INCOMING}${randomUUID()}`);
      let handle: FileHandle | undefined;
      try {
        handle = await open(incoming, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o600);
        await writeWhole(handle, file, clock.now());
        await rename(incoming, target);
        await checks.written(file.name, handle);
      } catch (error) {
        // Best effort, both: the sweep at the next start gets what remains.
        await handle?.close().catch(() => undefined);
        await unlink(incoming).catch(() => undefined);
        throw diskFailure(error);
      }
      // A rename survives a power cut only when the folder has been synced as well.
      await Promise.all([names.sync(), handle.close()]);
      return 'local_cache';
    },
    async read(name, range) {
      const found = await describe(name);
      if (!found) return undefined;
      const start = range?.start ?? 0;
      const end = Math.min(range?.end ?? found.size - 1, found.size - 1);
      if (range && (start < 0 || start > end)) {
        throw new GatewayError('invalid_value', 'The range lies outside of the file.', { param: 'range' });
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
    // Nobody else is to get them.
    awaiting: async () => 0,
    close() {
      clearInterval(timer);
      return names.close();
    },
  };
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
  // The time lets the sweep pass over what is not due without opening it; where a power cut took it, the sweep looks.
  await Promise.all([expiresAt && handle.utimes(expiresAt, expiresAt), handle.sync()]);
}

/** In one go: each way to the disk and back costs as much as a small file. */
async function writeBoth(handle: FileHandle, content: Uint8Array, trailer: Uint8Array): Promise<void> {
  const { bytesWritten } = await handle.writev([content, trailer]);
  // A disk with too little room takes a part, and says at the rest what is wrong.
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
