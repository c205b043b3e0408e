/*
 * Remembers models that no server has: those that the plugins file presumes, that the operator has not named, and that
 * the lists of all their upstreams lack. Clients do not see them in the list of models. A request for one is still
 * sent, and a model that has answered is never absent again, because some servers have models that they do not list.
 */

import type { CheckedUpstream } from '../contracts/index.js';

export interface AbsentModels {
  /** Reads the results of a check of all upstreams. */
  read(checks: readonly CheckedUpstream[]): void;
  has(id: string): boolean;
  /** Called for each answer, so that it must be cheap. */
  answered(id: string): void;
  /** Whether it is time for another check, since a server may have got a model. True at most once a minute. */
  isDue(): boolean;
}

const RECHECK_MS = 60_000;

export function createAbsentModels(monotonic: () => number): AbsentModels {
  const absent = new Set<string>();
  const proven = new Set<string>();
  let checkedAt = monotonic();

  return {
    read(checks) {
      checkedAt = monotonic();
      absent.clear();
      for (const { models, result } of checks) if (result === 'unknown_model') for (const id of models) absent.add(id);
      for (const { models, result } of checks)
        if (result !== 'unknown_model') for (const id of models) absent.delete(id);
      for (const id of proven) absent.delete(id);
    },
    has: (id) => absent.size > 0 && absent.has(id),
    answered(id) {
      if (absent.size > 0 && absent.delete(id)) proven.add(id);
    },
    isDue() {
      if (absent.size === 0 || monotonic() - checkedAt < RECHECK_MS) return false;
      checkedAt = monotonic();
      return true;
    },
  };
}
