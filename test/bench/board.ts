/*
 * Benchmark by the method of public gateway boards: an upstream that answers after 20 ms, an open loop of clients, and
 * the most requests a second without one failure at which 99 % of them wait at most 1, 5, 10, 50 or 100 ms longer than
 * at the upstream itself. Also the streams that arrive whole and in time, CPU of a request, and memory. Measured with
 * one worker, with as many as there are cores, and for Portkey. Each runs on one core, except several workers, which
 * share all cores with client and upstream; a rate that the client itself cannot hold ends the search.
 */

import { availableParallelism } from 'node:os';
import { cpuOfProcess, type Figure, processesOf, residentMegabytes } from './measure.js';
import { chatRequest, EVENTS } from './text-answers.js';
import type { LoadReport } from './text-load.js';
import { type Contender, startTextSite, type TextSite } from './text-site.js';

const ANSWER_MS = 20;
const LIMITS_MS = [1, 5, 10, 50, 100];
const FIRST_RATE = 250;
const STEP = 1.25;
const SECONDS = 3;
/** A client whose direct requests take longer is full. */
const MOST_DIRECT_MS = 2 * ANSWER_MS;
const STREAMS = [64, 128, 256, 512, 1_024];
/** A stream may take so much longer than at the upstream. */
const STREAM_RATIO = 1.5;
const CPU_RATE = 500;
const WARM_UP_REQUESTS = 10_000;
const WARM_UP_STREAMS = 128;

const request = { body: chatRequest({ stream: false }) };
/** Each gateway has to send the same events. */
const stream = { body: chatRequest({ stream: true, asksForUsage: true }) };

export async function measureBoard(): Promise<Figure[]> {
  const workers = availableParallelism();
  const alone = await measureSite(1, true);
  return workers === 1 ? alone : [...alone, ...(await measureSite(workers, false))];
}

async function measureSite(workers: number, withPortkey: boolean): Promise<Figure[]> {
  const site = await startTextSite({ withPortkey, answerMs: ANSWER_MS, workers });
  try {
    const name = workers === 1 ? 'mediagate' : `mediagate with ${workers} workers`;
    const contenders = [{ ...site.gateway, name }, ...(site.portkey ? [site.portkey] : [])];
    const figures: Figure[] = [];
    // A cold process takes ten times as long for its first requests.
    for (const one of [site.upstream, ...contenders]) await warmUp(site, one);
    for (const contender of contenders) {
      figures.push(await measureRates(site, contender), await measureStreamsHeld(site, contender));
      figures.push(await measureCost(site, contender));
    }
    return figures;
  } finally {
    await site.stop();
  }
}

async function warmUp(site: TextSite, to: TextSite['upstream']): Promise<void> {
  await site.load({ ...to, kind: 'requests', connections: 64, count: WARM_UP_REQUESTS, ...request });
  await site.load({ ...to, kind: 'streams', parallel: 32, count: WARM_UP_STREAMS, ...stream });
}

/** @returns Undefined after a failed request. */
async function load(site: TextSite, order: Parameters<TextSite['load']>[0]): Promise<LoadReport | undefined> {
  return site.load(order).catch(() => undefined);
}

async function measureRates(site: TextSite, contender: Contender): Promise<Figure> {
  const held = new Map<number, number>();
  let end = 'the next rate adds more than 100 ms';
  for (let rate = FIRST_RATE; ; rate = Math.round(rate * STEP)) {
    const order = { kind: 'rate', perSecond: rate, count: rate * SECONDS, ...request } as const;
    const direct = await load(site, { ...site.upstream, ...order });
    if (!direct || direct.p99 > MOST_DIRECT_MS) {
      end = 'the client holds no higher rate';
      break;
    }
    const ours = await load(site, { ...contender, ...order });
    if (!ours) {
      end = 'the next rate has failures';
      break;
    }
    const addedMs = ours.p99 - direct.p99;
    for (const limit of LIMITS_MS) if (addedMs <= limit) held.set(limit, rate);
    if (addedMs > (LIMITS_MS.at(-1) ?? 0)) break;
  }
  const shown = LIMITS_MS.map((limit) => `${limit} ms: ${(held.get(limit) ?? 0).toLocaleString('en-US')}`);
  return {
    what: `${contender.name}: requests a second without a failure, by what 99 % of them wait longer at most`,
    measured: `${shown.join(', ')} (${end})`,
    target: '',
    met: true,
  };
}

async function measureStreamsHeld(site: TextSite, contender: Contender): Promise<Figure> {
  let held = 0;
  for (const parallel of STREAMS) {
    const order = { kind: 'streams', parallel, count: parallel, ...stream } as const;
    const direct = await load(site, { ...site.upstream, ...order });
    const ours = await load(site, { ...contender, ...order });
    const isWhole = ours?.events === parallel * EVENTS;
    if (!direct || !ours || !isWhole || ours.seconds > STREAM_RATIO * direct.seconds) break;
    held = parallel;
  }
  return {
    what: `${contender.name}: streams at once, each whole and at most ${STREAM_RATIO} times as long as at the upstream`,
    measured: `${held} of ${STREAMS.at(-1)}`,
    target: '',
    met: true,
  };
}

async function measureCost(site: TextSite, contender: Contender): Promise<Figure> {
  const order = { kind: 'rate', perSecond: CPU_RATE, count: CPU_RATE * SECONDS, ...request } as const;
  const pids = processesOf(contender.pid);
  const cpu = () => pids.reduce((sum, pid) => sum + cpuOfProcess(pid), 0);
  const before = cpu();
  await site.load({ ...contender, ...order });
  const each = ((cpu() - before) * 1000) / order.count;
  const memory = pids.reduce((sum, pid) => sum + residentMegabytes(pid), 0);
  return {
    what: `${contender.name}: CPU of a request at ${CPU_RATE} a second, and memory after all of this`,
    measured: `${each.toFixed(0)} µs, ${Math.round(memory)} MB`,
    target: '',
    met: true,
  };
}
