/** Clients of the image faults, and what each received. */

import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { HttpAnswer } from '../support/processes/gateway-process.js';
import type { OrderSite } from './image-site.js';

/** What a client asked for, and everything it was told; times in milliseconds of `performance.now()`. */
export interface ImageOrder {
  /** API key. */
  key: string;
  idempotencyKey: string;
  body: string;
  sentAt: number;
  /** When the first 202 was there. */
  acceptedAt?: number;
  /** Ids of all jobs in its answers. More than one is a fault. */
  ids: Set<string>;
  /** Code of the refusal, where it was refused and never accepted. */
  refusal?: string;
  /** Whether a request got no definite answer: the gateway may still carry it out, also if later requests are refused. */
  inDoubt?: boolean;
  /** Results seen of the completed job. More than one is a fault. */
  results: Set<string>;
  /** Status in the last answer about it; 404 if there is no such job. */
  last?: string;
  /** Addresses of its picture, without origin, and the bytes that are promised. */
  files?: { links: string[]; bytes: number };
}

/** All that the clients of one run know. */
export type OrderLedger = ImageOrder[];

export function newOrder(key: string, members: object): ImageOrder {
  const body = JSON.stringify({ model: 'gen-img-2', size: '256x256', ...members });
  const idempotencyKey = randomUUID();
  return { key, idempotencyKey, body, sentAt: performance.now(), ids: new Set(), results: new Set() };
}

/** Whether its outcome is unknown: the connection broke, or the gateway answered with a failure of its own. */
export function isUntold({ ids, refusal }: ImageOrder): boolean {
  return ids.size === 0 && refusal === undefined;
}

/** Sends it, once. What the answer says goes to the order; undefined where there was none. */
export async function submit(site: OrderSite, order: ImageOrder): Promise<HttpAnswer | undefined> {
  const headers = { 'content-type': 'application/json', 'idempotency-key': order.idempotencyKey };
  const answer = await request(site, order, '/v1/images/jobs', { method: 'POST', headers, body: order.body });
  if (!answer) {
    order.inDoubt = true;
    return undefined;
  }
  if (answer.status === 202) {
    order.acceptedAt ??= performance.now();
    order.ids.add(answer.json.id);
    order.refusal = undefined;
    site.moments.emit('accepted');
  } else if (answer.status >= 500) {
    order.inDoubt = true;
  } else if (order.ids.size === 0 && !order.inDoubt) {
    order.refusal = answer.json?.error?.code ?? String(answer.status);
  }
  return answer;
}

export async function cancel(site: OrderSite, order: ImageOrder): Promise<void> {
  for (const id of order.ids) await request(site, order, `/v1/images/jobs/${id}`, { method: 'DELETE' });
}

/** Reads the status of the order's job. @param waitSeconds how long the gateway may hold on until the job has ended. */
export async function pollJob(site: OrderSite, order: ImageOrder, waitSeconds = 0): Promise<HttpAnswer | undefined> {
  const [id] = order.ids;
  const answer = await request(site, order, `/v1/images/jobs/${id}?wait=${waitSeconds}`);
  if (answer?.status === 404) order.last = '404';
  if (answer?.status !== 200) return answer;
  const { status, data, finished_at } = answer.json;
  order.last = status;
  if (status === 'completed') {
    const links = [data[0].url, data[0].raw_url].map((link: string) => new URL(link).pathname);
    order.results.add(JSON.stringify([links, finished_at]));
    order.files = { links: [...new Set(links)], bytes: data[0].bytes };
  }
  return answer;
}

export function hasEnded({ last }: ImageOrder): boolean {
  return last === 'completed' || last === 'failed' || last === 'cancelled';
}

/** Whichever process is there answers; undefined where none does, or it dies. */
async function request(site: OrderSite, { key }: ImageOrder, target: string, init: RequestInit = {}) {
  const headers = { ...init.headers, authorization: `Bearer ${key}` };
  return site.gateway?.request(target, { ...init, headers }).catch(() => undefined);
}

/** Repeats the requests without a known outcome, with the same idempotency key, until each has an answer. */
export async function replayUntold(site: OrderSite, ledger: OrderLedger, deadline: number): Promise<void> {
  const byKey = Map.groupBy(ledger.filter(isUntold), ({ key }) => key);
  // One at a time for each key, as its clients do it.
  const queues = [...byKey.values()].map(async (orders) => {
    for (const order of orders) {
      while (isUntold(order) && performance.now() < deadline) {
        // What was sent before has ended with its process.
        order.inDoubt = false;
        if (!(await submit(site, order)) || isUntold(order)) await sleep(100);
      }
    }
  });
  await Promise.all(queues);
}

/** Looks at every accepted job until it has ended. */
export async function drain(site: OrderSite, ledger: OrderLedger, deadline: number): Promise<void> {
  const byKey = Map.groupBy(
    ledger.filter(({ ids }) => ids.size > 0),
    ({ key }) => key,
  );
  // One at a time for each key, which may ask twenty times a second.
  const queues = [...byKey.values()].map(async (orders) => {
    for (const order of orders) {
      do {
        const answer = await pollJob(site, order, 20);
        await sleep(answer?.status === 429 ? 300 : 50);
      } while (!hasEnded(order) && order.last !== '404' && performance.now() < deadline);
    }
  });
  await Promise.all(queues);
}
