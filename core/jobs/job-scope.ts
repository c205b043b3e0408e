import type { Span, Tracer } from '../contracts/index.js';
import type { WorkScope } from '../observability/index.js';
import type { JobRow } from './job-rows.js';

/** What lines of the log about a job are found by. */
export function namesOf(row: Pick<JobRow, 'id' | 'request_id'>): { jobId: string; requestId?: string } {
  return { jobId: row.id, ...(row.request_id !== null && { requestId: row.request_id }) };
}

/** What a run of a job belongs to. Its span goes on where the one that accepted the job left off, in whatever process. */
export function scopeOf(row: JobRow, tracer: Tracer | undefined): WorkScope & { span?: Span } {
  const names = namesOf(row);
  if (!tracer) return names;
  const { kind, attempts, created_at, started_at, traceparent } = row;
  const attributes = { 'mediagate.job.id': row.id, 'mediagate.job.kind': kind };
  const parent = traceparent === null ? {} : { parent: traceparent };
  // Since when a job has waited again that was cut off, nobody wrote down.
  if (attempts === 1 && started_at !== null) {
    tracer
      .start({ name: `wait ${kind} job`, attributes, startedAt: created_at, ...parent })
      .end({ endedAt: Math.max(created_at, started_at) });
  }
  const told = { ...attributes, 'mediagate.job.attempt': attempts, 'mediagate.request.id': names.requestId };
  return { ...names, span: tracer.start({ name: `run ${kind} job`, kind: 'consumer', attributes: told, ...parent }) };
}
