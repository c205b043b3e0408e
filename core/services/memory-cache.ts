import { LRUCache } from 'lru-cache';
import type { Cache } from '../contracts/services.js';

/** Characters of JSON kept at most; the least recently used goes first. */
const MAX_CHARACTERS = 16 * 1024 * 1024;

/** A cache that lives and dies with the process: what a gateway uses where it is given none. */
export function createMemoryCache(): Cache {
  const entries = new LRUCache<string, { json: string }>({
    maxSize: MAX_CHARACTERS,
    sizeCalculation: ({ json }, key) => json.length + key.length,
  });
  return {
    get: async <Value>(key: string) => {
      const entry = entries.get(key);
      return entry && (JSON.parse(entry.json) as Value);
    },
    set: async (key, value, ttlMs) => void entries.set(key, { json: JSON.stringify(value) }, { ttl: ttlMs }),
    delete: async (key) => void entries.delete(key),
  };
}
