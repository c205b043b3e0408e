/*
 * Builds the service of jobs from its parts. `accept` joins a group commit: the admission hooks judge each job of the
 * commit group, and each accepted job gets its place in the queue (`accept.ts`). If a worker of this process is free,
 * the same transaction claims the job; otherwise workers claim it later (`claim.ts`). A worker runs it under the
 * deadline of its kind, and holds it as long as its process keeps its own lease (`workers.ts`). The end of the job, the
 * hooks and the claim of the next job are one transaction again (`finish.ts`). A caller that waits for an end reads the
 * job before and after; in between, hints and one shared poll serve all callers. Old rows are deleted every 10 minutes,
 * 500 at a time.
 */

import type { Clock, Logger, Meter, Tracer } from '../contracts/index.js';
import { type Database, DatabaseClock, GroupCommit, type Instances, runScript } from '../database/index.js';
import { inSpan } from '../observability/index.js';
import { createThrottledWarning, isGatewayError } from '../runtime/index.js';
import {
  acceptGroup,
  type Candidate,
  compileFairQueueStatements,
  type FairQueueStatements,
  toCandidate,
} from './accept.js';
import { createJobAdministration, type JobAdministration } from './administration.js';
import { Sweeper } from './claim.js';
import type { Dispatcher } from './dispatcher.js';
import { CompletionWaiters, JobEnds } from './finish.js';
import {
  type Acceptance,
  type Accepted,
  type AdmissionHooks,
  BOUND_ONLY,
  type Jobs,
  type JobWorkers,
  type WaitOptions,
  type WorkOptions,
} from './jobs.js';
import { type JobKind, kindOfJob } from './kinds.js';
import { deleteJob } from './owner-jobs.js';
import type { JobRecord } from './records.js';
import { retryJob } from './retries.js';
import { JobEndTable, JobRunTable, type RunKey } from './run-statements.js';
import { JobTable, toJobRecord } from './statements.js';
import { Workers } from './workers.js';

export interface JobsOptions {
  database: Database;
  dispatcher: Dispatcher;
  instances: Instances;
  /** By kind. Default: only the limit of active jobs is checked, and nothing is notified of ends. */
  admission?: Partial<Readonly<Record<JobKind, AdmissionHooks>>>;
  /** Clock of the job times. Default: the database's clock. */
  clock?: Clock;
  /** Milliseconds between two polls of a caller that waits for a job. Default 1,000. */
  pollMs?: number;
  logger: Logger;
  /** Default: no tracing. */
  tracer?: Tracer;
  /** Default: no metrics. */
  meter?: Meter;
}

interface ClosableJobs extends Jobs, JobAdministration {
  /** Stops all workers and releases waiting callers. */
  close(): Promise<void>;
}

/** Durable jobs in SQL. */
export function createJobs(options: JobsOptions): ClosableJobs {
  const { database, dispatcher, instances, admission = {}, pollMs, logger } = options;
  const clock = new DatabaseClock(options.clock);
  const report = createThrottledWarning(logger, 'background jobs wait for the database');
  const table = new JobTable(database, clock);
  const runTable = new JobRunTable(database, clock);
  const endTable = new JobEndTable(database, clock);
  const hooksOf = (kind: JobKind) => admission[kind] ?? BOUND_ONLY;
  const ends = new JobEnds({ database, table, runTable, endTable, dispatcher, clock, hooksOf });
  const waits = new CompletionWaiters({ findEnded: (ids) => table.findEnded(ids), dispatcher, pollMs, report });
  const working = new Map<Workers, JobKind>();
  const accepting = new Accepting({ ...options, clock, table, hooksOf, working });

  async function find(id: string, owner: string): Promise<JobRecord | undefined> {
    if (!kindOfJob(id)) return undefined;
    const row = await database.run((queries) => table.find(queries, id, owner));
    return row && toJobRecord(row);
  }

  async function waitFor(id: string, owner: string, { timeoutMs, signal }: WaitOptions) {
    if (!kindOfJob(id)) return undefined;
    signal?.throwIfAborted();
    const wait = waits.begin(id);
    try {
      const job = await find(id, owner);
      if (!job || isTerminal(job)) return job;
      await wait.over(timeoutMs, signal);
      return await find(id, owner);
    } finally {
      wait.stop();
    }
  }

  function work(workOptions: WorkOptions): JobWorkers {
    const { kind } = workOptions;
    const sweeper = new Sweeper({ kind, database, table, clock });
    const isHeld = (run: RunKey) => [...working.keys()].some((each) => each.hold(run));
    const parts = { database, sweeper, runTable, ends, dispatcher, instances, isHeld, report, logger };
    const workers = new Workers({ ...workOptions, ...parts, tracer: options.tracer, meter: options.meter });
    working.set(workers, kind);
    return {
      async stop() {
        await workers.stop();
        working.delete(workers);
      },
    };
  }

  return {
    accept: (acceptance) => accepting.accept(acceptance),
    peek: (acceptance) => accepting.peek(acceptance),
    find,
    async cancel(id, owner) {
      const row = await ends.cancel(id, owner);
      return row && toJobRecord(row);
    },
    delete: (id, owner) => deleteJob(database, id, owner),
    async cancelAsOperator(cancellation) {
      return kindOfJob(cancellation.id) && ends.cancelAsOperator(cancellation);
    },
    async retryAsOperator(retry) {
      const { announce } = dispatcher;
      const job = await retryJob(retry, {
        database,
        table,
        clock,
        statementsOf: (kind) => accepting.statementsOf(kind),
        announce,
      });
      if (job) dispatcher.wake(job.kind);
      return job;
    },
    cancelAll: (transaction, jobs) => ends.cancelAll(transaction, jobs),
    ...createJobAdministration({ database, table, clock, leaseMs: instances.leaseMs }),
    waitFor,
    async latest(owner, limit, filter = {}) {
      const rows = await database.run((queries) => table.latest(queries, owner, limit, filter));
      return rows.map((row) => toJobRecord({ result: null, ...row }));
    },
    async queuePosition(id) {
      if (!kindOfJob(id)) return undefined;
      const before = await database.run((queries) => table.countBefore(queries, id));
      return before === undefined ? undefined : before + 1;
    },
    active: (kind) => database.run((queries) => runScript(queries, table.countActive(kind))),
    counts: () => database.run((queries) => table.countByState(queries)),
    work,
    async close() {
      await waits.stop();
      await Promise.all(Array.from(working.keys(), (workers) => workers.stop()));
    },
  };
}

interface AcceptingOptions extends Pick<JobsOptions, 'database' | 'dispatcher' | 'meter'> {
  clock: DatabaseClock;
  table: JobTable;
  hooksOf(kind: JobKind): AdmissionHooks;
  /** The workers of this process. */
  working: ReadonlyMap<Workers, JobKind>;
}

/** Accepts jobs in group commits, one for each kind. */
class Accepting {
  readonly #options: AcceptingOptions;
  readonly #groups = new Map<JobKind, GroupCommit<Candidate, Accepted>>();
  readonly #statements = new Map<JobKind, FairQueueStatements>();

  constructor(options: AcceptingOptions) {
    this.#options = options;
  }

  accept(acceptance: Acceptance): Promise<Accepted> {
    const { kind } = acceptance.job;
    const attributes = { 'mediagate.job.kind': kind };
    return inSpan({ name: `accept ${kind} job`, kind: 'producer', attributes }, async (span) => {
      const accepted = await this.#groupOf(kind).submit(toCandidate(acceptance, true, span?.traceparent));
      span?.set({ 'mediagate.job.id': accepted.job?.id, 'mediagate.job.replayed': accepted.replayed });
      return accepted;
    });
  }

  peek(acceptance: Acceptance): Promise<Accepted> {
    return this.#groupOf(acceptance.job.kind).submit(toCandidate(acceptance, false));
  }

  /** The statements of the fair queue of a kind. */
  statementsOf(kind: JobKind): FairQueueStatements {
    const known = this.#statements.get(kind) ?? compileFairQueueStatements(this.#options.database.queries, kind);
    this.#statements.set(kind, known);
    return known;
  }

  #groupOf(kind: JobKind): GroupCommit<Candidate, Accepted> {
    const known = this.#groups.get(kind);
    if (known) return known;
    const { database, dispatcher, meter, clock, table, hooksOf, working } = this.#options;
    const options = { kind, table, turnStatements: this.statementsOf(kind), hooks: hooksOf(kind), clock };
    const made = new GroupCommit<Candidate, Accepted>({
      database,
      *script(candidates, onEnd) {
        const decisions = yield* acceptGroup(candidates, options);
        const queued = new Set(decisions.flatMap((decision) => (isGatewayError(decision) ? [] : queuedBy(decision))));
        for (const [{ claims }, served] of working) {
          if (served !== kind || queued.size === 0) continue;
          for (const { id } of yield* claims.claimNext({ onEnd })) queued.delete(id);
        }
        if (queued.size > 0) yield* dispatcher.announce(kind);
        return decisions;
      },
      committed: (candidates, ms) => meter?.jobsAccepted({ kind, jobs: candidates.length, ms }),
    });
    this.#groups.set(kind, made);
    return made;
  }
}

/** Also for a job that was joined: another poll or hint costs little. */
function queuedBy({ job, replayed }: Accepted): string[] {
  return job && !replayed ? [job.id] : [];
}

function isTerminal({ state }: JobRecord): boolean {
  return state !== 'queued' && state !== 'running';
}
