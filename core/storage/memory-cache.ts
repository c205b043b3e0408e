/*
 * The in-memory cache of a gateway without a database: 16 MiB of JSON, the least recently used entry evicted first. It
 * has a file of its own because the plugin package carries it.
 */

import { LRUCache } from 'lru-cache';
import type { Cache, Clock } from '../contracts/index.js';
import { systemClock } from '../runtime/index.js';

/** Maximum characters of cached JSON; the least recently used is evicted first. */
const MAX_CHARACTERS = 16 * 1024 * 1024;

/**
 * An in-memory cache: the default of a gateway, and for tests. It has a file of its own since the plugin package carries it,
 * without the database.
 * @param clock Clock of the expiry. Default: the system's.
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
