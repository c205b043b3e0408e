/*
 * Idempotency keys and stored answers, for routes whose requests must not run twice. Other folders import these from
 * here.
 */

// Declares its error codes.
import './errors.js';

export { answerFileOf, idempotencyMigrations } from './answer-table.js';
export { IdempotencyService, type KeyedRequest, type OutgoingAnswer } from './idempotency.js';
export {
  createIdempotencyKeys,
  encodeAround,
  forgetExpired,
  hashKey,
  IDEMPOTENCY_ERRORS,
  IDEMPOTENCY_HEADER,
  type Idempotency,
  type IdempotencyKeys,
  inProgress,
  type JobKeyRow,
  type KeyHash,
  keyReused,
  type LongBody,
  markReplayed,
  type Remembered,
  readIdempotencyKey,
  readRetryCount,
} from './idempotency-keys.js';
export { IdempotentResponses } from './idempotent-responses.js';
