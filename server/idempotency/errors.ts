/*
 * Error codes of idempotency keys: refused, still in progress, and used before with another body.
 */

import { BAD_REQUEST, type DeclaredCodes, declareErrors, WAIT } from '../../core/runtime/index.js';

declare module '../../core/runtime/errors.js' {
  interface ErrorCodes extends DeclaredCodes<typeof idempotencyErrors> {}
}

const idempotencyErrors = declareErrors({
  invalid_idempotency_key: {
    ...BAD_REQUEST,
    meaning: 'The `Idempotency-Key` header is not accepted.',
    cause: 'The key is empty, too long, or has characters outside of visible ASCII.',
    action: 'Send a key such as a UUID.',
  },
  idempotency_in_progress: {
    status: 409,
    type: 'conflict_error',
    retryable: true,
    meaning: 'The first request with this `Idempotency-Key` is still running.',
    cause: 'The client sent the request twice before the first answer.',
    action: WAIT,
  },
  idempotency_key_reused: {
    status: 422,
    type: 'invalid_request_error',
    shouldRetry: false,
    meaning: 'The `Idempotency-Key` was used for another request.',
    cause: 'The body differs from that of the first request.',
    action: 'Use a new key for each new request.',
  },
});
