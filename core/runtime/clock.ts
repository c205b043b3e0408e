import { randomBytes } from 'node:crypto';

/** Time, replaceable so that tests need not wait. */
export interface Clock {
  /** Milliseconds since 1970-01-01 UTC. */
  now(): number;
  /** Milliseconds that never jump, for measuring. */
  monotonic(): number;
  /** Resolves after `ms`; rejects with the signal's reason when it aborts first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** The machine's own time. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  // Not the sleep of timers/promises: the error that it makes of each abort costs more than all the rest of a sleep.
  sleep(ms, signal) {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) {
        reject(signal.reason);
        return;
      }
      const leave = () => {
        clearTimeout(timer);
        reject(signal?.reason);
      };
      const timer = setTimeout(() => {
        signal?.removeEventListener('abort', leave);
        resolve();
      }, ms);
      signal?.addEventListener('abort', leave, { once: true });
    });
  },
};

const BATCH = 4096;

let batch = randomBytes(0);
let drawn = 0;

/**
 * So many random bytes, 1 to 64, that nobody was given before. They are drawn in batches: a call for each name or id takes
 * longer than everything else that is done for it.
 */
export function drawRandomBytes(count: number): Buffer {
  if (drawn + count > batch.length) {
    batch = randomBytes(BATCH);
    drawn = 0;
  }
  drawn += count;
  return batch.subarray(drawn - count, drawn);
}
