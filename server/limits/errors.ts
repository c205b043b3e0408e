/*
 * Error codes of rate limits and daily limits.
 */

import { type DeclaredCodes, declareErrors, WAIT } from '../../core/runtime/index.js';

declare module '../../core/runtime/errors.js' {
  interface ErrorCodes extends DeclaredCodes<typeof limitErrors> {}
}

const limitErrors = declareErrors({
  rate_limit_exceeded: {
    status: 429,
    type: 'rate_limit_error',
    retryable: true,
    meaning: 'A rate limit is used up.',
    cause: 'The key sent more requests in 60 seconds than it may, or an address sent too many.',
    action: WAIT,
  },
  daily_image_limit_reached: {
    status: 429,
    type: 'rate_limit_error',
    shouldRetry: false,
    meaning: 'The images of today are used up.',
    cause: 'The plan or the operator limits the images of a day (UTC).',
    action: 'Wait until midnight UTC, or change the plan.',
  },
});
