import type { Transaction } from 'kysely';
import { GatewayError, isGatewayError } from '../errors.js';
import { DATABASE_PATIENCE_MS, type Database, type TransactionOptions } from './database.js';
import { databaseAway } from './database-errors.js';
import type { Tables } from './schema.js';

/** Items that may wait at once. */
const MAX_WAITING = 10_000;
/** Items of one transaction, unless said otherwise. */
const MAX_GROUP = 100;
const LEAST_PATIENCE_MS = 50;

export interface GroupCommit<Item, Answer> {
  /** Resolves when the transaction with the item in it has committed. */
  submit(item: Item): Promise<Answer>;
}

export interface GroupCommitOptions<Item, Answer> {
  database: Database;
  /** Items of one transaction. Default 100. */
  most?: number;
  survives?: TransactionOptions['survives'];
  /** Answers in the order of the items. An error is the refusal of one item, thrown to whoever submitted that. */
  work(transaction: Transaction<Tables>, items: readonly Item[]): Promise<readonly (Answer | GatewayError)[]>;
}

interface Waiter<Item, Answer> {
  item: Item;
  /** Milliseconds of `performance.now()`. */
  since: number;
  resolve(answer: Answer): void;
  reject(error: unknown): void;
}

/** What arrives while a transaction runs shares the next one: a commit costs as much for many as for one. */
export function createGroupCommit<Item, Answer>(options: GroupCommitOptions<Item, Answer>): GroupCommit<Item, Answer> {
  const { database, most = MAX_GROUP, survives, work } = options;
  let waiting: Waiter<Item, Answer>[] = [];
  let running = false;

  async function flush(): Promise<void> {
    while (waiting.length > 0) {
      const group = nextGroup();
      if (group.length > 0) await answer(group);
    }
    running = false;
  }

  /** Without those who have waited so long that they are to be told so. */
  function nextGroup(): Waiter<Item, Answer>[] {
    const group = waiting.slice(0, most);
    waiting = waiting.slice(most);
    const now = performance.now();
    return group.filter((waiter) => {
      if (now - waiter.since < DATABASE_PATIENCE_MS) return true;
      waiter.reject(databaseAway(new Error('Others waited for the database before this one.')));
      return false;
    });
  }

  async function answer(group: readonly Waiter<Item, Answer>[]): Promise<void> {
    const oldest = Math.min(...group.map(({ since }) => since));
    const patienceMs = Math.max(LEAST_PATIENCE_MS, DATABASE_PATIENCE_MS - (performance.now() - oldest));
    try {
      const items = group.map(({ item }) => item);
      const answers = await database.transaction((transaction) => work(transaction, items), {
        patienceMs,
        survives,
      });
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
        if (running) return;
        running = true;
        // Not at once: what is read from sockets in this turn of the event loop comes along.
        setImmediate(flush);
      });
    },
  };
}
