import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '../contracts/services.js';
import { GatewayError, isGatewayError } from '../errors.js';
import type { Database } from './database.js';
import type { Dispatcher, StartedRun } from './dispatcher.js';
import { createLeaseWatch } from './job-leases.js';
import { type JobRow, toFailure, toJobRecord, toJson } from './job-rows.js';
import { isSuspect, type JobTable, type Outcome } from './job-table.js';
import type { JobWorkers, WorkOptions } from './jobs.js';
import { nameRunner } from './runner.js';

/** How long runs that were aborted may take to end; what then still runs is left to its lease. */
const STOP_MS = 5_000;
const FIRST_RETRY_MS = 100;
const LAST_RETRY_MS = 5_000;
const LOG_INTERVAL_MS = 60_000;

export interface WorkersOptions extends WorkOptions {
  database: Database;
  table: JobTable;
  dispatcher: Dispatcher;
  leaseMs: number;
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
  const { kind, concurrency, maxAttempts = 5, leaseMs, database, table, dispatcher, logger } = options;
  const runner = nameRunner();
  const runs = new Map<string, Run>();
  const ending = new Set<Promise<void>>();
  const stopping = new AbortController();
  let loggedAt = Number.NEGATIVE_INFINITY;

  function report(error: unknown): void {
    if (performance.now() - loggedAt < LOG_INTERVAL_MS) return;
    loggedAt = performance.now();
    logger.warn('background jobs wait for the database', { error });
  }

  async function startNext(): Promise<StartedRun | undefined> {
    // Before anything younger, what was cut off when this process ended the last time.
    await watch.looked;
    // A job that ends every process it runs in takes its neighbours along each time. Suspects run one at a time, so those
    // neighbours are soon no more than beginners, who have runs left when the culprit has none.
    const suspects = ![...runs.values()].some(({ row }) => isSuspect(row.cut_offs));
    const renewedAt = performance.now();
    const row = await claim(suspects);
    if (!row) return undefined;
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

  async function claim(suspects: boolean): Promise<JobRow | undefined> {
    let tooLate = false;
    try {
      return await database.run(async (queries) => {
        const row = await table.claim(queries, { kind, runner, suspects });
        if (row && tooLate) await table.giveBack(queries, row);
        return row;
      });
    } catch (error) {
      // The database may still come to it, for nobody.
      tooLate = true;
      throw error;
    }
  }

  async function perform(run: Run): Promise<void> {
    const { row, abort } = run;
    let outcome: Outcome | undefined;
    try {
      outcome = { result: toJson(await options.run(toJobRecord(row), abort.signal)) };
    } catch (error) {
      // What was aborted from here says nothing of the job.
      if (!abort.signal.aborted) {
        if (!isGatewayError(error)) logger.error('a background job failed unforeseen', { id: row.id, error });
        outcome = { error: toJson(toFailure(error)) };
      }
    }
    run.settling = true;
    const settled = outcome;
    await persist(run, () => (settled ? finish(run, settled) : giveBack(run)));
  }

  async function finish({ row }: Run, outcome: Outcome): Promise<void> {
    if (await database.run((queries) => table.finish(queries, row, outcome))) return;
    logger.warn('a background job had ended or was given to another worker; this result is refused', {
      id: row.id,
      attempt: row.attempts,
    });
  }

  async function giveBack({ row }: Run): Promise<void> {
    const given = await database.transaction(async (transaction) => {
      if (!(await table.giveBack(transaction, row))) return false;
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
    leaseMs,
    database,
    table,
    dispatcher,
    runner,
    runs,
    report,
    logger,
  });
  const serving = dispatcher.serve({ kind, concurrency, startNext, report });

  async function stop(): Promise<void> {
    stopping.abort(new GatewayError('shutting_down', 'The gateway is shutting down.'));
    for (const { abort } of runs.values()) abort.abort(stopping.signal.reason);
    await serving.stop();
    const patience = new AbortController();
    const tooLong = sleep(STOP_MS, undefined, { signal: patience.signal }).catch(() => undefined);
    await Promise.race([Promise.all(ending), tooLong]);
    patience.abort();
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
