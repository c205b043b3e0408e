/*
 * The answers of the image routes: the accepted job, the state of a job and the finished image, each as the function
 * that encodes it and as the schema that the API reference is made from. Fields may be added to any of them in later
 * releases, except to the answer of a submission, which has exactly eight. Tests check answers against the schemas;
 * handlers do not, so a request costs no validation of its answer. The ETag of a job is computed without its answer.
 */

import { hash } from 'node:crypto';
import { field, type JobState, optional, Type, type Usage } from '../../core/contracts/index.js';
import { type FinishedImage, type ImageDelivery, type ImageJob } from '../../core/images/index.js';
import { GatewayError } from '../../core/runtime/index.js';
import { isoTime } from '../format/index.js';
import { Count, describeFailure, Failure, Nullable, OneOf, type RouteAnswer, Text, Time, Url } from '../http/index.js';
import { PACKAGE_VERSION } from '../version.js';

const SubmittedSchema = {
  id: field(Text, 'Id of the job.', 'imgjob_0123456789abcdef'),
  status: field(
    OneOf('queued', 'generating', 'completed', 'failed', 'cancelled'),
    'State of the job. `completed`, `failed` and `cancelled` are final.',
  ),
  status_url: field(Text, 'Path to poll, relative to the address of the API.'),
  poll_after_seconds: field(Count, 'Recommended wait before the next poll, in seconds. 0 if the job has ended.', 5),
  requested: field(Type.Literal(1), 'Requested images.'),
  succeeded: field(Count, 'Finished images: 0 or 1.'),
  failed: field(Count, 'Failed images: 0 or 1.'),
  pending: field(Count, 'Images that wait or run: 0 or 1.'),
};
const EntryFields = {
  url: optional(Url, 'Public link of the image. Absent if only base64 was asked for.'),
  raw_url: optional(
    Url,
    'Link of the file as the model made it, if its size was changed afterwards; otherwise as `url`.',
  ),
  filename: field(Text, 'Name of the file.'),
  source: field(
    OneOf('local_cache', 'objstore_s3', 'objstore_r2', 'inline'),
    'Where the file is stored: on disk, in an object store, or only in this response (`inline`).',
  ),
  b64_json: optional(Nullable(Text), 'The image in base64, if asked for. Null if the file has expired.'),
  mime_type: optional(Text, 'Media type of `b64_json`.', 'image/png'),
};
const ImageEntry = Type.Object(EntryFields);
const JobImage = Type.Object({
  index: field(Count, 'Number of the image: always 1.'),
  ...EntryFields,
  width: field(Count, 'Width in pixels.', 1024),
  height: field(Count, 'Height in pixels.', 1024),
  bytes: field(Count, 'Size of the file in bytes.'),
  content_type: field(Text, 'Media type of the file.', 'image/png'),
  seed: optional(Type.Integer(), 'The seed that the model used. Absent if the model reports none.'),
});
const JobFailure = Type.Object({
  ...Failure.properties,
  request_id: optional(Text, 'Id of the request that submitted the job.'),
});
const JobItem = Type.Object({
  index: field(Count, 'Number of the image: always 1.'),
  status: field(OneOf('queued', 'running', 'completed', 'failed', 'cancelled'), 'State of the image.'),
  attempts: field(Count, 'Runs that have begun.'),
  error: optional(JobFailure, 'Why the image failed. Absent otherwise.'),
});
const Progress = Type.Object({
  completed: field(Count, 'Finished images.'),
  total: field(Count, 'Requested images.'),
  percent: field(Count, 'Progress in percent: 0 or 100.'),
});

export const SUBMITTED_ANSWER: RouteAnswer = {
  description: 'The job was accepted. Poll `status_url`.',
  name: 'ImageSubmission',
  schema: Type.Object(SubmittedSchema, { additionalProperties: false, description: 'An image job that was accepted.' }),
  example: {
    id: 'imgjob_0123456789abcdef',
    status: 'queued',
    status_url: '/v1/images/jobs/imgjob_0123456789abcdef',
    poll_after_seconds: 5,
    requested: 1,
    succeeded: 0,
    failed: 0,
    pending: 1,
  },
};

export const ImageJobSchema = Type.Object(
  {
    ...SubmittedSchema,
    progress: field(Progress, 'Progress of the job.'),
    data: field(Type.Array(JobImage), 'The finished image. Empty before.'),
    items: field(Type.Array(JobItem), 'One entry for the image.'),
    error: field(Nullable(JobFailure), 'Why the job failed. Null otherwise.'),
    created_at: field(Time, 'When the job was accepted (RFC 3339).'),
    started_at: field(Nullable(Time), 'When the latest run began (RFC 3339). Null while it has not.'),
    finished_at: field(Nullable(Time), 'When the job ended (RFC 3339). Null before.'),
    expires_at: field(Nullable(Time), 'When the job and its image are deleted (RFC 3339). Null before it has ended.'),
    queue_seconds: field(
      Nullable(Type.Number()),
      'Seconds from acceptance to the start of the latest run. Null before.',
    ),
    run_seconds: field(Nullable(Type.Number()), 'Seconds of the latest run. Null before its end.'),
    queue_position: optional(Count, 'Position in the queue, from 1. Absent if the job does not wait.'),
  },
  { description: 'The state of an image job.' },
);

export const JOB_ANSWER: RouteAnswer = {
  description: 'The current state of the job.',
  name: 'ImageJob',
  schema: ImageJobSchema,
};

export const IMAGE_ANSWER: RouteAnswer = {
  description: 'The image.',
  name: 'ImageResult',
  schema: Type.Object(
    {
      created: field(Count, 'When the request was accepted, in seconds since 1970.'),
      data: field(Type.Array(ImageEntry, { minItems: 1, maxItems: 1 }), 'The image.'),
      requested: field(Type.Literal(1), 'Requested images.'),
      succeeded: field(Type.Literal(1), 'Finished images.'),
      failed: field(Type.Literal(0), 'Failed images.'),
      usage: optional(
        Type.Object({
          input_tokens: optional(Count, 'Input tokens.'),
          output_tokens: optional(Count, 'Output tokens.'),
          total_tokens: optional(Count, 'Input and output tokens.'),
          input_tokens_details: optional(Type.Object({}), 'Input tokens by kind: text, image, cached.'),
          output_tokens_details: optional(Type.Object({}), 'Output tokens by kind: text, image.'),
        }),
        'Tokens of the call, if the model vendor reports them.',
      ),
    },
    { description: 'A finished image.' },
  ),
};

/** Seconds between two polls of an open job. */
export const POLL_AFTER_SECONDS = 5;

/** Likewise, for a job that will take longer. */
const SLOW_POLL_AFTER_SECONDS = 10;

const SLOW_AFTER_MS = 60_000;

const DEEP_IN_QUEUE = 20;

/** State of a job → state in the API. */
export const STATUS: Readonly<Record<JobState, string>> = {
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

/** Seconds until the next poll; 0 if there is nothing to wait for. */
export function pollAfterSeconds(job: Pick<ImageJob, 'state' | 'createdAt' | 'queuePosition'>, now: number): number {
  if (!isOpen(job)) return 0;
  const slow = now - job.createdAt > SLOW_AFTER_MS || (job.queuePosition ?? 0) > DEEP_IN_QUEUE;
  return slow ? SLOW_POLL_AFTER_SECONDS : POLL_AFTER_SECONDS;
}

/** The submit form: exactly these eight fields. */
export function encodeSubmitted(job: ImageJob, now: number) {
  const { id, state } = job;
  return {
    id,
    status: STATUS[state],
    status_url: statusUrlOf(id),
    poll_after_seconds: pollAfterSeconds(job, now),
    requested: 1,
    // A cancelled job has none of the three.
    succeeded: state === 'completed' ? 1 : 0,
    failed: state === 'failed' ? 1 : 0,
    pending: isOpen(job) ? 1 : 0,
  };
}

/** A replay returns the answer of the first submission, in any state of the job. */
export function encodeFirstSubmitted(job: ImageJob) {
  const { createdAt } = job;
  return encodeSubmitted({ ...job, state: 'queued', queuePosition: undefined }, createdAt);
}

export interface JobAnswer {
  baseUrl: string;
  /** Milliseconds since 1970. */
  now: number;
  /** The image in base64, if the job delivers it inline and it still exists. */
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
            ...(image.seed !== undefined && { seed: image.seed }),
          },
        ]
      : [],
    items: [{ index: 1, status: ITEM_STATUS[state], attempts, ...(error && { error }) }],
    error,
    created_at: isoTime(job.createdAt),
    started_at: isoTime(job.startedAt),
    finished_at: isoTime(job.finishedAt),
    expires_at: isoTime(job.expiresAt),
    queue_seconds: secondsBetween(job.createdAt, job.startedAt),
    run_seconds: secondsBetween(job.startedAt, job.finishedAt),
    ...(queuePosition !== undefined && { queue_position: queuePosition }),
  };
}

/** Null if one of the two is not known yet. */
function secondsBetween(from: number | null, to: number | null): number | null {
  return from === null || to === null ? null : Math.max(0, to - from) / 1000;
}

/**
 * The ETag of the poll form, computed without the form: from everything that changes during the job. Error and image
 * come with the end and do not change.
 */
export function imageJobTag(job: ImageJob, { baseUrl, now }: Pick<JobAnswer, 'baseUrl' | 'now'>): string {
  const { id, state, attempts, queuePosition, startedAt, finishedAt } = job;
  const times = [startedAt, finishedAt, pollAfterSeconds(job, now)];
  // Another version may encode the form differently.
  const changing = [id, state, attempts, queuePosition, ...times, baseUrl, PACKAGE_VERSION];
  return hash('sha1', changing.join(' '), 'base64url');
}

/** The synchronous result (service document 2.3); `usage` if the model's vendor reported it. */
export function encodeImageResult(image: FinishedImage, options: EntryOptions & { createdAt: number }) {
  return {
    created: Math.floor(options.createdAt / 1000),
    data: [encodeImageEntry(image, options)],
    requested: 1,
    succeeded: 1,
    failed: 0,
    ...(image.usage && { usage: encodeUsage(image.usage) }),
  };
}

/** In the vendor's form: clients of the format read the input details whenever there is a usage. */
export function encodeUsage(usage: Usage) {
  const { inputTokens, outputTokens, totalTokens, cachedTokens } = usage;
  const { inputTextTokens, inputImageTokens, outputTextTokens, outputImageTokens } = usage;
  return {
    input_tokens: inputTokens,
    output_tokens: outputTokens,
    total_tokens: totalTokens,
    input_tokens_details: known({
      text_tokens: inputTextTokens,
      image_tokens: inputImageTokens,
      cached_tokens: cachedTokens,
    }),
    output_tokens_details: known({ text_tokens: outputTextTokens, image_tokens: outputImageTokens }),
  };
}

/** The failure of a job that has ended without an image. */
export function failureOf({ error }: ImageJob): GatewayError {
  if (!error) return new GatewayError('internal_error', 'The image could not be made.');
  const { code, message, ...details } = error;
  return new GatewayError(code, message, details);
}

/** Undefined, and so omitted, if nothing is known. */
export function known<Counts extends Record<string, number | undefined>>(counts: Counts): Counts | undefined {
  return Object.values(counts).some((count) => count !== undefined) ? counts : undefined;
}

/** An internal file name is omitted: clients cannot use it. */
const INLINE = /^inline_/;

interface EntryOptions {
  delivery: ImageDelivery;
  /** Without a trailing slash. */
  baseUrl: string;
  /** The image in base64; null if it has expired. */
  base64?: string | null;
}

/** One image in `data`: as public links, in base64, or both. */
export function encodeImageEntry(image: FinishedImage, { delivery, baseUrl, base64 = null }: EntryOptions) {
  const { name, rawName, source, contentType } = image;
  const links = {
    url: fileUrl(baseUrl, name),
    raw_url: fileUrl(baseUrl, rawName),
    filename: name,
    source,
  };
  if (delivery === 'url') return links;
  const filename = name.replace(INLINE, 'img_');
  const inline = { b64_json: base64, filename, source: 'inline', mime_type: contentType };
  return delivery === 'inline' ? inline : { ...inline, ...links };
}

function fileUrl(baseUrl: string, name: string): string {
  return `${baseUrl}/v1/images/files/${name}`;
}
