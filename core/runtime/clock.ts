import { randomBytes } from 'node:crypto';

/** Time, replaceable so that tests need not wait. */
export interface Clock {
  /** Milliseconds since 1970-01-01 UTC. */
  now(): number;
  /** Monotonic milliseconds, for durations. */
  monotonic(): number;
  /** Resolves after `ms`; rejects with the signal's reason if it aborts first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** The system clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  // Not the sleep of timers/promises: the error it creates for each abort costs more than the rest of a sleep.
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
 * Returns 1 to 64 fresh random bytes. They are generated in batches: a call for each name or id takes longer than
 * everything else that is done for it.
 */
export function drawRandomBytes(count: number): Buffer {
  if (drawn + count > batch.length) {
    batch = randomBytes(BATCH);
    drawn = 0;
  }
  drawn += count;
  return batch.subarray(drawn - count, drawn);
}
