/*
 * All ways in which jobs end: by their run, by a cancel, with a dead process, or by waiting too long. Each end, the
 * admission hooks that settle its cost, and the notification are one transaction, and a statement only ends a job that
 * has not ended, so a job is charged once. Ends of many runs share a commit, which also claims the next jobs for the
 * workers that become free. Rows are locked in the order of their ids against deadlocks. The file also has the waiters
 * for ends. They wake at a notification, and on both engines poll all awaited ids in one query per second, for those
 * that were lost.
 */

import type { JobFailure, JobState } from '../contracts/index.js';
import {
  type Database,
  type DatabaseClock,
  GroupCommit,
  type OnEnd,
  runScript,
  type Script,
  type Tables,
  type Transaction,
} from '../database/index.js';
import { endsWithin, GatewayError } from '../runtime/index.js';
import type { CancelledJob, JobCancellation, JobsOfOwner } from './administration.js';
import type { JobClaims } from './claim.js';
import type { Dispatcher, Serving } from './dispatcher.js';
import type { AdmissionHooks, EndedJob } from './jobs.js';
import { type JobKind, jobKinds, kindOfJob } from './kinds.js';
import type { JobRecord } from './records.js';
import {
  askedCharge,
  type Ended,
  type JobEndTable,
  type JobRunTable,
  type Outcome,
  type RunKey,
  type RunSeen,
  toEndedJob,
} from './run-statements.js';
import { type JobTable, type JobViewRow, toJobRecord, toJson } from './statements.js';

const EXPIRED_ROWS = 500;

export interface JobEndsOptions {
  database: Database;
  table: JobTable;
  runTable: JobRunTable;
  endTable: JobEndTable;
  dispatcher: Dispatcher;
  clock: DatabaseClock;
  hooksOf(kind: JobKind): AdmissionHooks;
}

interface Finish {
  run: RunKey;
  outcome: Outcome;
  claims: JobClaims;
}

/** All ways in which jobs end. The admission hooks of the kind run in the same transaction. */
export class JobEnds {
  readonly #options: JobEndsOptions;
  readonly #finishing: GroupCommit<Finish, boolean>;

  constructor(options: JobEndsOptions) {
    this.#options = options;
    const script = (finishes: readonly Finish[], onEnd: OnEnd) => this.#finishGroup(finishes, onEnd);
    this.#finishing = new GroupCommit({ database: options.database, script });
  }

  /**
   * Fills the free worker in the same transaction. False if the run no longer owned the job; then no job is claimed.
   */
  async finish(run: RunKey, outcome: Outcome, claims: JobClaims): Promise<boolean> {
    const done = await this.#finishing.submit({ run, outcome, claims });
    if (done) this.#options.dispatcher.ended(run.id);
    return done;
  }

  /**
   * Ends a job of a single owner. If other owners joined the job, only this owner is removed from it.
   * @throws GatewayError `job_already_terminal`.
   */
  async cancel(id: string, owner: string): Promise<JobViewRow | undefined> {
    const { database, table, endTable, dispatcher, clock } = this.#options;
    const kind = kindOfJob(id);
    if (!kind) return undefined;
    const done = await database.transaction(async (transaction) => {
      // Prevents an owner from joining the job while it is being cancelled.
      await runScript(transaction, table.lockKind(kind));
      if (!(await endTable.lock(transaction, id))) return { row: undefined, ended: false };
      const found = await table.find(transaction, id, owner);
      if (!found || isTerminal(found)) return { row: found, ended: false };
      if (await table.leave(transaction, id, owner)) {
        const left = { state: 'cancelled', error: CANCELLED, finishedAt: await clock.read(transaction) } as const;
        return { row: { ...found, ...left }, ended: false };
      }
      const [row] = await endTable.cancel(transaction, { ids: [id], error: CANCELLED });
      if (row) await this.#settle(transaction, [row], 'cancelled');
      return { row, ended: true };
    });
    if (done.ended) dispatcher.ended(id);
    if (!done.row || done.row.state === 'cancelled') return done.row;
    throw alreadyTerminal(done.row.state);
  }

  /** @throws GatewayError `job_already_terminal`. */
  async cancelAsOperator({ id, alsoWrite }: JobCancellation): Promise<CancelledJob | undefined> {
    const { database, endTable, dispatcher } = this.#options;
    const done = await database.transaction(async (transaction) => {
      const found = await endTable.lock(transaction, id);
      if (!found || found.state === 'cancelled') return { row: found, changed: false };
      const [row] = await endTable.cancel(transaction, { ids: [id], error: CANCELLED });
      if (!row) throw alreadyTerminal(found.state);
      await this.#settle(transaction, [row], 'cancelled');
      const change = { id, from: found.state, to: row.state, at: row.finishedAt as number };
      if (alsoWrite) await runScript(transaction, alsoWrite(change));
      return { row, changed: true };
    });
    if (done.changed) dispatcher.ended(id);
    return done.row && { job: toJobRecord(done.row), changed: done.changed };
  }

  /** Cancels jobs of an owner in the caller's transaction. Call the result after the commit. */
  async cancelAll(transaction: Transaction<Tables>, jobs: JobsOfOwner): Promise<() => void> {
    const { table, endTable, dispatcher } = this.#options;
    // So that no owner joins one of them meanwhile.
    for (const kind of jobKinds()) await runScript(transaction, table.lockKind(kind));
    const ids: string[] = [];
    for (const { id, joined } of await endTable.lockActive(transaction, jobs)) {
      const isLeft = joined && (await table.leave(transaction, id, jobs.owner));
      if (!isLeft) ids.push(id);
    }
    const rows = await endTable.cancel(transaction, { ids, error: CANCELLED });
    await this.#settle(transaction, rows, 'cancelled');
    return () => {
      for (const { id } of rows) dispatcher.ended(id);
    };
  }

  /** Ends a run of a dead process: fails the job or queues it again. Undefined if it has ended before. */
  async cutOff(kind: JobKind, run: RunSeen, fails: boolean): Promise<JobRecord | undefined> {
    const { database, runTable, dispatcher } = this.#options;
    const cut = await database.transaction(async (transaction) => {
      const row = await runTable.cutOff(transaction, run, fails ? INTERRUPTED : undefined);
      if (row && fails) await this.#settle(transaction, [row], 'failed');
      else if (row) await runScript(transaction, dispatcher.announce(kind));
      return row && toJobRecord(row);
    });
    if (cut && fails) dispatcher.ended(run.id);
    else if (cut) dispatcher.wake(kind);
    return cut;
  }

  /** Fails jobs that waited too long for their first run. */
  async expire(kind: JobKind, maxQueuedMs: number): Promise<JobRecord[]> {
    const { database, endTable, dispatcher } = this.#options;
    const ended = await database.transaction(async (transaction) => {
      const input = { kind, maxQueuedMs, error: EXPIRED, limit: EXPIRED_ROWS };
      const rows = await endTable.expire(transaction, input);
      await this.#settle(transaction, rows, 'failed');
      return rows;
    });
    for (const { id } of ended) dispatcher.ended(id);
    return ended.map(toJobRecord);
  }

  *#finishGroup(finishes: readonly Finish[], onEnd: OnEnd): Script<boolean[]> {
    const { endTable, dispatcher } = this.#options;
    const jobs: EndedJob[] = [];
    const done = new Set<Finish>();
    // A fixed order, so that two groups do not deadlock.
    const ordered = finishes.toSorted((left, right) => (left.run.id < right.run.id ? -1 : 1));
    for (const finish of ordered) {
      const { run, outcome } = finish;
      const ended = yield* endTable.finish(run, outcome);
      if (!ended) continue;
      done.add(finish);
      if ('result' in outcome) jobs.push(toEndedJob(ended, 'completed', outcome.charge));
      else jobs.push(toEndedJob(ended, 'failed', outcome.unanswered ? askedCharge(ended) : undefined));
    }
    yield* this.#runHooks(jobs);
    const ids = ordered.flatMap((finish) => (done.has(finish) ? [finish.run.id] : []));
    yield* dispatcher.announceEnds(ids);
    for (const [claims, ended] of Map.groupBy(done, (finish) => finish.claims)) {
      yield* claims.claimNext({ onEnd, ended: ended.map(({ run }) => run) });
    }
    return finishes.map((finish) => done.has(finish));
  }

  /** The columns of an end without a result. */
  async #settle(
    transaction: Transaction<Tables>,
    ended: readonly Ended[],
    outcome: 'failed' | 'cancelled',
  ): Promise<void> {
    const jobs = ended.map((row) => toEndedJob(row, outcome, askedCharge(row)));
    await runScript(transaction, this.#runHooks(jobs));
    await runScript(transaction, this.#options.dispatcher.announceEnds(ended.map(({ id }) => id)));
  }

  /** Jobs of one kind are passed to its hooks together, as are jobs of kinds that share their hooks. */
  *#runHooks(jobs: readonly EndedJob[]): Script<void> {
    const { hooksOf } = this.#options;
    for (const [hooks, ended] of Map.groupBy(jobs, ({ kind }) => hooksOf(kind))) yield* hooks.jobsEnded(ended);
  }
}

function isTerminal({ state }: JobViewRow): boolean {
  return state !== 'queued' && state !== 'running';
}

function alreadyTerminal(state: JobState): GatewayError {
  return new GatewayError('job_already_terminal', `This job has ${state} already.`);
}

const CANCELLED = toJson({
  code: 'cancelled',
  message: 'The job was cancelled.',
  retryable: false,
} satisfies JobFailure);

const INTERRUPTED = toJson({
  code: 'interrupted',
  message: 'The job was interrupted too often.',
  retryable: true,
} satisfies JobFailure);

const EXPIRED = toJson({
  code: 'queue_expired',
  message: 'The job waited too long in the queue.',
  retryable: true,
} satisfies JobFailure);

/** The polling interval, for lost notifications and for other processes on the same file, which send none. */
const POLL_MS = 1_000;

export interface CompletionWaiter {
  /** Resolves when the work has completed or the time is over; rejects with the signal's reason. */
  over(timeoutMs: number, signal?: AbortSignal): Promise<void>;
  stop(): void;
}

export interface CompletionWaitersOptions {
  /** Returns the ids that have completed or no longer exist. Called with all awaited ids at once. */
  findEnded(ids: readonly string[]): Promise<readonly string[]>;
  dispatcher: Dispatcher;
  /** Default 1,000. */
  pollMs?: number;
  report(error: unknown): void;
}

/** Callers that wait for work to complete. */
export class CompletionWaiters {
  readonly #options: CompletionWaitersOptions;
  readonly #waiting = new Map<string, Set<() => void>>();
  #watching: Serving | undefined;
  #timer: NodeJS.Timeout | undefined;
  #polling: Promise<void> | undefined;

  constructor(options: CompletionWaitersOptions) {
    this.#options = options;
  }

  /** Starts at once, so that no completion after this call is missed. */
  begin(id: string): CompletionWaiter {
    this.#watch();
    const { promise: over, resolve } = Promise.withResolvers<void>();
    let isTerminal = false;
    const end = () => {
      isTerminal = true;
      resolve();
    };
    const others = this.#waiting.get(id) ?? new Set();
    this.#waiting.set(id, others.add(end));
    return {
      async over(timeoutMs, signal) {
        if (isTerminal) return;
        await endsWithin(timeoutMs, () => over, { signals: [signal] }).catch((error: unknown) => {
          if (!isTerminal) throw error;
        });
      },
      stop: () => {
        others.delete(end);
        if (others.size === 0) this.#waiting.delete(id);
        if (this.#waiting.size > 0) return;
        clearInterval(this.#timer);
        this.#timer = undefined;
      },
    };
  }

  async stop(): Promise<void> {
    for (const id of this.#waiting.keys()) this.#wake(id);
    clearInterval(this.#timer);
    await this.#polling;
    await this.#watching?.stop();
  }

  #watch(): void {
    const { dispatcher, pollMs = POLL_MS, report } = this.#options;
    const ended = (id: string) => this.#wake(id);
    const missed = () => this.#pollNow();
    this.#watching ??= dispatcher.watchEnds({ ended, missed, report });
    this.#timer ??= setInterval(missed, pollMs);
  }

  #wake(id: string): void {
    for (const end of this.#waiting.get(id) ?? []) end();
  }

  #pollNow(): void {
    this.#polling ??= this.#poll()
      .catch(this.#options.report)
      .finally(() => {
        this.#polling = undefined;
      });
  }

  async #poll(): Promise<void> {
    const ids = [...this.#waiting.keys()];
    if (ids.length > 0) for (const id of await this.#options.findEnded(ids)) this.#wake(id);
  }
}
