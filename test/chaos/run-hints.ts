/*
 * `npm run faults -- hints [--times 25] [--update]`: how long it takes until another node begins a job, reports its
 * end, and refuses a revoked key. `--update` writes the rows of docs/operate/multi-node.md.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { startPostgres } from '../support/databases/postgres.js';
import { writeRow } from '../support/docs/documents.js';
import { openNodes } from '../support/processes/nodes.js';
import { readFlags, refuse } from '../support/processes/program-flags.js';

const { times, update } = readFlags({
  command: 'npm run faults -- hints',
  typed: process.argv.slice(3),
  flags: {
    times: { default: 25, least: 1 },
    update: 'switch',
  },
});
const PAUSE_MS = 50;
const JOBS = 'a job accepted by one node begins on another; its end reaches a client that waits at a third';
const KEYS = 'a revoked key is refused by two other nodes';

const postgres = await startPostgres();
if ('unavailable' in postgres) refuse(`There is no PostgreSQL: ${postgres.unavailable}.`);
const nodes = await openNodes({ databaseUrl: await postgres.createDatabase(), environment: { LOG_LEVEL: 'error' } });
try {
  const [api, other] = await Promise.all([nodes.start('api'), nodes.start('api'), nodes.start('worker')]);
  const [begun, answered, revoked]: [number[], number[], number[]] = [[], [], []];
  const headersOf = (key: string) => ({ authorization: `Bearer ${key}`, 'content-type': 'application/json' });
  const headers = headersOf(await nodes.makeKey());
  const body = JSON.stringify({ model: 'gen-img-2', prompt: 'A tug at dawn', size: '256x256' });
  for (let index = 0; index < times; index += 1) {
    const { json } = await api.request('/v1/images/jobs', { method: 'POST', headers, body });
    await other.request(`/v1/images/jobs/${json.id}?wait=60`, { headers });
    const at = Date.now();
    const job = await nodes.state.jobs.find(json.id, 'local');
    begun.push((job?.startedAt ?? 0) - (job?.createdAt ?? 0));
    answered.push(at - (job?.finishedAt ?? 0));
    await sleep(PAUSE_MS);
  }
  for (let index = 0; index < times / 5; index += 1) {
    const key = await nodes.makeKey();
    const ask = () => Promise.all([api, other].map((node) => node.request('/v1/models', { headers: headersOf(key) })));
    await ask();
    await nodes.state.keys.revoke(key.slice('sk-mg-'.length, 'sk-mg-'.length + 8), Date.now());
    const at = performance.now();
    while ((await ask()).some(({ status }) => status === 200)) await sleep(PAUSE_MS);
    revoked.push(Math.round(performance.now() - at));
  }
  const [starts, answers, refusals] = [summary(begun), summary(answered), summary(revoked)];
  console.table({ begun: starts, answered: answers, revoked: refusals });
  if (update) {
    const jobs = `median ${starts.median} ms and ${answers.median} ms, longest ${starts.longest} ms and ${answers.longest} ms of ${times}`;
    writeRow('nodes', [JOBS, jobs]);
    writeRow('nodes', [KEYS, `median ${inSeconds(refusals.median)}, longest ${inSeconds(refusals.longest)}`]);
  }
} finally {
  await nodes.close();
  await postgres.stop();
}

function summary(all: readonly number[]) {
  const sorted = all.toSorted((left, right) => left - right);
  return { median: sorted[sorted.length >> 1] ?? 0, longest: sorted.at(-1) ?? 0 };
}

function inSeconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}
