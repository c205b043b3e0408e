/*
 * Two ways to wait for a shared commit, which costs the same for many items as for one. A group commit runs the items
 * that arrived during the last transaction in the next one; one item that cannot be written does not fail the others,
 * because the group is repeated item by item. Shards are parallel group commits for PostgreSQL, where the items of one
 * API key stay together. Items that waited longer than the database timeout get an error.
 */

import { GatewayError, isGatewayError } from '../runtime/index.js';
import type { Database, OnEnd, TransactionOptions } from './database.js';
import { databaseUnavailable } from './database-errors.js';
import type { Script } from './statements.js';

/** Maximum waiting items. */
const MAX_WAITING = 10_000;
/** Default maximum of items per transaction. */
const MAX_GROUP = 100;
const MIN_TIMEOUT_MS = 50;
/** If so many items shared a transaction, more are expected, and the next one waits while they keep arriving. */
const CROWD = 4;

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

export interface ShardsOptions<Item, Answer> {
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
