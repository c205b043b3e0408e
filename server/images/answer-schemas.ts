import { Type } from 'mediagate';
import { Count, Nullable, OneOf, type RouteAnswer, Text, Time, Url } from '../http/index.js';

/* Answers of images, as the API reference describes them. Members may be added to any of them. */

const Submitted = {
  id: Text,
  status: OneOf('queued', 'generating', 'completed', 'failed', 'cancelled'),
  status_url: Text,
  poll_after_seconds: Count,
  requested: Type.Literal(1),
  succeeded: Count,
  failed: Count,
  pending: Count,
};
const ImageEntry = Type.Object({
  url: Type.Optional(Url),
  raw_url: Type.Optional(Url),
  filename: Text,
  source: OneOf('local_cache', 'objstore_s3', 'objstore_r2', 'inline'),
  b64_json: Type.Optional(Nullable(Text)),
  mime_type: Type.Optional(Text),
});

export const SUBMITTED_ANSWER: RouteAnswer = {
  description: 'Accepted: poll `status_url`.',
  name: 'ImageSubmission',
  schema: Type.Object(Submitted, { additionalProperties: false }),
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

export const JOB_ANSWER: RouteAnswer = {
  description: 'The job as it stands.',
  name: 'ImageJob',
  schema: Type.Object({
    ...Submitted,
    progress: Type.Object({ completed: Count, total: Count, percent: Count }),
    data: Type.Array(ImageEntry),
    items: Type.Array(Type.Object({ index: Count, status: Text, attempts: Count })),
    error: Nullable(Type.Object({ message: Text, code: Text, retryable: Type.Boolean() })),
    created_at: Time,
    started_at: Nullable(Time),
    finished_at: Nullable(Time),
    expires_at: Nullable(Time),
    queue_position: Type.Optional(Count),
  }),
};

export const IMAGE_ANSWER: RouteAnswer = {
  description: 'The image.',
  name: 'ImageResult',
  schema: Type.Object({
    created: Count,
    data: Type.Array(ImageEntry, { minItems: 1, maxItems: 1 }),
    requested: Type.Literal(1),
    succeeded: Type.Literal(1),
    failed: Type.Literal(0),
    usage: Type.Optional(
      Type.Object({
        input_tokens: Type.Optional(Count),
        output_tokens: Type.Optional(Count),
        total_tokens: Type.Optional(Count),
        input_tokens_details: Type.Optional(Type.Object({})),
        output_tokens_details: Type.Optional(Type.Object({})),
      }),
    ),
  }),
};
