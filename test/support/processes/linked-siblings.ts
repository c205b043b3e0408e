/** Siblings of one process, which reach each other at once. */

import type { Siblings } from '../../../core/runtime/index.js';

export function linkSiblings(count: number): Siblings[] {
  const listeners = Array.from({ length: count }, () => new Map<string, ((payload: unknown) => void)[]>());
  return listeners.map((own) => ({
    post(topic, payload) {
      for (const other of listeners) {
        if (other !== own) for (const listener of other.get(topic) ?? []) listener(payload);
      }
    },
    on(topic, listener) {
      own.set(topic, [...(own.get(topic) ?? []), listener]);
    },
    ask: async () => ({ running: [] }),
    answer() {},
    claim: async () => ({ release() {} }),
  }));
}
