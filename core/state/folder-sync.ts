import { constants } from 'node:fs';
import { open } from 'node:fs/promises';

/** Resolves when everything that was renamed or removed in the folder before the call survives a power cut. */
export type FolderSync = () => Promise<void>;

/** What is asked for while the folder is being synced shares the next sync: one does for all files that came before it. */
export function createFolderSync(folder: string): FolderSync {
  let running: Promise<void> | undefined;
  let next: Promise<void> | undefined;

  async function syncNext(before: Promise<void> | undefined): Promise<void> {
    // Its failure is told to those who waited for it.
    await before?.catch(() => undefined);
    running = next;
    next = undefined;
    await syncFolder(folder);
  }

  return () => {
    next ??= syncNext(running);
    return next;
  };
}

async function syncFolder(folder: string): Promise<void> {
  // Windows cannot sync folders.
  if (process.platform === 'win32') return;
  const handle = await open(folder, constants.O_RDONLY);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
