/*
 * Work that shares a commit, which costs the same for many items as for one. A group commit runs the items that arrived
 * during the last transaction in the next one, and their callers wait: one item that cannot be written does not fail
 * the others, because the group is repeated item by item, and items that waited longer than the database timeout get an
 * error. Shards are parallel group commits for PostgreSQL, where the items of one API key stay together.
 *
 * Callers of write-behind do not wait. It collects items for 50 ms, writes them in one transaction, retries while the
 * database is unavailable, and lets the owner evict items beyond its capacity: the owner decides which are dropped,
 * summed or kept. What still waits is lost if the process dies. A transaction that failed may still have committed: its
 * answer can be lost with the connection. So a batch is repeated unchanged, and its statements have no effect the
 * second time. Only the first attempt may assume that nothing of it exists; if it fails for that, the next one follows
 * at once. `Doubts` is for a transaction whose caller received an error: it undoes what the transaction wrote on
 * each poll, for twice the database's timeout (4.8 s), after which no late commit can follow.
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

interface GroupCommitOptions<Item, Answer> {
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
export class GroupCommit<Item, Answer> {
  readonly #options: GroupCommitOptions<Item, Answer>;
  readonly #max: number;
  #waiting: Waiter<Item, Answer>[] = [];
  #isRunning = false;
  #isCrowded = false;

  constructor(options: GroupCommitOptions<Item, Answer>) {
    this.#options = options;
    this.#max = options.max ?? MAX_GROUP;
  }

  /** Resolves when the transaction with the item has committed. */
  submit(item: Item): Promise<Answer> {
    if (this.#waiting.length >= MAX_WAITING) {
      return Promise.reject(new GatewayError('upstream_unavailable', 'Too many requests wait for the database.'));
    }
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, since: performance.now(), resolve, reject });
      if (!this.#isRunning) this.#begin();
    });
  }

  #begin(): void {
    this.#isRunning = true;
    // Not at once: items read from sockets in this turn of the event loop are included.
    setImmediate(this.#gather, 0);
  }

  /** @param seen Number of items that waited one turn of the event loop ago. */
  readonly #gather = (seen: number): void => {
    const { length } = this.#waiting;
    if (this.#isCrowded && seen < length && length < this.#max) setImmediate(this.#gather, length);
    else void this.#flush();
  };

  async #flush(): Promise<void> {
    const group = this.#nextGroup();
    this.#isCrowded = group.length >= CROWD;
    if (group.length > 0) await this.#answer(group);
    this.#isRunning = false;
    if (this.#waiting.length > 0) this.#begin();
  }

  /** Without items that have waited too long and get an error. */
  #nextGroup(): Waiter<Item, Answer>[] {
    const group = this.#waiting.slice(0, this.#max);
    this.#waiting = this.#waiting.slice(this.#max);
    const now = performance.now();
    return group.filter((waiter) => {
      if (now - waiter.since < this.#options.database.timeoutMs) return true;
      waiter.reject(databaseUnavailable(new Error('Earlier requests still wait for the database.')));
      return false;
    });
  }

  async #answer(group: readonly Waiter<Item, Answer>[]): Promise<void> {
    const { database, script, durability, committed } = this.#options;
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
      for (const waiter of group) await this.#answer([waiter]);
    }
  }
}

/** A single result costs far less than a commit. */
const MAX_SHARD_GROUP = 1_000;
/** PostgreSQL commits in parallel; SQLite has one writer. */
const POSTGRES_SHARDS = 4;

interface ShardsOptions<Item, Answer> {
  database: Database;
  durability?: TransactionOptions['durability'];
  /** Processes the items of one group, in one transaction. An error refuses one item. */
  script(items: readonly Item[]): Script<readonly (Answer | GatewayError)[]>;
}

/** Several parallel group commits, if the engine benefits from them. */
export class Shards<Item, Answer> {
  readonly #shards: readonly GroupCommit<Item, Answer>[];

  constructor(options: ShardsOptions<Item, Answer>) {
    const length = options.database.engine === 'postgres' ? POSTGRES_SHARDS : 1;
    this.#shards = Array.from({ length }, () => new GroupCommit({ ...options, max: MAX_SHARD_GROUP }));
  }

  /**
   * Resolves when the transaction with the item has committed. Items of one API key are always in the same shard, so
   * that shards do not wait for each other's locks.
   */
  submit(keyId: string, item: Item): Promise<Answer> {
    let sum = 0;
    for (let index = 0; index < keyId.length; index += 1) sum = (sum * 31 + keyId.charCodeAt(index)) >>> 0;
    return (this.#shards[sum % this.#shards.length] as GroupCommit<Item, Answer>).submit(item);
  }
}

/** Milliseconds after the first of them; a commit is more expensive the fewer items share it. */
const DELAY_MS = 50;
/** Maximum items per transaction. */
const MAX = 512;
const FIRST_RETRY_MS = 100;
const LAST_RETRY_MS = 2_000;

interface WriteBehindOptions<Item> {
  database: Pick<Database, 'script'>;
  /** Name of the items, for the log. */
  name: string;
  /** Maximum waiting items. */
  capacity: number;
  /** Evicts items beyond that: returns those that remain, in order. */
  evict(waiting: readonly Item[]): Item[];
  /**
   * May be called again with items that were already written: the answer to a commit can be lost.
   * @param areNew Whether it is the first time. If it then fails, it is called again at once.
   */
  write(items: readonly Item[], areNew: boolean): Script<void>;
  /** Called when items are written or dropped: they are no longer held. Default: none. */
  done?(items: readonly Item[]): void;
  logger: Logger;
}

/** Writes items in batches, a moment after they came, and retries while the database is unavailable. */
export class WriteBehind<Item> {
  readonly #options: WriteBehindOptions<Item>;
  #waiting: Item[] = [];
  /** Being written; must not be changed, since it may be in the database already. */
  #batch: readonly Item[] = [];
  /** Whether it was not written before. */
  #isNew = true;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;
  #attempt: Promise<void> = Promise.resolve();
  #hurried = 0;
  #isUnavailable = false;
  readonly #closing = new AbortController();
  #closed: Promise<void> | undefined;

  constructor(options: WriteBehindOptions<Item>) {
    this.#options = options;
  }

  /** Never throws and never waits. */
  push(item: Item): void {
    const { name, capacity, evict, logger } = this.#options;
    if (this.#closing.signal.aborted) {
      logger.error(`${name} came after shutdown and are lost`, { count: 1 });
      return;
    }
    this.#waiting.push(item);
    if (this.#waiting.length > capacity) this.#waiting = evict(this.#waiting);
    if (this.#waiting.length >= MAX) this.#begin();
    else if (!this.#running) this.#beginSoon();
  }

  /** Resolves when everything pushed so far is written or dropped, however long the database is unavailable. */
  async flush(): Promise<void> {
    this.#hurried += 1;
    while (!this.#closing.signal.aborted && (this.#batch.length > 0 || this.#waiting.length > 0)) {
      this.#begin();
      await this.#running;
    }
    this.#hurried -= 1;
  }

  /** Resolves as `flush`, but at the latest after 2.4 s without the database; writing is still retried. */
  async flushInTime(): Promise<void> {
    await endsWithin(DATABASE_TIMEOUT_MS, () => this.flush());
  }

  /** Resolves when the current attempt has ended, successful or not. */
  tried(): Promise<void> {
    return this.#attempt;
  }

  /** Writes the remaining items if the database answers in time, and drops them otherwise. Idempotent. */
  close(): Promise<void> {
    this.#closed ??= this.#finish();
    return this.#closed;
  }

  async #finish(): Promise<void> {
    const { name, logger } = this.#options;
    await this.flushInTime();
    this.#closing.abort();
    clearTimeout(this.#timer);
    await this.#running;
    const lost = this.#batch.length + this.#waiting.length;
    if (lost > 0) logger.error(`${name} could not be written before shutdown`, { count: lost });
  }

  #begin(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#running ??= this.#run();
  }

  #beginSoon(): void {
    this.#timer ??= setTimeout(() => this.#begin(), DELAY_MS);
  }

  async #run(): Promise<void> {
    const { signal } = this.#closing;
    do {
      this.#batch = this.#waiting.splice(0, MAX);
      this.#isNew = true;
      await this.#writeUntilDone();
    } while (!signal.aborted && (this.#waiting.length >= MAX || (this.#hurried > 0 && this.#waiting.length > 0)));
    this.#running = undefined;
    if (this.#waiting.length > 0 && !signal.aborted) this.#beginSoon();
  }

  async #writeUntilDone(): Promise<void> {
    const { signal } = this.#closing;
    let retryMs = FIRST_RETRY_MS;
    while (this.#batch.length > 0 && !(await this.#writeBatch()) && !signal.aborted) {
      await sleep(retryMs, undefined, { signal }).catch(() => undefined);
      retryMs = Math.min(retryMs * 2, LAST_RETRY_MS);
    }
  }

  /** False if the database is unavailable. */
  async #writeBatch(): Promise<boolean> {
    const { name, logger } = this.#options;
    const areNew = this.#isNew;
    this.#isNew = false;
    try {
      await this.#write(this.#batch, areNew);
    } catch (error) {
      if (areNew && !isGatewayError(error)) return this.#writeBatch();
      if (isGatewayError(error)) {
        const count = this.#batch.length + this.#waiting.length;
        if (!this.#isUnavailable) logger.warn(`${name} wait for the database`, { error, count });
        this.#isUnavailable = true;
        return false;
      }
      if (!(await this.#writeOneByOne())) return false;
    }
    if (this.#isUnavailable) logger.info(`${name} are written again`);
    this.#isUnavailable = false;
    this.#batch = [];
    return true;
  }

  async #write(items: readonly Item[], areNew: boolean): Promise<void> {
    const { database, write, done } = this.#options;
    const trying = database.script(() => write(items, areNew));
    this.#attempt = trying.catch(() => undefined);
    await trying;
    done?.(items);
  }

  /** One of them cannot be written at all; the others must not fail for it. */
  async #writeOneByOne(): Promise<boolean> {
    const { name, done, logger } = this.#options;
    while (this.#batch.length > 0) {
      const [one, ...rest] = this.#batch as [Item, ...Item[]];
      try {
        await this.#write([one], false);
      } catch (error) {
        if (isGatewayError(error)) return false;
        logger.error(`one of the ${name} cannot be written and is dropped`, { error });
        done?.([one]);
      }
      this.#batch = rest;
    }
    return true;
  }
}

/**
 * Transactions that may have committed, although their callers received an error. What they wrote is undone again and
 * again, until the database has processed every statement that was sent before.
 */
export class Doubts {
  /** By name, the time of the error. */
  readonly #since = new Map<string, number>();
  readonly #undo: (names: readonly string[]) => Promise<unknown>;

  /** @param undo Undoes what the transactions of these names wrote, if they did. */
  constructor(undo: (names: readonly string[]) => Promise<unknown>) {
    this.#undo = undo;
  }

  add(name: string): void {
    this.#since.set(name, performance.now());
  }

  /** To be called in a poll loop. Rejects if the database is unavailable. */
  async settle(): Promise<void> {
    if (this.#since.size === 0) return;
    const begun = performance.now();
    await this.#undo([...this.#since.keys()]);
    for (const [name, since] of this.#since) {
      if (begun - since > 2 * DATABASE_TIMEOUT_MS) this.#since.delete(name);
    }
  }
}
