/** Restarts nodes one after the other under load, and counts failed requests, cut streams and lost jobs. */

import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { startBalancer } from '../cluster/balancer.js';
import { readEvents } from '../support/models/event-reading.js';
import type { Environment } from '../support/processes/command-line.js';
import type { GatewayProcess } from '../support/processes/gateway-process.js';
import { type Nodes, openNodes } from '../support/processes/nodes.js';
import { askPatiently, createTally, fail, type PatientRequest, type Tally } from './patient-client.js';

/** What stands before the nodes: passes requests on to the addresses it is given. */
export type StartFront = (addresses: readonly string[]) => Promise<{ readonly url: string; close(): Promise<void> }>;

export interface RollingPlan {
  databaseUrl: string;
  apiNodes: number;
  workerNodes: number;
  /** Times that every node is restarted, one after the other. */
  rounds: number;
  requestsPerSecond: number;
  /** Chat streams that are open at the same time, and how long each lasts, in milliseconds. */
  streams: number;
  streamMs: number;
  /** Settings of all nodes besides those made here. */
  environment?: Environment;
  /** Default: a balancer that asks each node whether it is ready. */
  front?: StartFront;
}

export interface RollingReport {
  restarts: number;
  /** Of nodes that did not end with 0. */
  badExits: number;
  /** Milliseconds from the signal until the node had ended, and from the start of the next until it served: the longest. */
  longestEndMs: number;
  longestStartMs: number;
  seconds: number;
  requests: number;
  askedAgain: number;
  failed: Record<string, number>;
  streams: number;
  cutStreams: number;
  /** Image jobs that were accepted, and those that did not complete. */
  jobs: number;
  lostJobs: number;
  p50Ms: number;
  p99Ms: number;
}

interface Node {
  role: 'api' | 'worker';
  process: GatewayProcess;
}

const CHAT = { model: 'm-5.5', messages: [{ role: 'user', content: 'Ahoy!' }] };
const IMAGE = { model: 'gen-img-2', prompt: 'A tug at dawn', size: '256x256' };
const DRAW_MS = 200;
/** Events of a stream that lasts long. */
const EVENTS = 25;
const WORDS = Array.from({ length: EVENTS }, (_, index) => `word${index}`).join(' ');
/** Between a node that is ready and the end of the next: a balancer that asks twice a second has seen it. */
const SETTLE_MS = 500;
const JOBS_MS = 60_000;

/** Restarts every node while clients ask for models, chats, streams and pictures; then counts what they saw of it. */
export async function restartUnderLoad(plan: RollingPlan): Promise<RollingReport> {
  const nodes = await openNodes({
    databaseUrl: plan.databaseUrl,
    environment: { LOG_LEVEL: 'error', SITE: 'off', ...plan.environment },
  });
  try {
    return await run(plan, nodes);
  } finally {
    await nodes.close();
  }
}

async function run(plan: RollingPlan, nodes: Nodes): Promise<RollingReport> {
  const { apiNodes, workerNodes, rounds, front = (addresses) => startBalancer({ nodes: () => addresses }) } = plan;
  nodes.texts.behave(({ members: { stream } }) =>
    stream ? { does: 'answer', text: WORDS, pauseMs: plan.streamMs / EVENTS } : { does: 'answer' },
  );
  nodes.images.behave(() => ({ does: 'image', delayMs: DRAW_MS }));
  const running: Node[] = [];
  for (const role of [...Array(apiNodes).fill('api'), ...Array(workerNodes).fill('worker')] as Node['role'][])
    running.push({ role, process: await nodes.start(role) });
  const addresses = running.filter(({ role }) => role === 'api').map(({ process: { url } }) => url);
  const { url, close } = await front(addresses);
  const report = { restarts: 0, badExits: 0, longestEndMs: 0, longestStartMs: 0 };
  const load = startLoad(url, plan, await nodes.makeKey(), await nodes.makeKey());

  async function restart(node: Node): Promise<void> {
    const { port } = new URL(node.process.url);
    const endedAt = performance.now();
    const code = await node.process.stop();
    const startedAt = performance.now();
    node.process = await nodes.start(node.role, { PORT: port });
    report.restarts += 1;
    if (code !== 0) report.badExits += 1;
    report.longestEndMs = Math.max(report.longestEndMs, Math.round(startedAt - endedAt));
    report.longestStartMs = Math.max(report.longestStartMs, Math.round(performance.now() - startedAt));
    await sleep(SETTLE_MS);
  }

  try {
    await sleep(SETTLE_MS);
    for (let round = 0; round < rounds; round += 1) for (const node of running) await restart(node);
    return { ...report, ...(await load.end(nodes)) };
  } finally {
    load.stop();
    await close();
  }
}

/** Requests begin at an even pace, without waiting for those before them. */
function startLoad(url: string, plan: RollingPlan, key: string, jobKey: string) {
  const tally = createTally();
  const begun = performance.now();
  const over = new AbortController();
  const underWay = new Set<Promise<unknown>>();
  const jobs = new Set<string>();
  let requests = 0;
  let streams = 0;
  let cutStreams = 0;

  const ask = (request: PatientRequest) => askPatiently(request, tally);
  const get = (route: string) => ask({ url: url + route, init: { headers: headersOf(key) }, good: [200] });
  const post = (route: string, body: object, good: readonly number[], more: Record<string, string> = {}) => {
    const headers = { ...headersOf(route.includes('images') ? jobKey : key), ...more };
    return ask({ url: url + route, init: { method: 'POST', headers, body: JSON.stringify(body) }, good });
  };

  async function read(answer: Response | undefined): Promise<void> {
    await answer?.arrayBuffer().catch((error: unknown) => {
      // What had begun well was broken off.
      tally.good -= 1;
      fail(tally, `an answer was broken off: ${error}`);
    });
  }

  async function submit(): Promise<void> {
    const answer = await post('/v1/images/jobs', IMAGE, [202], { 'idempotency-key': randomUUID() });
    const job = (await answer?.json()) as { id: string } | undefined;
    if (job) jobs.add(job.id);
  }

  async function stream(): Promise<void> {
    while (!over.signal.aborted) {
      const answer = await post('/v1/chat/completions', { ...CHAT, stream: true }, [200]);
      if (!answer) continue;
      streams += 1;
      const { events, broken } = await readEvents(answer);
      if (broken !== undefined || events.at(-1)?.data !== '[DONE]') cutStreams += 1;
    }
  }

  /** Of a hundred requests one makes a picture as a job, one waits for its picture, and 24 are chats. */
  function next(index: number): Promise<void> {
    const turn = index % 100;
    if (turn === 0) return submit();
    if (turn === 50) return post('/v1/images/generations', IMAGE, [200]).then(read);
    return turn % 4 === 0 ? post('/v1/chat/completions', CHAT, [200]).then(read) : get('/v1/models').then(read);
  }

  async function pace(): Promise<void> {
    while (!over.signal.aborted) {
      const due = ((performance.now() - begun) / 1000) * plan.requestsPerSecond;
      for (; requests < due; requests += 1) {
        const request = next(requests).finally(() => underWay.delete(request));
        underWay.add(request);
      }
      await sleep(5);
    }
  }

  const all = [pace(), ...Array.from({ length: plan.streams }, stream)];
  return {
    stop: () => over.abort(),
    async end({ state }: Nodes) {
      over.abort();
      await Promise.all(all);
      await Promise.all(underWay);
      const seconds = Math.round((performance.now() - begun) / 1000);
      let lostJobs = 0;
      for (const id of jobs) {
        const job = await state.jobs.waitFor(id, 'local', { timeoutMs: JOBS_MS });
        if (job?.state !== 'completed') lostJobs += 1;
      }
      return {
        seconds,
        requests,
        askedAgain: tally.askedAgain,
        failed: Object.fromEntries(tally.failed),
        streams,
        cutStreams,
        jobs: jobs.size,
        lostJobs,
        p50Ms: percentile(tally, 0.5),
        p99Ms: percentile(tally, 0.99),
      };
    },
  };
}

function headersOf(key: string): Record<string, string> {
  return { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
}

function percentile({ times }: Tally, share: number): number {
  const sorted = times.toSorted((left, right) => left - right);
  return Math.round(sorted[Math.floor(share * (sorted.length - 1))] ?? 0);
}
