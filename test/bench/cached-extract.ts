/** Benchmark of a cached link over HTTP, beside a bare Koa route. */

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { startReplayingProxy } from '../support/links/replaying-proxy.js';
import { packageRoot } from '../support/package-root.js';
import { startGatewayProcess } from '../support/processes/gateway-process.js';
import { runLoad } from './load-client.js';
import { cpuOfProcess, type Figure, median } from './measure.js';
import { buildWatchPage } from './watch-page.js';

const ROUNDS = 5;
const ROUND_SECONDS = 4;
const CONNECTIONS = 32;
const TARGET_RATIO = 4;
const VIDEO_ID = 'mgBench0001';

interface Load {
  url: string;
  pid: number;
  key: string;
}

/**
 * CPU of the server process for one cached extraction, with authentication, the window of the key and the log line, beside
 * the same client load on a route of Koa that does nothing. Rounds alternate, so that the machine's moods hit both.
 */
export async function measureCachedExtract(): Promise<Figure[]> {
  const html = buildWatchPage(VIDEO_ID);
  const proxy = await startReplayingProxy({
    answer: ({ url }) =>
      url.pathname === '/watch'
        ? { headers: { 'content-type': 'text/html; charset=utf-8' }, body: html }
        : { status: 404 },
  });
  const gateway = await startGatewayProcess({ proxy, environment: { EXTRACT_CACHE_SECONDS: '3600' } });
  const floor = await startFloor();
  try {
    const { key } = await gateway.makeKey({ rpm: 1_000_000 });
    const first = await gateway.extract(key, { url: linkTo(VIDEO_ID) });
    if (first.status !== 200) throw new Error(`The extraction to be cached failed: ${first.text}`);

    const ours = { url: gateway.url, pid: gateway.pid, key };
    const theirs = { url: floor.url, pid: floor.process.pid ?? 0, key };
    for (const load of [ours, theirs]) await cpuPerRequest(load);
    const rounds: { ours: number; theirs: number }[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      rounds.push({ ours: await cpuPerRequest(ours), theirs: await cpuPerRequest(theirs) });
    }
    const ratio = median(rounds.map((round) => round.ours / round.theirs));
    const cpu = (side: 'ours' | 'theirs') => Math.round(median(rounds.map((round) => round[side])));
    return [
      {
        what: 'Cached `POST /v1/extract`, beside a no-op Koa route (CPU a request)',
        measured: `${cpu('ours')} µs, ${cpu('theirs')} µs: ${ratio.toFixed(2)}x`,
        target: `≤ ${TARGET_RATIO}x`,
        met: ratio <= TARGET_RATIO,
      },
    ];
  } finally {
    floor.process.kill();
    await gateway.stop();
    await proxy.close();
  }
}

function linkTo(videoId: string): string {
  return `https://www.youtube.com/watch?v=${videoId}`;
}

async function cpuPerRequest({ url, pid, key }: Load): Promise<number> {
  const before = cpuOfProcess(pid);
  const load = { url, key, link: linkTo(VIDEO_ID), connections: CONNECTIONS, seconds: ROUND_SECONDS };
  const { requests } = await runLoad(load);
  return ((cpuOfProcess(pid) - before) * 1000) / requests;
}

async function startFloor(): Promise<{ url: string; process: ChildProcess }> {
  const child = fork(path.join(packageRoot, 'dist', 'test', 'bench', 'koa-floor.js'));
  const [url] = (await once(child, 'message')) as [string];
  return { url, process: child };
}
