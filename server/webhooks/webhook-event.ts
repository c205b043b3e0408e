import type { ImageJob } from 'mediagate';
import { isoTime } from '../format/index.js';
import { encodeImageJob, type JobAnswer } from '../images/index.js';

/** Of the one event of a job. */
export function webhookIdOf({ id }: Pick<ImageJob, 'id'>): string {
  return `evt_${id}`;
}

/** What tells of a job that has ended: its poll form, but for pictures in base64. */
export function encodeWebhookEvent(job: ImageJob, answer: Omit<JobAnswer, 'base64'>) {
  const { data, ...form } = encodeImageJob(job, answer);
  const links = data.map((entry) =>
    Object.fromEntries(Object.entries(entry).filter(([member]) => member !== 'b64_json')),
  );
  return { type: `image.job.${job.state}`, timestamp: isoTime(job.finishedAt), data: { ...form, data: links } };
}
