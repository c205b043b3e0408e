import { setTimeout as sleep } from 'node:timers/promises';
import { openNodes } from '../support/nodes.js';
import { startPostgres } from '../support/postgres.js';

/** `node dist/test/torture/run-hints.js [times]`: how long it takes until another node begins a job, tells of its end, and knows of a revoked key. */
const times = Number(process.argv[2] ?? '30');
const PAUSE_MS = 50;

const postgres = await startPostgres();
if ('unavailable' in postgres) throw new Error(`There is no PostgreSQL: ${postgres.unavailable}.`);
const nodes = await openNodes({ databaseUrl: await postgres.createDatabase(), environment: { LOG_LEVEL: 'error' } });
try {
  const [api, other] = await Promise.all([nodes.start('api'), nodes.start('api'), nodes.start('worker')]);
  const [begun, told, revoked]: [number[], number[], number[]] = [[], [], []];
  const headersOf = (key: string) => ({ authorization: `Bearer ${key}`, 'content-type': 'application/json' });
  const headers = headersOf(await nodes.makeKey());
  const body = JSON.stringify({ model: 'gen-img-2', prompt: 'A tug at dawn', size: '256x256' });
  for (let index = 0; index < times; index += 1) {
    const { json } = await api.request('/v1/images/jobs', { method: 'POST', headers, body });
    await other.request(`/v1/images/jobs/${json.id}?wait=60`, { headers });
    const at = Date.now();
    const job = await nodes.state.jobs.find(json.id, 'local');
    begun.push((job?.startedAt ?? 0) - (job?.createdAt ?? 0));
    told.push(at - (job?.finishedAt ?? 0));
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
  console.table({ begun: summary(begun), told: summary(told), revoked: summary(revoked) });
} finally {
  await nodes.close();
  await postgres.stop();
}

function summary(all: readonly number[]) {
  const sorted = all.toSorted((left, right) => left - right);
  return { median: sorted[sorted.length >> 1], longest: sorted.at(-1) };
}
