/*
 * The kinds of jobs: the prefix of their ids, and how long a finished one is kept. An id states its kind, so that a
 * read knows it without a query.
 */

import { drawRandomBytes } from '../runtime/index.js';

/** What a job does. Each kind has its own limit and workers. */
export type JobKind = 'extraction' | 'image';

const HOUR_MS = 60 * 60 * 1000;

/** How the kinds differ. */
const KINDS: Readonly<Record<JobKind, { prefix: string; retentionMs: number }>> = {
  extraction: { prefix: 'exjob_', retentionMs: 24 * HOUR_MS },
  image: { prefix: 'imgjob_', retentionMs: 7 * 24 * HOUR_MS },
};

export const JOB_KINDS = Object.keys(KINDS) as readonly JobKind[];

/**
 * Starts with the low 32 bits of the time in milliseconds: ids of the same time are adjacent in the table's index, so
 * that a group of jobs changes one or two pages and not one per job. The following 96 bits are random.
 * @param at Milliseconds since 1970.
 */
export function newJobId(kind: JobKind, at: number): string {
  const time = (at % 2 ** 32).toString(16).padStart(8, '0');
  return `${KINDS[kind].prefix}${time}${drawRandomBytes(12).toString('hex')}`;
}

/** Undefined for a text that is no id: PostgreSQL rejects a text with U+0000. */
export function kindOfJob(id: string): JobKind | undefined {
  const kind = JOB_KINDS.find((each) => id.startsWith(KINDS[each].prefix));
  return kind && /^[a-z]+_[0-9a-f]{32}$/.test(id) ? kind : undefined;
}

/** Milliseconds that a finished job is kept. */
export function retentionMs(kind: JobKind): number {
  return KINDS[kind].retentionMs;
}
