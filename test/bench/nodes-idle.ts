/** Benchmark of what idle nodes cost PostgreSQL. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createLogger, type JobWorkers, systemClock } from 'mediagate';
import pg from 'pg';
import { createPepper, KeyTable } from '../../server/keys/index.js';
import { openState, type State } from '../../server/state.js';
import { PEPPER } from '../chaos/image-site.js';
import { startPostgres } from '../support/databases/postgres.js';
import { DURABLE } from './growth.js';
import type { Figure } from './measure.js';
import { cpuOfPostgres, findPostmaster } from './postgres-cpu.js';

const SIZES = [1, 10, 100];
const IDLE_MS = 15_000;
const JOBS = 15;

interface Fleet {
  states: State[];
  stop(): Promise<void>;
}

/**
 * What nodes cost PostgreSQL that do nothing: each listens, refreshes its keys, looks for jobs, leases and old rows. All of
 * them are in this process, with the state of a real node and two connections; and what a job costs that wakes them all.
 */
export async function measureIdleNodes(): Promise<Figure[]> {
  const postgres = await startPostgres({ configuration: DURABLE });
  if ('unavailable' in postgres) throw new Error(`There is no PostgreSQL: ${postgres.unavailable}.`);
  const dataDir = await mkdtemp(path.join(tmpdir(), 'mediagate-idle-'));
  try {
    const postmaster = await findPostmaster(postgres.url);
    const figures: Figure[] = [];
    for (const size of SIZES) {
      const databaseUrl = await postgres.createDatabase();
      const fleet = await openFleet(dataDir, databaseUrl, size);
      try {
        figures.push(await measureFleet(fleet, databaseUrl, () => cpuOfPostgres(postmaster)));
      } finally {
        await fleet.stop();
      }
    }
    return figures;
  } finally {
    await rm(dataDir, { recursive: true, force: true });
    await postgres.stop();
  }
}

async function openFleet(dataDir: string, databaseUrl: string, size: number): Promise<Fleet> {
  const logger = createLogger({ level: 'error' });
  const states: State[] = [];
  const tables: KeyTable[] = [];
  const workers: JobWorkers[] = [];
  for (let index = 0; index < size; index += 1) {
    const state = await openState({ dataDir, databaseUrl, databaseConnections: 2, clock: systemClock, logger });
    states.push(state);
    const peppers = [createPepper(Buffer.from(PEPPER))] as const;
    tables.push(await KeyTable.open({ keys: state.keys, peppers: [...peppers], clock: systemClock, logger }));
    for (const kind of ['image', 'extraction'] as const)
      workers.push(state.jobs.work({ kind, concurrency: 4, maxPerKey: 4, run: async () => null }));
  }
  return {
    states,
    async stop() {
      for (const worker of workers) await worker.stop();
      for (const table of tables) await table.close();
      for (const state of states) await state.close();
    },
  };
}

async function measureFleet({ states }: Fleet, databaseUrl: string, cpu: () => number): Promise<Figure> {
  // What they read when they start.
  await sleep(6_000);
  const [before, countBefore] = [cpu(), await readCounts(databaseUrl)];
  await sleep(IDLE_MS);
  const milliseconds = cpu() - before;
  const idleCounts = await readCounts(databaseUrl);
  const transactions = idleCounts.transactions - countBefore.transactions;
  const idle = { cpu: milliseconds / IDLE_MS, transactions: (transactions * 1000) / IDLE_MS };

  const [first] = states as [State];
  const [beforeJobs, countBeforeJobs] = [cpu(), await readCounts(databaseUrl)];
  const began = performance.now();
  let waited = 0;
  for (let index = 0; index < JOBS; index += 1) {
    const input = { kind: 'image', owner: 'local', keyId: `key ${index}`, input: null, maxActive: 1_000 } as const;
    const sentAt = performance.now();
    const { job } = await first.jobs.accept({ job: input });
    if (job) await first.jobs.waitFor(job.id, 'local', { timeoutMs: 10_000 });
    waited += performance.now() - sentAt;
  }
  const ofIdle = (performance.now() - began) * idle.cpu;
  const written = (await readCounts(databaseUrl)).walBytes - countBeforeJobs.walBytes;
  const job = (cpu() - beforeJobs - ofIdle) / JOBS;
  return {
    what: `${states.length} nodes that do nothing over one PostgreSQL; then one job after the other, each of which wakes them all`,
    measured:
      `${Math.round(idle.transactions)} transactions and ${Math.round(idle.cpu * 1000)} ms of its CPU a second; ` +
      `${job.toFixed(1)} ms of its CPU and ${(written / JOBS / 1000).toFixed(1)} kB of its log a job, ` +
      `ended ${Math.round(waited / JOBS)} ms after it was sent`,
    target: '',
    met: true,
  };
}

async function readCounts(databaseUrl: string): Promise<{ transactions: number; walBytes: number }> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  const { rows } = await client.query(`
    select xact_commit + xact_rollback as transactions, pg_current_wal_lsn() - '0/0'::pg_lsn as wal
    from pg_stat_database where datname = current_database()`);
  await client.end();
  return { transactions: Number(rows[0].transactions), walBytes: Number(rows[0].wal) };
}
