/*
 * Runs jobs in this process. A run ends in one of these ways: its result or failure is written, the job is given back
 * to the queue, it was cancelled, the result is refused because another worker has the job, or nothing could be
 * written and the lease expires. Only a timeout makes an aborted run a failure; any other abort by this process puts
 * the job back. Writing an end is repeated, at growing intervals up to 5 seconds, while the database is unavailable.
 * On shutdown, runs get the grace period, then an abort signal and 5 seconds; what still runs is left to its lease.
 * One pump per kind claims jobs at each wake-up and poll.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import type { JobRunOutcome, Logger, Meter, Tracer } from '../contracts/index.js';
import { type Database, type Instances, runScript } from '../database/index.js';
import { failureOf, runInScope } from '../observability/index.js';
import { endsWithin, GatewayError, isGatewayError, withDeadline } from '../runtime/index.js';
import { createJobClaims, createRunWatch, type JobClaims, type Run, type Sweeper } from './claim.js';
import { type Dispatcher, FIRST_RETRY_MS, LAST_RETRY_MS } from './dispatcher.js';
import type { JobEnds } from './finish.js';
import { type Charge, type JobWorkers, namesOf, scopeOf, type WorkOptions } from './jobs.js';
import type { JobRun } from './records.js';
import type { JobRunTable, Outcome, RunKey } from './run-statements.js';
import { type JobRow, toFailure, toJobRun, toJson } from './statements.js';

/** Milliseconds in which aborted runs must end. Runs that still continue are left to their lease. */
const STOP_MS = 5_000;
interface WorkersOptions extends WorkOptions {
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
  tracer?: Tracer;
  /** Default: no metrics. */
  meter?: Meter;
}

export interface StartedWorkers extends JobWorkers {
  readonly claims: JobClaims;
  /** Whether they have this run. */
  hold(run: RunKey): boolean;
}

interface Ending {
  outcome: JobRunOutcome;
  /** Error code of a failure. */
  code?: string;
}

export function startWorkers(options: WorkersOptions): StartedWorkers {
  const { kind, concurrency, maxPerKey, maxAttempts = 5, timeoutMs, maxQueuedMs } = options;
  const { graceMs = 0 } = options;
  const { database, sweeper, runTable, ends, dispatcher, instances, isHeld, report, logger, tracer, meter } = options;
  const runs = new Map<string, Run>();
  const ending = new Set<Promise<void>>();
  const stopping = new AbortController();

  async function start(): Promise<void> {
    // Jobs interrupted by the last shutdown of this process run before younger ones.
    await watch.recovered;
    await instances.enter();
    if (!stopped) claims.open();
    await claims.claim();
  }

  function begin(row: JobRow, claimedAt: number): void {
    const run: Run = { row, abort: new AbortController(), settling: false };
    runs.set(row.id, run);
    if (stopping.signal.aborted) run.abort.abort(stopping.signal.reason);
    const scope = scopeOf(row, tracer);
    const { attempts: attempt, createdAt, startedAt } = row;
    const waitedMs = attempt === 1 && startedAt !== null ? Math.max(0, startedAt - createdAt) : undefined;
    meter?.jobBegun({ kind, attempt, waitedMs });
    const ended = runInScope(scope, () => perform(run))
      .then(({ outcome, code }) => {
        meter?.jobRunEnded({ kind, outcome, code, ms: performance.now() - claimedAt });
        scope.span?.end(outcome === 'completed' ? {} : { failure: code ?? outcome });
      })
      .finally(() => {
        ending.delete(ended);
        // The end may have removed it and filled its worker.
        if (runs.get(row.id) !== run) return;
        runs.delete(row.id);
        serving.wake();
      });
    ending.add(ended);
  }

  function stopEnded(id: string): void {
    const run = runs.get(id);
    // If the work is over, the notification may be about its own end.
    if (run && !run.settling) run.abort.abort(new GatewayError('cancelled', 'The job was cancelled.'));
  }

  async function perform(run: Run): Promise<Ending> {
    const { row, abort } = run;
    let outcome: Outcome | undefined;
    let code: string | undefined;
    let refused = () => {};
    try {
      const job = toJobRun(row);
      const result = await runInTime(job, abort);
      const charge = options.charge?.(job, result);
      outcome = { result: toJson(result), ...(charge && { charge }) };
      refused = () => options.refused?.(job, result);
    } catch (error) {
      // An abort by this process says nothing about the job, except a timeout.
      if (!abort.signal.aborted || (error === abort.signal.reason && isTimeout(error))) {
        if (!isGatewayError(error)) logger.error('a background job failed unexpectedly', { ...namesOf(row), error });
        code = failureOf(error);
        outcome = { error: toJson(toFailure(error)), unanswered: isUnanswered(error) };
      }
    }
    run.settling = true;
    const settled = outcome;
    const written = await persist(run, () => (settled ? finish(run, settled, refused) : giveBack(run)));
    return { outcome: written, ...(code !== undefined && { code }) };
  }

  async function ask(job: JobRun, charge: Charge): Promise<void> {
    const isOwner = await database
      .run((queries) => runTable.ask(queries, job, toJson(charge)))
      .catch((error) => {
        // An image that cannot be noted now is still made, and charged at its end.
        report(error);
        return true;
      });
    if (!isOwner) throw new GatewayError('cancelled', 'The job was cancelled.');
  }

  async function runInTime(job: JobRun, abort: AbortController): Promise<unknown> {
    const run = () => options.run(job, abort.signal, (charge) => ask(job, charge));
    if (timeoutMs === undefined) return run();
    const late = () => new GatewayError('job_timeout', `The job took longer than ${timeoutMs / 1000} s.`);
    try {
      // The run uses the signal of its job, so that a cancel aborts it.
      return await withDeadline(timeoutMs, run, { error: late });
    } catch (error) {
      if (isTimeout(error)) abort.abort(error);
      throw error;
    }
  }

  async function finish({ row, abort }: Run, outcome: Outcome, refused: () => void): Promise<JobRunOutcome> {
    if (await ends.finish(row, outcome, claims)) return 'error' in outcome ? 'failed' : 'completed';
    refused();
    logger.warn('a background job had ended or moved to another worker; this result is refused', {
      ...namesOf(row),
      attempt: row.attempts,
    });
    return isCancelled(abort.signal) ? 'cancelled' : 'refused';
  }

  async function giveBack({ row, abort }: Run): Promise<JobRunOutcome> {
    const given = await database.transaction(async (transaction) => {
      if (!(await runTable.giveBack(transaction, row))) return false;
      await runScript(transaction, dispatcher.announce(kind));
      return true;
    });
    if (!given) return isCancelled(abort.signal) ? 'cancelled' : 'refused';
    dispatcher.wake(kind);
    return 'given_back';
  }

  /** Retries as long as the database is unavailable. If the workers stop first, the lease expires. */
  async function persist({ row }: Run, write: () => Promise<JobRunOutcome>): Promise<JobRunOutcome> {
    for (let retryMs = FIRST_RETRY_MS; ; retryMs = Math.min(retryMs * 2, LAST_RETRY_MS)) {
      const last = stopping.signal.aborted;
      try {
        return await write();
      } catch (error) {
        if (!isGatewayError(error)) {
          logger.error('the end of a background job cannot be written', { ...namesOf(row), error });
          return 'lost';
        }
        report(error);
        if (last) return 'lost';
      }
      await sleep(retryMs, undefined, { signal: stopping.signal }).catch(() => undefined);
    }
  }

  const claims = createJobClaims({
    kind,
    concurrency,
    maxPerKey,
    maxAttempts,
    instances,
    runs,
    database,
    runTable,
    begin,
    wake: () => serving.wake(),
    report,
  });
  const watch = createRunWatch({
    kind,
    maxAttempts,
    maxQueuedMs,
    instances,
    database,
    sweeper,
    runTable,
    ends,
    runs,
    isHeld,
    cancelled: stopEnded,
    endedUnrun: options.endedUnrun,
    report,
    logger,
    meter,
  });
  const watching = dispatcher.watchEnds({
    ended: stopEnded,
    // The run watch detects it.
    missed: () => undefined,
    report,
  });
  const serving = dispatcher.serve({ kind, start, report });

  async function stop(): Promise<void> {
    const served = Promise.all([serving.stop(), claims.close()]);
    if (graceMs > 0) await endsWithin(graceMs, async () => served.then(() => Promise.all(ending)));
    stopping.abort(new GatewayError('shutting_down', 'The gateway is shutting down.'));
    for (const { abort } of runs.values()) abort.abort(stopping.signal.reason);
    await served;
    await endsWithin(STOP_MS, () => Promise.all(ending));
    await watching.stop();
    await watch.stop();
    if (runs.size > 0) logger.warn('background jobs ignored their abort signal', { count: runs.size });
  }

  let stopped: Promise<void> | undefined;
  return {
    claims,
    hold: ({ id, attempts }) => runs.get(id)?.row.attempts === attempts,
    stop() {
      stopped ??= stop();
      return stopped;
    },
  };
}

function isCancelled({ reason }: AbortSignal): boolean {
  return isGatewayError(reason) && reason.code === 'cancelled';
}

function isTimeout(error: unknown): boolean {
  return isGatewayError(error) && error.code === 'job_timeout';
}

/** A vendor that was aborted may have done its work. */
function isUnanswered(error: unknown): boolean {
  return isTimeout(error) || (isGatewayError(error) && error.code === 'upstream_timeout');
}
