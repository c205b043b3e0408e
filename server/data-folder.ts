import { statfs } from 'node:fs/promises';

/** With less room than this a database cannot be relied on to commit. */
const LEAST_BYTES = 16 * 1024 * 1024;

/**
 * Whether a folder answers and can take more.
 * @param least - free bytes that it must have for this process. Default 16 MiB.
 * @throws Error where the folder is gone or its disk is full.
 */
export async function checkRoom(folder: string, least = LEAST_BYTES): Promise<void> {
  if ((await roomOf(folder)).free < least) throw new Error(`fewer than ${least} bytes are free in ${folder}`);
}

/** Bytes of the file system of a folder. */
export async function roomOf(folder: string): Promise<{ size: number; free: number }> {
  const { bsize, blocks, bavail } = await statfs(folder);
  return { size: blocks * bsize, free: bavail * bsize };
}
