/** Benchmark of `/health` while two hundred callers request a cached link. */

import { setTimeout as sleep } from 'node:timers/promises';
import { startReplayingProxy } from '../support/links/replaying-proxy.js';
import { type GatewayProcess, startGatewayProcess } from '../support/processes/gateway-process.js';
import { runLoad } from './load-client.js';
import { type Figure, percentile } from './measure.js';
import { linkOf } from './page-parse.js';
import { PLATFORMS, type PlatformName, platformNames } from './platforms.js';

const CONNECTIONS = 200;
const SECONDS = 6;
/** Between two requests to `/health`. */
const PAUSE_MS = 10;
const TARGET_MS = 200;

/** How long `/health` takes while two hundred callers ask for one cached link of a platform, again and again. */
export async function measureLoad(): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const name of platformNames) figures.push(await underLoad(name));
  return figures;
}

async function underLoad(name: PlatformName): Promise<Figure> {
  const platform = PLATFORMS[name];
  const link = platform.link(1);
  const target = linkOf(platform, link);
  const page = platform.build(target);
  const headers = { 'content-type': 'text/html; charset=utf-8' };
  const proxy = await startReplayingProxy({
    answer: ({ url }) => (url.href.includes(target.id) ? { headers, body: page } : { status: 404 }),
  });
  const gateway = await startGatewayProcess({ proxy, environment: { EXTRACT_CACHE_SECONDS: '3600' } });
  try {
    const { key } = await gateway.makeKey({ rpm: 1_000_000 });
    const first = await gateway.extract(key, { url: link });
    if (first.status !== 200) throw new Error(`The extraction to be cached failed: ${first.text}`);
    const load = { url: gateway.url, key, link, connections: CONNECTIONS };
    await runLoad({ ...load, seconds: 2 });
    proxy.setAnswer(() => ({ status: 500 }));
    const over = new AbortController();
    const [{ requests }, times] = await Promise.all([
      runLoad({ ...load, seconds: SECONDS }).finally(() => over.abort()),
      watchHealth(gateway, over.signal),
    ]);
    if (proxy.requests.length > 0) throw new Error(`${name}: ${proxy.requests.length} requests went past the cache`);
    const at = (share: number) => percentile(times, share);
    const rate = Math.round(requests / SECONDS).toLocaleString('en-US');
    return {
      what: `\`${name}\`: \`/health\` while ${CONNECTIONS} callers ask for a cached link (answers of ${Math.round(first.text.length / 1000)} kB, ${rate} a second)`,
      measured: `p50 ${at(0.5).toFixed(0)} ms, p99 ${at(0.99).toFixed(0)} ms, longest ${at(1).toFixed(0)} ms of ${times.length}`,
      target: `p99 ≤ ${TARGET_MS} ms`,
      met: at(0.99) <= TARGET_MS,
    };
  } finally {
    await gateway.stop();
    await proxy.close();
  }
}

/** Milliseconds that `/health` took, one request after the other. */
async function watchHealth(gateway: GatewayProcess, over: AbortSignal): Promise<number[]> {
  const times: number[] = [];
  while (!over.aborted) {
    const began = performance.now();
    const { status } = await gateway.request('/health');
    if (status !== 200) throw new Error(`/health answered ${status}`);
    times.push(performance.now() - began);
    await sleep(PAUSE_MS);
  }
  return times;
}
