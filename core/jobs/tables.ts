/*
 * The columns of the job tables, and the migration that creates them. The indexes are partial, so each covers either
 * active or ended jobs and acceptance writes few pages. The input is cleared at the end of a job, or with a failed one
 * as long as it may be retried, which has an index of its own.
 */

import type { JobState } from '../contracts/index.js';
import { type Migrations, sqlMigration } from '../database/index.js';
import type { JobKind } from './kinds.js';

declare module '../database/tables.js' {
  interface Tables {
    jobs: JobsTable;
    job_owners: JobOwnersTable;
    job_pauses: JobPausesTable;
  }
}

export interface JobsTable {
  id: string;
  kind: JobKind;
  /**
   * SHA-256 of the dedupe key in lower-case hex: keys may be longer than an index entry, and contain any character.
   * Empty if the job cannot be joined.
   */
  dedupeHash: string;
  state: JobState;
  /** Priority number: jobs of a kind run in this order, and by age within one number; see core/jobs/accept.ts. */
  priority: number;
  /** Order within its group: 0 is normal, higher ones come first. */
  rank: number;
  /** JSON, as `input`, `result` and `error`. */
  summary: string;
  input: string;
  /** Empty if the job was submitted without a key. */
  keyId: string;
  /** Group of the fair queue; see core/jobs/accept.ts. */
  queueGroup: string;
  /** The first owner, who may read it. */
  owner: string;
  /** What the admission hooks stored with the job, for its end; see jobs.ts. */
  admission: string | null;
  /**
   * JSON: the charge of a run that has asked a vendor, who may bill it from then on; null before. It is the charge of the
   * job if that ends without an answer.
   */
  asked: string | null;
  /** Number of runs started. It identifies the run: writes of an earlier run are refused. */
  attempts: number;
  /** Runs that ended because their process died. */
  crashCount: number;
  /** Id of the process that runs it; see heartbeat.ts. */
  processId: string | null;
  createdAt: number;
  startedAt: number | null;
  finishedAt: number | null;
  result: string | null;
  error: string | null;
  /** Id of the request that accepted it, if any. */
  requestId: string | null;
  /** The span that accepted it, in W3C trace context format; null without tracing. */
  traceparent: string | null;
  /** URL of the webhook; null if there is none or it was delivered. */
  webhookUrl: string | null;
  /** When the next delivery is due, 0 being at once; null before the end and if nothing is to be delivered. */
  webhookDueAt: number | null;
  /** Delivery attempts started. */
  webhookTries: number;
  /** The failed job whose work it does again; see retries.ts. */
  retryOf: string | null;
  /** The job that does the work of this failed one again. */
  retriedAs: string | null;
}

/** Accounts that joined a job and may read it as well. */
export interface JobOwnersTable {
  jobId: string;
  owner: string;
}

/** Kinds of which no job is claimed until they are resumed; running ones go on. */
export interface JobPausesTable {
  kind: JobKind;
  pausedAt: number;
}

/**
 * Both engines use a partial index only if a query repeats its condition literally. The jobs of an owner are indexed
 * only once they have ended, so accepting jobs of many owners writes few pages.
 */
export const jobMigrations: Migrations = {
  '0001-jobs': sqlMigration(
    `create table jobs (
      id text primary key, kind text not null, "dedupeHash" text not null, state text not null, priority bigint not null, rank integer not null default 0,
      summary text not null, input text not null, "keyId" text not null, "queueGroup" text not null, owner text not null, admission text, asked text,
      attempts integer not null, "crashCount" integer not null, "processId" text,
      "createdAt" bigint not null, "startedAt" bigint, "finishedAt" bigint, result text, error text,
      "requestId" text, traceparent text, "webhookUrl" text, "webhookDueAt" bigint, "webhookTries" integer not null)`,
    `create unique index jobs_joinable on jobs (kind, "dedupeHash")
      where state in ('queued', 'running') and "dedupeHash" <> ''`,
    `create index jobs_queue on jobs (kind, priority) where state in ('queued', 'running')`,
    `create index jobs_turns on jobs (kind, "queueGroup", "keyId", priority) where state in ('queued', 'running')`,
    `create index jobs_running on jobs (kind, priority) where state = 'running'`,
    `create index jobs_kept on jobs (kind, "finishedAt") where "finishedAt" is not null`,
    `create index jobs_ended on jobs (owner, "createdAt") where "finishedAt" is not null`,
    `create index jobs_webhook on jobs ("webhookDueAt") where "webhookDueAt" is not null`,
    `create index jobs_webhook_owner on jobs (owner, "webhookDueAt") where "webhookDueAt" is not null`,
    `create table job_owners (
      "jobId" text not null references jobs (id) on delete cascade, owner text not null, primary key ("jobId", owner))`,
  ),
  '0003-job-pauses': sqlMigration(
    `create table job_pauses (kind text not null primary key, "pausedAt" bigint not null)`,
  ),
  '0009-job-retries': {
    ...sqlMigration(
      'alter table jobs add column "retryOf" text',
      'alter table jobs add column "retriedAs" text',
      `create index jobs_inputs on jobs (kind, "finishedAt") where "finishedAt" is not null and input <> 'null'`,
    ),
    changes: ['jobs'],
  },
};
