/** Runs extraction jobs while their process is killed at random, and counts what is lost or doubled. */

import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pLimit from 'p-limit';
import { startReplayingProxy } from '../support/links/replaying-proxy.js';
import { packageRoot } from '../support/package-root.js';
import { type GatewayProcess, type HttpAnswer, startGatewayProcess } from '../support/processes/gateway-process.js';

/** The recorded page of one product; the stand-in shows it for every product, under that product's id. */
const PAGE = path.join(packageRoot, 'plugins', 'clip_shop', 'fixtures', 'model-2026', 'page.html');
const PAGE_ID = '1732400000000033333';
/** How long the stand-in thinks, in milliseconds: long enough for a kill to hit jobs that run. */
const SHORTEST_MS = 40;
const LONGEST_MS = 200;
/** A kill comes up to this long after the fetch that calls for it. */
const KILL_WITHIN_MS = 300;
/** A key may poll twenty times a second. */
const JOBS_PER_KEY = 125;
const TIMEOUT_MS = 600_000;

export interface ChaosOptions {
  jobs: number;
  /** How often the gateway's process is killed with SIGKILL, spread over the work. */
  kills: number;
  /** Default: SQLite. */
  databaseUrl?: string;
}

export interface ChaosReport {
  /** Different jobs that clients were given an id of. */
  accepted: number;
  /** Products that were there by the time a client asked again, since it never heard of its job. */
  answered: number;
  completed: number;
  failed: number;
  /** Jobs whose id a client has and that the gateway no longer has. */
  lost: number;
  kills: number;
  /** Runs that had to be begun again, summed over all jobs. */
  repeatedRuns: number;
  fetches: number;
  /** Fetches of a product while another of the same was under way. */
  overlappingFetches: number;
  /** Jobs whose product was fetched more often than they were begun. */
  unaccountedFetches: number;
  seconds: number;
}

/**
 * Jobs submitted over HTTP to a gateway process that is killed again and again, and asked for afterwards. A client whose
 * connection breaks asks again, as clients do.
 */
export async function runExtractionChaos({ jobs, kills, databaseUrl }: ChaosOptions): Promise<ChaosReport> {
  const startedAt = performance.now();
  const page = await readFile(PAGE, 'utf8');
  const dataFolder = await mkdtemp(path.join(tmpdir(), 'mediagate-chaos-'));
  const fetches = new Map<string, number>();
  const underWay = new Map<string, number>();
  let total = 0;
  let overlappingFetches = 0;

  const proxy = await startReplayingProxy({
    async answer({ url }) {
      const id = /\d{19}/.exec(url.pathname)?.[0] ?? '';
      total += 1;
      fetches.set(id, (fetches.get(id) ?? 0) + 1);
      underWay.set(id, (underWay.get(id) ?? 0) + 1);
      if ((underWay.get(id) ?? 0) > 1) overlappingFetches += 1;
      await sleep(SHORTEST_MS + Math.random() * (LONGEST_MS - SHORTEST_MS));
      underWay.set(id, (underWay.get(id) ?? 0) - 1);
      return { headers: { 'content-type': 'text/html; charset=utf-8' }, body: page.replaceAll(PAGE_ID, id) };
    },
  });

  const environment = { LOG_LEVEL: 'error', ...(databaseUrl && { DATABASE_URL: databaseUrl }) };
  const start = () => startGatewayProcess({ proxy, dataFolder, environment });
  let gateway: GatewayProcess = await start();
  const deadline = AbortSignal.timeout(TIMEOUT_MS);

  /** Asks the process that runs; while none runs, until the next one does. */
  async function ask(target: string, init: RequestInit): Promise<HttpAnswer> {
    for (;;) {
      deadline.throwIfAborted();
      const answer = await gateway.request(target, init).catch(() => undefined);
      if (answer && answer.status < 500 && answer.status !== 429) return answer;
      await sleep(100);
    }
  }

  /** The id of the job; undefined where the product came at once. */
  async function submit(id: string, key: string): Promise<string | undefined> {
    const { status, json, text } = await ask('/v1/extract', {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ url: `https://shop.tiktok.com/gb/pdp/quilt/${id}`, async_mode: true }),
    });
    if (status !== 200) throw new Error(`The job of ${id} was refused: ${text}`);
    return json.data.job?.job_id;
  }

  async function end(job: string, key: string): Promise<HttpAnswer> {
    for (;;) {
      const answer = await ask(`/v1/extract/jobs/${job}`, { headers: { authorization: `Bearer ${key}` } });
      if (answer.headers.get('retry-after') === null) return answer;
      await sleep(500);
    }
  }

  async function killRepeatedly(): Promise<number> {
    let done = 0;
    for (; done < kills; done += 1) {
      const due = Math.ceil(((done + 0.5) * jobs) / kills);
      while (total < due) {
        deadline.throwIfAborted();
        await sleep(5);
      }
      await sleep(Math.random() * KILL_WITHIN_MS);
      await gateway.kill();
      gateway = await start();
    }
    return done;
  }

  try {
    const made = await Promise.all(
      Array.from({ length: Math.ceil(jobs / JOBS_PER_KEY) }, (_, n) => gateway.makeKey({ name: `key ${n}` })),
    );
    const keyFor = (index: number) => made[index % made.length]?.key ?? '';
    const products = Array.from({ length: jobs }, (_, index) => String(1_732_400_000_000_100_000n + BigInt(index)));
    const limit = pLimit(16);
    const killing = killRepeatedly();
    const ids = await Promise.all(products.map((id, index) => limit(submit, id, keyFor(index))));
    const killed = await killing;
    const known = ids.flatMap((id, index) => (id === undefined ? [] : [{ id, product: products[index] ?? '', index }]));
    const ended = await Promise.all(
      known.map(async (job) => ({ ...job, answer: await limit(end, job.id, keyFor(job.index)) })),
    );

    const wrong = ended.find(
      ({ answer: { json }, product }) => (json.data?.product?.product_id ?? product) !== product,
    );
    if (wrong) throw new Error(`The job of ${wrong.product} has another product.`);
    const count = (status: string) => ended.filter(({ answer }) => answer.json.data?.job.status === status).length;
    const attemptsOf = ({ json }: HttpAnswer): number => json.data?.job.attempts ?? 0;
    return {
      accepted: new Set(known.map(({ id }) => id)).size,
      answered: jobs - known.length,
      completed: count('completed'),
      failed: count('failed'),
      lost: ended.filter(({ answer }) => answer.status === 404).length,
      kills: killed,
      repeatedRuns: ended.reduce((sum, { answer }) => sum + Math.max(0, attemptsOf(answer) - 1), 0),
      fetches: total,
      overlappingFetches,
      unaccountedFetches: ended.filter(({ product, answer }) => (fetches.get(product) ?? 0) > attemptsOf(answer))
        .length,
      seconds: Math.round((performance.now() - startedAt) / 1000),
    };
  } finally {
    await gateway.kill();
    await proxy.close();
    await rm(dataFolder, { recursive: true, force: true });
  }
}
