export type { OutgoingAnswer } from './idempotency.js';
export { createIdempotencyService, type IdempotencyService, type KeyedRequest } from './idempotency.js';
export {
  createIdempotencyKeys,
  encodeAround,
  forgetExpired,
  hashKey,
  IDEMPOTENCY_ERRORS,
  IDEMPOTENCY_HEADER,
  type Idempotency,
  inProgress,
  type JobKeyRow,
  type KeyHash,
  keyReused,
  type LongBody,
  markReplayed,
  readIdempotencyKey,
  readRetryCount,
} from './idempotency-keys.js';
export type { IdempotentResponses } from './idempotent-responses.js';
export { createIdempotentResponses } from './idempotent-responses.js';
