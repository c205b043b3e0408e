/** Benchmark of two hundred parallel streams: CPU, memory, and the end of the upstream after a client disconnects. */

import { cpuOfProcess, type Figure, median, residentMegabytes } from './measure.js';
import { chatEvents, chatRequest, EVENTS, PUBLIC_MODEL } from './text-answers.js';
import type { Contender, TextSite } from './text-site.js';

const ROUNDS = 7;
const PARALLEL = 200;
const STREAMS = 2 * PARALLEL;
const FLOOR_RATIO = 1.4;
/** Of the memory of a bare pipe. */
const MEMORY_RATIO = 1.5;
const HANG_UPS = 20;
const HANG_UP_AFTER = 20;
const HANG_UP_MS = 100;

const body = chatRequest({ stream: true });

/** CPU of the server for one event of 200 streams at once, and its memory meanwhile, beside a bare pipe. */
export async function measureStreams(site: TextSite): Promise<Figure[]> {
  await checkStream(site);
  const highest = { ours: 0, floor: 0, portkey: 0 };
  const watch = setInterval(() => {
    highest.ours = Math.max(highest.ours, residentMegabytes(site.gateway.pid));
    highest.floor = Math.max(highest.floor, residentMegabytes(site.floor.pid));
    if (site.portkey) highest.portkey = Math.max(highest.portkey, residentMegabytes(site.portkey.pid));
  }, 100);
  const cpu = async (contender: Contender) => {
    const before = cpuOfProcess(contender.pid);
    await site.load({ ...contender, kind: 'streams', parallel: PARALLEL, count: STREAMS, body });
    return ((cpuOfProcess(contender.pid) - before) * 1000) / (STREAMS * EVENTS);
  };
  const { gateway, floor, portkey } = site;
  const rounds: { ours: number; floor: number; portkey?: number }[] = [];
  try {
    for (let round = 0; round <= ROUNDS; round += 1) {
      const measured = {
        ours: await cpu(gateway),
        floor: await cpu(floor),
        ...(portkey && { portkey: await cpu(portkey) }),
      };
      // The first round is for compilers and buffers.
      if (round > 0) rounds.push(measured);
    }
  } finally {
    clearInterval(watch);
  }
  const ratio = median(rounds.map((round) => round.ours / round.floor));
  const typical = (side: 'ours' | 'floor' | 'portkey') => median(rounds.map((round) => round[side] ?? 0)).toFixed(1);
  const beside = portkey ? ` (Portkey: ${typical('portkey')} µs)` : '';
  const memory = highest.ours / highest.floor;
  const besideMemory = portkey ? `; Portkey: ${Math.round(highest.portkey)} MB` : '';
  return [
    {
      what: `The same as ${PARALLEL} streams of an event every 10 ms, beside the bare pipe (CPU an event)`,
      measured: `${typical('ours')} µs, ${typical('floor')} µs: ${ratio.toFixed(2)}x${beside}`,
      target: `≤ ${FLOOR_RATIO}x`,
      met: ratio <= FLOOR_RATIO,
    },
    {
      what: `Resident memory of the gateway with ${PARALLEL} streams`,
      measured: `${Math.round(highest.ours)} MB at the highest, the bare pipe ${Math.round(highest.floor)} MB: ${memory.toFixed(2)}x${besideMemory}`,
      target: `≤ ${MEMORY_RATIO}x`,
      met: memory <= MEMORY_RATIO,
    },
  ];
}

/** From the moment a client hangs up on a stream to the moment the upstream sees it. */
export async function measureHangUp(site: TextSite): Promise<Figure> {
  const times: number[] = [];
  for (let round = 0; round < HANG_UPS; round += 1) {
    const seen = site.nextHangUp();
    const { hungUpAt } = await site.load({ ...site.gateway, kind: 'hang-up', events: HANG_UP_AFTER, body });
    times.push(Number((await seen) - BigInt(hungUpAt)) / 1e6);
  }
  const longest = Math.max(...times);
  return {
    what: `From a client's hanging up on a stream to the upstream's hearing of it`,
    measured: `${median(times).toFixed(1)} ms (worst of ${HANG_UPS}: ${longest.toFixed(1)} ms)`,
    target: `≤ ${HANG_UP_MS} ms`,
    met: longest <= HANG_UP_MS,
  };
}

/** Nothing counts unless the events are the upstream's, but for the model's name and the usage that the client did not ask for. */
async function checkStream({ gateway, load }: TextSite): Promise<void> {
  const { text, events } = await load({ ...gateway, kind: 'streams', parallel: 1, count: 1, body });
  const wanted = chatEvents(PUBLIC_MODEL).filter((event) => !event.includes('"usage"'));
  if (events !== wanted.length || !wanted.join('').startsWith(text)) {
    throw new Error(`The gateway has changed the stream, ${events} events of ${wanted.length}: ${text}`);
  }
}
