/** Image jobs in a state of their own, for tests of the queue. */

import { openDatabase } from '../../../core/database/database.js';
import type { NewJob, WorkOptions } from '../../../core/jobs/jobs.js';
import type { JobRecord } from '../../../core/jobs/records.js';
import type { State } from '../../../server/state.js';
import type { JobChargesTable } from '../../../server/usage/tables.js';
import { type Engine, ListLogger, ManualClock, type Place } from '../databases/engines.js';
import { type Answered, type Asked, acceptJob, toAcceptance, toAnswered } from '../jobs/job-acceptance.js';

export const kind = 'image' as const;

/** An acceptance, with the account and key `one` where nothing else is said. */
export type Wish = Partial<Omit<Asked, 'job'>> & { job?: Partial<NewJob>; from?: State };

/** One empty state whose clock is moved by the test, and what tests of image jobs do to it. */
export interface ImageJobs {
  place: Place;
  clock: ManualClock;
  logger: ListLogger;
  state: State;
  /** Opens the same state once more. */
  open(processLeaseMs?: number): Promise<State>;
  accept(wish?: Wish): Promise<Answered>;
  peek(wish?: Wish): Promise<Answered>;
  /** The job of an acceptance that has to be one. */
  submit(wish?: Wish): Promise<JobRecord>;
  look(job: JobRecord): Promise<JobRecord>;
  ended(job: JobRecord): Promise<JobRecord>;
  work(run: WorkOptions['run'], more?: Partial<WorkOptions> & { from?: State }): { stop(): Promise<void> };
  /** What is stored for runs, of all jobs; JSON. */
  inputs(): Promise<string[]>;
  ledger(): Promise<JobChargesTable[]>;
  /** What the account `one` has taken of a day's quota. */
  used(day: string): Promise<number>;
}

export async function createImageJobs(engine: Engine, context: Mocha.Context): Promise<ImageJobs> {
  const place = await engine.reusedPlace(context);
  const clock = new ManualClock(Date.UTC(2026, 5, 15, 12));
  const logger = new ListLogger();
  const open = (processLeaseMs?: number) => place.open({ rateLimitClock: clock, logger, processLeaseMs });
  const state = await open();

  function whole(job?: Partial<NewJob>): NewJob {
    return { kind, owner: 'one', keyId: 'one', input: null, maxActive: 10_000, ...job };
  }

  async function accept({ job, from = state, ...wish }: Wish = {}): Promise<Answered> {
    return acceptJob(from.jobs, { ...wish, job: whole(job) });
  }

  async function look({ id }: JobRecord): Promise<JobRecord> {
    const job = await state.jobs.find(id, 'one');
    if (!job) throw new Error('An accepted job is gone.');
    return job;
  }

  async function read<Row>(select: (database: Awaited<ReturnType<typeof openDatabase>>) => Promise<Row>): Promise<Row> {
    const database = await openDatabase(place);
    try {
      return await select(database);
    } finally {
      await database.close();
    }
  }

  return {
    place,
    clock,
    logger,
    state,
    open,
    accept,
    peek: async ({ job, from = state, ...wish } = {}) =>
      toAnswered(await from.jobs.peek(toAcceptance({ ...wish, job: whole(job) }))),
    look,
    async submit(wish) {
      const { job } = await accept(wish);
      if (!job) throw new Error('The job was not accepted.');
      return job;
    },
    async ended(job) {
      for (;;) {
        const seen = await look(job);
        if (seen.state !== 'queued' && seen.state !== 'running') return seen;
        await turn();
      }
    },
    work: (run, { from = state, ...more } = {}) => from.jobs.work({ kind, concurrency: 1, run, ...more }),
    inputs: () =>
      read(async ({ queries }) => {
        const rows = await queries.selectFrom('jobs').select('input').execute();
        return rows.map(({ input }) => input);
      }),
    ledger: () => read(({ queries }) => queries.selectFrom('job_charges').selectAll().orderBy('at').execute()),
    used: (day) =>
      read(async ({ queries }) => {
        const row = await queries
          .selectFrom('daily_quotas')
          .select('used')
          .where('accountId', '=', 'one')
          .where('day', '=', day)
          .executeTakeFirst();
        return row?.used ?? 0;
      }),
  };
}

export function turn(ms = 1): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
