import type { Kysely, Selectable, Tables, Transaction } from '../../core/database/index.js';
import { storable } from '../../core/database/index.js';
import { orderCodesIn } from './order-codes.js';
import { type OrderRow, toOrder, toRecordedTransaction } from './order-rows.js';
import type { BankTransaction, Recording } from './orders.js';
import type { BankTransactionsTable } from './tables.js';

const MAX_TEXT = 500;

export type TransactionRow = Selectable<BankTransactionsTable>;

/** A transfer that nobody has looked for an order of. Undefined where it was recorded before; who records it at the same moment is waited for. */
export function insertTransaction(
  transaction: Transaction<Tables>,
  { provider, id, amount, currency, text, at }: BankTransaction,
  recordedAt: number,
): Promise<TransactionRow | undefined> {
  return transaction
    .insertInto('bank_transactions')
    .values({
      provider,
      id,
      amount,
      currency,
      text: storable(text, MAX_TEXT),
      at,
      recorded_at: recordedAt,
      order_code: null,
      review: 'unmatched',
    })
    .onConflict((conflict) => conflict.doNothing())
    .returningAll()
    .executeTakeFirst();
}

export async function findRecorded(
  queries: Kysely<Tables>,
  { provider, id }: BankTransaction,
  at: number,
): Promise<Recording> {
  const row = await queries
    .selectFrom('bank_transactions')
    .selectAll()
    .where('provider', '=', provider)
    .where('id', '=', id)
    .executeTakeFirstOrThrow();
  const { order_code: code } = row;
  const order =
    code === null
      ? undefined
      : await queries.selectFrom('orders').selectAll().where('code', '=', code).executeTakeFirst();
  return { transaction: toRecordedTransaction(row), ...(order && { order: toOrder(order, at) }), replayed: true };
}

/** The order that is meant; none where the text names several. */
export async function matchOrder(
  queries: Kysely<Tables>,
  text: string,
): Promise<Pick<OrderRow, 'code' | 'account_id'> | undefined> {
  const codes = orderCodesIn(text);
  if (codes.length === 0) return undefined;
  const found = await queries.selectFrom('orders').select(['code', 'account_id']).where('code', 'in', codes).execute();
  return found.length === 1 ? found[0] : undefined;
}
