import type { JobState } from '../contracts/index.js';
import type { JobKind } from './jobs.js';

declare module '../database/tables.js' {
  interface Tables {
    jobs: JobsTable;
    job_owners: JobOwnersTable;
  }
}

export interface JobsTable {
  id: string;
  kind: JobKind;
  /**
   * SHA-256 of the dedupe key in lower-case hex: keys may be longer than an index takes, and hold any character. Empty
   * where nobody is to join the job; the release before this one writes its time and id there.
   */
  dedupe_hash: string;
  state: JobState;
  /** Jobs of a kind run in this order, those of the same place by age; see job-acceptance.ts. */
  place: number;
  /** JSON, as `input`, `result` and `error`; null in a row that the release before this one wrote. */
  summary: string | null;
  input: string;
  /** Empty where the job was asked for without one. */
  key_id: string;
  /** Its owner: whoever asked first, and may look at it. */
  account_id: string;
  /** What the admission hooks keep with it, for its end; see jobs.ts. */
  admission: string | null;
  /** Runs begun. Each run has its own number, so what a run writes is refused once another has begun. */
  attempts: number;
  /** Runs that ended with their process. */
  cut_offs: number;
  /** Id of the process that runs it; see heartbeat.ts. */
  runner: string | null;
  created_at: number;
  started_at: number | null;
  finished_at: number | null;
  result: string | null;
  error: string | null;
  /** Of the request that accepted it, where that has one. */
  request_id: string | null;
  /** The span that accepted it, as W3C Trace Context writes it; null where there are no traces. */
  traceparent: string | null;
  /** Whom to tell of its end; null where nobody is, or need be told any more. */
  webhook_url: string | null;
  /** When they are to be told next, 0 being at once; null before the end, and where nobody is to be told. */
  webhook_due_at: number | null;
  /** Tries to tell them that have begun. */
  webhook_tries: number;
}

/** Accounts that joined a job and may look at it as well. */
export interface JobOwnersTable {
  job_id: string;
  account_id: string;
}
