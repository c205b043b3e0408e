import { Type } from 'mediagate';
import { MAX_WAIT_SECONDS } from '../http/index.js';
import { ImageBodySchema, ImageJobBodySchema } from '../images/index.js';
import { answerSchema } from './answer-schemas.js';
import { IDEMPOTENCY, type Operations } from './operation.js';

const SUBMISSION = [
  'unsupported_parameter',
  'too_many_images',
  'invalid_image_url',
  'invalid_base64_image',
  'unsupported_image_media_type',
  'image_file_too_large',
  'image_too_large',
  'model_not_supported',
  'invalid_idempotency_key',
  'idempotency_key_reused',
  'rate_limit_exceeded',
  'daily_image_limit_reached',
  'queue_full',
] as const;

const example = { model: 'gen-img-2', prompt: 'A tug in the harbour at dawn', size: '1024x1024' };
const body = { schema: ImageBodySchema, example };
const jobBody = { schema: ImageJobBodySchema, example };
const submitted = {
  description: 'Accepted: poll `status_url`.',
  schema: answerSchema('ImageSubmission'),
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
const job = { description: 'The job as it stands.', schema: answerSchema('ImageJob') };

const secret = { description: 'The newest secret.', schema: answerSchema('WebhookSecret') };

/** What the gateway itself sends, where it is switched on and a job names a `webhook_url`. */
export const IMAGE_WEBHOOKS = {
  imageJobEnded: {
    post: {
      tags: ['Images'],
      summary: 'An image job has ended',
      operationId: 'imageJobEnded',
      description:
        'At least once for each job. `webhook-id` is the same at each try. Any 2xx within 15 seconds ends it, 410 gives it up; everything else is tried again.',
      security: [{ webhookSecret: [] }],
      parameters: ['webhook-id', 'webhook-timestamp'].map((name) => ({
        ...{ name, in: 'header', required: true, schema: { type: 'string' } },
      })),
      requestBody: {
        required: true,
        content: { 'application/json': { schema: answerSchema('WebhookEvent') } },
      },
      responses: { '2XX': { description: 'Taken.' }, 410: { description: 'Not wanted any more.' } },
    },
  },
};

export const IMAGES: Operations = {
  'POST /v1/images/jobs': {
    tag: 'Images',
    summary: 'One image as a durable job',
    access: 'key',
    headers: IDEMPOTENCY,
    body: jobBody,
    answers: { 202: submitted },
    errors: SUBMISSION,
  },
  'GET /v1/images/jobs/:id': {
    tag: 'Images',
    summary: 'How an image job is doing',
    access: 'key',
    query: {
      wait: {
        schema: Type.Integer({ minimum: 0, maximum: MAX_WAIT_SECONDS }),
        description: 'Seconds to hold on while it is open.',
      },
    },
    headers: { 'If-None-Match': 'The ETag of an earlier answer: 304 where nothing changed.' },
    answers: { 200: job, 304: { description: 'Nothing changed.' } },
    errors: ['job_not_found', 'rate_limit_exceeded', 'invalid_value'],
  },
  'GET /v1/images/jobs/:id/events': {
    tag: 'Images',
    summary: 'An image job as it goes on',
    access: 'key',
    headers: { 'Last-Event-ID': 'The latest event that was heard: 204 where it told how the job ended.' },
    answers: {
      200: { description: 'Server-sent events; the data of each is the job as it stands.', type: 'text/event-stream' },
      204: { description: 'There is nothing more to hear.' },
    },
    errors: ['job_not_found', 'queue_full'],
  },
  'DELETE /v1/images/jobs/:id': {
    tag: 'Images',
    summary: 'Cancels an image job that has not ended',
    access: 'key',
    answers: { 200: job },
    errors: ['job_not_found', 'job_already_terminal'],
  },
  'POST /v1/images/jobs/:id/cancel': {
    tag: 'Images',
    summary: 'The same for clients that cannot send DELETE',
    access: 'key',
    answers: { 200: job },
    errors: ['job_not_found', 'job_already_terminal'],
  },
  'POST /v1/images/generations': {
    tag: 'Images',
    summary: 'One image; answers when it is ready',
    access: 'key',
    headers: { ...IDEMPOTENCY, Prefer: '`respond-async` or `wait=<seconds>`: a job where it takes longer.' },
    body,
    answers: { 200: { description: 'The image.', schema: answerSchema('ImageResult') }, 202: submitted },
    errors: [
      ...SUBMISSION,
      'moderation_blocked',
      'failed_to_download_image',
      'upstream_error',
      'upstream_timeout',
      'upstream_unavailable',
      'job_timeout',
      'idempotency_in_progress',
    ],
  },
  'GET /v1/webhooks/secret': {
    tag: 'Images',
    summary: 'What webhooks of the account are signed with; 403 where they are switched off',
    access: 'key',
    answers: { 200: secret },
    errors: ['rate_limit_exceeded'],
  },
  'POST /v1/webhooks/secret/rotate': {
    tag: 'Images',
    summary: 'Another such secret; for 24 hours the one before it signs as well',
    access: 'key',
    answers: { 200: secret },
    errors: ['rate_limit_exceeded'],
  },
  'GET /v1/images/files/:name': {
    tag: 'Images',
    summary: 'The file of a finished image',
    access: 'none',
    headers: { Range: 'Bytes of it.' },
    answers: {
      200: { description: 'The file: PNG, JPEG or WebP.', type: 'image/*' },
      206: { description: 'A part of it.', type: 'image/*' },
    },
    errors: ['file_not_found', 'file_expired'],
  },
};
