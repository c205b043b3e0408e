/*
 * The contract of durable background jobs: an accepted job survives `kill -9`, runs on one worker at a time, and ends
 * once. It defines what owners see of a job, what a worker gives back, and the admission hooks with which the server
 * decides about jobs and charges for them. A run that fails ends its job. Only an interrupted job runs again: runs that
 * its workers give back are not counted, and with the fifth run whose process died (`maxAttempts`) the job fails as
 * `interrupted`. Ids begin with the time, so jobs accepted together share index pages. The folders that run jobs
 * declare their kinds, and how long ended jobs are kept. A run's span continues the trace of the request that submitted
 * the job, in any process.
 */

import type { QueueShare, Span, Tracer, Usage } from '../contracts/index.js';
import type { Script } from '../database/index.js';
import type { WorkScope } from '../observability/index.js';
import { GatewayError } from '../runtime/index.js';
import type { JobKind } from './kinds.js';
import type { JobCounts, JobFilter, JobRecord, JobRun } from './records.js';
import type { JobRow } from './statements.js';

export interface NewJob extends QueueShare {
  kind: JobKind;
  /** Opaque id of the owner, who may read the job. A joined job belongs to all its owners. */
  owner: string;
  /** Id of the request, for log lines about the job. Default: none. */
  requestId?: string;
  /**
   * While a job with this key is queued or running, another submission with the same key joins it. Default: it cannot
   * be joined.
   */
  dedupeKey?: string;
  /** JSON that every read of the job returns; keep it small. Default: null. */
  summary?: unknown;
  /** URL of the webhook for the job's end; see webhooks.ts. Not together with `dedupeKey`. Default: none. */
  webhookUrl?: string;
  /** JSON input for the run, kept until the job has ended. Large data belongs in files that it names. */
  input: unknown;
  /** Maximum number of queued and running jobs of this kind. */
  maxActive: number;
}

export interface Acceptance {
  /** Input for the admission hooks of the kind, in the transaction that inserts the job. Default: none. */
  terms?: unknown;
  job: NewJob;
}

export interface Accepted {
  job?: JobRecord;
  /** The answer of the admission hooks. Default: none. */
  answer?: unknown;
  /** The rate limit is exhausted: nothing was consumed, and there is no job. */
  rateLimited?: true;
  /** Whether an earlier request created the job, according to the hooks; then nothing was consumed. */
  replayed: boolean;
  /** Number of queued and running jobs of this kind, including this one. */
  active: number;
}

/** What a completed job costs; written once, at its completion. Kinds add what their price depends on. */
export interface Charge {
  model: string;
  units: number;
  /** Usage that the upstream reported. Absent if it reported none. */
  usage?: Usage;
}

export interface WorkOptions {
  kind: JobKind;
  /** Maximum concurrent jobs in this process. */
  concurrency: number;
  /** Maximum concurrent jobs of one key, over all processes. Default: the number of workers. */
  maxPerKey?: number;
  /** Number of crashed runs after which the job fails as `interrupted`; 1 allows no retry. Default 5. */
  maxAttempts?: number;
  /** Milliseconds that a run may take before the job fails as `job_timeout`. Default: no limit. */
  timeoutMs?: number;
  /**
   * Grace period in milliseconds for runs when the workers stop, before they are aborted and queued again. Default 0.
   */
  graceMs?: number;
  /** Milliseconds that a job may wait for its first run before it fails as `queue_expired`. Default: no limit. */
  maxQueuedMs?: number;
  /**
   * Does the work and returns the result, as JSON. A thrown GatewayError becomes the job's failure; any other error
   * becomes `internal_error`. The signal aborts when the job is cancelled or takes too long, the lease is lost, or the
   * workers stop.
   * @param ask To be called before a vendor is asked, and again if the charge grows: the charge of the job if it is
   *   cancelled, takes too long or is interrupted from then on. Rejects if the job has ended already.
   */
  run(job: JobRun, signal: AbortSignal, ask: (charge: Charge) => Promise<void>): Promise<unknown>;
  /** Computes the cost of the completed job from its result. Default: no charge. */
  charge?(job: JobRun, result: unknown): Charge;
  /** Called with a result that came after the job had ended or was taken over; never throws. Default: none. */
  refused?(job: JobRun, result: unknown): void;
  /**
   * Called for a job that failed without a run: it waited too long, or its process died. Never throws. Default: none.
   */
  endedUnrun?(job: JobRecord): void;
}

/** The workers of one kind in this process. */
export interface JobWorkers {
  /** Stops claiming jobs. Runs that exceed the grace period are aborted and queued again. Idempotent. */
  stop(): Promise<void>;
}

export interface WaitOptions {
  /** Maximum milliseconds to wait. */
  timeoutMs: number;
  /** Ends the wait with its reason; the job continues. */
  signal?: AbortSignal;
}

/**
 * Durable background jobs in SQL: an accepted job survives kill -9, runs on one worker at a time, and ends once. All
 * methods throw GatewayError `upstream_unavailable` if the database does not answer.
 */
export interface Jobs {
  /**
   * One transaction: consumes what the admission hooks of the kind charge, checks the queue limit, and inserts the job.
   * A running job of the same `dedupeKey` is joined instead; the job of an earlier request is returned at no cost. A
   * refusal consumes and stores nothing.
   * @throws GatewayError `queue_full` if `maxActive` jobs are queued or running, `too_many_open_jobs` if the group has
   *   its share of them; what the hooks refuse with.
   */
  accept(acceptance: Acceptance): Promise<Accepted>;
  /** Judges an acceptance and stores nothing: it returns a job only if an earlier request created it. */
  peek(acceptance: Acceptance): Promise<Accepted>;
  /** Undefined if there is no such job, or it does not belong to this owner. */
  find(id: string, owner: string): Promise<JobRecord | undefined>;
  /**
   * Ends a queued or running job. If other owners joined it, it continues for them: the caller receives a cancelled job
   * and is no longer an owner. A job that was cancelled before is returned again. Undefined as in `find`.
   * @throws GatewayError `job_already_terminal` if it has completed or failed.
   */
  cancel(id: string, owner: string): Promise<JobRecord | undefined>;
  /**
   * Deletes a job that has ended; if other owners joined it, it stays for them. Its files are the caller's to delete
   * before. Does nothing if there is no such job.
   */
  delete(id: string, owner: string): Promise<void>;
  /** Finds the job once it has ended or the time is over. */
  waitFor(id: string, owner: string, options: WaitOptions): Promise<JobRecord | undefined>;
  /**
   * The jobs that the owner submitted first, newest first; at most `limit`. Results are omitted: null.
   * @param filter Default: jobs of all kinds and states, from the newest.
   * @throws GatewayError `job_not_found` if the owner has no job `after`.
   */
  latest(owner: string, limit: number, filter?: JobFilter): Promise<readonly JobRecord[]>;
  /** Position of a queued job, 1 being next; 1,000 stands for 1,000 or more. Undefined if it is not queued. */
  queuePosition(id: string): Promise<number | undefined>;
  /** Number of queued and running jobs of a kind. */
  active(kind: JobKind): Promise<number>;
  /** Number of queued and running jobs of every kind, by state. */
  counts(): Promise<Readonly<Record<JobKind, JobCounts>>>;
  /** Starts workers in this process. */
  work(options: WorkOptions): JobWorkers;
}

/** Retry-After for clients. */
const RETRY_SECONDS = 5;

/** The error if the queue of a kind is full. */
export function queueFull(): GatewayError {
  return new GatewayError('queue_full', 'The queue of background jobs is full.', { retryAfterSeconds: RETRY_SECONDS });
}

/** The error if a group has reached its share of the queue. @param bound See {@link AdmissionContext}. */
export function tooManyOpenJobs(bound: number): GatewayError {
  const message = `At most ${bound} of your jobs may be queued or running at once.`;
  return new GatewayError('too_many_open_jobs', message, { retryAfterSeconds: RETRY_SECONDS });
}

/** Fields that identify the job in log lines. */
export function namesOf(row: Pick<JobRow, 'id' | 'requestId'>): { jobId: string; requestId?: string } {
  return { jobId: row.id, ...(row.requestId !== null && { requestId: row.requestId }) };
}

/** Scope of a run. Its span continues the trace of the span that accepted the job, in any process. */
export function scopeOf(row: JobRow, tracer: Tracer | undefined): WorkScope & { span?: Span } {
  const names = namesOf(row);
  if (!tracer) return names;
  const { kind, attempts, createdAt, startedAt, traceparent } = row;
  const attributes = { 'mediagate.job.id': row.id, 'mediagate.job.kind': kind };
  const parent = traceparent === null ? {} : { parent: traceparent };
  // The time since which a crashed job waits again is not stored.
  if (attempts === 1 && startedAt !== null) {
    tracer
      .start({ name: `wait ${kind} job`, attributes, startedAt: createdAt, ...parent })
      .end({ endedAt: Math.max(createdAt, startedAt) });
  }
  const logged = { ...attributes, 'mediagate.job.attempt': attempts, 'mediagate.request.id': names.requestId };
  return { ...names, span: tracer.start({ name: `run ${kind} job`, kind: 'consumer', attributes: logged, ...parent }) };
}

/*
 * Admission hooks let the product that embeds core decide which jobs are accepted, and charge for them, in the
 * transactions of core. Jobs are accepted in groups of up to a hundred in one transaction, so the hooks work on groups
 * too: `open` reads what the whole group needs, `judge` decides about one candidate after the other, `save` writes
 * once. The `admission` that `judge` returns is stored with the job, and `jobsEnded` receives it in the transaction
 * that ends the job. Core treats `terms`, `admission` and `answer` as opaque.
 */

/** An acceptance as the hooks receive it. */
export interface AdmissionCandidate {
  readonly owner: string;
  /** Input that the caller of `accept` passed for the hooks; opaque to core. */
  readonly terms: unknown;
  /** False for a peek: then nothing may be consumed. */
  readonly take: boolean;
}

export interface AdmissionContext {
  /** The job of an acceptance: a new one, or one that is joined. */
  readonly jobId: string;
  readonly joined: boolean;
  /** Whether the queue of the kind is full. A joined job needs no room. */
  readonly full: boolean;
  /** How many open jobs the group may have, if it has as many. Absent for a joined job. */
  readonly reachedBound?: number;
}

export type AdmissionDecision =
  /** `admission` is stored with a new job; `answer` is returned to the caller. */
  | { outcome: 'accept'; admission?: string | null; answer?: unknown }
  | { outcome: 'refuse'; error: GatewayError }
  /** An earlier request created the job: one of {@link OpenAdmissions.replayOf}, or one of this group. */
  | { outcome: 'replay'; jobId: string }
  /** `answer` is read at once, before the next candidate; it may read and must not write. */
  | { outcome: 'rateLimited'; answer(): Script<unknown> };

/** The admissions of one group, in one transaction. */
export interface OpenAdmissions {
  /** The job that an earlier request created. Core reads these jobs together before it calls `judge`. */
  replayOf(candidate: AdmissionCandidate): string | undefined;
  /** Decides from what `open` read and what the candidates before it consumed. */
  judge(candidate: AdmissionCandidate, context: AdmissionContext): AdmissionDecision;
  /** Writes what was consumed; it counts when the transaction commits. */
  save(): Script<void>;
}

/** A job that the current transaction has ended. */
export interface EndedJob {
  readonly id: string;
  readonly kind: JobKind;
  readonly owner: string;
  /** Empty if it was accepted without one. */
  readonly keyId: string;
  /** What `judge` returned for the job; null if it returned nothing. */
  readonly admission: string | null;
  readonly outcome: 'completed' | 'failed' | 'cancelled';
  /** Set for a completed job if its run reports it, and for one that ended after a vendor was asked. */
  readonly charge?: Charge;
  /** Why it failed, or `cancelled`. Default: it completed. */
  readonly errorCode?: string;
  readonly createdAt: number;
  readonly finishedAt: number;
}

/** Registered per kind in every process that accepts or ends jobs: a job can end in any of them. */
export interface AdmissionHooks {
  /**
   * Locks and reads what the group needs. Core has locked the kind before.
   * @param at Milliseconds since 1970, by the clock of the jobs.
   */
  open(candidates: readonly AdmissionCandidate[], at: number): Script<OpenAdmissions>;
  /** Runs in every transaction that ends jobs, for every way of ending; receives each job once. */
  jobsEnded(jobs: readonly EndedJob[]): Script<void>;
}

/** Default: only the limits of the queue. */
export const BOUND_ONLY: AdmissionHooks = {
  *open() {
    return {
      replayOf: () => undefined,
      judge(_candidate, { full, reachedBound }) {
        if (reachedBound !== undefined) return { outcome: 'refuse', error: tooManyOpenJobs(reachedBound) };
        return full ? { outcome: 'refuse', error: queueFull() } : { outcome: 'accept' };
      },
      *save() {},
    };
  },
  *jobsEnded() {},
};
