import type { Clock } from '../contracts/index.js';

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
