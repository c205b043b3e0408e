/** Benchmark of memory over two hundred thousand requests of all kinds. */

import { type Figure, residentMegabytes, slope } from './measure.js';
import { chatRequest } from './text-answers.js';
import { startTextSite } from './text-site.js';

const STEP = 5_000;
const STEPS = 40;
const STREAMS = 2_000;
const CONNECTIONS = 32;
/** Of the same mix: until then buffers, caches and compiled code find their size. */
const WARM_UP = 100_000;
const MOST_MEGABYTES = 1;
/** Requests after which what is measured is said once. */
const UNIT = 100_000;

/** 200,000 plain requests and 2,000 streams through one gateway, and how its resident memory goes. */
export async function measureSoak(): Promise<Figure[]> {
  const site = await startTextSite({ withPortkey: false });
  try {
    const { gateway, load } = site;
    const plain = {
      ...gateway,
      kind: 'requests',
      connections: CONNECTIONS,
      body: chatRequest({ stream: false }),
    } as const;
    const perStep = STREAMS / STEPS;
    const streams = {
      ...gateway,
      kind: 'streams',
      parallel: perStep,
      count: perStep,
      body: chatRequest({ stream: true }),
    } as const;
    const takeStep = async () => {
      await load({ ...plain, count: STEP });
      await load(streams);
    };
    const points: [units: number, megabytes: number][] = [];
    for (let step = 0; step < WARM_UP / STEP; step += 1) await takeStep();
    for (let step = 1; step <= STEPS; step += 1) {
      await takeStep();
      points.push([(step * STEP) / UNIT, residentMegabytes(gateway.pid)]);
      process.stderr.write(`${step * STEP} requests, ${step * perStep} streams: ${points.at(-1)?.[1].toFixed(1)} MB\n`);
    }
    const rise = slope(points);
    const ends = [points[0], points.at(-1)].map((point) => point?.[1].toFixed(0)).join(' → ');
    const count = (value: number) => value.toLocaleString('en-US');
    return [
      {
        what: `Resident memory over ${count(STEP * STEPS)} chat completions and ${count(STREAMS)} streams, after the first ${count(WARM_UP)}`,
        measured: `${rise.toFixed(2)} MB per ${count(UNIT)} (${ends} MB)`,
        target: `≤ ${MOST_MEGABYTES} MB per ${count(UNIT)}`,
        met: rise <= MOST_MEGABYTES,
      },
    ];
  } finally {
    await site.stop();
  }
}
