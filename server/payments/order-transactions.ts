import type { Tables } from '../../core/database/index.js';
import { isStorable, sql, type Transaction } from '../../core/database/index.js';
import type { AccountsOptions } from '../accounts/index.js';
import { lockAccount } from '../accounts/index.js';
import { writeAudit } from '../audit/index.js';
import { checkTransaction } from './money-checks.js';
import { moveOrder } from './order-move.js';
import { lockOrder, type OrderRow, toOrder, toRecordedTransaction } from './order-rows.js';
import { afterMoney } from './order-states.js';
import { findRecorded, insertTransaction, matchOrder, type TransactionRow } from './order-transaction-rows.js';
import type { Orders, Recording } from './orders.js';

/** Transfers that banks tell of, in SQL. */
export function createOrderTransactions({
  database,
  times,
}: AccountsOptions): Pick<Orders, 'record' | 'transactions' | 'settleReview'> {
  const { engine } = database;

  return {
    async record(told) {
      checkTransaction(told);
      return database.transaction(async (transaction) => {
        const at = await times.read(transaction);
        const row = await insertTransaction(transaction, told, at);
        if (!row) return findRecorded(transaction, told, at);
        const match = await matchOrder(transaction, row.text);
        const counted = match && (await count(transaction, row, match, at));
        return counted ?? { transaction: toRecordedTransaction(row), replayed: false };
      });
    },

    async transactions(of, limit) {
      const rows = await database.run(async (queries) => {
        const all = queries.selectFrom('bank_transactions').selectAll().limit(limit);
        if ('code' in of) {
          if (!isStorable(of.code)) return [];
          const ofOrder = all.where('order_code', '=', of.code);
          return ofOrder.orderBy('recorded_at').orderBy('provider').orderBy('id').execute();
        }
        const reviewed = all.where(sql<boolean>`review is not null`);
        return reviewed.orderBy('recorded_at', 'desc').orderBy('provider').orderBy('id').execute();
      });
      return rows.map(toRecordedTransaction);
    },

    settleReview: ({ provider, id }, { actor, note }) =>
      database.transaction(async (transaction) => {
        if (!isStorable(provider) || !isStorable(id)) return false;
        const known = await transaction
          .selectFrom('bank_transactions')
          .select('order_code')
          .where('provider', '=', provider)
          .where('id', '=', id)
          .executeTakeFirst();
        if (!known) return false;
        const { order_code: code } = known;
        // The order first, as whoever confirms it does.
        const order = code === null ? undefined : await lockOrder(transaction, engine, code);
        const { numUpdatedRows } = await transaction
          .updateTable('bank_transactions')
          .set({ review: null })
          .where('provider', '=', provider)
          .where('id', '=', id)
          .where('review', 'is not', null)
          .executeTakeFirstOrThrow();
        if (numUpdatedRows === 0n) return false;
        const at = await times.read(transaction);
        const subject = order?.code ?? `${provider}:${id}`;
        const said = note === undefined ? `${provider} ${id}` : `${provider} ${id}: ${note}`;
        await writeAudit(transaction, { subject, at, actor, action: 'transaction.reviewed', note: said });
        return true;
      }),
  };

  /** Undefined where the order was forgotten at this moment. */
  async function count(
    transaction: Transaction<Tables>,
    row: TransactionRow,
    { code, account_id }: Pick<OrderRow, 'code' | 'account_id'>,
    at: number,
  ): Promise<Recording | undefined> {
    const account = await lockAccount(transaction, engine, account_id);
    const order = await lockOrder(transaction, engine, code);
    if (!order) return undefined;
    const { state: to, paidAmount, review } = afterMoney(toOrder(order, at), row);
    const counted = { order_code: code, review };
    const { provider, id, amount, currency } = row;
    await transaction
      .updateTable('bank_transactions')
      .set(counted)
      .where('provider', '=', provider)
      .where('id', '=', id)
      .execute();
    const note = `${provider} ${id}: ${amount} ${currency}`;
    const line = { actor: `bank:${provider}`, action: 'order.money', note } as const;
    const change = { transaction, engine, account, at };
    const moved = await moveOrder({ ...change, order, to, paidAmount, line });
    return { transaction: toRecordedTransaction({ ...row, ...counted }), order: toOrder(moved, at), replayed: false };
  }
}
