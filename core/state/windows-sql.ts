import type { Database } from './database.js';
import { createLanes } from './lanes.js';
import { openWindows } from './open-windows.js';
import type { Script } from './script.js';
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
  function* answer(wishes: readonly Wish[]): Script<SlotAnswer[]> {
    const windows = yield* openWindows(slots, wishes);
    const answers = new Map<Wish, SlotAnswer>();
    for (const wish of inOrderOfWindows(wishes, (each) => each)) {
      answers.set(wish, yield* windows.of(wish).ask(wish));
    }
    yield* windows.save();
    return wishes.map((wish) => answers.get(wish) as SlotAnswer);
  }

  // A power cut ends the requests too, and forgets the slots of the last moment with them.
  const lanes = createLanes<Wish, SlotAnswer>({ database, survives: 'process-end', script: answer });

  return {
    take: (request) => lanes.submit(request.keyId, { ...request, take: true }),
    peek: (request) => lanes.submit(request.keyId, { ...request, take: false }),
  };
}
