import type { Transaction } from 'kysely';
import type { Database } from './database.js';
import { createGroupCommit, type GroupCommit } from './group-commit.js';
import type { Tables } from './schema.js';
import { inOrderOfWindows, type OpenWindow, type SlotTable, windowName } from './slots.js';
import type { SlotAnswer, SlotRequest, Windows } from './windows.js';

/** An answer costs far less than a commit. */
const MAX_GROUP = 1_000;
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

/**
 * Windows with group commit: requests that arrive while a transaction runs share the next one. An answer is given when
 * its transaction has committed, so it survives a crash.
 */
export function createWindows({ database, slots }: WindowsOptions): Windows {
  async function answer(transaction: Transaction<Tables>, wishes: readonly Wish[]): Promise<SlotAnswer[]> {
    const windows = new Map<string, OpenWindow>();
    const answers = new Map<Wish, SlotAnswer>();
    for (const wish of inOrderOfWindows(wishes, (each) => each)) {
      const name = windowName(wish);
      const window = windows.get(name) ?? (await slots.open(transaction, wish.keyId, wish.family));
      windows.set(name, window);
      answers.set(wish, await window.ask(wish));
    }
    for (const window of windows.values()) await window.save();
    return wishes.map((wish) => answers.get(wish) as SlotAnswer);
  }

  const lanes = Array.from({ length: database.engine === 'postgres' ? POSTGRES_LANES : 1 }, () =>
    createGroupCommit({ database, most: MAX_GROUP, work: answer }),
  );

  /** One key is always in the same lane, so that lanes do not wait for each other's locks. */
  function laneOf(keyId: string): GroupCommit<Wish, SlotAnswer> {
    let sum = 0;
    for (let index = 0; index < keyId.length; index += 1) sum = (sum * 31 + keyId.charCodeAt(index)) >>> 0;
    return lanes[sum % lanes.length] as GroupCommit<Wish, SlotAnswer>;
  }

  return {
    take: (request) => laneOf(request.keyId).submit({ ...request, take: true }),
    peek: (request) => laneOf(request.keyId).submit({ ...request, take: false }),
  };
}
