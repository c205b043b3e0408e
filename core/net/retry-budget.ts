import type { Clock } from '../contracts/index.js';

/** Keeps tries that were not the first of a call few, so that an upstream in trouble is not asked all the more. */
export interface RetryBudget {
  /** A call begins. */
  earn(): void;
  /** Whether a further try may be made; it is then counted as made. */
  spend(): boolean;
}

/** Further tries that are free at once, and then one for each second. */
const FREE = 10;

/** @param share further tries for each call, e.g. 0.2. */
export function createRetryBudget(share: number, clock: Pick<Clock, 'monotonic'>): RetryBudget {
  let left = FREE;
  let at = clock.monotonic();

  return {
    earn() {
      const now = clock.monotonic();
      left = Math.min(FREE, left + share + (now - at) / 1000);
      at = now;
    },
    spend() {
      if (left < 1) return false;
      left--;
      return true;
    },
  };
}
