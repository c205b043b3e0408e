import { constants } from 'node:fs';
import { open, readdir, stat, unlink } from 'node:fs/promises';
import path from 'node:path';
import { isSystemError } from '../runtime/index.js';
import { readTrailer } from './file-trailer.js';

/** What a file is called until it is whole. */
export const INCOMING = '.incoming-';
/** What a crash left of a file being written is removed once nobody can be writing it any more. */
const ABANDONED_MS = 3_600_000;

/** Removes expired files of a storage folder, and what crashes have left. Safe beside other processes that do the same. */
export async function sweepFiles(folder: string, now: number): Promise<void> {
  for (const name of await readdir(folder)) {
    const file = path.join(folder, name);
    try {
      const { mtimeMs } = await stat(file);
      // A file that expires bears that time as its own; the files of before are few, and looked into.
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
  // Links are not ours, and stay.
  if (!handle) return false;
  try {
    const { expiresAt } = (await readTrailer(file, handle)).trailer;
    return expiresAt !== undefined && expiresAt <= now;
  } catch {
    // Not ours, or damaged: for somebody to look at, not to remove.
    return false;
  } finally {
    await handle.close();
  }
}
