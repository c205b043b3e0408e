import type { Attempt, ErrorCode } from '../errors.js';
import type { SlotAnswer, SlotRequest } from './windows.js';

/** What a job does. Each kind has a bound and workers of its own. */
export type JobKind = 'extraction';

/**
 * `queued` → `running` → `completed` | `failed`. A run that was cut off (kill -9, a lost lease, a shutdown) puts the job
 * back to `queued`. Nothing leaves `completed` or `failed`.
 */
export type JobState = 'queued' | 'running' | 'completed' | 'failed';

export interface JobRecord {
  /** `exjob_` and at least 128 random bits. */
  id: string;
  kind: JobKind;
  state: JobState;
  /** What was given at acceptance; JSON. */
  input: unknown;
  /** Runs begun so far. */
  attempts: number;
  createdAt: number;
  /** Of the latest run. */
  startedAt: number | null;
  finishedAt: number | null;
  /** What the run returned, once completed; JSON. */
  result: unknown;
  error: JobFailure | null;
}

/** Why a job failed: a GatewayError as far as it is for clients. */
export interface JobFailure {
  code: ErrorCode;
  message: string;
  reason?: string;
  retryable: boolean;
  retryAfterSeconds?: number;
  platform?: string;
  attempts?: readonly Attempt[];
}

export interface NewJob {
  kind: JobKind;
  /** Who may look at it. A job that several accounts asked for belongs to all of them. */
  accountId: string;
  /** While a job with this key is queued or running, whoever asks for the same joins it. */
  dedupeKey: string;
  input: unknown;
  /** Jobs of this kind that may be queued or running at the same time. */
  maxActive: number;
}

export interface Acceptance {
  /** Taken in the same transaction as the job is written. Default: none. */
  slot?: SlotRequest;
  job: NewJob;
}

export interface Accepted {
  /** Present where a slot was asked for. Where it was not accepted, nothing was taken and there is no job. */
  slot?: SlotAnswer;
  job?: JobRecord;
  /** Jobs of this kind that are queued or running, this one included. */
  active: number;
}

export interface WorkOptions {
  kind: JobKind;
  /** Jobs that run at the same time in this process. */
  concurrency: number;
  /** Runs that may be cut off before the job fails as `interrupted`. Default 5. */
  maxAttempts?: number;
  /**
   * Does the work and returns the result, as JSON. A GatewayError it throws becomes the job's failure; anything else,
   * `internal_error`. The signal aborts when the lease is lost or the workers stop.
   */
  run(job: JobRecord, signal: AbortSignal): Promise<unknown>;
}

/** Workers of one kind in this process. */
export interface JobWorkers {
  /** Takes no more jobs, aborts those that run and gives them back to the queue. Idempotent. */
  stop(): Promise<void>;
}

/**
 * Durable background jobs, in SQL: a job that was accepted survives kill -9, runs on one worker at a time, and ends once. A
 * finished job is kept for 24 hours. All throw GatewayError `upstream_unavailable` where the database does not answer.
 */
export interface Jobs {
  /**
   * One transaction: slot, the bound of the queue, then the job itself, or the running job of the same `dedupeKey`.
   * @throws GatewayError `queue_full` where `maxActive` jobs are queued or running; then no slot is taken.
   */
  accept(acceptance: Acceptance): Promise<Accepted>;
  /** Undefined where there is no such job, or none of this account. */
  find(id: string, accountId: string): Promise<JobRecord | undefined>;
  /** Jobs of a kind that are queued or running. */
  active(kind: JobKind): Promise<number>;
  /** Starts workers in this process. */
  work(options: WorkOptions): JobWorkers;
}
