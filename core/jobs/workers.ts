/*
 * Runs jobs in this process. A run ends in one of these ways: its result or failure is written, the job is given back
 * to the queue, it was cancelled, the result is refused because another worker has the job, or nothing could be
 * written. A failure of the work, also a temporary one of a vendor, ends the job: it is not run again. Only a timeout
 * makes an aborted run a failure; any other abort by this process puts the job back. Writing an end is repeated, at
 * growing intervals up to 5 seconds, while the database is unavailable; a process that can write no heartbeat for 15 s
 * abandons its runs, and their jobs run again. On shutdown, runs get the grace period, then an abort signal and 5
 * seconds; a job that still runs is queued again when other processes find this one dead. One pump per kind claims
 * jobs at each wake-up and poll.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import type { JobRunOutcome } from '../contracts/index.js';
import { runScript } from '../database/index.js';
import { failureOf, runInScope } from '../observability/index.js';
import { endsWithin, GatewayError, isGatewayError, withDeadline } from '../runtime/index.js';
import { JobClaims, type Run, RunWatch, type WorkersOptions } from './claim.js';
import { FIRST_RETRY_MS, LAST_RETRY_MS, type Served, type Serving } from './dispatcher.js';
import { type Charge, type JobWorkers, namesOf, scopeOf } from './jobs.js';
import type { JobRun } from './records.js';
import type { Outcome, RunKey } from './run-statements.js';
import { type JobRow, toFailure, toJobRun, toJson } from './statements.js';

/** Milliseconds in which aborted runs must end. Runs that still continue are left to their lease. */
const STOP_MS = 5_000;

interface Ending {
  outcome: JobRunOutcome;
  /** Error code of a failure. */
  code?: string;
}

/** The workers of one kind in this process. They start at once. */
export class Workers implements JobWorkers {
  readonly claims: JobClaims;
  readonly #options: WorkersOptions;
  readonly #runs = new Map<string, Run>();
  readonly #ending = new Set<Promise<void>>();
  readonly #stopping = new AbortController();
  readonly #watch: RunWatch;
  readonly #watching: Serving;
  readonly #serving: Served;
  #stopped: Promise<void> | undefined;

  constructor(options: WorkersOptions) {
    this.#options = options;
    const { maxAttempts = 5, dispatcher, kind, report } = options;
    const runs = this.#runs;
    this.claims = new JobClaims({
      ...options,
      maxAttempts,
      runs,
      begin: (row, claimedAt) => this.#begin(row, claimedAt),
      wake: () => this.#serving.wake(),
    });
    const cancelled = (id: string) => this.#stopEnded(id);
    this.#watch = new RunWatch({ ...options, maxAttempts, runs, cancelled });
    // The run watch detects missed notifications.
    this.#watching = dispatcher.watchEnds({ ended: cancelled, missed: () => undefined, report });
    this.#serving = dispatcher.serve({ kind, start: () => this.#start(), report });
  }

  /** Whether they have this run. */
  hold({ id, attempts }: RunKey): boolean {
    return this.#runs.get(id)?.row.attempts === attempts;
  }

  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  async #stop(): Promise<void> {
    const { graceMs = 0, logger } = this.#options;
    const served = Promise.all([this.#serving.stop(), this.claims.close()]);
    if (graceMs > 0) await endsWithin(graceMs, async () => served.then(() => Promise.all(this.#ending)));
    this.#stopping.abort(new GatewayError('shutting_down', 'The gateway is shutting down.'));
    for (const { abort } of this.#runs.values()) abort.abort(this.#stopping.signal.reason);
    await served;
    await endsWithin(STOP_MS, () => Promise.all(this.#ending));
    await this.#watching.stop();
    await this.#watch.stop();
    if (this.#runs.size > 0) logger.warn('background jobs ignored their abort signal', { count: this.#runs.size });
  }

  async #start(): Promise<void> {
    // Jobs interrupted by the last shutdown of this process run before younger ones.
    await this.#watch.recovered;
    await this.#options.instances.enter();
    if (!this.#stopped) this.claims.open();
    await this.claims.claim();
  }

  #begin(row: JobRow, claimedAt: number): void {
    const { kind, tracer, meter } = this.#options;
    const run: Run = { row, abort: new AbortController(), settling: false };
    this.#runs.set(row.id, run);
    if (this.#stopping.signal.aborted) run.abort.abort(this.#stopping.signal.reason);
    const scope = scopeOf(row, tracer);
    const { attempts: attempt, createdAt, startedAt } = row;
    const waitedMs = attempt === 1 && startedAt !== null ? Math.max(0, startedAt - createdAt) : undefined;
    meter?.jobBegun({ kind, attempt, waitedMs });
    const ended = runInScope(scope, () => this.#perform(run))
      .then(({ outcome, code }) => {
        meter?.jobRunEnded({ kind, outcome, code, ms: performance.now() - claimedAt });
        scope.span?.end(outcome === 'completed' ? {} : { failure: code ?? outcome });
      })
      .finally(() => {
        this.#ending.delete(ended);
        // The end may have removed it and filled its worker.
        if (this.#runs.get(row.id) !== run) return;
        this.#runs.delete(row.id);
        this.#serving.wake();
      });
    this.#ending.add(ended);
  }

  #stopEnded(id: string): void {
    const run = this.#runs.get(id);
    // If the work is over, the notification may be about its own end.
    if (run && !run.settling) run.abort.abort(new GatewayError('cancelled', 'The job was cancelled.'));
  }

  async #perform(run: Run): Promise<Ending> {
    const { charge: chargeOf, refused: takeRefused, logger } = this.#options;
    const { row, abort } = run;
    let outcome: Outcome | undefined;
    let code: string | undefined;
    let refused = () => {};
    try {
      const job = toJobRun(row);
      const result = await this.#runInTime(job, abort);
      const charge = chargeOf?.(job, result);
      outcome = { result: toJson(result), ...(charge && { charge }) };
      refused = () => takeRefused?.(job, result);
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
    const write = () => (settled ? this.#finish(run, settled, refused) : this.#giveBack(run));
    const written = await this.#persist(run, write);
    return { outcome: written, ...(code !== undefined && { code }) };
  }

  async #ask(job: JobRun, charge: Charge): Promise<void> {
    const { database, runTable, report } = this.#options;
    const isOwner = await database
      .run((queries) => runTable.ask(queries, job, toJson(charge)))
      .catch((error) => {
        // A job that cannot be noted now still runs, and is charged at its end.
        report(error);
        return true;
      });
    if (!isOwner) throw new GatewayError('cancelled', 'The job was cancelled.');
  }

  async #runInTime(job: JobRun, abort: AbortController): Promise<unknown> {
    const { timeoutMs } = this.#options;
    const run = () => this.#options.run(job, abort.signal, (charge) => this.#ask(job, charge));
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

  async #finish({ row, abort }: Run, outcome: Outcome, refused: () => void): Promise<JobRunOutcome> {
    const { ends, logger } = this.#options;
    if (await ends.finish(row, outcome, this.claims)) return 'error' in outcome ? 'failed' : 'completed';
    refused();
    logger.warn('a background job had ended or moved to another worker; this result is refused', {
      ...namesOf(row),
      attempt: row.attempts,
    });
    return isCancelled(abort.signal) ? 'cancelled' : 'refused';
  }

  async #giveBack({ row, abort }: Run): Promise<JobRunOutcome> {
    const { kind, database, runTable, dispatcher } = this.#options;
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
  async #persist({ row }: Run, write: () => Promise<JobRunOutcome>): Promise<JobRunOutcome> {
    const { report, logger } = this.#options;
    const { signal } = this.#stopping;
    for (let retryMs = FIRST_RETRY_MS; ; retryMs = Math.min(retryMs * 2, LAST_RETRY_MS)) {
      const last = signal.aborted;
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
      await sleep(retryMs, undefined, { signal }).catch(() => undefined);
    }
  }
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
