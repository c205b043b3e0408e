/*
 * Writes whose callers do not wait. Write-behind collects items for 50 ms, writes them in one transaction, retries
 * while the database is unavailable, and lets the owner evict items beyond its capacity: the owner decides which are
 * dropped, summed or kept. What still waits is lost if the process dies. A transaction that failed may still have
 * committed: its answer can be lost with the connection. So a batch is repeated unchanged, and its statements have no
 * effect the second time. `Doubts` is for a transaction whose caller received an error: it undoes what the transaction
 * wrote on each poll, for twice the database's timeout (4.8 s), after which no late commit can follow.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '../contracts/index.js';
import { endsWithin, isGatewayError } from '../runtime/index.js';
import { DATABASE_TIMEOUT_MS, type Database } from './database.js';
import type { Script } from './statements.js';

/** Milliseconds after the first of them; a commit is more expensive the fewer items share it. */
const DELAY_MS = 50;
/** Maximum items per transaction. */
const MAX = 512;
const FIRST_RETRY_MS = 100;
const LAST_RETRY_MS = 2_000;

export interface WriteBehindOptions<Item> {
  database: Pick<Database, 'script'>;
  /** Name of the items, for the log. */
  name: string;
  /** Maximum waiting items. */
  capacity: number;
  /** Evicts items beyond that: returns those that remain, in order. */
  evict(waiting: readonly Item[]): Item[];
  /** May be called again with items that were already written: the answer to a commit can be lost. */
  write(items: readonly Item[]): Script<void>;
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
    try {
      await this.#write(this.#batch);
    } catch (error) {
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

  async #write(items: readonly Item[]): Promise<void> {
    const { database, write, done } = this.#options;
    const trying = database.script(() => write(items));
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
        await this.#write([one]);
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
