import { createShards, type Database, type Script } from '../../core/database/index.js';
import { openWindows } from './open-windows.js';
import type { SlotTable } from './slots.js';

/** A key's slots of one route family: each accepted request takes one, and it is free again 60 s after its acceptance. */
export type WindowFamily = 'image' | 'link_data' | 'model';

export interface SlotRequest {
  keyId: string;
  family: WindowFamily;
  /** Slots wanted at once, all or nothing. At least 1. */
  slots: number;
  /** Slots in the window: the key's requests per minute. */
  limit: number;
}

export interface SlotAnswer {
  accepted: boolean;
  limit: number;
  /** Free slots after this answer. */
  remaining: number;
  /**
   * Milliseconds until the wanted slots are free (0 where accepted). Waiting exactly this long suffices, unless others take
   * them; 60,000 where more is wanted than the limit, which no waiting helps.
   */
  retryAfterMs: number;
  /** Milliseconds until the next slot is free (0 where none is taken). */
  resetMs: number;
}

/**
 * The rolling 60 s windows, in SQL: exact over restarts and over several nodes. Both throw GatewayError
 * `upstream_unavailable` within 2.5 s where the database does not answer or too many wait for it.
 */
export interface Windows {
  take(request: SlotRequest): Promise<SlotAnswer>;
  /** As `take`, taking nothing. */
  peek(request: SlotRequest): Promise<SlotAnswer>;
}

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
  const lanes = createShards<Wish, SlotAnswer>({ database, survives: 'process-end', script: answer });

  return {
    take: (request) => lanes.submit(request.keyId, { ...request, take: true }),
    peek: (request) => lanes.submit(request.keyId, { ...request, take: false }),
  };
}
