import type { Transaction } from 'kysely';
import type { Database } from './database.js';
import { createLanes } from './lanes.js';
import type { Tables } from './schema.js';
import { inOrderOfWindows, type OpenWindow, type SlotTable, windowName } from './slots.js';
import type { SlotAnswer, SlotRequest, Windows } from './windows.js';

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

  const lanes = createLanes<Wish, SlotAnswer>({ database, work: answer });

  return {
    take: (request) => lanes.submit(request.keyId, { ...request, take: true }),
    peek: (request) => lanes.submit(request.keyId, { ...request, take: false }),
  };
}
