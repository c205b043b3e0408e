import path from 'node:path';
import { GatewayError } from '../errors.js';
import { createApiKeys } from './api-keys-sql.js';
import { openCache } from './cache.js';
import { openDatabase } from './database.js';
import { openDiskFiles } from './files-disk.js';
import type { State, StateSettings } from './index.js';
import { createWindows } from './windows-sql.js';

/** Settings to drivers: the one place that says what changes when the gateway is scaled out. */
export async function openDrivers(settings: StateSettings): Promise<State> {
  const { dataDir, databaseUrl, filesUrl, cacheUrl, clock, windowClock, logger } = settings;
  if (filesUrl !== undefined) {
    const message = 'Files cannot be kept in an object store yet; leave the files URL out to keep them on disk.';
    throw new GatewayError('invalid_value', message, { param: 'filesUrl' });
  }
  const files = await openDiskFiles(path.join(dataDir, 'files'), clock);
  const database = await openDatabase({ dataDir, databaseUrl }).catch((error: unknown) => {
    files.close();
    throw error;
  });
  try {
    const cache = await openCache({ database, cacheUrl, clock, logger });
    const { engine } = database;
    return {
      engine,
      keys: createApiKeys(database, clock),
      windows: createWindows({ database, clock: windowClock ?? (engine === 'sqlite' ? clock : undefined) }),
      cache,
      files,
      ping: () => database.ping(),
      async close() {
        files.close();
        await cache.close();
        await database.close();
      },
    };
  } catch (error) {
    files.close();
    await database.close();
    throw error;
  }
}
