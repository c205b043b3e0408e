import { DEFINITIVE_CODES, TRANSIENT_CODES, Type } from 'mediagate';
import { BatchBodySchema, ExtractBodySchema } from '../links/index.js';
import { answerSchema } from './answer-schemas.js';
import { IDEMPOTENCY, IDEMPOTENCY_ERRORS, type Operations } from './operation.js';

const REFUSALS = [
  'invalid_url',
  'unsupported_platform',
  'unsupported_link',
  ...DEFINITIVE_CODES,
  ...TRANSIENT_CODES,
  'plugin_unavailable',
  'queue_full',
  'rate_limit_exceeded',
] as const;

const LINK = 'https://youtu.be/Tugs0fOst3n';

export const LINK_DATA: Operations = {
  'GET /v1/capabilities': {
    tag: 'Link data',
    summary: 'What can be extracted, and the limits of the key',
    access: 'linkKey',
    answers: { 200: { description: 'Platforms and limits.', schema: answerSchema('Capabilities') } },
  },
  'POST /v1/extract': {
    tag: 'Link data',
    summary: 'A public link in, a structured document out',
    access: 'linkKey',
    body: { schema: ExtractBodySchema, example: { url: LINK } },
    answers: {
      200: { description: 'The document, or with `async_mode` a job.', schema: answerSchema('Extraction') },
    },
    errors: REFUSALS,
  },
  'POST /v1/extract/batch': {
    tag: 'Link data',
    summary: 'Up to 50 links at once',
    access: 'linkKey',
    headers: IDEMPOTENCY,
    body: { schema: BatchBodySchema, example: { urls: [LINK] } },
    answers: {
      200: { description: 'In the order of the links: a document, a job or an error.', schema: answerSchema('Batch') },
    },
    errors: ['rate_limit_exceeded', 'queue_full', ...IDEMPOTENCY_ERRORS],
  },
  'GET /v1/extract/jobs/:id': {
    tag: 'Link data',
    summary: 'How a background job is doing',
    access: 'linkKey',
    answers: {
      200: { description: 'The job, with its document once there is one.', schema: answerSchema('Extraction') },
    },
    errors: ['job_not_found', 'rate_limit_exceeded'],
  },
  'DELETE /v1/extract/jobs/:id': {
    tag: 'Link data',
    summary: 'Cancels a background job that has not ended',
    access: 'linkKey',
    answers: {
      200: {
        description:
          'The job, cancelled. Where other accounts wait for it, it goes on for them, and is 404 for this one.',
        schema: answerSchema('Extraction'),
      },
    },
    errors: ['job_not_found', 'job_already_terminal', 'rate_limit_exceeded'],
  },
  'GET /v1/extract/audio/:name.mp3': {
    tag: 'Link data',
    summary: 'The MP3 of a video; made at the first request',
    access: 'none',
    headers: { Range: 'Bytes of it; waits for the whole file.' },
    answers: {
      200: { description: 'The file.', type: 'audio/mpeg' },
      206: { description: 'A part of it.', type: 'audio/mpeg' },
    },
    errors: ['file_not_found', 'link_expired', 'audio_unavailable', 'audio_timeout'],
  },
  'GET /v1/usage': {
    tag: 'Account',
    summary: 'What the key used, and what it has left',
    access: 'linkKey',
    query: {
      from: { schema: Type.String({ pattern: '^\\d{4}-\\d\\d-\\d\\d$' }), description: 'First day, by UTC.' },
      to: { schema: Type.String({ pattern: '^\\d{4}-\\d\\d-\\d\\d$' }), description: 'Last day.' },
    },
    answers: { 200: { description: 'By day and model.', schema: answerSchema('Usage') } },
    errors: ['invalid_value', 'rate_limit_exceeded'],
  },
};
