/*
 * Error codes of budgets, of keys and of plans.
 */

import { type DeclaredCodes, declareErrors } from '../../core/runtime/index.js';

declare module '../../core/runtime/errors.js' {
  interface ErrorCodes extends DeclaredCodes<typeof budgetErrors> {}
}

const budgetErrors = declareErrors({
  insufficient_quota: {
    status: 429,
    type: 'insufficient_quota',
    shouldRetry: false,
    meaning:
      'A budget of the plan, key, account or group is used up or has ended, or a price is missing for a budget of money.',
    cause: '`GET /v1/usage` shows what is left.',
    action: 'Wait for the next period, buy a plan, or ask the operator for a larger budget.',
  },
});
