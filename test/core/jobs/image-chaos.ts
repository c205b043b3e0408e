/** Image jobs on nodes that are killed, checked against a ledger. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type Database, openDatabase } from '../../../core/database/database.js';
import type { State } from '../../../server/state.js';
import type { Place } from '../../support/databases/engines.js';
import { acceptJob } from '../../support/jobs/job-acceptance.js';
import { acceptanceOf, KILL_POINTS, type NodeOrder, type Note } from './image-node.js';

const script = fileURLToPath(new URL('image-node.js', import.meta.url));
const WINDOW_MS = 60_000;

export interface ImageChaosPlan {
  kills: number;
  clients: number;
  keys: number;
  rpm: number;
  /** Milliseconds that a process lives at most, and that a job takes at most. */
  lifeMs: number;
  jobMs: number;
  /** Milliseconds for the last jobs to end once the killing is over. */
  timeoutMs: number;
}

/** What was done, and what must be 0. */
export interface ImageChaosReport {
  kills: number;
  requests: number;
  accepted: number;
  refused: number;
  /** Asked for, but killed before the answer. */
  untold: number;
  completed: number;
  failed: number;
  cancelled: number;
  /** Clients were told of the job, but it is gone. */
  lost: number;
  /** Requests with two jobs, jobs of no request, completed jobs without exactly one charge, charges of others, quota astray. */
  duplicated: number;
  /** Jobs over the limit in any 60 s of a key, slots taken for nothing, jobs without a slot. */
  slotErrors: number;
  /** Not ended in time. */
  stuck: number;
}

/** Kills the process that accepts and runs image jobs, at random or at named points, and then counts what became of them. */
export async function runImageChaos(place: Place, state: State, plan: ImageChaosPlan): Promise<ImageChaosReport> {
  const notes = path.join(place.dataDir, 'notes');
  for (let kill = 0; kill < plan.kills; kill += 1) await liveAndDie(place, notes, plan, kill);

  const answers = new Map<string, Set<string>>();
  const keyOf = new Map<string, string>();
  const told = new Set<string>();
  let refused = 0;
  for (const line of readNotes(notes)) {
    if (line.event === 'ask') keyOf.set(line.request, line.keyId);
    if (line.event !== 'ask') told.add(line.request);
    if (line.event === 'refusal') refused += 1;
    if (line.event === 'answer') answers.set(line.request, (answers.get(line.request) ?? new Set()).add(line.job));
  }
  // As a client does that was not told what became of its request.
  const untold = [...keyOf.keys()].filter((request) => !told.has(request));
  for (const request of untold) {
    const { job } = await acceptJob(state.jobs, acceptanceOf(request, keyOf.get(request) ?? '', plan.rpm));
    if (job) answers.set(request, new Set([job.id]));
  }
  const workers = state.jobs.work({
    kind: 'image',
    concurrency: 20,
    maxAttempts: 2,
    charge: () => ({ model: 'gen-img-2', units: 1 }),
    run: async () => 'picture',
  });
  const deadline = performance.now() + plan.timeoutMs;
  while ((await state.jobs.active('image')) > 0 && performance.now() < deadline) await sleep(20);
  await workers.stop();

  const database = await openDatabase(place);
  try {
    const found = await count(database, plan, answers);
    return {
      kills: plan.kills,
      requests: keyOf.size,
      accepted: answers.size,
      refused,
      untold: untold.length,
      ...found,
    };
  } finally {
    await database.close();
  }
}

async function liveAndDie(place: Place, notes: string, plan: ImageChaosPlan, kill: number): Promise<void> {
  const { dataDir, databaseUrl } = place;
  const { clients, keys, rpm, jobMs, lifeMs } = plan;
  const point = KILL_POINTS[kill % (2 * KILL_POINTS.length)];
  const killAt = point && { point, after: Math.floor(Math.random() * 5) };
  const order: NodeOrder = { dataDir, databaseUrl, notes, name: `${kill}`, clients, keys, rpm, jobMs, killAt };
  const child = spawn(process.execPath, [script, JSON.stringify(order)], { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(child, 'exit');
  // Whatever happens to the tests, no process of theirs outlives them.
  const end = () => child.kill('SIGKILL');
  process.once('exit', end);
  await Promise.race([once(child.stdout, 'data'), ended]);
  await Promise.race([sleep(Math.random() * lifeMs), ended]);
  end();
  await ended;
  process.off('exit', end);
}

function readNotes(file: string): Note[] {
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Note);
}

async function count({ queries }: Database, { rpm }: ImageChaosPlan, answers: ReadonlyMap<string, Set<string>>) {
  const jobs = await queries.selectFrom('jobs').select(['id', 'state', 'keyId', 'summary', 'createdAt']).execute();
  const ledger = await queries.selectFrom('job_charges').select('jobId').execute();
  const quotas = await queries.selectFrom('daily_quotas').select(['accountId', 'used']).execute();
  const windows = await queries.selectFrom('rate_windows').select(['keyId', 'nextSeq']).execute();
  const ids = new Set(jobs.map(({ id }) => id));
  const ofState = (state: string) => jobs.filter((job) => job.state === state);
  const completed = ofState('completed');

  let lost = 0;
  let duplicated = 0;
  for (const told of answers.values()) {
    if (told.size > 1) duplicated += 1;
    for (const id of told) if (!ids.has(id)) lost += 1;
  }
  const requests = jobs.map(({ summary }) => JSON.parse(summary ?? '') as string);
  duplicated += requests.length - new Set(requests).size;
  duplicated += requests.filter((request) => !answers.has(request)).length;
  const charged = new Set(ledger.map(({ jobId }) => jobId));
  duplicated += completed.filter(({ id }) => !charged.has(id)).length + Math.abs(ledger.length - completed.length);

  let slotErrors = 0;
  for (const { keyId, nextSeq } of windows) {
    const ofKey = jobs.filter((job) => job.keyId === keyId);
    slotErrors += Math.abs(nextSeq - ofKey.length);
    const times = ofKey.map(({ createdAt }) => createdAt).sort((left, right) => left - right);
    // Windows have a time of their own, read a moment after that of the job.
    for (const [index, at] of times.entries())
      if ((times[index + rpm] ?? Infinity) - at < WINDOW_MS - 100) slotErrors += 1;
    const used = quotas.filter(({ accountId }) => accountId === keyId).reduce((sum, quota) => sum + quota.used, 0);
    duplicated += Math.abs(used - completed.filter((job) => job.keyId === keyId).length);
  }
  return {
    completed: completed.length,
    failed: ofState('failed').length,
    cancelled: ofState('cancelled').length,
    lost,
    duplicated,
    slotErrors,
    stuck: ofState('queued').length + ofState('running').length,
  };
}
