import path from 'node:path';
import type { Clock, Logger, Storage } from '../contracts/index.js';

export interface FilesSettings {
  /** Folder of everything embedded. Made (0700) where absent. */
  dataDir: string;
  /**
   * `s3://KEY:SECRET@host[:port]/bucket[/prefix][?region=…&tls=off]` moves files there; `dataDir/files` keeps what that store
   * has not got yet. Default: all of them are in `dataDir/files`.
   */
  filesUrl?: string;
  clock: Clock;
  logger: Logger;
}

/** Files alone. */
export interface Files extends Storage {
  /** Resolves where the folder or the object store answers; the store is asked at most every 15 s. */
  ping(): Promise<void>;
  /** Files that the object store has not got yet. */
  awaiting(): Promise<number>;
  /** Ends what is under way; what an object store has not got yet stays in the data folder. Idempotent. */
  close(): void | Promise<void>;
}

/**
 * Opens the files without the rest of the state. Nothing is asked of an object store yet: it may be away.
 * @throws GatewayError `invalid_value` for a URL that cannot be used.
 */
export async function openFiles(settings: FilesSettings): Promise<Files> {
  const { dataDir, filesUrl, clock, logger } = settings;
  const folder = path.join(dataDir, 'files');
  if (filesUrl === undefined) {
    const { openDiskFiles } = await import('./files-disk.js');
    return openDiskFiles(folder, clock);
  }
  const { openS3Files } = await import('./files-s3.js');
  return openS3Files({ url: filesUrl, folder, clock, logger });
}
