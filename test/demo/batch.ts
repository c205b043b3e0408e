/** The part of the demo with a batch of links. */

import { batchSample, linkSamples } from './link-samples.js';
import type { DemoPart } from './stage.js';

const UNSUPPORTED = 'https://www.youtube.com/@somebody';

interface Item {
  url: string;
  status: 'completed' | 'queued' | 'failed';
  result?: { platform: string; data: { common?: { title: string | null }; product?: { name: string | null } | null } };
  error?: { code: string; message: string };
}

/** Links of every platform in one request: data, a job, or the reason, in their order. */
export const batchPart: DemoPart = {
  title: 'Many links at once    POST /v1/extract/batch',
  async play({ gateway, key, terminal, keep }) {
    const platforms = new Set(linkSamples.map(({ platform }) => platform));
    const firsts = [...platforms].flatMap((key) => linkSamples.find(({ platform }) => platform === key)?.url ?? []);
    const gone = linkSamples.find(({ name }) => name === 'private')?.url ?? '';
    const urls = [...firsts, batchSample.url, gone, UNSUPPORTED];
    const wait = terminal.wait(`${urls.length} links`);
    const began = performance.now();
    const { status, text, json } = await gateway
      .request('/v1/extract/batch', {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ urls }),
      })
      .finally(() => wait.end());
    const ms = Math.round(performance.now() - began);
    if (status !== 200) throw new Error(`The batch was refused: ${status} ${text}`);
    await keep('batch.json', JSON.stringify(json, null, 2));
    const { count, succeeded, queued, failed } = json;
    terminal.box({
      title: `${count} links: ${succeeded} completed, ${queued} queued, ${failed} failed`,
      note: `${status} · ${ms} ms`,
      good: true,
      rows: json.items.map((item: Item) => [item.status, lineOf(item)]),
    });
  },
};

function lineOf({ url, status, result, error }: Item): string {
  if (error) return `${error.code}: ${error.message}`;
  if (status === 'queued') return `${result?.platform}: ${url}`;
  return `${result?.platform}: ${result?.data.common?.title ?? result?.data.product?.name}`;
}
