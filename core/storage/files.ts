/*
 * Opens the file storage that the settings name: a folder of the data directory, or an S3-compatible store with that
 * folder in front of it. The implementation is loaded on demand, and opening sends no request to the store.
 */

import path from 'node:path';
import type { Clock, Logger, Storage } from '../contracts/index.js';

export interface FilesSettings {
  /** Folder of all local state. Created (0700) if missing. */
  dataDir: string;
  /**
   * `s3://KEY:SECRET@host[:port]/bucket[/prefix][?region=…&tls=off]` stores files there; `dataDir/files` holds those
   * that are not uploaded yet. Default: all of them are in `dataDir/files`.
   */
  filesUrl?: string;
  clock: Clock;
  logger: Logger;
}

/** Only the files, without other state. */
export interface Files extends Storage {
  /** Resolves if the folder or the object store answers; the store is asked at most every 15 s. */
  ping(): Promise<void>;
  /** Number of files that are not uploaded yet. */
  awaiting(): Promise<number>;
  /** Ends running uploads; files that are not uploaded yet stay in the data folder. Idempotent. */
  close(): void | Promise<void>;
}

/**
 * Opens the files without the other state. No request is sent to an object store: it may be unavailable.
 * @throws GatewayError `invalid_value` for an invalid URL.
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
