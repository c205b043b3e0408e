import type { Database, Script } from '../../database/index.js';
import { createLanes } from '../../database/index.js';
import { openWindows } from './open-windows.js';
import type { SlotTable } from './slots.js';
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
    const answers: SlotAnswer[] = [];
    for (const wish of wishes) {
      const window = windows.of(wish);
      answers.push(wish.take && window.has(wish) ? window.take(wish) : yield* window.look(wish));
    }
    yield* windows.save();
    return answers;
  }

  // A power cut ends the requests too, and forgets the slots of the last moment with them.
  const lanes = createLanes<Wish, SlotAnswer>({ database, survives: 'process-end', script: answer });

  return {
    take: (request) => lanes.submit(request.keyId, { ...request, take: true }),
    peek: (request) => lanes.submit(request.keyId, { ...request, take: false }),
  };
}
