import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import path from 'node:path';
import { folderNames, GatewayError } from '../../core/runtime/index.js';
import type { Files } from '../../core/storage/index.js';
import { FILE_NAME, isWhole, readRange, readTrailer, type Trailer } from '../../core/storage/index.js';
import type { Progress } from './backup.js';

/** What an object store is asked to take at once. */
const PARALLEL = 4;

export interface FileTransferOptions {
  /** Folder of files as a storage on a disk keeps them; it is left as it is. */
  folder: string;
  files: Files;
  /** Milliseconds since 1970: what is expired by then stays where it is. */
  now: number;
  signal: AbortSignal;
  report(progress: Progress): void;
}

export interface FileTransfer {
  /** Are now where the settings say. */
  copied: number;
  /** Were damaged, or none of the gateway's. */
  unreadable: number;
}

/**
 * Writes all files of a folder into a storage, and looks whether each arrived as it was. Those that are there already are
 * written again.
 */
export async function transferFiles(options: FileTransferOptions): Promise<FileTransfer> {
  const { folder, files, now, signal, report } = options;
  const names = (await folderNames(folder)).filter((name) => FILE_NAME.test(name));
  const rest = names.values();
  const transfer: FileTransfer = { copied: 0, unreadable: 0 };
  let done = 0;

  async function work(): Promise<void> {
    for (const name of rest) {
      signal.throwIfAborted();
      report({ step: 'files', done, of: names.length });
      done += 1;
      const handle = await open(path.join(folder, name), constants.O_RDONLY | constants.O_NOFOLLOW).catch(
        () => undefined,
      );
      try {
        const trailer = handle && (await trailerOf(name, handle));
        if (!handle || !trailer) transfer.unreadable += 1;
        else if (trailer.expiresAt === undefined || trailer.expiresAt > now) {
          await copy(files, name, { handle, trailer });
          transfer.copied += 1;
        }
      } finally {
        await handle?.close();
      }
    }
  }
  await Promise.all(Array.from({ length: PARALLEL }, work));
  return transfer;
}

/** Undefined where the file is not whole: in the storage it would be given the hash of its damage. */
async function trailerOf(name: string, handle: FileHandle): Promise<Trailer | undefined> {
  try {
    const { trailer } = await readTrailer(name, handle);
    return (await isWhole(name, handle, trailer)) ? trailer : undefined;
  } catch {
    return undefined;
  }
}

async function copy(files: Files, name: string, from: { handle: FileHandle; trailer: Trailer }): Promise<void> {
  const { contentType, size, expiresAt, sha256 } = from.trailer;
  const expiry = expiresAt === undefined ? {} : { expiresAt: new Date(expiresAt) };
  await files.write({ name, contentType, ...expiry, body: readRange(name, from.handle, { start: 0, end: size - 1 }) });
  const written = await files.stat(name);
  if (written?.etag !== `"${sha256}"`) throw new GatewayError('internal_error', `The file ${name} is damaged.`);
}
