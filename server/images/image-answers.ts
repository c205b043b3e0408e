/*
 * Response schemas of the image routes: the accepted job, the state of a job and the finished image. Fields may be
 * added to any of them in later releases, except to the answer of a submission, which has exactly eight. The API
 * reference is made from these schemas, and tests check answers against them; handlers do not, so a request costs no
 * validation of its answer.
 */

import { field, optional, Type } from '../../core/contracts/index.js';
import { Count, Failure, Nullable, OneOf, type RouteAnswer, Text, Time, Url } from '../http/index.js';

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
