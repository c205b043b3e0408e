import { createHash } from 'node:crypto';
import type { Selectable } from '../database/index.js';
import { type GatewayError, isGatewayError } from '../runtime/index.js';
import { keptMs } from './job-kinds.js';
import type { JobFailure, JobRecord, JobRun } from './jobs.js';
import type { JobsTable } from './tables.js';

export type JobRow = Selectable<JobsTable>;

/** What looking at a job reads: not the input, which may be large. */
export const SHOWN = [
  'jobs.id',
  'jobs.kind',
  'jobs.state',
  'jobs.summary',
  'jobs.attempts',
  'jobs.created_at',
  'jobs.started_at',
  'jobs.finished_at',
  'jobs.result',
  'jobs.error',
] as const;

export type ShownRow = Pick<
  JobRow,
  'id' | 'kind' | 'state' | 'summary' | 'attempts' | 'created_at' | 'started_at' | 'finished_at' | 'result' | 'error'
>;

export function toJobRecord(row: ShownRow): JobRecord {
  return {
    id: row.id,
    kind: row.kind,
    state: row.state,
    summary: parse(row.summary),
    attempts: row.attempts,
    createdAt: row.created_at,
    startedAt: row.started_at,
    finishedAt: row.finished_at,
    expiresAt: row.finished_at === null ? null : row.finished_at + keptMs(row.kind),
    result: parse(row.result),
    error: parse(row.error) as JobFailure | null,
  };
}

export function toJobRun(row: JobRow): JobRun {
  return { ...toJobRecord(row), input: JSON.parse(row.input) };
}

function parse(json: string | null): unknown {
  return json === null ? null : JSON.parse(json);
}

/**
 * JSON of anything that is JSON; `undefined` becomes `null`. U+0000 and lone surrogates, which PostgreSQL cannot store, are
 * escaped in it and come back as they were.
 * @throws TypeError where it is none (a cycle, a bigint).
 */
export function toJson(value: unknown): string {
  return JSON.stringify(value) ?? 'null';
}

export function hashText(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** What a client may know of it. */
export function toFailure(error: unknown): JobFailure {
  if (!isGatewayError(error)) {
    return { code: 'internal_error', message: 'The gateway failed at this job.', retryable: false };
  }
  const { code, message, param, reason, retryable, retryAfterSeconds, platform, attempts }: GatewayError = error;
  return { code, message, param, reason, retryable, retryAfterSeconds, platform, attempts };
}
