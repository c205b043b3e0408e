/*
 * Remembers models that no server has: those that the plugins file presumes, that the operator has not named, and that
 * the lists of all their upstreams lack. Clients do not see them in the list of models. A request for one is still
 * sent, and a model that has answered is never absent again, because some servers have models that they do not list.
 */

import type { CheckedUpstream } from '../contracts/index.js';

const RECHECK_MS = 60_000;

export class AbsentModels {
  readonly #monotonic: () => number;
  readonly #absent = new Set<string>();
  readonly #proven = new Set<string>();
  #checkedAt: number;

  constructor(monotonic: () => number) {
    this.#monotonic = monotonic;
    this.#checkedAt = monotonic();
  }

  /** Reads the results of a check of all upstreams. */
  read(checks: readonly CheckedUpstream[]): void {
    this.#checkedAt = this.#monotonic();
    this.#absent.clear();
    for (const { models, result } of checks)
      if (result === 'unknown_model') for (const id of models) this.#absent.add(id);
    for (const { models, result } of checks)
      if (result !== 'unknown_model') for (const id of models) this.#absent.delete(id);
    for (const id of this.#proven) this.#absent.delete(id);
  }

  has(id: string): boolean {
    return this.#absent.size > 0 && this.#absent.has(id);
  }

  /** Called for each answer, so that it must be cheap. */
  answered(id: string): void {
    if (this.#absent.size > 0 && this.#absent.delete(id)) this.#proven.add(id);
  }

  /** Whether it is time for another check, since a server may have got a model. True at most once a minute. */
  isDue(): boolean {
    if (this.#absent.size === 0 || this.#monotonic() - this.#checkedAt < RECHECK_MS) return false;
    this.#checkedAt = this.#monotonic();
    return true;
  }
}
