import { drawRandomBytes } from '../runtime/index.js';
import type { JobKind } from './jobs.js';

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
