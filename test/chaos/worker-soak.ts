/** Many chats and streams on several workers of one machine, while workers are killed and reloaded. */

import { setTimeout as sleep } from 'node:timers/promises';
import { childrenOf, residentMegabytes } from '../support/processes/child-processes.js';
import type { GatewayProcess } from '../support/processes/gateway-process.js';
import { until } from '../support/until.js';
import { allWorkersServe, killWorker, reloadWorkers } from './image-workers.js';

export interface SoakPlan {
  /** Chats, of which so many are streams. */
  requests: number;
  streams: number;
  clients: number;
  workerKills: number;
  reloads: number;
}

export interface SoakReport {
  answered: number;
  /** Broken connections and answers that are no chat, while nothing was killed or reloaded. */
  lost: number;
  /** The same during a reload. */
  cut: number;
  /** The same while a worker was killed, whose requests end with it. */
  killed: number;
  /** Megabytes per 100,000 requests by which the resident memory grew while nothing was killed: supervisor and workers. */
  supervisorSlope: number;
  workersSlope: number;
  /** Megabytes at the end. */
  supervisor: number;
  workers: number;
  seconds: number;
}

interface Period {
  kind: 'kill' | 'reload';
  begunAt: number;
  endedAt: number;
}

interface Failure {
  begunAt: number;
  endedAt: number;
  what: string;
}

interface Sample {
  requests: number;
  supervisor: number;
  workers: number;
}

const SAMPLE_MS = 500;
const POLL_MS = 20;
/** Share of the requests during which nothing is killed: the last ones, by which memory is judged. */
const QUIET_SHARE = 0.5;

/** Sends the requests, brings about the faults in their first half, and measures memory in the second. */
export async function soakWorkers(gateway: GatewayProcess, key: string, plan: SoakPlan): Promise<SoakReport> {
  const begunAt = performance.now();
  const periods: Period[] = [];
  const failures: Failure[] = [];
  let sent = 0;
  let answered = 0;

  async function runClientUntilSent(): Promise<void> {
    while (sent < plan.requests) {
      sent += 1;
      const isStream = sent % Math.ceil(plan.requests / plan.streams) === 0;
      const askedAt = performance.now();
      const keepsConnection = sent % 2 === 0;
      const what = await chat(gateway, key, { isStream, keepsConnection });
      if (what === 'ok') {
        answered += 1;
        continue;
      }
      const kind = `${isStream ? 'stream' : 'chat'} ${sent} on a connection that is ${keepsConnection ? 'kept' : 'closed'}`;
      failures.push({ begunAt: askedAt, endedAt: performance.now(), what: `${kind}: ${what}` });
    }
  }

  async function bringAboutFaults(): Promise<void> {
    const faults: Period['kind'][] = [
      ...Array.from({ length: plan.workerKills }, () => 'kill' as const),
      ...Array.from({ length: plan.reloads }, () => 'reload' as const),
    ].toSorted(() => Math.random() - 0.5);
    for (const [index, kind] of faults.entries()) {
      const due = (plan.requests * (1 - QUIET_SHARE) * (index + 1)) / (faults.length + 1);
      while (sent < due) await sleep(POLL_MS);
      await until(() => allWorkersServe(gateway));
      const period: Period = { kind, begunAt: performance.now(), endedAt: Number.POSITIVE_INFINITY };
      periods.push(period);
      await (kind === 'kill' ? killWorker(gateway) : reloadWorkers(gateway));
      period.endedAt = performance.now();
    }
  }

  const samples: Sample[] = [];
  const clients = Promise.all(Array.from({ length: plan.clients }, runClientUntilSent));
  const sampling = sampleMemory(gateway, samples, () => sent, plan);
  await Promise.all([clients, bringAboutFaults(), sampling]);

  const during = (kind: Period['kind']) => (failure: Failure) =>
    periods.some((one) => one.kind === kind && one.begunAt <= failure.endedAt && failure.begunAt <= one.endedAt);
  const killed = failures.filter(during('kill'));
  const rest = failures.filter((failure) => !killed.includes(failure));
  const cut = rest.filter(during('reload'));
  for (const failure of rest) process.stderr.write(`${describeFailure(failure, periods)}\n`);
  const last = samples.at(-1);
  return {
    answered,
    lost: rest.length - cut.length,
    cut: cut.length,
    killed: killed.length,
    supervisorSlope: slopeOf(samples, ({ supervisor }) => supervisor),
    workersSlope: slopeOf(samples, ({ workers }) => workers),
    supervisor: last?.supervisor ?? 0,
    workers: last?.workers ?? 0,
    seconds: Math.round((performance.now() - begunAt) / 1000),
  };
}

/** What was wrong, how long it took, and how long after the end of each fault it began: the cause may be one of them. */
function describeFailure({ begunAt, endedAt, what }: Failure, periods: readonly Period[]): string {
  const faults = periods
    .filter((period) => period.endedAt <= begunAt)
    .map((period) => `${Math.round(begunAt - period.endedAt)} ms after a ${period.kind}`);
  return `${what}, after ${Math.round(endedAt - begunAt)} ms; ${faults.join(', ') || 'before all faults'}`;
}

/** @returns `ok`, or what was wrong. */
async function chat(
  gateway: GatewayProcess,
  key: string,
  { isStream, keepsConnection }: { isStream: boolean; keepsConnection: boolean },
): Promise<string> {
  try {
    const { status, text } = await gateway.request('/v1/chat/completions', {
      method: 'POST',
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        connection: keepsConnection ? 'keep-alive' : 'close',
      },
      body: JSON.stringify({ model: 'm-5.5', stream: isStream, messages: [{ role: 'user', content: 'Ahoy!' }] }),
    });
    const isWhole = isStream ? text.trimEnd().endsWith('data: [DONE]') : text.includes('"finish_reason":"stop"');
    return status === 200 && isWhole ? 'ok' : `${status} ${text.slice(0, 200)}`;
  } catch (error) {
    const { message, cause } = error as Error & { cause?: { code?: string; message?: string } };
    return [cause?.code, cause?.message ?? message].filter(Boolean).join(' ');
  }
}

/** Measures the resident memory in the part of the run in which nothing is killed. */
async function sampleMemory(
  { pid }: GatewayProcess,
  samples: Sample[],
  sent: () => number,
  { requests }: SoakPlan,
): Promise<void> {
  for (; sent() < requests; await sleep(SAMPLE_MS)) {
    if (sent() < requests * (1 - QUIET_SHARE)) continue;
    const workers = await Promise.all((await childrenOf(pid)).map(residentMegabytes));
    const sum = workers.reduce((one, other) => one + other, 0);
    samples.push({ requests: sent(), supervisor: await residentMegabytes(pid), workers: sum });
  }
}

/** Growth per 100,000 requests: the line with the least squares. */
function slopeOf(samples: readonly Sample[], read: (sample: Sample) => number): number {
  const mean = (numbers: readonly number[]) => numbers.reduce((sum, each) => sum + each, 0) / numbers.length;
  const at = mean(samples.map(({ requests }) => requests));
  const level = mean(samples.map(read));
  const above = samples.reduce((sum, sample) => sum + (sample.requests - at) * (read(sample) - level), 0);
  const below = samples.reduce((sum, { requests }) => sum + (requests - at) ** 2, 0);
  return below === 0 ? 0 : (above / below) * 100_000;
}
