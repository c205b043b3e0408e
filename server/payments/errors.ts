/*
 * Error codes of orders and of the webhooks of banks.
 */

import {
  CONFLICT,
  type DeclaredCodes,
  declareErrors,
  FORBIDDEN,
  NOT_FOUND,
  UNAUTHENTICATED,
} from '../../core/runtime/index.js';

declare module '../../core/runtime/errors.js' {
  interface ErrorCodes extends DeclaredCodes<typeof paymentErrors> {}
}

const paymentErrors = declareErrors({
  invalid_signature: {
    ...UNAUTHENTICATED,
    meaning: 'The signature of a bank-transfer webhook is wrong.',
    cause: 'Another secret was used, or the clocks differ by more than 5 minutes.',
    action: 'Compare the secret at the payment provider with the setting, and set the clock.',
  },
  order_not_found: {
    ...NOT_FOUND,
    meaning: 'The order does not exist.',
    cause: 'Its code is mistyped, or belongs to another account.',
    action: 'Check the code.',
  },
  price_not_configured: {
    ...CONFLICT,
    meaning: 'The plan has no price.',
    cause: 'The operator sells the plan only through support.',
    action: 'Ask the support that the message names.',
  },
  top_up_not_allowed: {
    ...FORBIDDEN,
    meaning: 'The account may not top up a prepaid balance.',
    cause: 'The operator offers prepaid balances to chosen accounts.',
    action: 'Ask the support that the message names, or order a plan.',
  },
  too_many_open_orders: {
    ...CONFLICT,
    meaning: 'The account has too many open orders.',
    cause: 'Earlier orders are neither paid nor cancelled.',
    action: 'Pay or cancel one of them.',
  },
  order_state_conflict: {
    ...CONFLICT,
    meaning: 'The state of the order does not allow this.',
    cause: 'The order is paid, cancelled, expired or refunded.',
    action: 'Read the order, or create a new one.',
  },
});
