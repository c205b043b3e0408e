import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';

export interface FolderSync {
  /** Resolves when everything that was renamed or removed in the folder before the call survives a power cut. */
  sync(): Promise<void>;
  /** Lets the folder go. What is synced later opens it for that alone. */
  close(): Promise<void>;
}

/**
 * What is asked for while the folder is being synced shares the next sync: one does for all files that came before it. The
 * folder stays open, since to open and close it takes as long again.
 */
export function createFolderSync(folder: string): FolderSync {
  let running: Promise<void> | undefined;
  let next: Promise<void> | undefined;
  let handle: Promise<FileHandle> | undefined;
  let closed = false;

  async function syncNext(before: Promise<void> | undefined): Promise<void> {
    // Its failure is told to those who waited for it.
    await before?.catch(() => undefined);
    running = next;
    next = undefined;
    await syncOnce();
  }

  async function syncOnce(): Promise<void> {
    // Windows cannot sync folders.
    if (process.platform === 'win32') return;
    handle ??= open(folder, constants.O_RDONLY);
    let kept = false;
    try {
      await (await handle).sync();
      kept = !closed;
    } finally {
      if (!kept) await letGo();
    }
  }

  async function letGo(): Promise<void> {
    const gone = handle;
    handle = undefined;
    // Where it could not be opened, whoever wanted it is told.
    await gone?.then((opened) => opened.close()).catch(() => undefined);
  }

  return {
    sync() {
      next ??= syncNext(running);
      return next;
    },
    async close() {
      closed = true;
      await (next ?? running)?.catch(() => undefined);
      await letGo();
    },
  };
}

/** Makes what was renamed or removed in the folder survive a power cut. */
export async function syncFolder(folder: string): Promise<void> {
  // Windows cannot sync folders.
  if (process.platform === 'win32') return;
  const handle = await open(folder, constants.O_RDONLY);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
