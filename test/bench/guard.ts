/*
 * Benchmark of what a change costs: CPU of the usual requests, in this tree and in a baseline commit, alternating in
 * one run with a bare pipe and Portkey between them. Each tree is started by its own files, with its own upstreams, on
 * the same core. A machine that does other work changes all times, so what counts is the ratio of neighbours: its
 * median over the rounds, and as noise half of the distance between its quartiles. A kind of request is dearer if its
 * ratio exceeds the limit by more than the noise, and not known if it exceeds it by less.
 */

import { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { buildCommit, importFrom } from './baseline.js';
import { type LoadedRequest, loadHttp } from './http-load.js';
import { cpuOfProcess, type Figure, median, percentile } from './measure.js';
import { MEASURED_CORE, pin } from './pinning.js';

/** The last commit before the redesign, until there is a release. */
export const BASELINE = 'a55d930';

const ROUNDS = 7;
/** Portkey takes ten times as long, and says nothing about a change. */
const PORTKEY_ROUNDS = 3;
const CONNECTIONS = 32;
const CHATS = 4_000;
/** Until the compiler has done its work: after 12,000 chats its threads still took a fifth to a third of the CPU. */
const WARM_UP = 40_000;
const STREAMS = { parallel: 200, count: 400 };
const REQUESTS = 3_000;
const SUBMITS = 1_500;
const VIDEO_ID = 'mgBench0001';
const MOST = 1.02;
const TARGETS: Readonly<Record<string, { floor: number; portkey?: number }>> = {
  chat: { floor: 1.7, portkey: 0.15 },
  stream: { floor: 1.4 },
};
/** A machine in trouble refuses a request now and then. */
const TRIES = 5;
const AGAIN_MS = 3_000;

/** CPU microseconds of one request, measured anew by each call. */
type Measure = () => Promise<number>;

/** A tree with all its servers. */
interface Side {
  measures: Readonly<Record<string, Measure>>;
  /** Servers that do the same as the chat and the stream. */
  beside: Readonly<Record<string, Readonly<Record<string, Measure>>>>;
  stop(): Promise<void>;
}

/** @param root Of the tree. */
async function openSide(root: string, withPortkey: boolean): Promise<Side> {
  const closing: (() => Promise<unknown>)[] = [];
  const stop = async () => {
    for (const close of closing.reverse()) await close();
  };
  try {
    const texts = await openTexts(root, withPortkey, closing);
    const link = await openLink(root, closing);
    const submit = await openSubmits(root, closing);
    const { measures, beside } = texts;
    return { measures: { ...measures, 'cached link': link, submit }, beside, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

type Closing = (() => Promise<unknown>)[];

async function openTexts(
  root: string,
  withPortkey: boolean,
  closing: Closing,
): Promise<Pick<Side, 'measures' | 'beside'>> {
  const { startTextSite } = await importFrom<typeof import('./text-site.js')>(root, 'text-site.js');
  const { chatRequest } = await importFrom<typeof import('./text-answers.js')>(root, 'text-answers.js');
  const site = await startTextSite({ withPortkey });
  closing.push(() => site.stop());
  const { gateway, floor, portkey } = site;
  type Target = typeof gateway;
  const chats =
    ({ pid, url, headers }: Target, count: number): Measure =>
    () => {
      const order = {
        url,
        headers,
        kind: 'requests',
        connections: CONNECTIONS,
        body: chatRequest({ stream: false }),
      } as const;
      return cpuPerRequest(pid, async () => (await site.load({ ...order, count })).count);
    };
  const streams =
    ({ pid, url, headers }: Target): Measure =>
    () => {
      const order = { url, headers, kind: 'streams', ...STREAMS, body: chatRequest({ stream: true }) } as const;
      return cpuPerRequest(pid, async () => (await site.load(order)).events);
    };
  const models = { method: 'GET', path: '/v1/models', headers: gateway.headers, status: 200 };
  const measures = {
    chat: chats(gateway, CHATS),
    stream: streams(gateway),
    'key check': requests(gateway, REQUESTS, closing, () => models),
  };
  for (const contender of [gateway, floor]) await chats(contender, WARM_UP)();
  if (portkey) await chats(portkey, REQUESTS)();
  return {
    measures,
    beside: {
      floor: { chat: chats(floor, CHATS), stream: streams(floor) },
      ...(portkey && { portkey: { chat: chats(portkey, REQUESTS) } }),
    },
  };
}

async function openLink(root: string, closing: Closing): Promise<Measure> {
  const { startReplayingProxy } = await importFrom<typeof import('../support/links/replaying-proxy.js')>(
    root,
    'replaying-proxy.js',
  );
  const { startGatewayProcess } = await importFrom<typeof import('../support/processes/gateway-process.js')>(
    root,
    'gateway-process.js',
  );
  const { buildWatchPage } = await importFrom<typeof import('./watch-page.js')>(root, 'watch-page.js');
  const page = { headers: { 'content-type': 'text/html; charset=utf-8' }, body: buildWatchPage(VIDEO_ID) };
  const proxy = await startReplayingProxy({
    answer: ({ url }) => (url.pathname === '/watch' ? page : { status: 404 }),
  });
  closing.push(() => proxy.close());
  const gateway = await startGatewayProcess({ proxy, environment: { EXTRACT_CACHE_SECONDS: '3600' } });
  closing.push(() => gateway.stop());
  pin(gateway.pid, MEASURED_CORE);
  const { key } = await gateway.makeKey({ rpm: 1_000_000 });
  const link = {
    method: 'POST',
    path: '/v1/extract',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ url: `https://www.youtube.com/watch?v=${VIDEO_ID}` }),
    status: 200,
  };
  return requests(gateway, REQUESTS, closing, () => link);
}

async function openSubmits(root: string, closing: Closing): Promise<Measure> {
  const { startImageServer } = await importFrom<typeof import('./image-server.js')>(root, 'image-server.js');
  const server = await startImageServer({ environment: { IMAGE_WORKERS: '0' } });
  closing.push(() => server.stop());
  pin(server.gateway.pid, MEASURED_CORE);
  return requests(server.gateway, SUBMITS, closing, (index) => server.submission(index % CONNECTIONS));
}

function requests(
  { url, pid }: { url: string; pid: number },
  count: number,
  closing: Closing,
  next: (index: number) => LoadedRequest,
): Measure {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  closing.push(async () => agent.destroy());
  return () =>
    cpuPerRequest(pid, async () => {
      await loadHttp({ url, connections: CONNECTIONS, count, next, agent });
      return count;
    });
}

/** @param load Sends requests. Returns how many. */
async function cpuPerRequest(pid: number, load: () => Promise<number>): Promise<number> {
  for (let tried = 1; ; tried += 1) {
    const before = cpuOfProcess(pid);
    try {
      const count = await load();
      return ((cpuOfProcess(pid) - before) * 1000) / count;
    } catch (error) {
      if (tried === TRIES) throw error;
      process.stderr.write(`${error instanceof Error ? error.message.slice(0, 200) : String(error)}; again\n`);
      await sleep(AGAIN_MS);
    }
  }
}

/** CPU of chats, streams, cached links, submits and key checks in this tree, beside a baseline, a pipe and Portkey. */
export async function measureGuard(root: string, commit = BASELINE): Promise<Figure[]> {
  const baseline = buildCommit(commit);
  const head = await openSide(root, true);
  try {
    const before = await openSide(baseline, false);
    try {
      const figures: Figure[] = [];
      for (const kind of Object.keys(head.measures)) {
        const measured = await compare(kind, commit, head, before);
        // Each takes a minute or two.
        for (const { what, measured: text } of measured) process.stderr.write(`${what}: ${text}\n`);
        figures.push(...measured);
      }
      return figures;
    } finally {
      await before.stop();
    }
  } finally {
    await head.stop();
  }
}

async function compare(kind: string, commit: string, head: Side, before: Side): Promise<Figure[]> {
  const ours = head.measures[kind] as Measure;
  const theirs = before.measures[kind] as Measure;
  const others = Object.entries(head.beside).flatMap(([name, measures]) => {
    const measure = measures[kind];
    return measure
      ? [{ name, measure, times: [] as number[], rounds: name === 'portkey' ? PORTKEY_ROUNDS : ROUNDS }]
      : [];
  });
  const times: number[] = [];
  const earlier: number[] = [];
  for (const measure of [ours, theirs]) await measure();
  for (let round = 0; round < ROUNDS; round += 1) {
    const order = round % 2 === 0 ? [ours, theirs] : [theirs, ours];
    for (const measure of order) (measure === ours ? times : earlier).push(await measure());
    for (const other of others) if (round < other.rounds) other.times.push(await other.measure());
  }
  const figures = [figure(`${kind}, beside ${commit}`, times, earlier, MOST)];
  for (const { name, times: their } of others) {
    const most = TARGETS[kind]?.[name as 'floor' | 'portkey'];
    const what = name === 'floor' ? 'a bare pipe' : 'Portkey';
    if (most !== undefined) figures.push(figure(`${kind}, beside ${what}`, times, their, most));
  }
  return figures;
}

function figure(what: string, ours: readonly number[], theirs: readonly number[], most: number): Figure {
  const ratios = theirs.map((their, index) => (ours[index] ?? Number.NaN) / their);
  const ratio = median(ratios);
  const noise = (percentile(ratios, 0.75) - percentile(ratios, 0.25)) / 2;
  const result = ratio <= most ? '' : ratio - noise <= most ? ', not known: too much noise' : ', dearer';
  const [our, their] = [ours, theirs].map((values) => median(values).toFixed(1));
  return {
    what: `CPU of one request: ${what}`,
    measured: `${our} µs, ${their} µs: ${ratio.toFixed(2)}x ± ${noise.toFixed(2)}${result}`,
    target: `≤ ${most}x`,
    met: ratio - noise <= most,
  };
}
