import { GatewayError } from '../errors.js';
import { DATABASE_PATIENCE_MS, type Database } from './database.js';
import { databaseAway } from './database-errors.js';
import type { SlotTable } from './slots.js';
import type { SlotAnswer, SlotRequest, Windows } from './windows.js';

/** Requests that may wait for an answer at once. */
const MAX_WAITING = 10_000;
/** Keys and families that one transaction locks at most. */
const MAX_GROUPS = 100;
/** PostgreSQL commits side by side; SQLite has one writer. */
const POSTGRES_LANES = 4;

export interface WindowsOptions {
  database: Database;
  slots: SlotTable;
}

interface Wish extends SlotRequest {
  /** False only asks. */
  take: boolean;
}

interface Waiter {
  wish: Wish;
  /** Milliseconds of `performance.now()`. */
  since: number;
  resolve(answer: SlotAnswer): void;
  reject(error: unknown): void;
}

type Group = [Waiter, ...Waiter[]];

/**
 * Windows with group commit: requests that arrive while a transaction runs share the next one. An answer is given when
 * its transaction has committed, so it survives a crash.
 */
export function createWindows({ database, slots }: WindowsOptions): Windows {
  const lanes = Array.from({ length: database.engine === 'postgres' ? POSTGRES_LANES : 1 }, () =>
    createLane(database, slots),
  );

  function ask(wish: Wish): Promise<SlotAnswer> {
    const waiting = lanes.reduce((sum, lane) => sum + lane.waiting, 0);
    if (waiting >= MAX_WAITING) {
      return Promise.reject(new GatewayError('upstream_unavailable', 'Too many requests wait for the database.'));
    }
    // One key is always in the same lane, so that lanes do not wait for each other's locks.
    return (lanes[laneOf(wish.keyId, lanes.length)] as Lane).ask(wish);
  }

  return {
    take: (request) => ask({ ...request, take: true }),
    peek: (request) => ask({ ...request, take: false }),
  };
}

interface Lane {
  readonly waiting: number;
  ask(wish: Wish): Promise<SlotAnswer>;
}

function createLane(database: Database, table: SlotTable): Lane {
  const groups = new Map<string, Group>();
  let waiting = 0;
  let running = false;

  async function flush(): Promise<void> {
    while (groups.size > 0) {
      const batch = nextBatch();
      if (batch.length > 0) await answer(batch);
    }
    running = false;
  }

  /** Without those who have waited so long that they are to be told so. */
  function nextBatch(): Group[] {
    const batch: Group[] = [];
    const now = performance.now();
    for (const [name, group] of groups) {
      if (batch.length === MAX_GROUPS) break;
      groups.delete(name);
      waiting -= group.length;
      const [first, ...rest] = group.filter((waiter) => {
        if (now - waiter.since < DATABASE_PATIENCE_MS) return true;
        waiter.reject(databaseAway(new Error('Other requests waited for the database before this one.')));
        return false;
      });
      if (first) batch.push([first, ...rest]);
    }
    return batch;
  }

  async function answer(batch: readonly Group[]): Promise<void> {
    // Nodes lock windows in one order, so that two that commit at once do not wait for each other in a ring.
    const ordered = batch.toSorted((left, right) => compareNames(left[0].wish, right[0].wish));
    const oldest = Math.min(...batch.map(([{ since }]) => since));
    try {
      const answers = await database.transaction(
        async (transaction) => {
          const all: SlotAnswer[][] = [];
          for (const group of ordered) {
            const window = await table.open(transaction, group[0].wish.keyId, group[0].wish.family);
            const given: SlotAnswer[] = [];
            for (const { wish } of group) given.push(await window.ask(wish));
            await window.save();
            all.push(given);
          }
          return all;
        },
        { patienceMs: Math.max(50, DATABASE_PATIENCE_MS - (performance.now() - oldest)) },
      );
      for (const [index, group] of ordered.entries()) {
        for (const [position, waiter] of group.entries()) waiter.resolve(answers[index]?.[position] as SlotAnswer);
      }
    } catch (error) {
      for (const group of batch) for (const waiter of group) waiter.reject(error);
    }
  }

  return {
    get waiting() {
      return waiting;
    },
    ask(wish) {
      return new Promise((resolve, reject) => {
        const waiter = { wish, since: performance.now(), resolve, reject };
        const name = nameOf(wish);
        const group = groups.get(name);
        if (group) group.push(waiter);
        else groups.set(name, [waiter]);
        waiting += 1;
        if (running) return;
        running = true;
        // Not at once: requests read from their sockets in this turn of the event loop come along.
        setImmediate(flush);
      });
    },
  };
}

function nameOf({ keyId, family }: Wish): string {
  return `${keyId}\n${family}`;
}

function compareNames(left: Wish, right: Wish): number {
  return nameOf(left) < nameOf(right) ? -1 : 1;
}

function laneOf(keyId: string, lanes: number): number {
  let sum = 0;
  for (let index = 0; index < keyId.length; index += 1) sum = (sum * 31 + keyId.charCodeAt(index)) >>> 0;
  return sum % lanes;
}
