import { setTimeout as wait } from 'node:timers/promises';
import type { Clock } from '../contracts/services.js';

/** The machine's own time. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  async sleep(ms, signal) {
    try {
      await wait(ms, undefined, { signal });
    } catch (error) {
      // The timer rejects with an AbortError of its own; callers compare with the signal's reason.
      signal?.throwIfAborted();
      throw error;
    }
  },
};
