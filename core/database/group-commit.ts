/*
 * Three ways to share a commit, which costs the same for many items as for one. A group commit runs the items that
 * arrived during the last transaction in the next one; one item that cannot be written does not fail the others,
 * because the group is repeated item by item. Shards are parallel group commits for PostgreSQL, where the items of one
 * API key stay together. Write-behind collects items for 50 ms, retries while the database is unavailable and evicts
 * beyond its capacity, so its callers never wait. Items that waited longer than the database timeout get an error.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '../contracts/index.js';
import { endsWithin, GatewayError, isGatewayError } from '../runtime/index.js';
import { DATABASE_TIMEOUT_MS, type Database, type OnEnd, type TransactionOptions } from './database.js';
import { databaseUnavailable } from './database-errors.js';
import type { Script } from './statements.js';

/** Maximum waiting items. */
const MAX_WAITING = 10_000;
/** Default maximum of items per transaction. */
const MAX_GROUP = 100;
const MIN_TIMEOUT_MS = 50;
/** If so many items shared a transaction, more are expected, and the next one waits while they keep arriving. */
const CROWD = 4;

export interface GroupCommit<Item, Answer> {
  /** Resolves when the transaction with the item has committed. */
  submit(item: Item): Promise<Answer>;
}

export interface GroupCommitOptions<Item, Answer> {
  database: Database;
  /**
   * Processes the items of one group, in one transaction. Results in the order of the items; an error refuses one item
   * and is thrown to its caller.
   */
  script(items: readonly Item[], onEnd: OnEnd): Script<readonly (Answer | GatewayError)[]>;
  /** Maximum items per transaction. Default 100. */
  max?: number;
  durability?: TransactionOptions['durability'];
  /** Called after each commit with its items and duration in milliseconds. Default: none. */
  committed?(items: readonly Item[], ms: number): void;
}

interface Waiter<Item, Answer> {
  item: Item;
  /** Milliseconds of `performance.now()`. */
  since: number;
  resolve(answer: Answer): void;
  reject(error: unknown): void;
}

/**
 * Group commit: items that arrive while a transaction runs share the next one, since a commit costs the same for many
 * items as for one. A few items are not delayed; with many, reading on from the sockets makes the groups larger.
 */
export function createGroupCommit<Item, Answer>(options: GroupCommitOptions<Item, Answer>): GroupCommit<Item, Answer> {
  const { database, script, max = MAX_GROUP, durability, committed } = options;
  let waiting: Waiter<Item, Answer>[] = [];
  let running = false;
  let crowded = false;

  function begin(): void {
    running = true;
    // Not at once: items read from sockets in this turn of the event loop are included.
    setImmediate(gather, 0);
  }

  /** @param seen Number of items that waited one turn of the event loop ago. */
  function gather(seen: number): void {
    if (crowded && seen < waiting.length && waiting.length < max) setImmediate(gather, waiting.length);
    else void flush();
  }

  async function flush(): Promise<void> {
    const group = nextGroup();
    crowded = group.length >= CROWD;
    if (group.length > 0) await answer(group);
    running = false;
    if (waiting.length > 0) begin();
  }

  /** Without items that have waited too long and get an error. */
  function nextGroup(): Waiter<Item, Answer>[] {
    const group = waiting.slice(0, max);
    waiting = waiting.slice(max);
    const now = performance.now();
    return group.filter((waiter) => {
      if (now - waiter.since < database.timeoutMs) return true;
      waiter.reject(databaseUnavailable(new Error('Earlier requests still wait for the database.')));
      return false;
    });
  }

  async function answer(group: readonly Waiter<Item, Answer>[]): Promise<void> {
    const oldest = Math.min(...group.map(({ since }) => since));
    const timeoutMs = Math.max(MIN_TIMEOUT_MS, database.timeoutMs - (performance.now() - oldest));
    try {
      const items = group.map(({ item }) => item);
      const begun = performance.now();
      const answers = await database.script((onEnd) => script(items, onEnd), { timeoutMs, durability });
      committed?.(items, performance.now() - begun);
      for (const [index, waiter] of group.entries()) {
        const given = answers[index] as Answer | GatewayError;
        if (isGatewayError(given)) waiter.reject(given);
        else waiter.resolve(given);
      }
    } catch (error) {
      if (isGatewayError(error) || group.length === 1) {
        for (const waiter of group) waiter.reject(error);
        return;
      }
      // One of them cannot be written at all; the others must not fail for it.
      for (const waiter of group) await answer([waiter]);
    }
  }

  return {
    submit(item) {
      if (waiting.length >= MAX_WAITING) {
        return Promise.reject(new GatewayError('upstream_unavailable', 'Too many requests wait for the database.'));
      }
      return new Promise((resolve, reject) => {
        waiting.push({ item, since: performance.now(), resolve, reject });
        if (!running) begin();
      });
    },
  };
}

/** A single result costs far less than a commit. */
const MAX_SHARD_GROUP = 1_000;
/** PostgreSQL commits in parallel; SQLite has one writer. */
const POSTGRES_SHARDS = 4;

export interface Shards<Item, Answer> {
  /**
   * Resolves when the transaction with the item has committed. Items of one API key are always in the same shard, so
   * that shards do not wait for each other's locks.
   */
  submit(keyId: string, item: Item): Promise<Answer>;
}

export interface ShardsOptions<Item, Answer> {
  database: Database;
  durability?: TransactionOptions['durability'];
  /** Processes the items of one group, in one transaction. An error refuses one item. */
  script(items: readonly Item[]): Script<readonly (Answer | GatewayError)[]>;
}

/** Several parallel group commits, if the engine benefits from them. */
export function createShards<Item, Answer>(options: ShardsOptions<Item, Answer>): Shards<Item, Answer> {
  const shards = Array.from({ length: options.database.engine === 'postgres' ? POSTGRES_SHARDS : 1 }, () =>
    createGroupCommit({ ...options, max: MAX_SHARD_GROUP }),
  );

  function shardOf(keyId: string): GroupCommit<Item, Answer> {
    let sum = 0;
    for (let index = 0; index < keyId.length; index += 1) sum = (sum * 31 + keyId.charCodeAt(index)) >>> 0;
    return shards[sum % shards.length] as GroupCommit<Item, Answer>;
  }

  return { submit: (keyId, item) => shardOf(keyId).submit(item) };
}

/** Milliseconds after the first of them; a commit is more expensive the fewer items share it. */
const DELAY_MS = 50;
/** Maximum items per transaction. */
const MAX = 512;
const FIRST_RETRY_MS = 100;
const LAST_RETRY_MS = 2_000;

export interface WriteBehind<Item> {
  /** Never throws and never waits. */
  push(item: Item): void;
  /** Resolves when everything pushed so far is written or dropped, however long the database is unavailable. */
  flush(): Promise<void>;
  /** Resolves as `flush`, but at the latest after 2.4 s without the database; writing is still retried. */
  flushInTime(): Promise<void>;
  /** Resolves when the current attempt has ended, successful or not. */
  tried(): Promise<void>;
  /** Writes the remaining items if the database answers in time, and drops them otherwise. Idempotent. */
  close(): Promise<void>;
}

export interface WriteBehindOptions<Item> {
  database: Database;
  /** Name of the items, for the log. */
  name: string;
  /** Maximum waiting items. */
  capacity: number;
  /** Evicts items beyond that: returns those that remain, in order. */
  evict(waiting: readonly Item[]): Item[];
  /** May be called again with items that were already written: the answer to a commit can be lost. */
  write(items: readonly Item[]): Script<void>;
  /** Called when items are written or dropped: they are no longer held. */
  done(items: readonly Item[]): void;
  logger: Logger;
}

/** Writes items in batches, a moment after they came, and retries while the database is unavailable. */
export function createWriteBehind<Item>(options: WriteBehindOptions<Item>): WriteBehind<Item> {
  const { database, name, capacity, evict, write, done, logger } = options;
  let waiting: Item[] = [];
  /** Being written; must not be changed, since it may be in the database already. */
  let batch: readonly Item[] = [];
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> | undefined;
  let attempt: Promise<void> = Promise.resolve();
  let hurried = 0;
  let isUnavailable = false;
  const closing = new AbortController();

  function begin(): void {
    clearTimeout(timer);
    timer = undefined;
    running ??= run();
  }

  async function run(): Promise<void> {
    do {
      batch = waiting.splice(0, MAX);
      await writeUntilDone();
    } while (!closing.signal.aborted && (waiting.length >= MAX || (hurried > 0 && waiting.length > 0)));
    running = undefined;
    if (waiting.length > 0 && !closing.signal.aborted) timer ??= setTimeout(begin, DELAY_MS);
  }

  async function writeUntilDone(): Promise<void> {
    let retryMs = FIRST_RETRY_MS;
    while (batch.length > 0 && !(await writeBatch()) && !closing.signal.aborted) {
      await sleep(retryMs, undefined, { signal: closing.signal }).catch(() => undefined);
      retryMs = Math.min(retryMs * 2, LAST_RETRY_MS);
    }
  }

  /** False if the database is unavailable. */
  async function writeBatch(): Promise<boolean> {
    try {
      await tryWriting(batch);
    } catch (error) {
      if (isGatewayError(error)) {
        if (!isUnavailable)
          logger.warn(`${name} wait for the database`, { error, count: batch.length + waiting.length });
        isUnavailable = true;
        return false;
      }
      if (!(await writeOneByOne())) return false;
    }
    if (isUnavailable) logger.info(`${name} are written again`);
    isUnavailable = false;
    batch = [];
    return true;
  }

  async function tryWriting(items: readonly Item[]): Promise<void> {
    const trying = database.script(() => write(items));
    attempt = trying.catch(() => undefined);
    await trying;
    done(items);
  }

  /** One of them cannot be written at all; the others must not fail for it. */
  async function writeOneByOne(): Promise<boolean> {
    while (batch.length > 0) {
      const [one, ...rest] = batch as [Item, ...Item[]];
      try {
        await tryWriting([one]);
      } catch (error) {
        if (isGatewayError(error)) return false;
        logger.error(`one of the ${name} cannot be written and is dropped`, { error });
        done([one]);
      }
      batch = rest;
    }
    return true;
  }

  async function flush(): Promise<void> {
    hurried += 1;
    while (!closing.signal.aborted && (batch.length > 0 || waiting.length > 0)) {
      begin();
      await running;
    }
    hurried -= 1;
  }

  async function flushInTime(): Promise<void> {
    await endsWithin(DATABASE_TIMEOUT_MS, flush);
  }

  async function finish(): Promise<void> {
    await flushInTime();
    closing.abort();
    clearTimeout(timer);
    await running;
    const lost = batch.length + waiting.length;
    if (lost > 0) logger.error(`${name} could not be written before shutdown`, { count: lost });
  }

  let finished: Promise<void> | undefined;
  return {
    push(item) {
      if (closing.signal.aborted) {
        logger.error(`${name} came after shutdown and are lost`, { count: 1 });
        return;
      }
      waiting.push(item);
      if (waiting.length > capacity) waiting = evict(waiting);
      if (waiting.length >= MAX) begin();
      else if (!running) timer ??= setTimeout(begin, DELAY_MS);
    },
    flush,
    flushInTime,
    tried: () => attempt,
    close() {
      finished ??= finish();
      return finished;
    },
  };
}
