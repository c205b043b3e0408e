import { mkdir, mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { isSystemError } from '../runtime/index.js';

/** Folders for work in progress. */
export interface ScratchFolders {
  /** An empty folder (0700) of the caller's own, who removes it when the work is done. */
  take(): Promise<ScratchFolder>;
  /** Removes what a crash has left behind. */
  sweep(): Promise<void>;
}

export interface ScratchFolder {
  readonly path: string;
  remove(): Promise<void>;
}

const PREFIX = 'mediagate-scratch-';
/** No work takes this long, so that nobody can be using an older one, in whatever process. */
const ABANDONED_MS = 3_600_000;

/** @param root Made where absent; may be shared with others, whose files stay untouched. */
export function createScratchFolders(root: string): ScratchFolders {
  async function sweep(): Promise<void> {
    for (const name of await readdir(root).catch(ifMissing([]))) {
      if (!name.startsWith(PREFIX)) continue;
      const folder = path.join(root, name);
      const found = await stat(folder).catch(ifMissing(undefined));
      const own = found && (process.getuid === undefined || found.uid === process.getuid());
      if (own && Date.now() - found.mtimeMs > ABANDONED_MS) await rm(folder, { recursive: true, force: true });
    }
  }

  return {
    sweep,
    async take() {
      await mkdir(root, { recursive: true, mode: 0o700 });
      await sweep();
      const folder = await mkdtemp(path.join(root, PREFIX));
      return { path: folder, remove: () => rm(folder, { recursive: true, force: true }) };
    },
  };
}

/** Another process may have removed it first. */
function ifMissing<Value>(instead: Value): (error: unknown) => Value {
  return (error) => {
    if (isSystemError(error, 'ENOENT')) return instead;
    throw error;
  };
}
