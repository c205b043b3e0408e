/** Waits until a cache is connected. */

import type { Cache } from 'mediagate';
import { until } from '../until.js';

/** Resolves when the store behind a cache answers: nobody waits long for a cache, and its first connection takes its time. */
export async function untilConnected(cache: Cache): Promise<void> {
  await until(async () => {
    await cache.set('connected', true, 60_000);
    return cache.get('connected');
  }, 100);
}
