import { setImmediate } from 'node:timers/promises';
import type { Clock } from '../contracts/index.js';

/** A clock that only moves when it is advanced. */
export interface ManualClock extends Clock {
  /** Advances the time and wakes, in order, the sleepers that are due. Resolves when their immediate work is done. */
  advance(ms: number): Promise<void>;
  /** Sleepers waiting now. */
  readonly sleepers: number;
}

interface Sleeper {
  due: number;
  wake(): void;
}

/** @param start - milliseconds since 1970, or a text that `Date` reads. Default 2026-01-01. */
export function createManualClock(start: number | string = '2026-01-01T00:00:00Z'): ManualClock {
  const origin = new Date(start).getTime();
  const sleepers = new Set<Sleeper>();
  let elapsed = 0;

  return {
    now: () => origin + elapsed,
    monotonic: () => elapsed,
    get sleepers() {
      return sleepers.size;
    },
    sleep(ms, signal) {
      return new Promise((resolve, reject) => {
        if (signal?.aborted) {
          reject(signal.reason);
          return;
        }
        const end = () => {
          sleepers.delete(sleeper);
          signal?.removeEventListener('abort', leave);
        };
        const leave = () => {
          end();
          reject(signal?.reason);
        };
        const sleeper = {
          due: elapsed + ms,
          wake: () => {
            end();
            resolve();
          },
        };
        sleepers.add(sleeper);
        signal?.addEventListener('abort', leave, { once: true });
      });
    },
    async advance(ms) {
      const end = elapsed + ms;
      for (;;) {
        await settle();
        const next = [...sleepers].filter((sleeper) => sleeper.due <= end).sort((a, b) => a.due - b.due)[0];
        if (!next) break;
        elapsed = Math.max(elapsed, next.due);
        next.wake();
      }
      elapsed = end;
      await settle();
    },
  };
}

/** A deadline ends the wait for its work two turns of the event loop after its time. */
const TURNS = 3;

/** Lets ready promise chains run to their next wait. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < TURNS; turn += 1) await setImmediate();
}
