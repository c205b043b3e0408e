/** PostgreSQL, Valkey and an S3 server of a local cluster. */

import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { openOrClose } from '../../server/close-list.js';
import { startRedis } from '../support/databases/redis.js';
import { BUCKET, KEY, startObjectServer } from '../support/storage/object-server.js';
import { type DatabaseServer, startDatabaseServer } from './database-server.js';

/** What several nodes share, each in a process of its own. */
export interface Engines {
  readonly database: DatabaseServer;
  /** The settings that lead to them. */
  readonly environment: Readonly<Record<'DATABASE_URL' | 'FILES_URL' | 'CACHE_URL', string>>;
  /** What they are, in words. */
  readonly names: readonly string[];
  close(): Promise<void>;
}

export interface EnginesOptions {
  /** Where rows and objects stay. Default: temporary folders, removed with the engines. */
  folder?: string;
  progress(text: string): void;
}

/** Of the account that the object server knows. */
const SECRET = 'S3RVER';

/** @throws Error where one of them cannot be started; those that were are ended. */
export async function startEngines({ folder, progress }: EnginesOptions): Promise<Engines> {
  return openOrClose(async (opened) => {
    progress('PostgreSQL');
    const database = await startDatabaseServer({ ...(folder && { folder: path.join(folder, 'database') }) });
    opened.add(() => database.close());
    progress('the object store');
    const objects = folder && path.join(folder, 'objects');
    if (objects) await mkdir(objects, { recursive: true });
    const store = await startObjectServer({ ...(objects && { folder: objects }) });
    opened.add(() => store.stop());
    progress('the cache');
    const cache = await startRedis();
    if ('unavailable' in cache) throw new Error(`There is no Redis here: ${cache.unavailable}.`);
    opened.add(() => cache.stop());
    return {
      database,
      environment: {
        DATABASE_URL: database.url,
        FILES_URL: `s3://${KEY}:${SECRET}@${new URL(store.url).host}/${BUCKET}?tls=off`,
        CACHE_URL: cache.url,
      },
      names: [
        `PostgreSQL (${database.source})`,
        'a local S3 server (npm)',
        `${cache.source === 'npm' ? 'Valkey' : 'Redis'} (${cache.source})`,
      ],
      close: () => opened.close(),
    };
  });
}
