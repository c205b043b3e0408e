/**
 * Two processes open, close and send alerts while each is killed again and again, and the receiver fails now and then.
 * Afterwards each opening and each end of an alert has exactly one message, which has arrived at least once.
 */

import { spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Place } from '../support/databases/engines.js';
import type { AlertNodeOptions } from './alert-node.js';

const SCRIPT = fileURLToPath(new URL('alert-node.js', import.meta.url));
const NODES = 2;
/** Within that, alerts close and messages arrive, also those of processes that were killed. */
const QUIET_MS = 90_000;
const POLL_MS = 500;

export interface AlertKillReport {
  kills: number;
  /** How often alerts opened. */
  openings: number;
  /** Messages that arrived, and how often again. */
  arrived: number;
  again: number;
  /** Openings and ends without a message that arrived. */
  lost: number;
  /** Openings and ends with a second message. */
  doubled: number;
  /** Messages that still wait, alerts that are still open, and failures. */
  left: number;
  seconds: number;
}

interface Arrived {
  id: string;
  type: string;
  data: { id: string; times: number };
}

export async function runAlertKills(
  place: Place,
  { seconds, kills }: { seconds: number; kills: number },
): Promise<AlertKillReport> {
  const begun = performance.now();
  const received: Arrived[] = [];
  const receiver = createServer(async (request, response) => {
    const body = JSON.parse(await text(request)) as Omit<Arrived, 'id'>;
    const dice = randomInt(100);
    // Refused, answered late, and received without an answer.
    if (dice < 10) return void response.writeHead(503).end();
    received.push({ ...body, id: String(request.headers['webhook-id']) });
    if (dice < 15) return void request.socket.destroy();
    if (dice < 25) await sleep(randomInt(400));
    response.writeHead(204).end();
  });
  await once(receiver.listen(0, '127.0.0.1'), 'listening');
  const { port } = receiver.address() as AddressInfo;
  const state = await place.open();
  const { dataDir, databaseUrl } = place;
  const until = Date.now() + seconds * 1_000;
  const options = { dataDir, databaseUrl, receiver: `http://127.0.0.1:${port}/alerts`, until };
  const pauseMs = (seconds * 1_000 * NODES) / Math.max(1, kills);
  let [killed, failed, isDone] = [0, 0, false];
  const ended = new AbortController();

  async function runNode(): Promise<void> {
    while (!isDone) {
      const given: AlertNodeOptions = options;
      const child = spawn(process.execPath, [SCRIPT, JSON.stringify(given)], { stdio: ['ignore', 'pipe', 'inherit'] });
      const exited = once(child, 'exit');
      const lines = createInterface({ input: child.stdout });
      lines.on('line', (line) => {
        if (line === 'ready') return;
        failed += 1;
        console.error(line);
      });
      await Promise.race([once(lines, 'line'), exited]);
      const lastsMs = Date.now() < until ? Math.round(pauseMs * (0.25 + randomInt(100) / 100)) : QUIET_MS;
      await Promise.race([sleep(lastsMs, undefined, { signal: ended.signal }).catch(() => undefined), exited]);
      child.kill('SIGKILL');
      const [, signal] = await exited;
      if (signal === 'SIGKILL') killed += 1;
      else failed += 1;
    }
  }

  const left = async () => {
    const alerts = await state.alerts.list({ limit: 1_000 });
    const waiting = await state.alerts.waiting();
    return { alerts, count: waiting + alerts.filter((alert) => alert.state !== 'closed').length };
  };
  const nodes = Promise.all(Array.from({ length: NODES }, runNode));
  while (Date.now() < until) await sleep(POLL_MS);
  while (Date.now() < until + QUIET_MS && (await left()).count > 0) await sleep(POLL_MS);
  isDone = true;
  ended.abort();
  await nodes;
  const { alerts, count } = await left();
  const messages = Map.groupBy(received, ({ type, data }) => `${type} ${data.id} ${data.times}`);
  const wanted = alerts.flatMap(({ id, times }) =>
    Array.from({ length: times }, (_, index) =>
      ['opened', 'closed'].map((event) => `alert.${event} ${id} ${index + 1}`),
    ),
  );
  const distinct = (some: readonly Arrived[]) => new Set(some.map(({ id }) => id)).size;
  receiver.closeAllConnections();
  receiver.close();
  const arrived = distinct(received);
  return {
    kills: killed,
    openings: alerts.reduce((sum, { times }) => sum + times, 0),
    arrived,
    again: received.length - arrived,
    lost: wanted.flat().filter((name) => !messages.has(name)).length,
    doubled: [...messages.values()].filter((some) => distinct(some) > 1).length,
    left: count + failed,
    seconds: Math.round((performance.now() - begun) / 1_000),
  };
}

export function isSound({ openings, lost, doubled, left }: AlertKillReport): boolean {
  return openings > 0 && [lost, doubled, left].every((count) => count === 0);
}
