import type { ExtractionJob, JobState } from 'mediagate';
import { isoTime } from '../format/index.js';
import { describeFailure } from '../http/index.js';
import { encodeExtraction } from './extract-response.js';

/** Seconds between two polls of an open job: `Retry-After` and `poll_after_seconds`. */
export const POLL_AFTER_SECONDS = 3;

const STATUS: Readonly<Record<JobState, string>> = {
  queued: 'queued',
  running: 'processing',
  completed: 'completed',
  failed: 'failed',
  cancelled: 'cancelled',
};

export function isOpen({ state }: ExtractionJob): boolean {
  return state === 'queued' || state === 'running';
}

export interface JobAnswer {
  /** Default: the item's canonical URL. */
  inputUrl?: string;
  /** Added to the result's own limitations. Default: none. */
  notes?: readonly string[];
}

/**
 * An extraction job in UTF-8: the extraction response with `data.job` and `data.queue`; `data.product` and `data.reviews`
 * are empty until there is a result. A failed job is `ok: false`, with the failure where link-data errors have it too.
 */
export function encodeJob(job: ExtractionJob, { inputUrl = job.link.url, notes = [] }: JobAnswer = {}): Buffer {
  const error = job.error && describeFailure(job.error);
  const data = {
    job: {
      job_id: job.id,
      status: STATUS[job.state],
      product_id: job.link.id,
      created_at: isoTime(job.createdAt),
      started_at: isoTime(job.startedAt),
      finished_at: isoTime(job.finishedAt),
      attempts: job.attempts,
      error,
      status_url: `/v1/extract/jobs/${job.id}`,
      poll_after_seconds: isOpen(job) ? POLL_AFTER_SECONDS : 0,
    },
    queue: { active: job.queue.active, max_active: job.queue.maxActive },
  };
  if (job.result) return encodeExtraction({ ...job.result, inputUrl }, { notes, data });
  return Buffer.from(
    JSON.stringify({
      ok: error === null,
      ...(error && { error }),
      platform: job.platform,
      input_url: inputUrl,
      extraction_method: 'background_job',
      data: { ...data, product: null, reviews: { five_star: [], one_star: [] } },
      limitations: notes,
    }),
  );
}
