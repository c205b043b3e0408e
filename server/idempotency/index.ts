export type { OutgoingAnswer } from './idempotency.js';
export {
  createIdempotencyService,
  type IdempotencyService,
  type IdempotencyServiceOptions,
  type KeyedRequest,
} from './idempotency.js';
export {
  encodeAround,
  IDEMPOTENCY_ERRORS,
  IDEMPOTENCY_HEADER,
  inProgress,
  type LongBody,
  markReplayed,
  readIdempotencyKey,
  readRetryCount,
} from './idempotency-key.js';
export {
  createIdempotencyKeys,
  forgetExpired,
  hashKey,
  type Idempotency,
  type JobKeyRow,
  type KeyHash,
  keyReused,
} from './idempotency-keys.js';
export type { IdempotentResponses } from './kept-answers.js';
export { createIdempotentResponses } from './kept-answers.js';
