/** Mounts a small disk of its own, which can be filled. */

import { execFile } from 'node:child_process';
import { open } from 'node:fs/promises';
import { promisify } from 'node:util';

export interface SmallDisk {
  /** Nothing may use it any more. */
  remove(): Promise<void>;
}

/** Puts a disk of its own on an empty folder; undefined where none can be mounted: not root, or no Linux. */
export async function mountSmallDisk(
  folder: string,
  mebibytes: number,
  more = 'mode=700',
): Promise<SmallDisk | undefined> {
  const run = promisify(execFile);
  try {
    await run('mount', ['-t', 'tmpfs', '-o', `size=${mebibytes}m,mode=700,${more}`, 'tmpfs', folder]);
  } catch {
    return undefined;
  }
  return {
    async remove() {
      await run('umount', [folder]);
    },
  };
}

/** Writes to that file until the disk has no room left, to the last byte. */
export async function fillDisk(file: string): Promise<void> {
  const handle = await open(file, 'a');
  try {
    for (let size = 1024 * 1024; size >= 1; size = Math.floor(size / 4)) {
      const block = Buffer.alloc(size, 1);
      while (await handle.write(block).then(({ bytesWritten }) => bytesWritten > 0, isFullError)) {
        // The next block goes behind this one.
      }
    }
  } finally {
    await handle.close();
  }
}

function isFullError(error: NodeJS.ErrnoException): false {
  if (error.code === 'ENOSPC') return false;
  throw error;
}
