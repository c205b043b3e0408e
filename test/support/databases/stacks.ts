/** Runs a suite on both stacks: SQLite with a folder, and PostgreSQL with S3 and Redis. */

import { randomUUID } from 'node:crypto';
import { createClient } from '@keyv/redis';
import type { StateSettings } from '../../../server/state.js';
import { isLongRun } from '../runner/variants.js';
import { startObjectProxy } from '../storage/object-proxy.js';
import { sharedObjectServer } from '../storage/object-server.js';
import { sharedPostgres } from './postgres.js';
import { postgresDatabases } from './postgres-databases.js';
import { startRedis } from './redis.js';

/** Where one gateway keeps what it remembers, beside its data folder; empty when it is made. */
export interface StackPlace {
  /** For `openState`. */
  readonly settings: Pick<StateSettings, 'databaseUrl' | 'filesUrl' | 'cacheUrl'>;
  /** The same for a process. */
  readonly environment: Readonly<Record<string, string>>;
  /** Once everything that used it is closed. */
  remove(): Promise<void>;
}

/** What is underneath a gateway. */
export interface Stack {
  readonly name: 'SQLite and a folder' | 'PostgreSQL, S3 and Redis';
  readonly isFirst: boolean;
  /** What the API says of where a picture is kept. */
  readonly fileSource: 'local_cache' | 'objstore_s3';
  place(): Promise<StackPlace>;
}

/** Gateways on one database have to agree about these, also one that starts soon after another was killed. */
const SECRETS = {
  KEY_PEPPER: 'invented-pepper-of-all-gateways-of-the-tests',
  LINK_SECRET: 'invented-secret-of-the-links-of-the-tests',
  IMAGE_WEBHOOK_SECRET: 'invented-secret-of-the-webhooks-of-the-tests',
};

/** How many databases a Redis has that nobody configured. */
const REDIS_DATABASES = 16;

interface Servers {
  place(): Promise<StackPlace>;
}

const embedded: Stack = {
  name: 'SQLite and a folder',
  isFirst: true,
  fileSource: 'local_cache',
  place: async () => ({ settings: {}, environment: {}, remove: async () => undefined }),
};

let shared: Promise<Servers | { unavailable: string }> | undefined;

/** PostgreSQL and the object server may be those of the whole run; what this process has started ends with it. */
function sharedServers(): Promise<Servers | { unavailable: string }> {
  shared ??= startServers();
  return shared;
}

async function startServers(): Promise<Servers | { unavailable: string }> {
  const [postgres, redis, objects] = await Promise.all([
    sharedPostgres(),
    startRedis(),
    sharedObjectServer().then(startObjectProxy),
  ]);
  if ('unavailable' in postgres) return postgres;
  if ('unavailable' in redis) return redis;
  const [databases, caches] = [postgresDatabases(postgres), redisDatabases(redis.url)];
  return {
    async place() {
      const [{ url: databaseUrl, ...database }, { url: cacheUrl, ...cache }] = [await databases.take(), caches.take()];
      const filesUrl = objects.filesUrl(randomUUID());
      return {
        settings: { databaseUrl, filesUrl, cacheUrl },
        environment: { DATABASE_URL: databaseUrl, FILES_URL: filesUrl, CACHE_URL: cacheUrl, ...SECRETS },
        async remove() {
          await cache.giveBack();
          await database.giveBack();
        },
      };
    },
  };
}

/** The numbered databases of one Redis, each for one gateway at a time. */
function redisDatabases(serverUrl: string) {
  const maintenance = createClient({ url: serverUrl });
  const free = Array.from({ length: REDIS_DATABASES }, (_, index) => index);
  return {
    take() {
      const number = free.shift();
      if (number === undefined) throw new Error(`All ${REDIS_DATABASES} databases of Redis are taken.`);
      const url = `${serverUrl}/${number}`;
      return {
        /** Of an empty database, until it is given back. */
        url,
        async giveBack() {
          // The package makes a class for each configuration that differs from the last one, which takes 24 ms.
          const client = maintenance.duplicate({ database: number });
          client.on('error', () => undefined);
          await client.connect();
          await client.flushDb();
          client.destroy();
          // The next gateway has the same address, and the class is there.
          free.unshift(number);
        },
      };
    },
  };
}

const servers: Stack = {
  name: 'PostgreSQL, S3 and Redis',
  isFirst: false,
  fileSource: 'objstore_s3',
  async place() {
    const started = await sharedServers();
    if ('unavailable' in started) throw new Error(started.unavailable);
    return started.place();
  },
};

/** The same suite on everything that a gateway may stand on. Its tests are pending, saying why, where that cannot be had. */
export function describeOnStacks(title: string, define: (stack: Stack) => void): void {
  describe(`${title}, on ${embedded.name}`, () => define(embedded));
  // A quick run has the first alone.
  if (process.env.TEST_QUICK) return;
  describe(`${title}, on ${servers.name}`, () => {
    before(async function () {
      const started = await sharedServers();
      if (!('unavailable' in started)) return;
      const suite = this.test?.parent;
      if (suite) suite.title += ` (left out: ${started.unavailable})`;
      this.skip();
    });
    define(servers);
  });
}

/** The suite on the first stack, and on both in a long run: another suite holds the same statements on the second one. */
export function describeOnFirstStack(title: string, define: (stack: Stack) => void): void {
  if (isLongRun) describeOnStacks(title, define);
  else describe(title, () => define(embedded));
}
