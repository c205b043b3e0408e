/** Benchmark of memory over ten thousand extractions. */

import { fork } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { startReplayingProxy } from '../support/links/replaying-proxy.js';
import { packageRoot } from '../support/package-root.js';
import { type Figure, slope } from './measure.js';
import { buildWatchPage } from './watch-page.js';

const EXTRACTIONS = 10_000;
/** Until then buffers, caches and compiled code find their size. */
const WARM_UP = 1_000;
const TARGET_MEGABYTES = 1;
const PLACEHOLDER = 'mgMemory000';

/** Resident memory after so many extractions. */
export interface Sample {
  extractions: number;
  megabytes: number;
  /** Of them, what live objects take. */
  heap: number;
}

/**
 * Ten thousand different links through a gateway in a process of its own, each answered with a page of a megabyte over
 * TLS, and how its resident memory goes.
 */
export async function measureMemory(): Promise<Figure[]> {
  const pieces = buildWatchPage(PLACEHOLDER).split(PLACEHOLDER);
  const proxy = await startReplayingProxy({
    answer: ({ url }) => {
      const id = url.pathname === '/watch' ? url.searchParams.get('v') : undefined;
      return id ? { headers: { 'content-type': 'text/html; charset=utf-8' }, body: pieces.join(id) } : { status: 404 };
    },
  });
  const child = fork(
    path.join(packageRoot, 'dist', 'test', 'bench', 'memory-run.js'),
    [proxy.url, String(EXTRACTIONS)],
    {
      // As the launcher started this process, which is how it starts the server.
      execArgv: process.execArgv,
      env: { ...process.env, NODE_EXTRA_CA_CERTS: proxy.caPath },
    },
  );
  try {
    const [samples] = (await Promise.race([
      once(child, 'message'),
      once(child, 'exit').then(([code]) => {
        throw new Error(`The measured process ended with ${code}.`);
      }),
    ])) as [Sample[]];
    const settled = samples.filter(({ extractions }) => extractions >= WARM_UP);
    const risingFrom = (first: number) =>
      slope(
        settled
          .filter(({ extractions }) => extractions >= first)
          .map(({ extractions, megabytes }) => [extractions / 1_000, megabytes]),
      );
    const perThousand = risingFrom(WARM_UP);
    const secondHalf = risingFrom(EXTRACTIONS / 2).toFixed(2);
    const ends = (side: 'megabytes' | 'heap') =>
      [settled[0], settled.at(-1)].map((sample) => sample?.[side].toFixed(0)).join(' → ');
    return [
      {
        what: `Resident memory over ${EXTRACTIONS.toLocaleString('en-US')} extractions of 1 MB pages`,
        measured:
          `${perThousand.toFixed(2)} MB per 1,000 after the first 1,000, ${secondHalf} in the second half ` +
          `(${ends('megabytes')} MB; live objects ${ends('heap')} MB)`,
        target: `≤ ${TARGET_MEGABYTES} MB per 1,000`,
        met: perThousand <= TARGET_MEGABYTES,
      },
    ];
  } finally {
    child.kill();
    await proxy.close();
  }
}
