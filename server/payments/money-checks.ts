import { storable } from '../../core/database/index.js';
import { GatewayError } from '../../core/runtime/index.js';
import type { BankTransaction } from './orders.js';

const MAX_ID = 200;
const MAX_PROVIDER = 50;
/** Sums of these stay exact. */
const MAX_AMOUNT = 1_000_000_000_000;

/** @throws GatewayError `invalid_value`. */
export function checkTransaction({ provider, id, amount, currency, at }: BankTransaction): void {
  const names = [
    ['provider', provider, MAX_PROVIDER],
    ['id', id, MAX_ID],
  ] as const;
  for (const [param, text, most] of names) {
    if (text !== '' && storable(text, most) === text) continue;
    throw invalid(param, `1 to ${most} characters without control characters`);
  }
  checkMoney({ amount, currency });
  if (!Number.isSafeInteger(at)) throw invalid('at', 'whole milliseconds since 1970');
}

/** @throws GatewayError `invalid_value`. */
export function checkMoney({ amount, currency }: Pick<BankTransaction, 'amount' | 'currency'>): void {
  if (!Number.isSafeInteger(amount) || amount < 1 || amount > MAX_AMOUNT) {
    throw invalid('amount', `a whole number of minor units from 1 to ${MAX_AMOUNT}`);
  }
  if (!/^[A-Z]{3}$/.test(currency)) throw invalid('currency', 'three capital letters');
}

function invalid(param: string, wanted: string): GatewayError {
  return new GatewayError('invalid_value', `"${param}" must be ${wanted}.`, { param });
}
