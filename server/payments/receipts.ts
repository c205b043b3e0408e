/*
 * Numbers of receipts: from 1 in each year (UTC), without gaps. An order takes the next one in the transaction in which it
 * becomes paid. The counter of the year is one row, which stays locked until that transaction ends, so two orders never
 * have the same number, and a transaction that fails gives its number back. A refunded order keeps its number.
 */

import { sql, type Tables, type Transaction } from '../../core/database/index.js';
import type { OrderRecord } from './order-records.js';

/** The last number of a year. */
export interface ReceiptCounter {
  year: number;
  last: number;
}

/** The caller holds the locks of the account and the order; the counter is locked last. */
export async function takeReceiptNumber(
  transaction: Transaction<Tables>,
  at: number,
): Promise<{ receiptYear: number; receiptNumber: number }> {
  const year = new Date(at).getUTCFullYear();
  const { last } = await transaction
    .insertInto('receipt_counters')
    .values({ year, last: 1 })
    .onConflict((conflict) => conflict.column('year').doUpdateSet({ last: sql<number>`receipt_counters.last + 1` }))
    .returning('last')
    .executeTakeFirstOrThrow();
  return { receiptYear: year, receiptNumber: last };
}

/** `2026-000042`; null if the order has no receipt. */
export function receiptName({ receiptYear, receiptNumber }: Pick<OrderRecord, 'receiptYear' | 'receiptNumber'>) {
  if (receiptYear === null || receiptNumber === null) return null;
  return `${receiptYear}-${String(receiptNumber).padStart(6, '0')}`;
}
