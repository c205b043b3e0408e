import type { JobFailure, JobState, Span, Tracer, Usage } from '../contracts/index.js';
import type { Script } from '../database/index.js';
import type { WorkScope } from '../observability/index.js';
import { drawRandomBytes, GatewayError } from '../runtime/index.js';
import type { JobRow } from './job-statements.js';

/** What a job does. Each kind has a bound and workers of its own. */
export type JobKind = 'extraction' | 'image';

/** A job as its owners see it. Times are milliseconds since 1970. */
export interface JobRecord {
  /** `exjob_` or `imgjob_` by kind, 32 bits of the time and 96 random ones. */
  id: string;
  kind: JobKind;
  state: JobState;
  /** What was given at acceptance to be shown; JSON. */
  summary: unknown;
  /** Runs begun so far. */
  attempts: number;
  createdAt: number;
  /** Of the latest run. */
  startedAt: number | null;
  finishedAt: number | null;
  /** When a finished job is forgotten: images after 7 days, extractions after 24 hours. */
  expiresAt: number | null;
  /** What the run returned, once completed; JSON. */
  result: unknown;
  /** Once failed or cancelled. */
  error: JobFailure | null;
}

/** What a run is given. */
export interface JobRun extends JobRecord {
  /** What was given at acceptance for the run alone; JSON. */
  input: unknown;
}

export interface NewJob {
  kind: JobKind;
  /** Who may look at it, in the words of whoever embeds this. A job that several owners asked for belongs to all of them. */
  owner: string;
  /**
   * Keys take turns: of the queued jobs of a kind, the oldest of each key, then the second oldest of each. Default: all jobs
   * without one take the turns of one key.
   */
  keyId?: string;
  /** Names the request in the lines of the log about the job. Default: they name none. */
  requestId?: string;
  /** While a job with this key is queued or running, whoever asks for the same joins it. Default: nobody does. */
  dedupeKey?: string;
  /** JSON that looking at the job shows; small, since each look reads it. Default: null. */
  summary?: unknown;
  /** Where an event tells of the job's end; see webhooks.ts. Not together with `dedupeKey`. Default: nowhere. */
  webhookUrl?: string;
  /** JSON for the run alone, kept until the job has ended. Large things belong in files that it names. */
  input: unknown;
  /** Jobs of this kind that may be queued or running at the same time. */
  maxActive: number;
}

export interface Acceptance {
  /** What the admission hooks of the kind judge, in the transaction that writes the job. Default: nothing. */
  terms?: unknown;
  job: NewJob;
}

export interface Accepted {
  job?: JobRecord;
  /** What the admission hooks answered. Default: nothing. */
  answer?: unknown;
  /** The hooks let no more in at the moment: nothing was taken, and there is no job. */
  rateLimited?: true;
  /** Whether an earlier request made the job, as the hooks tell; then nothing was taken. */
  replayed: boolean;
  /** Jobs of this kind that are queued or running, this one included. */
  active: number;
}

/** What a completed job costs; written once, with its completion. */
export interface Charge {
  model: string;
  units: number;
  /** As the upstream counted it. */
  usage?: Usage;
}

export interface WorkOptions {
  kind: JobKind;
  /** Jobs that run at the same time in this process. */
  concurrency: number;
  /** Jobs of one key that run at the same time, over all processes. Default: as many as there are workers. */
  maxPerKey?: number;
  /** Runs that may be cut off before the job fails as `interrupted`; with 1, the first. Default 5. */
  maxAttempts?: number;
  /** Milliseconds that a run may take before the job fails as `job_timeout`. Default: any. */
  timeoutMs?: number;
  /** Milliseconds that runs may still take when the workers stop, before they are aborted and given back. Default 0. */
  graceMs?: number;
  /** Milliseconds that a job may wait for its first run before it fails as `queue_expired`. Default: any. */
  maxQueuedMs?: number;
  /**
   * Does the work and returns the result, as JSON. A GatewayError it throws becomes the job's failure; anything else,
   * `internal_error`. The signal aborts when the job is cancelled or takes too long, when the lease is lost or the workers
   * stop.
   */
  run(job: JobRun, signal: AbortSignal): Promise<unknown>;
  /** What the completed job costs, by its result. Default: nothing is written down. */
  charge?(job: JobRun, result: unknown): Charge;
  /** Told of a result that came when the job had ended or was another worker's; never throws. Default: nobody is. */
  refused?(job: JobRun, result: unknown): void;
  /** Told of a job that failed with no run to see it: it waited too long, or its process is gone. Never throws. Default: nobody is. */
  endedUnrun?(job: JobRecord): void;
}

/** Workers of one kind in this process. */
export interface JobWorkers {
  /** Takes no more jobs; aborts what still runs after the time of grace and gives it back to the queue. Idempotent. */
  stop(): Promise<void>;
}

export interface JobCounts {
  queued: number;
  running: number;
  /** Milliseconds that the oldest queued job has waited; 0 where none is queued. */
  oldestQueuedMs: number;
}

export interface WaitOptions {
  /** Milliseconds to wait at most. */
  timeoutMs: number;
  /** Ends the waiting with its reason; the job goes on. */
  signal?: AbortSignal;
}

/**
 * Durable background jobs, in SQL: a job that was accepted survives kill -9, runs on one worker at a time, and ends once. All
 * throw GatewayError `upstream_unavailable` where the database does not answer.
 */
export interface Jobs {
  /**
   * One transaction: what the admission hooks of the kind take, the bound of the queue, and the job itself, or the running
   * job of the same `dedupeKey`; or the job of an earlier request, at no cost. A refusal takes and stores nothing.
   * @throws GatewayError `queue_full` where `maxActive` jobs are queued or running; what the hooks refuse with.
   */
  accept(acceptance: Acceptance): Promise<Accepted>;
  /** As `accept`, taking and storing nothing: there is a job only where an earlier request made it. */
  peek(acceptance: Acceptance): Promise<Accepted>;
  /** Undefined where there is no such job, or none of this owner. */
  find(id: string, owner: string): Promise<JobRecord | undefined>;
  /**
   * Ends a job that is queued or running. Where other owners asked for it as well, it goes on for them: the caller is answered
   * a cancelled job, and has none from then on. A job that was cancelled before is answered the same again. Undefined as in
   * `find`.
   * @throws GatewayError `job_already_terminal` where it has completed or failed.
   */
  cancel(id: string, owner: string): Promise<JobRecord | undefined>;
  /** As `find`, once the job has ended or the time is over. */
  waitFor(id: string, owner: string, options: WaitOptions): Promise<JobRecord | undefined>;
  /** Those that the owner itself asked for first, newest first; at most `limit`. Results are left out: null. */
  latest(owner: string, limit: number): Promise<readonly JobRecord[]>;
  /** Where a queued job stands, 1 being next; 1,000 where it is that far back or farther. Undefined where it is not queued. */
  queuePosition(id: string): Promise<number | undefined>;
  /** Jobs of a kind that are queued or running. */
  active(kind: JobKind): Promise<number>;
  /** The same of all kinds, told apart. */
  counts(): Promise<Readonly<Record<JobKind, JobCounts>>>;
  /** Starts workers in this process. */
  work(options: WorkOptions): JobWorkers;
}

const HOUR_MS = 60 * 60 * 1000;

/** How kinds differ. */
const KINDS: Readonly<Record<JobKind, { prefix: string; keptMs: number }>> = {
  extraction: { prefix: 'exjob_', keptMs: 24 * HOUR_MS },
  image: { prefix: 'imgjob_', keptMs: 7 * 24 * HOUR_MS },
};

export const JOB_KINDS = Object.keys(KINDS) as readonly JobKind[];

/**
 * Begins with the time, the low 32 bits of its milliseconds: ids of one time stand side by side in the table's index, so that
 * a group of jobs changes a page or two of it and not one for each. The 96 bits after it are random.
 * @param at Milliseconds since 1970.
 */
export function newJobId(kind: JobKind, at: number): string {
  const time = (at % 2 ** 32).toString(16).padStart(8, '0');
  return `${KINDS[kind].prefix}${time}${drawRandomBytes(12).toString('hex')}`;
}

/** Undefined for what is no id: PostgreSQL does not even look for a text with U+0000 in it. */
export function kindOfJob(id: string): JobKind | undefined {
  const kind = JOB_KINDS.find((each) => id.startsWith(KINDS[each].prefix));
  return kind && /^[a-z]+_[0-9a-f]{32}$/.test(id) ? kind : undefined;
}

/** Milliseconds that a finished job is kept. */
export function keptMs(kind: JobKind): number {
  return KINDS[kind].keptMs;
}

/** What a client is told to wait. */
const RETRY_SECONDS = 5;

/** Why a job is refused whose kind has as many as it may. */
export function queueFull(): GatewayError {
  return new GatewayError('queue_full', 'The queue of background jobs is full.', { retryAfterSeconds: RETRY_SECONDS });
}

/** What lines of the log about a job are found by. */
export function namesOf(row: Pick<JobRow, 'id' | 'requestId'>): { jobId: string; requestId?: string } {
  return { jobId: row.id, ...(row.requestId !== null && { requestId: row.requestId }) };
}

/** What a run of a job belongs to. Its span goes on where the one that accepted the job left off, in whatever process. */
export function scopeOf(row: JobRow, tracer: Tracer | undefined): WorkScope & { span?: Span } {
  const names = namesOf(row);
  if (!tracer) return names;
  const { kind, attempts, createdAt, startedAt, traceparent } = row;
  const attributes = { 'mediagate.job.id': row.id, 'mediagate.job.kind': kind };
  const parent = traceparent === null ? {} : { parent: traceparent };
  // Since when a job has waited again that was cut off, nobody wrote down.
  if (attempts === 1 && startedAt !== null) {
    tracer
      .start({ name: `wait ${kind} job`, attributes, startedAt: createdAt, ...parent })
      .end({ endedAt: Math.max(createdAt, startedAt) });
  }
  const told = { ...attributes, 'mediagate.job.attempt': attempts, 'mediagate.request.id': names.requestId };
  return { ...names, span: tracer.start({ name: `run ${kind} job`, kind: 'consumer', attributes: told, ...parent }) };
}

/*
 * Admission hooks let the product that embeds core decide which jobs are accepted, and charge for them, in the transactions
 * of core. Jobs are accepted in groups of up to a hundred in one transaction, so the hooks work on groups too: `open` reads
 * what the whole group needs, `judge` decides about one candidate after the other, `save` writes once. What `judge` answers
 * as `admission` is stored with the job, and `jobsEnded` receives it in the transaction that ends the job. Core does not
 * look into `terms`, `admission` and `answer`.
 */

/** An acceptance as the hooks see it. */
export interface AdmissionCandidate {
  readonly owner: string;
  /** As in {@link Acceptance}. */
  readonly terms: unknown;
  /** False only asks: then nothing may be taken. */
  readonly take: boolean;
}

export interface AdmissionContext {
  /** The job that an acceptance leads to: a new one, or one that is joined. */
  readonly jobId: string;
  readonly joined: boolean;
  /** Whether the kind has as many active jobs as it may. A job that is joined needs no place. */
  readonly full: boolean;
}

export type AdmissionVerdict =
  /** `admission` is stored with a new job; `answer` goes to the caller. */
  | { outcome: 'accept'; admission?: string | null; answer?: unknown }
  | { outcome: 'refuse'; error: GatewayError }
  /** An earlier request made the job: one of {@link OpenAdmissions.replayOf}, or one of this group. */
  | { outcome: 'replay'; jobId: string }
  /** `answer` is asked for at once, before the next candidate; it may read and writes nothing. */
  | { outcome: 'rateLimited'; answer(): Script<unknown> };

/** The admissions of one group, in one transaction. */
export interface OpenAdmissions {
  /** The job that an earlier request made; core reads these jobs together before it asks for verdicts. */
  replayOf(candidate: AdmissionCandidate): string | undefined;
  /** Decides, knowing what the candidates before it took, from what `open` read. */
  judge(candidate: AdmissionCandidate, context: AdmissionContext): AdmissionVerdict;
  /** Writes down what was taken; it counts when the transaction commits. */
  save(): Script<void>;
}

/** A job that the running transaction has ended. */
export interface EndedJob {
  readonly id: string;
  readonly kind: JobKind;
  readonly owner: string;
  /** Empty where it was accepted without one. */
  readonly keyId: string;
  /** As `judge` answered it. */
  readonly admission: string | null;
  readonly outcome: 'completed' | 'failed' | 'cancelled';
  /** Of a completed job whose run tells it. */
  readonly charge?: Charge;
  readonly createdAt: number;
  readonly finishedAt: number;
}

/** Registered per kind in every process that accepts or ends jobs: an end can happen in any of them. */
export interface AdmissionHooks {
  /**
   * Locks and reads what the group needs. Core has locked the kind before.
   * @param at Milliseconds since 1970, by the clock of the jobs.
   */
  open(candidates: readonly AdmissionCandidate[], at: number): Script<OpenAdmissions>;
  /** Runs in every transaction that ends jobs, whatever ends them; each job comes once. */
  jobsEnded(jobs: readonly EndedJob[]): Script<void>;
}

/** Default: nothing but the bound of the queue. */
export const BOUND_ONLY: AdmissionHooks = {
  *open() {
    return {
      replayOf: () => undefined,
      judge: (_candidate, { full }) => (full ? { outcome: 'refuse', error: queueFull() } : { outcome: 'accept' }),
      *save() {},
    };
  },
  *jobsEnded() {},
};
