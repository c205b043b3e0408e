import { hash } from 'node:crypto';
import type { ImageJob, JobState } from 'mediagate';
import { isoTime } from '../format/index.js';
import { describeFailure } from '../http/index.js';
import { PACKAGE_VERSION } from '../version.js';
import { encodeImageEntry } from './image-entry.js';

/** Seconds between two polls of an open job. */
export const POLL_AFTER_SECONDS = 5;
/** Likewise, of a job that will not be done at once. */
const SLOW_POLL_AFTER_SECONDS = 10;
const SLOW_AFTER_MS = 60_000;
const DEEP_IN_QUEUE = 20;

const STATUS: Readonly<Record<JobState, string>> = {
  queued: 'queued',
  running: 'generating',
  completed: 'completed',
  failed: 'failed',
  cancelled: 'cancelled',
};

const ITEM_STATUS: Readonly<Record<JobState, string>> = { ...STATUS, running: 'running' };

export function isOpen({ state }: Pick<ImageJob, 'state'>): boolean {
  return state === 'queued' || state === 'running';
}

export function statusUrlOf(id: string): string {
  return `/v1/images/jobs/${id}`;
}

/** Seconds to wait before the next poll; 0 where there is nothing to wait for. */
export function pollAfterSeconds(job: Pick<ImageJob, 'state' | 'createdAt' | 'queuePosition'>, now: number): number {
  if (!isOpen(job)) return 0;
  const slow = now - job.createdAt > SLOW_AFTER_MS || (job.queuePosition ?? 0) > DEEP_IN_QUEUE;
  return slow ? SLOW_POLL_AFTER_SECONDS : POLL_AFTER_SECONDS;
}

/** The submit form: these eight members and no others. */
export function encodeSubmitted(job: ImageJob, now: number) {
  const { id, state } = job;
  return {
    id,
    status: STATUS[state],
    status_url: statusUrlOf(id),
    poll_after_seconds: pollAfterSeconds(job, now),
    requested: 1,
    // Of a cancelled job, none of the three.
    succeeded: state === 'completed' ? 1 : 0,
    failed: state === 'failed' ? 1 : 0,
    pending: isOpen(job) ? 1 : 0,
  };
}

/** As a replay answers: what the first submission was told, whatever has become of it. */
export function encodeFirstSubmitted(job: ImageJob) {
  const { createdAt } = job;
  return encodeSubmitted({ ...job, state: 'queued', queuePosition: undefined }, createdAt);
}

export interface JobAnswer {
  baseUrl: string;
  /** Milliseconds since 1970. */
  now: number;
  /** The picture in base64, where the job delivers it so and it is still there. */
  base64?: string | null;
}

/** The poll form. */
export function encodeImageJob(job: ImageJob, { baseUrl, now, base64 }: JobAnswer) {
  const { state, image, attempts, queuePosition } = job;
  const completed = state === 'completed' ? 1 : 0;
  const error = job.error && {
    ...describeFailure(job.error),
    request_id: job.requestId,
  };
  return {
    ...encodeSubmitted(job, now),
    progress: { completed, total: 1, percent: completed * 100 },
    data: image
      ? [
          {
            index: 1,
            ...encodeImageEntry(image, { delivery: job.delivery, baseUrl, base64 }),
            width: image.width,
            height: image.height,
            bytes: image.bytes,
            content_type: image.contentType,
          },
        ]
      : [],
    items: [{ index: 1, status: ITEM_STATUS[state], attempts, ...(error && { error }) }],
    error,
    created_at: isoTime(job.createdAt),
    started_at: isoTime(job.startedAt),
    finished_at: isoTime(job.finishedAt),
    expires_at: isoTime(job.expiresAt),
    ...(queuePosition !== undefined && { queue_position: queuePosition }),
  };
}

/**
 * What an ETag of the poll form has between its quotes, made without the form: of all that changes in it while the job lives.
 * Error and picture come with the end and stay as they are.
 */
export function imageJobTag(job: ImageJob, { baseUrl, now }: Pick<JobAnswer, 'baseUrl' | 'now'>): string {
  const { id, state, attempts, queuePosition, startedAt, finishedAt } = job;
  const times = [startedAt, finishedAt, pollAfterSeconds(job, now)];
  // Another version may write the form in another way.
  const changing = [id, state, attempts, queuePosition, ...times, baseUrl, PACKAGE_VERSION];
  return hash('sha1', changing.join(' '), 'base64url');
}
