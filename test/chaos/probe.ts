/**
 * A client in a process of its own, so that what it measures is the gateway's time and not the attacker's.
 * It sends the requests of its plan, a JSON text in its first argument, and prints the results.
 */

import { request as httpRequest } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

export interface ProbePlan {
  url: string;
  /** Sent in turn. */
  requests: readonly { path: string; key?: string; body?: string }[];
  count: number;
  /** Milliseconds between two of them. */
  everyMs: number;
  /** Local addresses, used in turn. */
  from: readonly string[];
}

export interface ProbeReport {
  /** Status → how often; 0 where the connection broke. */
  statuses: Readonly<Record<string, number>>;
  p50: number;
  p99: number;
  max: number;
}

const plan: ProbePlan = JSON.parse(process.argv[2] ?? '{}');
const times: number[] = [];
const statuses: Record<string, number> = {};

async function send(index: number): Promise<void> {
  const { path, key, body } = plan.requests[index % plan.requests.length] ?? { path: '/' };
  const startedAt = performance.now();
  const status = await new Promise<number>((resolve) => {
    const request = httpRequest(
      plan.url + path,
      {
        method: body === undefined ? 'GET' : 'POST',
        agent: false,
        localAddress: plan.from[index % plan.from.length],
        headers: {
          ...(key !== undefined && { authorization: `Bearer ${key}` }),
          ...(body !== undefined && { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }),
        },
      },
      (response) => {
        response.resume().on('end', () => resolve(response.statusCode ?? 0));
      },
    );
    request.on('error', () => resolve(0));
    request.setTimeout(60_000, () => request.destroy());
    request.end(body);
  });
  times.push(performance.now() - startedAt);
  statuses[status] = (statuses[status] ?? 0) + 1;
}

const sent: Promise<void>[] = [];
for (let index = 0; index < plan.count; index += 1) {
  sent.push(send(index));
  await sleep(plan.everyMs);
}
await Promise.all(sent);
times.sort((left, right) => left - right);
const at = (share: number) => times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? 0;
console.log(JSON.stringify({ statuses, p50: at(0.5), p99: at(0.99), max: at(1) } satisfies ProbeReport));
