/*
 * Idempotency keys and stored answers, for routes whose requests must not run twice. Other folders import these from
 * here.
 */

// Declares its error codes.
import './errors.js';

export {
  createIdempotencyService,
  type IdempotencyService,
  type KeyedRequest,
  type OutgoingAnswer,
} from './idempotency.js';
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
export {
  answerFileOf,
  createIdempotentResponses,
  type IdempotentResponses,
  idempotencyMigrations,
} from './idempotent-responses.js';
export { idempotencyPersonalRecords } from './personal-records.js';
