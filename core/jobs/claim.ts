/*
 * Claims jobs for the free workers of this process, and watches the runs that it holds. A claim usually shares the
 * transaction that accepts a job or ends a run, since the commit is the most expensive part of a small job. Jobs whose
 * runs crashed twice, or once where the next crash is the last permitted one, run one at a time, so a poison job cannot
 * exhaust the runs of the jobs beside it. The run watch polls three times per process lease: it aborts runs that this
 * process has lost, queues again runs that the database lists for this process and that no worker has had for a lease,
 * and fails jobs that waited too long. The jobs of other processes are released only by its handler of `onProcessDead`,
 * once they are dead: queued again at their old priority, or failed as `interrupted` at the last permitted crash.
 */

import type { Logger, Meter, Tracer } from '../contracts/index.js';
import {
  DATABASE_TIMEOUT_MS,
  type Database,
  type DatabaseClock,
  type Instances,
  type OnEnd,
  runScript,
  type Script,
  SilenceWatch,
} from '../database/index.js';
import { startPollLoop } from '../runtime/index.js';
import type { Dispatcher } from './dispatcher.js';
import type { JobEnds } from './finish.js';
import { namesOf, type WorkOptions } from './jobs.js';
import { type JobKind, retryMs, sweepRows } from './kinds.js';
import { clearInputs } from './retries.js';
import type { JobRunTable, RunKey, RunSeen } from './run-statements.js';
import type { JobRow, JobTable } from './statements.js';

/** Number of crashed runs after which a job counts as a suspected poison job. */
const POISON_CRASHES = 2;

interface ClaimOccasion {
  onEnd: OnEnd;
  /** Runs of these workers that the transaction ends. Their workers are free once it has committed. Default: none. */
  ended?: readonly RunKey[];
}

/** What the workers of one kind in this process need. */
export interface WorkersOptions extends WorkOptions {
  database: Database;
  sweeper: Sweeper;
  runTable: JobRunTable;
  ends: JobEnds;
  dispatcher: Dispatcher;
  instances: Instances;
  /** Whether any workers of this process have this run. */
  isHeld(run: RunKey): boolean;
  /** Called whenever the database is unavailable. */
  report(error: unknown): void;
  logger: Logger;
  /** Default: no tracing. */
  tracer?: Tracer | undefined;
  /** Default: no metrics. */
  meter?: Meter | undefined;
}

interface JobClaimsOptions
  extends Pick<
    WorkersOptions,
    'kind' | 'concurrency' | 'maxPerKey' | 'instances' | 'database' | 'runTable' | 'report'
  > {
  maxAttempts: number;
  /** The runs of the busy workers, by job. */
  runs: Map<string, Run>;
  begin(row: JobRow, claimedAt: number): void;
  /** Makes the workers poll again. */
  wake(): void;
}

interface Claimed {
  rows: readonly JobRow[];
  /** Jobs may have been skipped. */
  skipsPoison: boolean;
}

/**
 * Claims jobs for the free workers of one set. The commit is the most expensive part of a small job, so a job is
 * claimed in the transaction that accepts it or frees a worker, wherever possible. This does not change the order of
 * the queue.
 */
export class JobClaims {
  readonly #options: JobClaimsOptions;
  /** Before its last attempt a job is always a suspect; a job with a single attempt never is. */
  readonly #poisonThreshold: number;
  #isOpen = false;
  /** One at a time: two would fill the same workers. */
  #claiming: Promise<void> | undefined;

  constructor(options: JobClaimsOptions) {
    this.#options = options;
    this.#poisonThreshold = Math.max(1, Math.min(POISON_CRASHES, options.maxAttempts - 1));
  }

  /** Starts claiming. */
  open(): void {
    this.#isOpen = true;
  }

  /** Stops claiming. Resolves when every claimed job has started. */
  async close(): Promise<void> {
    this.#isOpen = false;
    await this.#claiming;
  }

  /**
   * Claims jobs for all free workers within a transaction that is needed anyway. They run once it has committed. If it
   * does not know whether jobs are left for a free worker, the workers poll again by themselves.
   */
  claimNext(occasion: ClaimOccasion): Script<readonly RunKey[]> {
    return this.#fill(occasion, this.#options.wake);
  }

  /** Claims jobs for all free workers in a transaction of its own. Throws GatewayError. */
  async claim(): Promise<void> {
    const { kind, concurrency, runs, database, runTable } = this.#options;
    while (this.#claiming) await this.#claiming;
    if (!this.#isOpen || runs.size >= concurrency) return;
    if (!(await database.run((queries) => runScript(queries, runTable.mayClaim(kind))))) return;
    // Skipped jobs wait for another run to end. A claim that runs at the same time covers all free workers, too.
    await database.script((onEnd) => this.#fill({ onEnd }, () => undefined));
  }

  /** @param unsure Called if there may be jobs left for free workers. */
  *#fill({ onEnd, ended = [] }: ClaimOccasion, unsure: () => void): Script<readonly RunKey[]> {
    const { concurrency, instances, runs, begin } = this.#options;
    // A process that may be considered dead gives its claims up; the workers poll again once it has a heartbeat.
    const may = this.#isOpen && !this.#claiming && instances.isFresh();
    const free = may ? concurrency - runs.size + ended.length : 0;
    const { promise: claimedAll, resolve } = Promise.withResolvers<void>();
    if (free > 0) this.#claiming = claimedAll;
    const claimedAt = performance.now();
    let claimed: Claimed = { rows: [], skipsPoison: !may };
    onEnd((ending) => {
      if (free > 0) this.#claiming = undefined;
      if (ending === 'committed') {
        for (const run of ended) this.#forget(run);
        for (const row of claimed.rows) begin(row, claimedAt);
        // If no worker was free, one may have been freed in a transaction that could not see the job accepted here.
        if (claimed.skipsPoison || (free === 0 && runs.size < concurrency)) unsure();
      } else if (free > 0) void this.#takeBack(claimed.rows);
      resolve();
    });
    if (free > 0) claimed = yield* this.#claimUpTo(free);
    return claimed.rows;
  }

  *#claimUpTo(max: number): Script<Claimed> {
    const { kind, maxPerKey, instances, runs, runTable } = this.#options;
    if (maxPerKey !== undefined) yield* runTable.lockClaims(kind);
    const rows: JobRow[] = [];
    let skipsPoison = false;
    while (rows.length < max) {
      // A job that kills its process also crashes the jobs beside it. Suspects run one at a time, so the other jobs
      // soon run only beside fresh jobs and still have attempts left when the poison job has none.
      const running = [...Array.from(runs.values(), (run) => run.row), ...rows];
      skipsPoison = running.some(({ crashCount }) => crashCount >= this.#poisonThreshold);
      const crashCountBelow = skipsPoison ? this.#poisonThreshold : undefined;
      const row = yield* runTable.claim({ kind, processId: instances.id, crashCountBelow, maxPerKey });
      if (!row) return { rows, skipsPoison };
      rows.push(row);
    }
    return { rows, skipsPoison: false };
  }

  /** The caller of the transaction received an error, although the transaction may have committed. */
  async #takeBack(rows: readonly JobRow[]): Promise<void> {
    const { database, runTable, wake, report } = this.#options;
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

  #forget({ id, attempts }: RunKey): void {
    const { runs } = this.#options;
    if (runs.get(id)?.row.attempts === attempts) runs.delete(id);
  }
}

interface RunWatchOptions extends Omit<WorkersOptions, 'run' | 'charge' | 'refused' | 'concurrency'> {
  maxAttempts: number;
  /** The runs of these workers, by job. */
  runs: ReadonlyMap<string, Run>;
  /** Receives jobs that were cancelled without a timely notification. */
  cancelled(id: string): void;
}

/**
 * Aborts runs that no longer belong to this process, queues those of dead processes again (see heartbeat.ts), fails
 * jobs that waited too long, and starts the sweep of old rows. If a claim or an end could not be written, the database
 * lists a run that this process does not have. It is queued again after one lease.
 */
export class RunWatch {
  readonly #options: RunWatchOptions;
  readonly #timeoutMs: number;
  readonly #silence: SilenceWatch;
  readonly #stops: readonly (() => unknown)[];
  /** Resolves when the jobs of processes known to be dead are queued again at their old priority. */
  readonly recovered: Promise<void>;

  constructor(options: RunWatchOptions) {
    this.#options = options;
    const { kind, instances, database, runTable, sweeper, runs, report } = options;
    const intervalMs = instances.leaseMs / 3;
    this.#timeoutMs = Math.min(DATABASE_TIMEOUT_MS, intervalMs);
    this.#silence = new SilenceWatch(instances.leaseMs);
    const ignoreDead = instances.onProcessDead({
      holders: () => runTable.holders(kind),
      release: async (dead) => {
        const ofDead = await database.run((queries) => runTable.runsOf(queries, kind, dead));
        for (const run of ofDead) await this.#cutOff(run);
      },
    });
    const ignoreLost = instances.onLost(() => {
      for (const run of runs.values()) this.#lose(run);
    });
    const works = [() => this.#checkRuns(), () => this.#expire(), () => sweeper.sweep()];
    const polls = works.map((work) => startPollLoop({ intervalMs, work, report }));
    this.#stops = [ignoreDead, ignoreLost, ...polls.map((poll) => () => poll.stop())];
    this.recovered = instances.check().catch(report);
  }

  async stop(): Promise<void> {
    await Promise.all(this.#stops.map((stop) => stop()));
  }

  async #checkRuns(): Promise<void> {
    const { kind, instances, database, runTable, runs, isHeld } = this.#options;
    const held = [...runs.values()];
    const rows = await database.run((queries) => runTable.runsOf(queries, kind, instances.id), {
      timeoutMs: this.#timeoutMs,
    });
    const attempts = new Map(rows.map((run) => [run.id, run.attempts]));
    await this.#giveUp(held.filter(({ row }) => attempts.get(row.id) !== row.attempts));
    const isOld = this.#silence.check();
    const orphans = rows.filter((run) => !isHeld(run) && isOld(run.id, `${run.attempts}`));
    for (const run of orphans) await this.#cutOff(run);
  }

  /**
   * Runs that no longer belong to this process. On SQLite no notification arrives when another process cancels a job.
   */
  async #giveUp(gone: readonly Run[]): Promise<void> {
    const { database, runTable, cancelled } = this.#options;
    if (gone.length === 0) return;
    const ids = gone.map(({ row }) => row.id);
    let ended: readonly string[] = [];
    try {
      ended = await database.run((queries) => runTable.cancelled(queries, ids), { timeoutMs: this.#timeoutMs });
    } finally {
      for (const run of gone) {
        if (ended.includes(run.row.id)) cancelled(run.row.id);
        else this.#lose(run);
      }
    }
  }

  #lose({ row, abort, settling }: Run): void {
    const { kind, logger, meter } = this.#options;
    // A run needs no abort after its work is over; its row may have been finished a moment ago.
    if (settling || abort.signal.aborted) return;
    meter?.leaseLost({ kind });
    logger.warn('a background job lost its lease and is aborted', { ...namesOf(row), attempt: row.attempts });
    abort.abort(new Error('The lease of the job was lost.'));
  }

  async #cutOff(run: RunSeen): Promise<void> {
    const { kind, maxAttempts, ends, endedUnrun, logger, meter } = this.#options;
    const fails = run.crashCount + 1 >= maxAttempts;
    const job = await ends.cutOff(kind, run, fails);
    if (!job) return;
    if (fails) endedUnrun?.(job);
    meter?.jobCutOff({ kind, fails });
    const message = `a background job was interrupted and ${fails ? 'has failed' : 'will run again'}`;
    logger.warn(message, { ...namesOf(run), attempt: run.attempts });
  }

  async #expire(): Promise<void> {
    const { kind, maxQueuedMs, ends, endedUnrun, logger } = this.#options;
    if (maxQueuedMs === undefined) return;
    const expired = await ends.expire(kind, maxQueuedMs);
    if (expired.length === 0) return;
    logger.warn('background jobs waited too long in the queue and failed', { count: expired.length });
    for (const job of expired) endedUnrun?.(job);
  }
}

/** A run of this process. */
export interface Run {
  readonly row: JobRow;
  readonly abort: AbortController;
  /** The work is over and its result is being written. */
  settling: boolean;
}

const SWEEP_INTERVAL_MS = 10 * 60_000;

interface SweeperOptions {
  kind: JobKind;
  database: Database;
  table: JobTable;
  clock: DatabaseClock;
}

/** Deletes old jobs of a kind, which clients can no longer read, and inputs of failed ones that are kept no longer. */
export class Sweeper {
  readonly #options: SweeperOptions;
  #sweptAt = Number.NEGATIVE_INFINITY;

  constructor(options: SweeperOptions) {
    this.#options = options;
  }

  /** No effect if it is too early. */
  async sweep(): Promise<void> {
    const { kind, database, table, clock } = this.#options;
    if (performance.now() - this.#sweptAt < SWEEP_INTERVAL_MS) return;
    const rows = sweepRows(kind);
    const [deleted, cleared] = await database.run(async (queries) => {
      const at = await clock.read(queries);
      const gone = await table.deleteExpired(queries, kind, at, rows);
      return [gone, retryMs(kind) === 0 ? 0 : await clearInputs(queries, { kind, at, limit: rows })] as const;
    });
    // A full batch means that there are more: the next poll continues.
    if (deleted < rows && cleared < rows) this.#sweptAt = performance.now();
  }
}
