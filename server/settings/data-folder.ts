import { statfs } from 'node:fs/promises';

/** With less room than this a database cannot be relied on to commit. */
const LEAST_BYTES = 16 * 1024 * 1024;
/** Every picture is a file, and SQLite and drafts need a few. */
export const LEAST_FILES = 64;

/**
 * Whether a folder answers and can take more.
 * @param least - free bytes that it must have for this process. Default 16 MiB.
 * @throws Error where the folder is gone or its disk is full.
 */
export async function checkRoom(folder: string, least = LEAST_BYTES): Promise<void> {
  const { free, files } = await roomOf(folder);
  if (free < least) throw new Error(`fewer than ${least} bytes are free in ${folder}`);
  if (files < LEAST_FILES) throw new Error(`fewer than ${LEAST_FILES} inodes are free in ${folder}`);
}

/** Bytes of the file system of a folder, and how many more files it takes: infinite where it has no bound. */
export async function roomOf(folder: string): Promise<{ size: number; free: number; files: number }> {
  const { bsize, blocks, bavail, files, ffree } = await statfs(folder);
  return { size: blocks * bsize, free: bavail * bsize, files: files === 0 ? Number.POSITIVE_INFINITY : ffree };
}
