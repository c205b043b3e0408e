import { GatewayError, isGatewayError } from '../runtime/index.js';
import type { Database, OnEnd, TransactionOptions } from './database.js';
import { databaseAway } from './database-errors.js';
import type { Script } from './statements.js';

/** Items that may wait at once. */
const MAX_WAITING = 10_000;
/** Items of one transaction, unless said otherwise. */
const MAX_GROUP = 100;
const LEAST_PATIENCE_MS = 50;
/** Where so many shared a transaction, more are on their way, and the next one waits for as long as they keep coming. */
const CROWD = 4;

export interface GroupCommit<Item, Answer> {
  /** Resolves when the transaction with the item in it has committed. */
  submit(item: Item): Promise<Answer>;
}

export interface GroupCommitOptions<Item, Answer> {
  database: Database;
  /**
   * What is done with the items of one group, in one transaction. Answers in the order of the items; an error is the refusal
   * of one item, thrown to whoever submitted that.
   */
  script(items: readonly Item[], onEnd: OnEnd): Script<readonly (Answer | GatewayError)[]>;
  /** Items of one transaction. Default 100. */
  most?: number;
  survives?: TransactionOptions['survives'];
  /** Told of each transaction that has committed: its items, and the milliseconds it took. Default: nobody is. */
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
 * What arrives while a transaction runs shares the next one: a commit costs as much for many as for one. Few that come at a
 * time are not kept waiting; where many come, reading on from the sockets makes the groups larger.
 */
export function createGroupCommit<Item, Answer>(options: GroupCommitOptions<Item, Answer>): GroupCommit<Item, Answer> {
  const { database, script, most = MAX_GROUP, survives, committed } = options;
  let waiting: Waiter<Item, Answer>[] = [];
  let running = false;
  let crowded = false;

  function begin(): void {
    running = true;
    // Not at once: what is read from sockets in this turn of the event loop comes along.
    setImmediate(gather, 0);
  }

  /** @param seen How many waited a turn of the event loop ago. */
  function gather(seen: number): void {
    if (crowded && seen < waiting.length && waiting.length < most) setImmediate(gather, waiting.length);
    else void flush();
  }

  async function flush(): Promise<void> {
    const group = nextGroup();
    crowded = group.length >= CROWD;
    if (group.length > 0) await answer(group);
    running = false;
    if (waiting.length > 0) begin();
  }

  /** Without those who have waited so long that they are to be told so. */
  function nextGroup(): Waiter<Item, Answer>[] {
    const group = waiting.slice(0, most);
    waiting = waiting.slice(most);
    const now = performance.now();
    return group.filter((waiter) => {
      if (now - waiter.since < database.patienceMs) return true;
      waiter.reject(databaseAway(new Error('Others waited for the database before this one.')));
      return false;
    });
  }

  async function answer(group: readonly Waiter<Item, Answer>[]): Promise<void> {
    const oldest = Math.min(...group.map(({ since }) => since));
    const patienceMs = Math.max(LEAST_PATIENCE_MS, database.patienceMs - (performance.now() - oldest));
    try {
      const items = group.map(({ item }) => item);
      const begun = performance.now();
      const answers = await database.script((onEnd) => script(items, onEnd), { patienceMs, survives });
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
      // One of them cannot be written at all; the others are not to suffer for it.
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

/** An answer costs far less than a commit. */
const MAX_LANE_GROUP = 1_000;
/** PostgreSQL commits side by side; SQLite has one writer. */
const POSTGRES_LANES = 4;

export interface Shards<Item, Answer> {
  /** As of a group commit; items of one API key are always in the same one, so that lanes do not wait for each other's locks. */
  submit(keyId: string, item: Item): Promise<Answer>;
}

export interface ShardsOptions<Item, Answer> {
  database: Database;
  survives?: TransactionOptions['survives'];
  /** As of a group commit. */
  script(items: readonly Item[]): Script<readonly (Answer | GatewayError)[]>;
}

/** Several group commits side by side where the engine has a use for that. */
export function createShards<Item, Answer>(options: ShardsOptions<Item, Answer>): Shards<Item, Answer> {
  const lanes = Array.from({ length: options.database.engine === 'postgres' ? POSTGRES_LANES : 1 }, () =>
    createGroupCommit({ ...options, most: MAX_LANE_GROUP }),
  );

  function shardOf(keyId: string): GroupCommit<Item, Answer> {
    let sum = 0;
    for (let index = 0; index < keyId.length; index += 1) sum = (sum * 31 + keyId.charCodeAt(index)) >>> 0;
    return lanes[sum % lanes.length] as GroupCommit<Item, Answer>;
  }

  return { submit: (keyId, item) => shardOf(keyId).submit(item) };
}
