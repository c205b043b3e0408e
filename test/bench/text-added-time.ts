/** Benchmark of the time that the gateway adds to a chat at 500 requests a second. */

import { type Figure, median } from './measure.js';
import { chatRequest } from './text-answers.js';
import type { TextSite } from './text-site.js';

const ROUNDS = 5;
const PER_SECOND = 500;
const SECONDS = 4;
const MOST_MS = 0.5;

/** What the gateway adds to a request when 500 come in a second, without waiting for those before them. */
export async function measureAddedTime({ gateway, upstream, load }: TextSite): Promise<Figure> {
  const rate = {
    kind: 'rate',
    perSecond: PER_SECOND,
    count: PER_SECOND * SECONDS,
    body: chatRequest({ stream: false }),
  } as const;
  const rounds: { ours: { p50: number; p99: number }; direct: { p50: number; p99: number } }[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    rounds.push({ ours: await load({ ...gateway, ...rate }), direct: await load({ ...upstream, ...rate }) });
  }
  const added = (share: 'p50' | 'p99') => median(rounds.map(({ ours, direct }) => ours[share] - direct[share]));
  return {
    what: `What the gateway adds to a request at ${PER_SECOND} a second (open loop), beside the upstream asked directly`,
    measured: `p50 ${added('p50').toFixed(2)} ms, p99 ${added('p99').toFixed(1)} ms`,
    target: `p50 ≤ ${MOST_MS} ms`,
    met: added('p50') <= MOST_MS,
  };
}
