import path from 'node:path';
import { createApiKeys } from './api-keys-sql.js';
import { openCache } from './cache.js';
import { openDatabase } from './database.js';
import { createEmbeddedDispatcher } from './dispatch-embedded.js';
import type { Dispatcher } from './dispatcher.js';
import { openDiskFiles } from './files-disk.js';
import type { S3Files, S3FilesOptions } from './files-s3.js';
import type { State, StateSettings } from './index.js';
import { createJobs } from './jobs-sql.js';
import { createSlotTable } from './slots.js';
import { createWindows } from './windows-sql.js';

/** Settings to drivers: the one place that says what changes when the gateway is scaled out. */
export async function openDrivers(settings: StateSettings): Promise<State> {
  const { dataDir, databaseUrl, filesUrl, cacheUrl, clock, logger } = settings;
  const folder = path.join(dataDir, 'files');
  const files =
    filesUrl === undefined
      ? await openDiskFiles(folder, clock)
      : await openObjectFiles({ url: filesUrl, folder, clock, logger });
  const database = await openDatabase({ dataDir, databaseUrl }).catch(async (error: unknown) => {
    await files.close();
    throw error;
  });
  try {
    const cache = await openCache({ database, cacheUrl, clock, logger });
    const { engine, queries } = database;
    const sharedClock = settings.windowClock ?? (engine === 'sqlite' ? clock : undefined);
    const slots = createSlotTable({ engine, queries, clock: sharedClock });
    const dispatcher =
      databaseUrl === undefined ? createEmbeddedDispatcher() : await openPostgresDispatcher(databaseUrl);
    const jobs = createJobs({ database, slots, dispatcher, clock: sharedClock, leaseMs: settings.jobLeaseMs, logger });
    return {
      engine,
      keys: createApiKeys(database, clock),
      windows: createWindows({ database, slots }),
      jobs,
      cache,
      files,
      ping: () => database.ping(),
      pingFiles: () => files.ping(),
      async close() {
        await jobs.close();
        await dispatcher.close();
        await files.close();
        await cache.close();
        await database.close();
      },
    };
  } catch (error) {
    await files.close();
    await database.close();
    throw error;
  }
}

async function openPostgresDispatcher(databaseUrl: string): Promise<Dispatcher> {
  const { createPostgresDispatcher } = await import('./dispatch-postgres.js');
  return createPostgresDispatcher(databaseUrl);
}

async function openObjectFiles(options: S3FilesOptions): Promise<S3Files> {
  const { openS3Files } = await import('./files-s3.js');
  return openS3Files(options);
}
