/** Runs one background batch while its process is killed, and counts links that are lost, repeated or charged twice. */

import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { openDatabase } from '../../core/database/database.js';
import { startReplayingProxy } from '../support/links/replaying-proxy.js';
import { packageRoot } from '../support/package-root.js';
import { type GatewayProcess, type HttpAnswer, startGatewayProcess } from '../support/processes/gateway-process.js';

/** The recorded page of one product; the mock platform shows it for every product, under that product's id. */
const PAGE = path.join(packageRoot, 'plugins', 'clip_shop', 'fixtures', 'model-2026', 'page.html');
const PAGE_ID = '1732400000000033333';
const FIRST = 1_732_400_000_000_100_000n;
/** Products of requests beside the batch. */
const FIRST_SINGLE = 1_832_400_000_000_100_000n;
/** How long the platform takes. */
export const ANSWER_MS = 60;
/** A kill comes up to this long after the fetch that it follows, unless the caller says otherwise. */
const KILL_WITHIN_MS = 300;
const SINGLES_BEFORE = 30;
const SINGLE_PAUSE_MS = 250;
const PRICE = 0.01;
const PAGE_LINKS = 1_000;
const TIMEOUT_MS = 1_800_000;

export interface BatchKillOptions {
  links: number;
  /** How often the process is killed with SIGKILL, spread over the work. */
  kills: number;
  /** A kill comes up to so many milliseconds after the fetch that it follows. Default 300. */
  killWithinMs?: number;
  /** Requests per minute of the key. */
  rpm: number;
  /** Whether single links are timed before and beside the batch. Default false. */
  timed?: boolean;
  /** Default: SQLite. */
  databaseUrl?: string;
}

export interface BatchKillReport {
  links: number;
  kills: number;
  status: string;
  /** Links without a result, or with that of another product. */
  lost: number;
  failed: number;
  /** Links that the usage log counts beyond one each. */
  countedTwice: number;
  /** Requests that the rate limit counts beyond one for each link. */
  slotsTwice: number;
  /** Cost beyond one price for each link, in cents. */
  paidTwice: number;
  /** Links that were fetched more often than they were begun. */
  unaccountedFetches: number;
  /** Links that were begun again after a kill. */
  repeatedLinks: number;
  seconds: number;
  /** Median milliseconds of a single link before and beside the batch. */
  singleBefore?: number;
  singleBeside?: number;
}

interface ResultLine {
  index: number;
  attempts: number;
  ok: boolean;
  result?: { data: { product?: { product_id: string } } };
}

const productOf = (index: number) => String(FIRST + BigInt(index));
const linkOf = (product: string) => `https://shop.tiktok.com/gb/pdp/quilt/${product}`;

export async function runBatchKills(options: BatchKillOptions): Promise<BatchKillReport> {
  const { links, kills, killWithinMs = KILL_WITHIN_MS, rpm, databaseUrl } = options;
  const page = await readFile(PAGE, 'utf8');
  const dataFolder = await mkdtemp(path.join(tmpdir(), 'mediagate-batch-'));
  const prices = path.join(dataFolder, 'prices.json');
  await writeFile(prices, JSON.stringify({ currency: 'EUR', links: [{ price: PRICE }] }));
  const fetches = new Map<string, number>();
  let total = 0;
  const proxy = await startReplayingProxy({
    async answer({ url }) {
      const id = /\d{19}/.exec(url.pathname)?.[0] ?? '';
      if (BigInt(id) < FIRST_SINGLE) total += 1;
      fetches.set(id, (fetches.get(id) ?? 0) + 1);
      await sleep(ANSWER_MS);
      return { headers: { 'content-type': 'text/html; charset=utf-8' }, body: page.replaceAll(PAGE_ID, id) };
    },
  });
  const environment = { LOG_LEVEL: 'error', PRICES_FILE: prices, ...(databaseUrl && { DATABASE_URL: databaseUrl }) };
  const start = () => startGatewayProcess({ proxy, dataFolder, environment });
  let gateway: GatewayProcess = await start();
  const deadline = AbortSignal.timeout(TIMEOUT_MS);

  /** Asks the process that runs; while none runs, until the next one does. */
  async function ask(key: string, target: string, init: RequestInit = {}): Promise<HttpAnswer> {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    for (;;) {
      deadline.throwIfAborted();
      const answer = await gateway.request(target, { headers, ...init }).catch(() => undefined);
      if (answer && answer.status < 500 && answer.status !== 429) return answer;
      await sleep(100);
    }
  }

  async function killRepeatedly(): Promise<void> {
    for (let done = 0; done < kills; done += 1) {
      const due = Math.ceil(((done + 0.5) * links) / kills);
      while (total < due) {
        deadline.throwIfAborted();
        await sleep(5);
      }
      await sleep(Math.random() * killWithinMs);
      await gateway.kill();
      gateway = await start();
    }
  }

  let single = 0;
  /** Milliseconds of a link that no cache has; undefined if a kill broke it off. */
  async function timeSingle(key: string): Promise<number | undefined> {
    single += 1;
    const at = performance.now();
    const answer = await gateway
      .extract(key, { url: linkOf(String(FIRST_SINGLE + BigInt(single))) })
      .catch(() => undefined);
    return answer?.status === 200 ? performance.now() - at : undefined;
  }

  async function timeSingles(key: string, isOver: () => boolean): Promise<number | undefined> {
    const times: number[] = [];
    while (!isOver()) {
      const ms = await timeSingle(key);
      if (ms !== undefined) times.push(ms);
      await sleep(SINGLE_PAUSE_MS);
    }
    return median(times);
  }

  try {
    const { id: keyId, key } = await gateway.makeKey({ name: 'batch', rpm });
    const { key: other } = await gateway.makeKey({ name: 'single' });
    const { timed = false } = options;
    const singleBefore = timed ? await timeSingles(other, () => single >= SINGLES_BEFORE) : undefined;
    const startedAt = performance.now();
    const urls = Array.from({ length: links }, (_, index) => linkOf(productOf(index)));
    const body = JSON.stringify({ urls });
    const submitted = await ask(key, '/v1/extract/batches', {
      method: 'POST',
      body,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', 'idempotency-key': 'the-batch' },
    });
    if (submitted.status !== 202) throw new Error(`The batch was refused: ${submitted.text}`);
    const { status_url: statusUrl, results_url: resultsUrl } = submitted.json;
    let isOver = false;
    const beside = timed ? timeSingles(other, () => isOver) : undefined;
    const killing = killRepeatedly();
    let batch = submitted.json;
    while (batch.poll_after_seconds > 0) {
      await sleep(200);
      batch = (await ask(key, statusUrl)).json;
    }
    const seconds = Math.round((performance.now() - startedAt) / 1000);
    isOver = true;
    await killing;
    const singleBeside = await beside;

    const lines: ResultLine[] = [];
    for (let from = 0; from < links; from += PAGE_LINKS) {
      const { text } = await ask(key, `${resultsUrl}?from=${from}&limit=${PAGE_LINKS}`);
      for (const line of text.split('\n')) if (line !== '') lines.push(JSON.parse(line));
    }
    const byIndex = new Map(lines.map((line) => [line.index, line]));
    const isFound = (_: string, index: number) => {
      const line = byIndex.get(index);
      return line && (!line.ok || line.result?.data.product?.product_id === productOf(index));
    };
    const { total: usage } = (await ask(key, '/v1/usage')).json;
    await gateway.stop();
    return {
      links,
      kills,
      status: batch.status,
      lost: links - urls.filter(isFound).length,
      failed: lines.filter(({ ok }) => !ok).length,
      countedTwice: usage.requests - links,
      slotsTwice: (await countSlots(dataFolder, databaseUrl, keyId)) - links,
      paidTwice: Math.round((usage.cost - links * PRICE) * 100),
      unaccountedFetches: lines.filter(({ index, attempts }) => (fetches.get(productOf(index)) ?? 0) > attempts).length,
      repeatedLinks: lines.filter(({ attempts }) => attempts > 1).length,
      seconds,
      ...(singleBefore !== undefined && singleBeside !== undefined && { singleBefore, singleBeside }),
    };
  } finally {
    await gateway.kill();
    await proxy.close();
    await rm(dataFolder, { recursive: true, force: true });
  }
}

/** Requests that the rate limit of a key has ever counted: they are numbered. */
async function countSlots(dataDir: string, databaseUrl: string | undefined, keyId: string): Promise<number> {
  const database = await openDatabase({ dataDir, databaseUrl });
  try {
    const { nextSeq } = await database.queries
      .selectFrom('rate_windows')
      .select('nextSeq')
      .where('keyId', '=', keyId)
      .where('family', '=', 'link_data')
      .executeTakeFirstOrThrow();
    return nextSeq;
  } finally {
    await database.close();
  }
}

function median(values: readonly number[]): number | undefined {
  const middle = values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)];
  return middle === undefined ? undefined : Math.round(middle);
}
