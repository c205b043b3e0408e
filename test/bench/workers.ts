/*
 * Benchmark of one worker beside two, with a client and an upstream that cost little: wrk with a Lua body, and nginx that
 * answers a file. Both are kept on the second core; the workers use all cores. Chats, cached links and submits a second,
 * in rounds that alternate, and what each part took of the cores, which says what held the rate.
 */

import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { startReplayingProxy } from '../support/links/replaying-proxy.js';
import { startGatewayProcess } from '../support/processes/gateway-process.js';
import type { LoadedRequest } from './http-load.js';
import { startImageServer } from './image-server.js';
import { cpuOfProcess, type Figure, median, processesOf } from './measure.js';
import { startNginx } from './nginx.js';
import { LOADING_CORE, pin } from './pinning.js';
import { chatAnswer, chatRequest, UPSTREAM_MODEL } from './text-answers.js';
import { startChatGateway } from './text-site.js';
import { buildWatchPage } from './watch-page.js';

const WORKERS = 2;
const ROUNDS = 7;
const SECONDS = 4;
const WARM_UP_SECONDS = 12;
const CONNECTIONS = 64;
const POLL_MS = 50;
const VIDEO_ID = 'mgBench0003';
const RPM = 10_000_000;
const MOST_CPU_RATIO = 1.1;

/** Gateways that are measured by the same requests. */
interface Kind {
  what: string;
  least: number;
  /** Of one worker, and of several. */
  targets: readonly [Target, Target];
}

interface Target {
  url: string;
  pid: number;
  request: Pick<LoadedRequest, 'path' | 'headers' | 'body'>;
  /** What the gateway asks. */
  upstream?: number;
}

interface Rate {
  perSecond: number;
  /** CPU microseconds of the gateway for one request. */
  cpu: number;
  /** Cores that the gateway used, and those of client and upstream. */
  gateway: number;
  others: number;
}

/** Where client and upstream are installed; else nothing. */
export async function measureWorkers(): Promise<Figure[]> {
  const folder = await mkdtemp(path.join(tmpdir(), 'mediagate-workers-'));
  const closing: (() => unknown)[] = [];
  try {
    const openers = [openChats, openLinks, openSubmits];
    const figures: Figure[] = [];
    for (const open of openers) {
      const kind = await open(folder, closing);
      if (!kind) return [];
      figures.push(...(await compare(folder, kind)));
      for (const close of closing.splice(0).reverse()) await close();
    }
    return figures;
  } finally {
    for (const close of closing.reverse()) await close();
    await rm(folder, { recursive: true, force: true });
  }
}

async function openChats(folder: string, closing: (() => unknown)[]): Promise<Kind | undefined> {
  const files = path.join(folder, 'upstream');
  await mkdir(files);
  await writeFile(path.join(files, 'answer.json'), chatAnswer(UPSTREAM_MODEL));
  // nginx refuses POST for a file, and answers its refusal with the file.
  const server = `location = /v1/chat/completions { root ${files}; default_type application/json; error_page 404 405 =200 /answer.json; }
    location = /answer.json { root ${files}; }`;
  const nginx = await startNginx(path.join(folder, 'nginx'), server, LOADING_CORE);
  if (!nginx) {
    process.stderr.write('not measured: nginx is not installed\n');
    return undefined;
  }
  closing.push(() => nginx.process.kill());
  const open = async (workers: number): Promise<Target> => {
    const own = path.join(folder, `chats-${workers}`);
    await mkdir(own);
    const gateway = await startChatGateway(own, nginx.url, workers);
    closing.push(() => gateway.stop());
    const { key } = await gateway.makeKey({ grants: ['text'], rpm: RPM });
    const request = post('/v1/chat/completions', key, chatRequest({ stream: false }));
    return { url: gateway.url, pid: gateway.pid, request, upstream: nginx.pid };
  };
  return { what: 'chats', least: 1.5, targets: [await open(1), await open(WORKERS)] };
}

async function openLinks(_folder: string, closing: (() => unknown)[]): Promise<Kind> {
  const page = { headers: { 'content-type': 'text/html; charset=utf-8' }, body: buildWatchPage(VIDEO_ID) };
  const proxy = await startReplayingProxy({
    answer: ({ url }) => (url.pathname === '/watch' ? page : { status: 404 }),
  });
  closing.push(() => proxy.close());
  const open = async (workers: number): Promise<Target> => {
    const environment = { EXTRACT_CACHE_SECONDS: '3600', WORKERS: String(workers) };
    const gateway = await startGatewayProcess({ proxy, environment });
    closing.push(() => gateway.stop());
    const { key } = await gateway.makeKey({ rpm: RPM });
    const request = post('/v1/extract', key, JSON.stringify({ url: `https://www.youtube.com/watch?v=${VIDEO_ID}` }));
    return { url: gateway.url, pid: gateway.pid, request };
  };
  return { what: 'cached links', least: 1.5, targets: [await open(1), await open(WORKERS)] };
}

async function openSubmits(_folder: string, closing: (() => unknown)[]): Promise<Kind> {
  const open = async (workers: number): Promise<Target> => {
    const server = await startImageServer({ environment: { IMAGE_WORKERS: '0', WORKERS: String(workers) } });
    closing.push(() => server.stop());
    return { url: server.gateway.url, pid: server.gateway.pid, request: server.submission(0) };
  };
  return { what: 'submits', least: 1.2, targets: [await open(1), await open(WORKERS)] };
}

function post(path: string, key: string, body: string): Target['request'] {
  return { path, headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' }, body };
}

async function compare(folder: string, { what, least, targets }: Kind): Promise<Figure[]> {
  for (const target of targets) {
    await check(target);
    await measure(folder, target, WARM_UP_SECONDS);
  }
  const rounds: [one: Rate, several: Rate][] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const [one, several] = targets;
    rounds.push([await measure(folder, one, SECONDS), await measure(folder, several, SECONDS)]);
  }
  const of = (side: 0 | 1, name: keyof Rate) => median(rounds.map((rates) => rates[side][name]));
  const ratio = (name: keyof Rate) => median(rounds.map(([one, several]) => several[name] / one[name]));
  const cores = (side: 0 | 1) => `${of(side, 'gateway').toFixed(2)} and ${of(side, 'others').toFixed(2)} cores`;
  const [rate, cpu] = [ratio('perSecond'), ratio('cpu')];
  const perSecond = ([0, 1] as const).map((side) => Math.round(of(side, 'perSecond')).toLocaleString('en-US'));
  return [
    {
      what: `${what} a second with ${WORKERS} workers, beside one (gateway; client and upstream)`,
      measured: `${perSecond[1]}, ${perSecond[0]}: ${rate.toFixed(2)}x (${cores(1)}; ${cores(0)})`,
      target: `≥ ${least}x`,
      met: rate >= least,
    },
    {
      what: `CPU of the gateway for one of these ${what}, with ${WORKERS} workers beside one`,
      measured: `${Math.round(of(1, 'cpu'))} µs, ${Math.round(of(0, 'cpu'))} µs: ${cpu.toFixed(2)}x`,
      target: `≤ ${MOST_CPU_RATIO}x`,
      met: cpu <= MOST_CPU_RATIO,
    },
  ];
}

/** wrk does not say what an answer was. */
async function check({ url, request }: Target): Promise<void> {
  const answer = await fetch(url + request.path, { method: 'POST', headers: request.headers, body: request.body });
  if (!answer.ok) throw new Error(`${request.path}: ${answer.status} ${await answer.text()}`);
}

/** @throws Error where wrk is not installed, or an answer was none of the expected ones. */
async function measure(folder: string, { url, pid, request, upstream }: Target, seconds: number): Promise<Rate> {
  const script = path.join(folder, 'request.lua');
  const headers = Object.entries(request.headers ?? {}).map(
    ([name, value]) => `wrk.headers[${JSON.stringify(name)}] = ${JSON.stringify(value)}`,
  );
  await writeFile(script, ['wrk.method = "POST"', ...headers, `wrk.body = [==[${String(request.body)}]==]`].join('\n'));
  const pids = processesOf(pid);
  const cpuOf = (some: readonly number[]) => some.reduce((sum, one) => sum + cpuOfProcess(one), 0);
  const others = upstream === undefined ? [] : [upstream];
  const [gatewayBefore, othersBefore, begunAt] = [cpuOf(pids), cpuOf(others), performance.now()];
  const args = ['-t1', `-c${CONNECTIONS}`, `-d${seconds}s`, '--timeout', '20s', '-s', script, url + request.path];
  const child = spawn('wrk', args, { stdio: ['ignore', 'pipe', 'inherit'] });
  pin(child.pid ?? 0, LOADING_CORE);
  let output = '';
  child.stdout.on('data', (data) => {
    output += String(data);
  });
  let client = 0;
  const timer = setInterval(() => {
    try {
      client = cpuOfProcess(child.pid ?? 0);
    } catch {
      // It has just ended.
    }
  }, POLL_MS);
  await new Promise((resolve, reject) => {
    child.on('error', (error) => reject(new Error('wrk cannot be started', { cause: error })));
    child.on('close', resolve);
  }).finally(() => clearInterval(timer));
  const elapsed = performance.now() - begunAt;
  const count = Number(/(\d+) requests in/.exec(output)?.[1]);
  const failure = /Socket errors.*|Non-2xx.*/.exec(output)?.[0];
  if (!(count > 0) || failure) throw new Error(`The rate cannot be measured: ${failure ?? output}`);
  const spent = cpuOf(pids) - gatewayBefore;
  return {
    perSecond: (count * 1000) / elapsed,
    cpu: (spent * 1000) / count,
    gateway: spent / elapsed,
    others: (cpuOf(others) - othersBefore + client) / elapsed,
  };
}
