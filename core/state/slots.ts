import { randomUUID } from 'node:crypto';
import type { Kysely, Transaction } from 'kysely';
import type { Clock } from '../contracts/services.js';
import type { Engine } from './database.js';
import type { Tables } from './schema.js';
import { compileSlotStatements, type Reading, type WindowRow } from './slot-statements.js';
import type { SlotAnswer, SlotRequest, WindowFamily } from './windows.js';

/*
 * How a window works. Its slots are numbered in the order they were taken; the live ones are `tail_seq` up to
 * `next_seq`, so counting them is a subtraction. Each look at a window first moves the tail over the slots that have
 * passed (every slot is passed once, whatever the limit) and then takes wanted slots by moving the head.
 *
 * A window has a time of its own, which never goes backwards: each look adds the time gone by since the row was last
 * written, measured on the steady clock of the process that wrote it where that is this process, else on the wall clock,
 * and nothing where that was set back meanwhile. So a wall clock that jumps neither frees a slot early within a process
 * nor blocks anybody for longer than the minute. On PostgreSQL the wall clock is the database's, one for all nodes.
 */

export const WINDOW_MS = 60_000;

/** What is wanted of an open window. */
export interface SlotWish extends Pick<SlotRequest, 'slots' | 'limit'> {
  /** False only asks. */
  take: boolean;
}

/** One key's window of one family, locked until the transaction ends. */
export interface OpenWindow {
  /** Each answer counts what was taken before. */
  ask(wish: SlotWish): Promise<SlotAnswer>;
  /** Writes down what was taken; it counts when the transaction commits. */
  save(): Promise<void>;
}

export interface SlotTable {
  open(transaction: Transaction<Tables>, keyId: string, family: WindowFamily): Promise<OpenWindow>;
}

export function windowName({ keyId, family }: SlotRequest): string {
  return `${keyId}\n${family}`;
}

/**
 * Those without a slot first. Nodes lock windows in one order, so that two that commit at once do not wait for each other in
 * a ring.
 */
export function inOrderOfWindows<Item>(
  items: readonly Item[],
  slotOf: (item: Item) => SlotRequest | undefined,
): Item[] {
  const named = items.map((item) => {
    const slot = slotOf(item);
    return { item, name: slot ? windowName(slot) : '' };
  });
  named.sort((left, right) => (left.name === right.name ? 0 : left.name < right.name ? -1 : 1));
  return named.map(({ item }) => item);
}

export interface SlotTableOptions {
  engine: Engine;
  /** Only compiles queries. */
  queries: Kysely<Tables>;
  /** Default: the database's own clock. */
  clock?: Clock;
}

export function createSlotTable({ engine, queries, clock }: SlotTableOptions): SlotTable {
  const statements = compileSlotStatements(engine, queries);
  const reader = randomUUID();

  function readTime(row: WindowRow): Reading {
    if (!clock) return { reader: 'database', wall: row.database_now, steady: row.database_now };
    return { reader, wall: Math.floor(clock.now()), steady: Math.floor(clock.monotonic()) };
  }

  async function lockWindow(transaction: Transaction<Tables>, keyId: string, family: WindowFamily): Promise<WindowRow> {
    const found = await statements.window(transaction, keyId, family);
    if (found) return found;
    await statements.createWindow(transaction, keyId, family);
    const created = await statements.window(transaction, keyId, family);
    if (!created) throw new Error('A window that was just created is not there.');
    return created;
  }

  return {
    async open(transaction, keyId, family) {
      const row = await lockWindow(transaction, keyId, family);
      const reading = readTime(row);
      const elapsed = reading.reader === row.reader ? reading.steady - row.steady : reading.wall - row.wall;
      const now = row.time + Math.max(0, elapsed);

      const head = row.next_seq;
      let next = head;
      let tail = row.tail_seq;
      let tailAt = row.tail_at;
      if (tail < next && now - tailAt >= WINDOW_MS) {
        const first = await statements.firstLive(transaction, keyId, family, tail, now - WINDOW_MS);
        tail = first?.seq ?? next;
        tailAt = first?.at ?? now;
      }
      const tailMoved = tail !== row.tail_seq;

      const takenAt = new Map<number, number>();
      async function whenTaken(seq: number): Promise<number> {
        if (seq >= head) return now;
        const known = takenAt.get(seq) ?? (await statements.takenAt(transaction, keyId, family, seq));
        takenAt.set(seq, known);
        return known;
      }

      return {
        async ask({ slots, limit, take }) {
          const excess = next - tail + slots - limit;
          const accepted = excess <= 0;
          if (accepted && take) {
            if (next === tail) tailAt = now;
            next += slots;
          }
          let retryAfterMs = 0;
          // More than the window ever holds: there is no such time, and the longest wait says so best.
          if (slots > limit) retryAfterMs = WINDOW_MS;
          else if (!accepted) retryAfterMs = (await whenTaken(tail + excess - 1)) + WINDOW_MS - now;
          return {
            accepted,
            limit,
            remaining: Math.max(0, limit - (next - tail)),
            retryAfterMs,
            resetMs: next === tail ? 0 : tailAt + WINDOW_MS - now,
          };
        },
        async save() {
          // A clock that was set back is written down too, or the next look would again see no time gone by; and so is
          // another process, whose steady clock counts from then on, however its other one is set.
          if (next === head && !tailMoved && elapsed >= 0 && reading.reader === row.reader) return;
          const lastAt = next === head ? row.last_at : now;
          await statements.saveWindow(transaction, keyId, family, {
            ...reading,
            time: now,
            next,
            tail,
            tailAt,
            lastAt,
          });
          if (next !== head && now !== row.last_at) await statements.insertSlots(transaction, keyId, family, head, now);
          if (tailMoved) await statements.deletePassed(transaction, keyId, family, tail);
        },
      };
    },
  };
}
