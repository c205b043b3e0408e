/** The work that the growth benchmark measures on both sides: submitting, polling, listing and sweeping. */

import { hash } from 'node:crypto';
import { systemClock } from 'mediagate';
import { DatabaseClock } from '../../core/database/statements.js';
import { Sweeper } from '../../core/jobs/claim.js';
import { JobTable } from '../../core/jobs/statements.js';
import { UsageSweeper } from '../../server/usage/usage-sweep.js';
import { acceptJob } from '../support/jobs/job-acceptance.js';
import type { GrowthSide } from './growth-side.js';

const AT_ONCE = 10;
const JOBS = 100;
const READS = 600;
const TOUCHED = 500;
const WEEK_MS = 7 * 24 * 60 * 60 * 1000;

/** Something that a gateway does all day. */
export interface GrowthWork {
  what: string;
  /** Not measured. */
  prepare?(side: GrowthSide): Promise<void>;
  /** How often it was done. */
  work(side: GrowthSide): Promise<number>;
}

let requests = 0;

async function parallel(count: number, work: (index: number) => Promise<unknown>): Promise<number> {
  let next = 0;
  const client = async () => {
    while (next < count) {
      next += 1;
      await work(next);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, client));
  return count;
}

/** With window, daily limit and Idempotency-Key, as the route does it. */
function accept({ state, randomKey }: GrowthSide): Promise<unknown> {
  const { keyId, accountId } = randomKey();
  requests += 1;
  const summary = { model: 'gen-img-2', delivery: 'url', requestId: `req_${requests}`, owner: accountId, files: [] };
  const input = {
    model: 'gen-img-2',
    prompt: 'a tug in the fog',
    size: 'auto',
    options: {},
    references: [],
    place: {},
  };
  return acceptJob(state.jobs, {
    rateLimit: { keyId, family: 'image', count: 1, limit: 1_000_000 },
    quota: { limit: 1_000_000 },
    idempotency: { scope: keyId, key: `request ${requests}`, fingerprint: hash('sha256', `${requests}`) },
    job: { kind: 'image', owner: accountId, keyId, summary, input, maxActive: 1_000_000 },
  });
}

/** Runs all waiting jobs. */
async function runAll({ state }: GrowthSide): Promise<number> {
  const { queued } = (await state.jobs.counts()).image;
  const result = { image: { name: 'img_0.png', rawName: 'img_0.png', contentType: 'image/png', bytes: 832_273 } };
  let ran = 0;
  await new Promise<void>((resolve) => {
    const workers = state.jobs.work({
      kind: 'image',
      concurrency: 4,
      maxPerKey: 2,
      run: async () => result,
      charge() {
        ran += 1;
        if (ran === queued) setImmediate(() => workers.stop().then(resolve));
        return { model: 'gen-img-2', units: 1 };
      },
    });
  });
  return queued;
}

/** Makes some of the oldest jobs old enough to be forgotten. */
async function age({ database }: GrowthSide): Promise<void> {
  const before = Date.now() - WEEK_MS - 60_000;
  await database.transaction(async (transaction) => {
    const oldest = transaction.selectFrom('jobs').select('id').where('finishedAt', '>', before).limit(JOBS);
    await transaction.updateTable('jobs').set({ finishedAt: before }).where('id', 'in', oldest).execute();
  });
}

function clockOf({ engine }: GrowthSide) {
  return new DatabaseClock(engine === 'sqlite' ? systemClock : undefined);
}

async function sweepJobs(side: GrowthSide): Promise<number> {
  const { database } = side;
  const clock = clockOf(side);
  const table = new JobTable(database, clock);
  for (const kind of ['image', 'extraction'] as const) await new Sweeper({ kind, database, table, clock }).sweep();
  return 1;
}

export const GROWTH_WORK: readonly GrowthWork[] = [
  { what: 'accepting a job', work: (side) => parallel(JOBS, () => accept(side)) },
  { what: 'claiming it, ending it, writing its bill', work: runAll },
  {
    what: 'reading a finished job',
    work: ({ state, finished }) =>
      parallel(READS, (index) => {
        const { id, accountId } = finished[(index * 7) % finished.length] as { id: string; accountId: string };
        return state.jobs.find(id, accountId);
      }),
  },
  {
    what: 'reading a job that does not exist',
    work: ({ state }) =>
      parallel(READS, (index) => state.jobs.find(`imgjob_${hash('md5', `none ${index}`)}`, 'acct_1')),
  },
  {
    what: 'the latest 20 jobs of an account',
    work: (side) => parallel(READS / 4, () => side.state.jobs.latest(side.randomKey().accountId, 20)),
  },
  {
    what: 'writing down that 500 keys were used',
    async work(side) {
      const uses = new Map(Array.from({ length: TOUCHED }, () => [side.randomKey().keyId, Date.now()] as const));
      await side.state.keys.touch(uses);
      return uses.size;
    },
  },
  { what: `deleting ${JOBS} jobs whose time is over`, prepare: age, work: sweepJobs },
  {
    what: 'a search for old usage and stored responses',
    async work(side) {
      await new UsageSweeper(side.database, clockOf(side)).sweep();
      return 1;
    },
  },
];
