import { LRUCache } from 'lru-cache';
import type { Cache, Clock } from '../contracts/index.js';
import { systemClock } from '../runtime/index.js';

/** Characters of JSON kept at most; the least recently used goes first. */
const MAX_CHARACTERS = 16 * 1024 * 1024;

/**
 * A cache that lives and dies with the process: what a gateway uses where it is given none, and what tests are given.
 * @param clock What it forgets by. Default: the system's.
 */
export function createMemoryCache(clock: Clock = systemClock): Cache {
  const entries = new LRUCache<string, { json: string; until: number }>({
    maxSize: MAX_CHARACTERS,
    sizeCalculation: ({ json }, key) => json.length + key.length,
  });
  return {
    async get<Value>(key: string) {
      const entry = entries.get(key);
      return entry && clock.monotonic() < entry.until ? (JSON.parse(entry.json) as Value) : undefined;
    },
    set: async (key, value, ttlMs) =>
      void entries.set(key, { json: JSON.stringify(value), until: clock.monotonic() + ttlMs }),
    delete: async (key) => void entries.delete(key),
  };
}
