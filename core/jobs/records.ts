/*
 * What readers see of jobs: the record of one, what its run receives, and counts and filters of lists.
 */

import type { JobFailure, JobState } from '../contracts/index.js';
import type { JobKind } from './kinds.js';

/** A job as its owners see it. Times are milliseconds since 1970. */
export interface JobRecord {
  /** The prefix of its kind, 32 bits of the time and 96 random ones. */
  id: string;
  kind: JobKind;
  state: JobState;
  /** The summary given at acceptance; JSON. */
  summary: unknown;
  /** Runs begun so far. */
  attempts: number;
  createdAt: number;
  /** When the latest run began. */
  startedAt: number | null;
  finishedAt: number | null;
  /** When a finished job is deleted. */
  expiresAt: number | null;
  /** What the run returned, once completed; JSON. */
  result: unknown;
  /** Once failed or cancelled. */
  error: JobFailure | null;
}

/** What a run receives. */
export interface JobRun extends JobRecord {
  /** The input given at acceptance; JSON. */
  input: unknown;
}

export interface JobCounts {
  queued: number;
  running: number;
  /** Milliseconds that the oldest queued job has waited; 0 if none is queued. */
  oldestQueuedMs: number;
}

/** Which jobs of an owner are listed. */
export interface JobFilter {
  /** Default: all kinds. */
  kind?: JobKind;
  /** Default: all states. */
  state?: JobState;
  /** Id of a job of the owner; the list continues with the job that was submitted before it. */
  after?: string;
  /** Whether to include results, which may be large. Default false. */
  results?: boolean;
}
