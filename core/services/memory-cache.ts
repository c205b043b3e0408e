import { LRUCache } from 'lru-cache';
import type { Cache } from '../contracts/services.js';

const MAX_ENTRIES = 10_000;

/** A cache that lives and dies with the process: what a gateway uses where it is given none. */
export function createMemoryCache(): Cache {
  const entries = new LRUCache<string, { json: string }>({ max: MAX_ENTRIES });
  return {
    get: async <Value>(key: string) => {
      const entry = entries.get(key);
      return entry && (JSON.parse(entry.json) as Value);
    },
    set: async (key, value, ttlMs) => void entries.set(key, { json: JSON.stringify(value) }, { ttl: ttlMs }),
    delete: async (key) => void entries.delete(key),
  };
}
