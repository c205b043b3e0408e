import { LRUCache } from 'lru-cache';
import type { Adapter, AdapterPayload } from 'oidc-provider';

const MAX_ENTRIES = 1_000;
const DEFAULT_SECONDS = 3_600;

/** What one provider remembers; with the provider it is gone. */
export function createMemoryAdapter(): (model: string) => Adapter {
  const entries = new LRUCache<string, AdapterPayload>({ max: MAX_ENTRIES });
  const search = (model: string, fits: (payload: AdapterPayload) => boolean) => {
    for (const [key, payload] of entries.entries()) if (key.startsWith(`${model}:`) && fits(payload)) return payload;
    return undefined;
  };

  return (model) => ({
    async upsert(id, payload, expiresIn = DEFAULT_SECONDS) {
      entries.set(`${model}:${id}`, payload, { ttl: expiresIn * 1_000 });
    },
    async find(id) {
      return entries.get(`${model}:${id}`);
    },
    async findByUid(uid) {
      return search(model, (payload) => payload.uid === uid);
    },
    async findByUserCode(userCode) {
      return search(model, (payload) => payload.userCode === userCode);
    },
    async consume(id) {
      const payload = entries.get(`${model}:${id}`);
      if (payload) payload.consumed = Math.floor(Date.now() / 1_000);
    },
    async destroy(id) {
      entries.delete(`${model}:${id}`);
    },
    async revokeByGrantId(grantId) {
      for (const [key, payload] of [...entries.entries()]) if (payload.grantId === grantId) entries.delete(key);
    },
  });
}
