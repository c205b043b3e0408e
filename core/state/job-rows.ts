import { createHash } from 'node:crypto';
import type { Selectable } from 'kysely';
import { type GatewayError, isGatewayError } from '../errors.js';
import type { JobFailure, JobRecord } from './jobs.js';
import type { JobsTable } from './schema.js';

export type JobRow = Selectable<JobsTable>;

export function toJobRecord(row: JobRow): JobRecord {
  return {
    id: row.id,
    kind: row.kind,
    state: row.state,
    input: JSON.parse(row.input),
    attempts: row.attempts,
    createdAt: row.created_at,
    startedAt: row.started_at,
    finishedAt: row.finished_at,
    result: row.result === null ? null : JSON.parse(row.result),
    error: row.error === null ? null : (JSON.parse(row.error) as JobFailure),
  };
}

/**
 * JSON of anything that is JSON; `undefined` becomes `null`. U+0000 and lone surrogates, which PostgreSQL cannot store, are
 * escaped in it and come back as they were.
 * @throws TypeError where it is none (a cycle, a bigint).
 */
export function toJson(value: unknown): string {
  return JSON.stringify(value) ?? 'null';
}

export function hashDedupeKey(key: string): string {
  return createHash('sha256').update(key).digest('hex');
}

/** What a client may know of it. */
export function toFailure(error: unknown): JobFailure {
  if (!isGatewayError(error)) {
    return { code: 'internal_error', message: 'The gateway failed at this job.', retryable: false };
  }
  const { code, message, reason, retryable, retryAfterSeconds, platform, attempts }: GatewayError = error;
  return { code, message, reason, retryable, retryAfterSeconds, platform, attempts };
}
