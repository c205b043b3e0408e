/*
 * The events of ended jobs: each is the job as a poll shows it, under the type of its end. Images are links, never
 * base64. A document has no media links, since those are made for the key of a request.
 */

import type { Gateway } from 'mediagate';
import { kindOfJob } from '../../core/jobs/index.js';
import { GatewayError } from '../../core/runtime/index.js';
import { type Batches, encodeBatch } from '../batches/index.js';
import { isoTime } from '../format/index.js';
import { encodeImageJob, type JobAnswer } from '../images/index.js';
import { encodeJob, type JobAnswerFields } from '../links/index.js';

/** Where ended jobs are read. */
export interface EventSources {
  images: Pick<Gateway['images'], 'find'>;
  /** Default: these jobs have no webhooks. */
  extractionJob?: Gateway['extractionJob'];
  batches?: Pick<Batches, 'find'>;
}

export interface JobEvent {
  /** JSON. */
  body: string;
  /** Id of the request that submitted the job. */
  requestId?: string | undefined;
}

/** Id of the single event of a job. */
export function webhookIdOf(jobId: string): string {
  return `evt_${jobId}`;
}

/**
 * The event of an ended job.
 * @throws GatewayError `job_not_found`, and what reading the job throws.
 */
export async function readEvent(
  { images, extractionJob, batches }: EventSources,
  { jobId, accountId }: { jobId: string; accountId: string },
  answer: Omit<JobAnswer, 'base64'>,
): Promise<JobEvent> {
  const kind = kindOfJob(jobId);
  if (kind === 'image') {
    const job = await images.find(jobId, accountId);
    const { data, ...form } = encodeImageJob(job, answer);
    const links = data.map((entry) =>
      Object.fromEntries(Object.entries(entry).filter(([field]) => field !== 'b64_json')),
    );
    const body = encodeEvent(`image.job.${job.state}`, job, JSON.stringify({ ...form, data: links }));
    return { body, requestId: job.requestId ?? undefined };
  }
  if (kind === 'extraction' && extractionJob) {
    const job = await extractionJob(jobId, accountId, ({ include_audio_mp3: includeAudioMp3 }: JobAnswerFields) => ({
      includeAudioMp3,
    }));
    return { body: encodeEvent(`extraction.job.${job.state}`, job, encodeJob(job).toString()) };
  }
  if (kind === 'batch' && batches) {
    const batch = await batches.find(jobId, accountId);
    return { body: encodeEvent(`extraction.batch.${batch.state}`, batch, JSON.stringify(encodeBatch(batch))) };
  }
  throw new GatewayError('job_not_found', 'Jobs of this kind have no webhooks.');
}

function encodeEvent(type: string, { finishedAt }: { finishedAt: number | null }, data: string): string {
  return `${JSON.stringify({ type, timestamp: isoTime(finishedAt) }).slice(0, -1)},"data":${data}}`;
}
