/** Image jobs of an upstream that fails in every known way. */

import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pLimit from 'p-limit';
import type { ImageUpstreamAnswer } from '../support/images/image-upstream.js';
import { packageRoot } from '../support/package-root.js';
import { type ImageFindings, judge } from './image-findings.js';
import { drain, type ImageOrder, newOrder, type OrderLedger, replayUntold, submit } from './image-orders.js';
import { type ImageSite, openImageSite } from './image-site.js';

/** What is wrong with an upstream, and whether there is a picture nevertheless. */
const MODES: Readonly<Record<string, readonly [ImageUpstreamAnswer, 'completed' | 'failed']>> = {
  'error 500': [{ does: 'error', status: 500 }, 'failed'],
  '429 with Retry-After': [{ does: 'error', status: 429, headers: { 'retry-after': '1' } }, 'failed'],
  moderation: [{ does: 'moderation' }, 'failed'],
  'no answer': [{ does: 'stall' }, 'failed'],
  'half an answer, then silence': [{ does: 'half_open' }, 'failed'],
  'half an answer, then a reset': [{ does: 'reset' }, 'failed'],
  'cut JSON': [{ does: 'cut_json' }, 'failed'],
  'a page of HTML': [{ does: 'html' }, 'failed'],
  'wrong base64': [{ does: 'bad_base64' }, 'failed'],
  'another size': [{ does: 'image', size: '200x300' }, 'completed'],
  '900 megapixels': [{ does: 'bomb' }, 'failed'],
  'two images': [{ does: 'duplicate' }, 'completed'],
};

/** Longer than an upstream is left alone at the longest. */
const PAUSE_MS = 50;
const TIMEOUT_MS = 120_000;

export interface UpstreamFaultReport extends ImageFindings {
  modes: { mode: string; jobs: number; completed: number; failed: number; calls: number }[];
  /** Jobs that ended otherwise than such an upstream lets them. Must be 0. */
  wrongEnds: number;
  /** Working upstreams that were asked and did not answer in the time of the plugin, on a busy machine. */
  lateAnswers: number;
}

/** So many jobs for each way in which an upstream can fail. */
export async function runUpstreamFaults(jobsPerMode: number, databaseUrl?: string): Promise<UpstreamFaultReport> {
  const site = await openImageSite({
    keys: Object.keys(MODES).length,
    rpm: 10_000,
    databaseUrl,
    environment: { IMAGE_WORKERS: '32' },
  });
  const plugins = path.join(site.folder, 'plugins.config.json');
  await writeFile(plugins, JSON.stringify({ plugins: [hastyEntry(site.upstream.baseUrl)] }));
  try {
    await site.start({ PLUGINS_CONFIG: plugins });
    const ledger: OrderLedger = [];
    const modes: UpstreamFaultReport['modes'] = [];
    let wrongEnds = 0;
    let lateAnswers = 0;
    for (const [index, [mode, [answer, end]]] of Object.entries(MODES).entries()) {
      lateAnswers += await heal(site, ledger);
      const before = site.upstream.requests.length;
      site.upstream.behave(() => answer);
      const orders = Array.from({ length: jobsPerMode }, (_, job) =>
        newOrder(site.keys[index] ?? '', { prompt: `${mode}, ${job}` }),
      );
      ledger.push(...orders);
      const limit = pLimit(20);
      await Promise.all(orders.map((order) => limit(submit, site, order)));
      await replayUntold(site, orders, performance.now() + TIMEOUT_MS);
      await drain(site, orders, performance.now() + TIMEOUT_MS);
      const ended = (state: string) => orders.filter(({ last }: ImageOrder) => last === state).length;
      wrongEnds += jobsPerMode - ended(end);
      const calls = site.upstream.requests.length - before;
      modes.push({ mode, jobs: jobsPerMode, completed: ended('completed'), failed: ended('failed'), calls });
    }
    return { modes, wrongEnds, lateAnswers, ...(await judge(site, ledger, { wallClock: true })) };
  } finally {
    await site.remove();
  }
}

/**
 * The upstream works again until the gateway no longer leaves it alone, so that each fault is met anew.
 * @returns Jobs for which it was asked and did not answer in time.
 */
async function heal(site: ImageSite, ledger: OrderLedger): Promise<number> {
  site.upstream.behave([]);
  let late = 0;
  for (let last: string | undefined; last !== 'completed'; ) {
    await sleep(PAUSE_MS);
    const asked = site.upstream.requests.length;
    const order = newOrder(site.keys[0] ?? '', { prompt: 'a working one' });
    ledger.push(order);
    await submit(site, order);
    await drain(site, [order], performance.now() + TIMEOUT_MS);
    last = order.last;
    if (last !== 'completed' && site.upstream.requests.length > asked) late += 1;
  }
  return late;
}

/**
 * A provider that gives up soon, so that the run does not wait four minutes for each of a hundred silent upstreams; and late
 * enough that a busy machine does not give up upstreams that do answer.
 */
function hastyEntry(url: string) {
  const use = path.join(packageRoot, 'dist', 'plugins', 'openai_image', 'index.js');
  return { id: 'openai_image', use, options: { upstreams: [{ url }], budgetMs: 12_000, restMs: 5 }, timeoutMs: 30_000 };
}
