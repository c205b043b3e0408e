import type { Transaction } from 'kysely';
import type { Database } from './database.js';
import { createLanes } from './lanes.js';
import { openWindows } from './open-windows.js';
import type { Tables } from './schema.js';
import { inOrderOfWindows, type SlotTable } from './slots.js';
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
 * its transaction has committed, so it survives a crash of the process.
 */
export function createWindows({ database, slots }: WindowsOptions): Windows {
  async function answer(transaction: Transaction<Tables>, wishes: readonly Wish[]): Promise<SlotAnswer[]> {
    const windows = await openWindows(transaction, slots, wishes);
    const answers = new Map<Wish, SlotAnswer>();
    for (const wish of inOrderOfWindows(wishes, (each) => each)) {
      answers.set(wish, await windows.of(wish).ask(wish));
    }
    await windows.save();
    return wishes.map((wish) => answers.get(wish) as SlotAnswer);
  }

  // A power cut ends the requests too, and forgets the slots of the last moment with them.
  const lanes = createLanes<Wish, SlotAnswer>({ database, survives: 'process-end', work: answer });

  return {
    take: (request) => lanes.submit(request.keyId, { ...request, take: true }),
    peek: (request) => lanes.submit(request.keyId, { ...request, take: false }),
  };
}
