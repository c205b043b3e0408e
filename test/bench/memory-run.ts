/** The process of the memory benchmark: extracts links and reports its memory. */

import { createGateway } from 'mediagate';
import type { Sample } from './memory.js';

const BATCH = 250;
const AT_A_TIME = 4;

const [egressProxyUrl, count] = process.argv.slice(2);
const extractions = Number(count);

const gateway = await createGateway({ plugins: [{ use: 'mediagate/plugins/vidsite' }], egressProxyUrl });
const samples: Sample[] = [];
let begun = 0;

async function work(until: number): Promise<void> {
  while (begun < until) {
    begun += 1;
    await gateway.extract({ url: `https://www.youtube.com/watch?v=mg${String(begun).padStart(9, '0')}` });
  }
}

while (begun < extractions) {
  const until = begun + BATCH;
  await Promise.all(Array.from({ length: AT_A_TIME }, () => work(until)));
  // Between batches, so that no body that is on its way counts.
  globalThis.gc?.();
  const { rss, heapUsed } = process.memoryUsage();
  samples.push({ extractions: begun, megabytes: rss / 1e6, heap: heapUsed / 1e6 });
}
await gateway.close();
process.send?.(samples);
