import { setTimeout as sleep } from 'node:timers/promises';
import type { Transaction } from 'kysely';
import type { Logger } from '../contracts/services.js';
import { GatewayError, isGatewayError } from '../errors.js';
import type { Database } from './database.js';
import type { Dispatcher, StartedRun } from './dispatcher.js';
import type { Outcome } from './job-end-table.js';
import type { JobEnds } from './job-ends.js';
import { createLeaseWatch } from './job-leases.js';
import { type JobRow, toFailure, toJobRun, toJson } from './job-rows.js';
import type { JobRunTable } from './job-run-table.js';
import type { Sweeper } from './job-sweep.js';
import type { JobRun, JobWorkers, WorkOptions } from './jobs.js';
import { nameRunner } from './runner.js';
import type { Tables } from './schema.js';

/** How long runs that were aborted may take to end; what then still runs is left to its lease. */
const STOP_MS = 5_000;
const FIRST_RETRY_MS = 100;
const LAST_RETRY_MS = 5_000;
/** Runs that ended with their process, after which a job is suspected of having ended it. */
const SUSPECT_CUT_OFFS = 2;

export interface WorkersOptions extends WorkOptions {
  database: Database;
  sweeper: Sweeper;
  runTable: JobRunTable;
  ends: JobEnds;
  dispatcher: Dispatcher;
  leaseMs: number;
  /** Told whenever the database is away. */
  report(error: unknown): void;
  logger: Logger;
}

/** A run of this process. */
export interface Run {
  readonly row: JobRow;
  readonly abort: AbortController;
  /** When the lease was last known to be held, in milliseconds of `performance.now()`. */
  renewedAt: number;
  /** The work is over and its outcome is being written. */
  settling: boolean;
}

export function startWorkers(options: WorkersOptions): JobWorkers {
  const { kind, concurrency, maxPerKey, maxAttempts = 5, timeoutMs, maxQueuedMs, leaseMs } = options;
  const { graceMs = 0 } = options;
  const { database, sweeper, runTable, ends, dispatcher, report, logger } = options;
  /** Before its last chance a job is a suspect in any case; one that has a single run never is. */
  const suspicion = Math.max(1, Math.min(SUSPECT_CUT_OFFS, maxAttempts - 1));
  const runner = nameRunner();
  const runs = new Map<string, Run>();
  const ending = new Set<Promise<void>>();
  const stopping = new AbortController();

  async function start(most: number): Promise<StartedRun[]> {
    // Before anything younger, what was cut off when this process ended the last time.
    await watch.looked;
    const renewedAt = performance.now();
    return (await claim(most)).map((row) => begin(row, renewedAt));
  }

  async function claim(most: number): Promise<JobRow[]> {
    let tooLate = false;
    try {
      return await database.run(async (queries) => {
        const rows = await queries.transaction().execute((transaction) => claimGroup(transaction, most));
        if (tooLate) for (const row of rows) await runTable.giveBack(queries, row);
        return rows;
      });
    } catch (error) {
      // The database may still come to it, for nobody.
      tooLate = true;
      throw error;
    }
  }

  async function claimGroup(transaction: Transaction<Tables>, most: number): Promise<JobRow[]> {
    if (maxPerKey !== undefined) await runTable.lockClaims(transaction, kind);
    const rows: JobRow[] = [];
    while (rows.length < most) {
      // A job that ends every process it runs in takes its neighbours along each time. Suspects run one at a time, so
      // those neighbours are soon no more than beginners, who have runs left when the culprit has none.
      const running = [...Array.from(runs.values(), (run) => run.row), ...rows];
      const cutOffsBelow = running.some(({ cut_offs }) => cut_offs >= suspicion) ? suspicion : undefined;
      const row = await runTable.claim(transaction, { kind, runner, cutOffsBelow, maxPerKey });
      if (!row) break;
      rows.push(row);
    }
    return rows;
  }

  function begin(row: JobRow, renewedAt: number): StartedRun {
    const run: Run = { row, abort: new AbortController(), renewedAt, settling: false };
    runs.set(row.id, run);
    if (stopping.signal.aborted) run.abort.abort(stopping.signal.reason);
    const ended = perform(run).finally(() => {
      runs.delete(row.id);
      ending.delete(ended);
    });
    ending.add(ended);
    return { ended };
  }

  async function perform(run: Run): Promise<void> {
    const { row, abort } = run;
    let outcome: Outcome | undefined;
    try {
      const job = toJobRun(row);
      const result = await runInTime(job, abort);
      const charge = options.charge?.(job, result);
      outcome = { result: toJson(result), ...(charge && { charge }) };
    } catch (error) {
      // What was aborted from here says nothing of the job, except that it took too long.
      if (!abort.signal.aborted || (error === abort.signal.reason && isTimeout(error))) {
        if (!isGatewayError(error)) logger.error('a background job failed unforeseen', { id: row.id, error });
        outcome = { error: toJson(toFailure(error)) };
      }
    }
    run.settling = true;
    const settled = outcome;
    await persist(run, () => (settled ? finish(run, settled) : giveBack(run)));
  }

  async function runInTime(job: JobRun, abort: AbortController): Promise<unknown> {
    if (timeoutMs === undefined) return options.run(job, abort.signal);
    let timer: NodeJS.Timeout | undefined;
    const tooLong = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => {
        const error = new GatewayError('job_timeout', `The job took longer than ${timeoutMs / 1000} s.`);
        // Not left to the run, which may ignore its signal.
        reject(error);
        abort.abort(error);
      }, timeoutMs);
    });
    try {
      return await Promise.race([options.run(job, abort.signal), tooLong]);
    } finally {
      clearTimeout(timer);
    }
  }

  async function finish({ row }: Run, outcome: Outcome): Promise<void> {
    if (await ends.finish(row, outcome)) return;
    logger.warn('a background job had ended or was given to another worker; this result is refused', {
      id: row.id,
      attempt: row.attempts,
    });
  }

  async function giveBack({ row }: Run): Promise<void> {
    const given = await database.transaction(async (transaction) => {
      if (!(await runTable.giveBack(transaction, row))) return false;
      await dispatcher.announce(transaction, kind);
      return true;
    });
    if (given) dispatcher.wake(kind);
  }

  /** As often as it takes while the database is away. Where the workers stop meanwhile, the lease has to do. */
  async function persist({ row }: Run, write: () => Promise<void>): Promise<void> {
    for (let retryMs = FIRST_RETRY_MS; ; retryMs = Math.min(retryMs * 2, LAST_RETRY_MS)) {
      const last = stopping.signal.aborted;
      try {
        return await write();
      } catch (error) {
        if (!isGatewayError(error)) {
          logger.error('the end of a background job cannot be written', { id: row.id, error });
          return;
        }
        report(error);
        if (last) return;
      }
      await sleep(retryMs, undefined, { signal: stopping.signal }).catch(() => undefined);
    }
  }

  const watch = createLeaseWatch({
    kind,
    maxAttempts,
    maxQueuedMs,
    leaseMs,
    database,
    sweeper,
    runTable,
    ends,
    runner,
    runs,
    report,
    logger,
  });
  const watching = dispatcher.watchEnds({
    ended(id) {
      const run = runs.get(id);
      // Where the work is over, its end may be the one that is told of.
      if (run && !run.settling) run.abort.abort(new GatewayError('cancelled', 'The job was cancelled.'));
    },
    // The next sign of life finds out.
    missed: () => undefined,
    report,
  });
  const serving = dispatcher.serve({ kind, concurrency, start, report });

  async function stop(): Promise<void> {
    const served = serving.stop();
    if (graceMs > 0) await within(graceMs, async () => served.then(() => Promise.all(ending)));
    stopping.abort(new GatewayError('shutting_down', 'The gateway is shutting down.'));
    for (const { abort } of runs.values()) abort.abort(stopping.signal.reason);
    await served;
    await within(STOP_MS, () => Promise.all(ending));
    await watching.stop();
    await watch.stop();
    if (runs.size > 0) logger.warn('background jobs ignored that they were to stop', { count: runs.size });
  }

  let stopped: Promise<void> | undefined;
  return {
    stop() {
      stopped ??= stop();
      return stopped;
    },
  };
}

/** Waits for something, and no longer than `ms`. */
async function within(ms: number, work: () => Promise<unknown>): Promise<void> {
  const patience = new AbortController();
  const tooLong = sleep(ms, undefined, { signal: patience.signal }).catch(() => undefined);
  await Promise.race([work(), tooLong]);
  patience.abort();
}

function isTimeout(error: unknown): boolean {
  return isGatewayError(error) && error.code === 'job_timeout';
}
