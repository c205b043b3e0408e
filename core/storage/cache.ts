/*
 * The key-value cache of a gateway, in Redis or in the SQL database. It never fails: a store that fails, is slow or
 * returns something unreadable counts as a miss, logged at most once a minute. After a timeout of 500 ms the store is
 * left out for 2 seconds, so an outage does not delay every request. A Redis connection that sent an unreadable answer
 * is replaced, because each later answer would be matched to the wrong command. Values above 4 MiB of JSON are not
 * cached. Expired rows of the SQL store are deleted in batches by writers.
 */

import { EventEmitter } from 'node:events';
import { Keyv, type KeyvStoreAdapter } from 'keyv';
import type { Cache, Clock, Logger } from '../contracts/index.js';
import { type Database, type Migrations, sqlMigration } from '../database/index.js';
import { CircuitBreaker, createThrottledWarning, GatewayError, withDeadline } from '../runtime/index.js';

/** Milliseconds that a caller waits for the store. */
const TIMEOUT_MS = 500;
/** Cool-down in milliseconds after the store did not answer in time. */
const REST_MS = 2_000;
/** Milliseconds for Redis to accept a connection, and for its first reply. */
const CONNECT_MS = 2_000;
/** Maximum characters of the stored JSON; larger values are not cached. */
const MAX_VALUE_LENGTH = 4 * 1024 * 1024;
const SWEEP_INTERVAL_MS = 60_000;
const SWEEP_ROWS = 500;

export interface CacheSettings {
  database: Database;
  /** `redis://…` or `rediss://…`; never logged. Default: the database. */
  cacheUrl?: string;
  clock: Clock;
  logger: Logger;
}

export interface ClosableCache extends Cache {
  /** @throws the store's error, or Error if it does not answer in time. */
  ping(): Promise<void>;
  close(): Promise<void>;
}

/**
 * A cache that never fails: a store that fails, does not answer or contains something unreadable counts as a miss,
 * logged at most once a minute.
 * @throws GatewayError `invalid_value` for a URL of another kind.
 */
export async function openCache({ database, cacheUrl, clock, logger }: CacheSettings): Promise<ClosableCache> {
  const store = cacheUrl === undefined ? createSqlStore(database, clock) : await createRedisStore(cacheUrl);
  const keyv = new Keyv({
    store: store.adapter,
    namespace: 'mediagate',
    useKeyPrefix: false,
    throwOnErrors: true,
    serialize: toText,
    deserialize: (text) => JSON.parse(text),
  });
  const report = createThrottledWarning(logger, 'the cache failed; the gateway continues without it', () =>
    clock.monotonic(),
  );
  const circuit = new CircuitBreaker({
    clock: { monotonic: () => performance.now() },
    maxFailures: 1,
    coolDownMs: () => REST_MS,
  });
  let closed = false;

  keyv.on('error', report);
  store.adapter.on('error', report);

  async function attempt<Result>(work: () => Promise<Result>): Promise<Result | undefined> {
    if (closed || circuit.state === 'open') return undefined;
    try {
      return await inTime(work);
    } catch (error) {
      report(error);
      return undefined;
    }
  }

  function inTime<Result>(work: () => Promise<Result>): Promise<Result> {
    return withDeadline(TIMEOUT_MS, work, { error: giveUp });
  }

  function giveUp(): Error {
    circuit.fail();
    store.giveUp?.();
    return new Error(`The cache did not answer within ${TIMEOUT_MS} ms.`);
  }

  return {
    get: <Value>(key: string) => attempt(() => keyv.get<Value>(key)),
    async set(key, value, ttlMs) {
      // Keyv reads 0 as "for ever".
      if (ttlMs > 0) await attempt(() => keyv.set(key, value, Math.ceil(ttlMs)));
    },
    async delete(key) {
      await attempt(() => keyv.delete(key));
    },
    async ping() {
      await inTime(() => keyv.get('ping'));
    },
    async close() {
      closed = true;
      await store.close();
    },
  };
}

function toText(data: unknown): string {
  const text = JSON.stringify(data);
  if (text.length > MAX_VALUE_LENGTH)
    throw new Error(`A value of ${text.length} characters is too large for the cache.`);
  return text;
}

interface Store {
  adapter: KeyvStoreAdapter;
  /** Closes a connection that does not answer, and fails what waits on it; the next use opens another one. */
  giveUp?(): void;
  close(): Promise<void>;
}

function createSqlStore(database: Database, clock: Clock): Store {
  let sweptAt = clock.monotonic();

  async function sweep(): Promise<void> {
    const { numDeletedRows } = await database.run((queries) =>
      queries
        .deleteFrom('cache_entries')
        .where('key', 'in', (expired) =>
          expired.selectFrom('cache_entries').select('key').where('expiresAt', '<=', clock.now()).limit(SWEEP_ROWS),
        )
        .executeTakeFirstOrThrow(),
    );
    // A full batch means that there are more: the next write continues.
    if (Number(numDeletedRows) < SWEEP_ROWS) sweptAt = clock.monotonic();
  }

  const events = new EventEmitter();
  const adapter: KeyvStoreAdapter = {
    opts: {},
    on(event, listener) {
      events.on(event, listener);
      return adapter;
    },
    async get(key) {
      const row = await database.run((queries) =>
        queries
          .selectFrom('cache_entries')
          .select('value')
          .where('key', '=', key)
          .where('expiresAt', '>', clock.now())
          .executeTakeFirst(),
      );
      // Keyv's types require the value; in fact it takes and returns the stored text.
      return row?.value as never;
    },
    async set(key: string, value: string, ttlMs = Number.MAX_SAFE_INTEGER) {
      const change = { value, expiresAt: Math.floor(clock.now() + ttlMs) };
      await database.run((queries) =>
        queries
          .insertInto('cache_entries')
          .values({ key, ...change })
          .onConflict((conflict) => conflict.column('key').doUpdateSet(change))
          .execute(),
      );
      if (clock.monotonic() - sweptAt >= SWEEP_INTERVAL_MS) await sweep();
    },
    async delete(key) {
      const { numDeletedRows } = await database.run((queries) =>
        queries.deleteFrom('cache_entries').where('key', '=', key).executeTakeFirstOrThrow(),
      );
      return numDeletedRows > 0n;
    },
    async clear() {
      await database.run((queries) => queries.deleteFrom('cache_entries').execute());
    },
  };
  return { adapter, close: async () => undefined };
}

async function createRedisStore(url: string): Promise<Store> {
  if (!/^rediss?:\/\//.test(url) || !URL.canParse(url)) {
    const message = 'The cache URL must start with redis:// or rediss://.';
    throw new GatewayError('invalid_value', message, { param: 'cacheUrl' });
  }
  const { createClient, default: KeyvRedis } = await import('@keyv/redis');

  function open() {
    const client = createClient({
      url,
      // While the server is unavailable, a command fails at once instead of waiting.
      disableOfflineQueue: true,
      socket: {
        connectTimeout: CONNECT_MS,
        reconnectStrategy: (attempts: number) => Math.min(100 * 2 ** attempts, 2_000),
      },
    });
    let greeting: NodeJS.Timeout | undefined;
    client.on('connect', () => {
      clearTimeout(greeting);
      greeting = setTimeout(replace, CONNECT_MS, client).unref();
    });
    client.on('ready', () => clearTimeout(greeting));
    client.on('error', () => {
      // An unreadable answer: each later one would be matched to the wrong command.
      if (client.isReady) replace(client);
    });
    return client;
  }

  let current = open();
  const adapter = new KeyvRedis<string>(current, { namespace: 'mediagate', throwOnErrors: true });

  function replace(client: typeof current): void {
    if (client !== current || !client.isOpen) return;
    current = open();
    adapter.client = current;
    client.removeAllListeners();
    // Its later errors are known.
    client.on('error', () => undefined);
    client.destroy();
  }

  return {
    adapter: adapter as KeyvStoreAdapter,
    giveUp() {
      // A connection that is being opened has its own timeout.
      if (current.isReady) replace(current);
    },
    close: async () => adapter.disconnect(true),
  };
}

declare module '../database/tables.js' {
  interface Tables {
    cache_entries: CacheEntriesTable;
  }
}

export interface CacheEntriesTable {
  key: string;
  value: string;
  expiresAt: number;
}

/** The table of the cache. */
export const cacheMigrations: Migrations = {
  '0001-cache': sqlMigration(
    `create table cache_entries (key text primary key, value text not null, "expiresAt" bigint not null)`,
    `create index cache_entries_expires_at on cache_entries ("expiresAt")`,
  ),
};
