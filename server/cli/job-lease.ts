import type { JobList, JobWorker, ListedJob } from 'mediagate';
import { renderDuration } from '../format/index.js';

/** Workers show life three times a lease; of those, one may be late. */
const LATE = 2 / 3;

/** Whether whoever runs a job is there, and what becomes of the job otherwise. */
export function renderLease({ seenAt, hasEnded }: JobWorker, { at, leaseMs }: Pick<JobList, 'at' | 'leaseMs'>): string {
  const silentMs = Math.max(0, at - seenAt);
  const silent = renderDuration(silentMs);
  if (hasEnded) return 'its worker has ended; waits for another';
  if (silentMs < leaseMs * LATE) return `alive ${silent} ago`;
  // Others count from when they first saw its last sign of life, so it may take them a little longer.
  if (silentMs < leaseMs) return `no life for ${silent}; waits for its lease: ${renderDuration(leaseMs - silentMs)}`;
  return `no life for ${silent}; its lease is over: waits for another worker`;
}

/** Why a job waits. */
export function renderWait({ attempts, cutOffs }: Pick<ListedJob, 'attempts' | 'cutOffs'>): string {
  if (attempts === 0) return 'waits for its turn';
  if (cutOffs === 0) return 'was given back; waits to run again';
  return `was cut off ${cutOffs === 1 ? 'once' : `${cutOffs} times`}; waits to run again`;
}
