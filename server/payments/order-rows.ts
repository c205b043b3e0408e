import type { Engine, Selectable, Tables, Transaction } from '../../core/database/index.js';
import { locked } from '../accounts/index.js';
import type { OrderRecord, OrderState, RecordedTransaction } from './orders.js';
import type { BankTransactionsTable, OrdersTable } from './tables.js';

export type OrderRow = Selectable<OrdersTable>;

/** Time expires an order, whether or not that has been written down. */
export function stateAt({ state, expires_at }: OrderRow, at: number): OrderState {
  return state === 'pending' && expires_at <= at ? 'expired' : state;
}

export function toOrder(row: OrderRow, at: number): OrderRecord {
  return {
    code: row.code,
    accountId: row.account_id,
    planId: row.plan_id,
    amount: row.amount,
    currency: row.currency,
    state: stateAt(row, at),
    paidAmount: row.paid_amount,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    paidAt: row.paid_at,
  };
}

/** Whoever calls holds the lock of its account. */
export function lockOrder(
  transaction: Transaction<Tables>,
  engine: Engine,
  code: string,
): Promise<OrderRow | undefined> {
  return locked(engine, transaction.selectFrom('orders').selectAll().where('code', '=', code)).executeTakeFirst();
}

export function toRecordedTransaction(row: Selectable<BankTransactionsTable>): RecordedTransaction {
  return {
    provider: row.provider,
    id: row.id,
    amount: row.amount,
    currency: row.currency,
    text: row.text,
    at: row.at,
    recordedAt: row.recorded_at,
    orderCode: row.order_code,
    review: row.review,
  };
}
