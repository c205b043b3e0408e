import { drawRandomBytes } from '../services/random-bytes.js';
import type { JobKind } from './jobs.js';

const HOUR_MS = 60 * 60 * 1000;

/** How kinds differ. */
const KINDS: Readonly<Record<JobKind, { prefix: string; keptMs: number; route: string }>> = {
  extraction: { prefix: 'exjob_', keptMs: 24 * HOUR_MS, route: '/v1/extract' },
  image: { prefix: 'imgjob_', keptMs: 7 * 24 * HOUR_MS, route: '/v1/images/jobs' },
};

export function newJobId(kind: JobKind): string {
  return `${KINDS[kind].prefix}${drawRandomBytes(16).toString('hex')}`;
}

/** Undefined for what is no id: PostgreSQL does not even look for a text with U+0000 in it. */
export function kindOfJob(id: string): JobKind | undefined {
  const kind = (Object.keys(KINDS) as JobKind[]).find((each) => id.startsWith(KINDS[each].prefix));
  return kind && /^[a-z]+_[0-9a-f]{32}$/.test(id) ? kind : undefined;
}

/** Milliseconds that a finished job is kept. */
export function keptMs(kind: JobKind): number {
  return KINDS[kind].keptMs;
}

/** What usage of the kind is counted under, whichever route its job came by. */
export function routeOfJobs(kind: JobKind): string {
  return KINDS[kind].route;
}
