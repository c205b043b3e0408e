/*
 * Claims jobs for the free workers of this process, and watches the runs that it holds. A claim usually shares the
 * transaction that accepts a job or ends a run, since the commit is the most expensive part of a small job. Jobs whose
 * runs crashed repeatedly run one at a time, so a poison job cannot exhaust the attempts of the jobs beside it. The
 * run watch polls three times per lease: it aborts runs that this process has lost, queues the jobs of dead processes
 * again at their old priority, and fails jobs that waited too long.
 */

import type { Logger, Meter } from '../contracts/index.js';
import {
  createSilenceWatch,
  DATABASE_TIMEOUT_MS,
  type Database,
  type DatabaseClock,
  type Instances,
  type OnEnd,
  runScript,
  type Script,
} from '../database/index.js';
import { startPollLoop } from '../runtime/index.js';
import type { JobEnds } from './finish.js';
import { namesOf } from './jobs.js';
import type { JobKind } from './kinds.js';
import type { JobRecord } from './records.js';
import type { JobRunTable, RunKey, RunSeen } from './run-statements.js';
import type { JobRow, JobTable } from './statements.js';

/** Number of crashed runs after which a job counts as a suspected poison job. */
const POISON_CRASHES = 2;

interface ClaimOccasion {
  onEnd: OnEnd;
  /** Runs of these workers that the transaction ends. Their workers are free once it has committed. Default: none. */
  ended?: readonly RunKey[];
}

/**
 * Claims jobs for the free workers of one set. The commit is the most expensive part of a small job, so a job is
 * claimed in the transaction that accepts it or frees a worker, wherever possible. This does not change the order of
 * the queue.
 */
export interface JobClaims {
  /**
   * Claims jobs for all free workers within a transaction that is needed anyway. They run once it has committed. If it
   * does not know whether jobs are left for a free worker, the workers poll again by themselves.
   */
  claimNext(occasion: ClaimOccasion): Script<readonly RunKey[]>;
  /** Claims jobs for all free workers in a transaction of its own. Throws GatewayError. */
  claim(): Promise<void>;
  /** Starts claiming. */
  open(): void;
  /** Stops claiming. Resolves when every claimed job has started. */
  close(): Promise<void>;
}

interface JobClaimsOptions {
  kind: JobKind;
  concurrency: number;
  maxPerKey: number | undefined;
  maxAttempts: number;
  instances: Instances;
  /** The runs of the busy workers, by job. */
  runs: Map<string, Run>;
  database: Database;
  runTable: JobRunTable;
  begin(row: JobRow, claimedAt: number): void;
  /** Makes the workers poll again. */
  wake(): void;
  report(error: unknown): void;
}

interface Claimed {
  rows: readonly JobRow[];
  /** Jobs may have been skipped. */
  skipsPoison: boolean;
}

export function createJobClaims(options: JobClaimsOptions): JobClaims {
  const { kind, concurrency, maxPerKey, maxAttempts, instances, runs, database, runTable, begin, wake, report } =
    options;
  /** Before its last attempt a job is always a suspect; a job with a single attempt never is. */
  const poisonThreshold = Math.max(1, Math.min(POISON_CRASHES, maxAttempts - 1));
  let isOpen = false;
  /** One at a time: two would fill the same workers. */
  let claiming: Promise<void> | undefined;

  function* claimUpTo(max: number): Script<Claimed> {
    if (maxPerKey !== undefined) yield* runTable.lockClaims(kind);
    const rows: JobRow[] = [];
    let skipsPoison = false;
    while (rows.length < max) {
      // A job that kills its process also crashes the jobs beside it. Suspects run one at a time, so the other jobs
      // soon run only beside fresh jobs and still have attempts left when the poison job has none.
      const running = [...Array.from(runs.values(), (run) => run.row), ...rows];
      skipsPoison = running.some(({ crashCount }) => crashCount >= poisonThreshold);
      const crashCountBelow = skipsPoison ? poisonThreshold : undefined;
      const row = yield* runTable.claim({ kind, processId: instances.id, crashCountBelow, maxPerKey });
      if (!row) return { rows, skipsPoison };
      rows.push(row);
    }
    return { rows, skipsPoison: false };
  }

  /** The caller of the transaction received an error, although the transaction may have committed. */
  async function takeBack(rows: readonly JobRow[]): Promise<void> {
    try {
      await database.run(async (queries) => {
        for (const row of rows) await runTable.giveBack(queries, row);
      });
    } catch (error) {
      // The run watch finds jobs that were claimed without a run.
      report(error);
    }
    wake();
  }

  function forget({ id, attempts }: RunKey): void {
    if (runs.get(id)?.row.attempts === attempts) runs.delete(id);
  }

  /** @param unsure Called if there may be jobs left for free workers. */
  function* fill({ onEnd, ended = [] }: ClaimOccasion, unsure: () => void): Script<readonly RunKey[]> {
    // A process that may be considered dead gives its claims up; the workers poll again once it has a heartbeat.
    const may = isOpen && !claiming && instances.isFresh();
    const free = may ? concurrency - runs.size + ended.length : 0;
    const { promise: claimedAll, resolve } = Promise.withResolvers<void>();
    if (free > 0) claiming = claimedAll;
    const claimedAt = performance.now();
    let claimed: Claimed = { rows: [], skipsPoison: !may };
    onEnd((ending) => {
      if (free > 0) claiming = undefined;
      if (ending === 'committed') {
        ended.forEach(forget);
        for (const row of claimed.rows) begin(row, claimedAt);
        // If no worker was free, one may have been freed in a transaction that could not see the job accepted here.
        if (claimed.skipsPoison || (free === 0 && runs.size < concurrency)) unsure();
      } else if (free > 0) takeBack(claimed.rows);
      resolve();
    });
    if (free > 0) claimed = yield* claimUpTo(free);
    return claimed.rows;
  }

  return {
    claimNext: (occasion) => fill(occasion, wake),
    async claim() {
      while (claiming) await claiming;
      if (!isOpen || runs.size >= concurrency) return;
      if (!(await database.run((queries) => runScript(queries, runTable.mayClaim(kind))))) return;
      // Skipped jobs wait for another run to end. A claim that runs at the same time covers all free workers, too.
      await database.script((onEnd) => fill({ onEnd }, () => undefined));
    },
    open() {
      isOpen = true;
    },
    async close() {
      isOpen = false;
      await claiming;
    },
  };
}

interface RunWatchOptions {
  kind: JobKind;
  maxAttempts: number;
  maxQueuedMs: number | undefined;
  instances: Instances;
  database: Database;
  runTable: JobRunTable;
  ends: JobEnds;
  sweeper: Sweeper;
  /** The runs of these workers, by job. */
  runs: ReadonlyMap<string, Run>;
  /** Whether any workers of this process have this run. */
  isHeld(run: RunKey): boolean;
  /** Receives jobs that were cancelled without a timely notification. */
  cancelled(id: string): void;
  /** Called for a job that failed without a run; never throws. */
  endedUnrun: ((job: JobRecord) => void) | undefined;
  report(error: unknown): void;
  logger: Logger;
  meter?: Meter;
}

interface RunWatch {
  /** Resolves when the jobs of processes known to be dead are queued again at their old priority. */
  recovered: Promise<void>;
  stop(): Promise<void>;
}

/**
 * Aborts runs that no longer belong to this process, queues those of dead processes again (see heartbeat.ts), fails
 * jobs that waited too long, and starts the sweep of old rows. If a claim or an end could not be written, the database
 * lists a run that this process does not have. It is queued again after one lease.
 */
export function createRunWatch(options: RunWatchOptions): RunWatch {
  const { kind, maxAttempts, maxQueuedMs, instances, database, runTable, ends, sweeper, runs, isHeld } = options;
  const { cancelled, endedUnrun, report, logger, meter } = options;
  const intervalMs = instances.leaseMs / 3;
  const timeoutMs = Math.min(DATABASE_TIMEOUT_MS, intervalMs);
  const silence = createSilenceWatch(instances.leaseMs);

  async function checkRuns(): Promise<void> {
    const held = [...runs.values()];
    const rows = await database.run((queries) => runTable.runsOf(queries, kind, instances.id), { timeoutMs });
    const attempts = new Map(rows.map((run) => [run.id, run.attempts]));
    await giveUp(held.filter(({ row }) => attempts.get(row.id) !== row.attempts));
    const isOld = silence.check();
    const orphans = rows.filter((run) => !isHeld(run) && isOld(run.id, `${run.attempts}`));
    for (const run of orphans) await cutOff(run);
  }

  /**
   * Runs that no longer belong to this process. On SQLite no notification arrives when another process cancels a job.
   */
  async function giveUp(gone: readonly Run[]): Promise<void> {
    if (gone.length === 0) return;
    const ids = gone.map(({ row }) => row.id);
    let ended: readonly string[] = [];
    try {
      ended = await database.run((queries) => runTable.cancelled(queries, ids), { timeoutMs });
    } finally {
      for (const run of gone) {
        if (ended.includes(run.row.id)) cancelled(run.row.id);
        else lose(run);
      }
    }
  }

  function lose({ row, abort, settling }: Run): void {
    // A run needs no abort after its work is over; its row may have been finished a moment ago.
    if (settling || abort.signal.aborted) return;
    meter?.leaseLost({ kind });
    logger.warn('a background job lost its lease and is aborted', { ...namesOf(row), attempt: row.attempts });
    abort.abort(new Error('The lease of the job was lost.'));
  }

  async function cutOff(run: RunSeen): Promise<void> {
    const fails = run.crashCount + 1 >= maxAttempts;
    const job = await ends.cutOff(kind, run, fails);
    if (!job) return;
    if (fails) endedUnrun?.(job);
    meter?.jobCutOff({ kind, fails });
    const message = `a background job was interrupted and ${fails ? 'has failed' : 'will run again'}`;
    logger.warn(message, { ...namesOf(run), attempt: run.attempts });
  }

  async function expire(): Promise<void> {
    if (maxQueuedMs === undefined) return;
    const expired = await ends.expire(kind, maxQueuedMs);
    if (expired.length === 0) return;
    logger.warn('background jobs waited too long in the queue and failed', { count: expired.length });
    for (const job of expired) endedUnrun?.(job);
  }

  const ignoreDead = instances.onProcessDead({
    holders: () => runTable.holders(kind),
    async release(dead) {
      for (const run of await database.run((queries) => runTable.runsOf(queries, kind, dead))) await cutOff(run);
    },
  });
  const ignoreLost = instances.onLost(() => {
    for (const run of runs.values()) lose(run);
  });
  const start = (work: () => Promise<void>) => startPollLoop({ intervalMs, work, report });
  const polls = [start(checkRuns), start(expire), start(sweeper.sweep)];
  return {
    recovered: instances.check().catch(report),
    async stop() {
      ignoreDead();
      ignoreLost();
      await Promise.all(polls.map((each) => each.stop()));
    },
  };
}

/** A run of this process. */
export interface Run {
  readonly row: JobRow;
  readonly abort: AbortController;
  /** The work is over and its result is being written. */
  settling: boolean;
}

const SWEEP_INTERVAL_MS = 10 * 60_000;

const SWEEP_ROWS = 500;

interface SweeperOptions {
  kind: JobKind;
  database: Database;
  table: JobTable;
  clock: DatabaseClock;
}

export interface Sweeper {
  /** No effect if it is too early. */
  sweep(): Promise<void>;
}

/** Deletes old jobs of a kind, which clients can no longer read. */
export function createSweeper({ kind, database, table, clock }: SweeperOptions): Sweeper {
  let sweptAt = Number.NEGATIVE_INFINITY;
  return {
    async sweep() {
      if (performance.now() - sweptAt < SWEEP_INTERVAL_MS) return;
      const deleted = await database.run(async (queries) => {
        return table.deleteExpired(queries, kind, await clock.read(queries), SWEEP_ROWS);
      });
      // A full batch means that there are more: the next poll continues.
      if (deleted < SWEEP_ROWS) sweptAt = performance.now();
    },
  };
}
