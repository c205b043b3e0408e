/*
 * Erases and exports what people wrote into orders and transfers. Orders and transfers stay, because they are
 * bookkeeping; the text of a transfer is cut to the code of its order, and an order forgets its idempotency key.
 */

import { type Database, sql } from '../../core/database/index.js';
import { clearNotes } from '../audit/index.js';
import { type PersonalRecords, pages, withTimes } from '../personal-records/index.js';

const ROWS = 500;

export const paymentPersonalRecords: PersonalRecords = {
  tables: { orders: 'cleared', bank_transactions: 'cleared' },

  async erase(transaction, { accountId }) {
    const orders = transaction.selectFrom('orders').select('code as id').where('accountId', '=', accountId);
    await transaction
      .updateTable('bank_transactions')
      .set((eb) => ({ text: eb.fn.coalesce('orderCode', sql.lit('')) }))
      .where('orderCode', 'in', orders)
      .execute();
    await transaction
      .updateTable('orders')
      .set({ idempotencyHash: null, fingerprint: null })
      .where('accountId', '=', accountId)
      .execute();
    await clearNotes(transaction, orders);
  },

  exported: (database, { accountId }) => ({ orders: () => readOrders(database, accountId) }),
};

async function* readOrders(database: Database, accountId: string) {
  const rows = pages<{ code: string; createdAt: number }>(database, ROWS, (after) => (queries) => {
    const page = queries
      .selectFrom('orders')
      .select([
        'code',
        'planId',
        'amount',
        'currency',
        'state',
        'paidAmount',
        'createdAt',
        'expiresAt',
        'paidAt',
        'receiptYear',
        'receiptNumber',
      ])
      .where('accountId', '=', accountId)
      .orderBy('createdAt')
      .orderBy('code')
      .limit(ROWS);
    if (!after) return page.execute();
    return page.where(sql<boolean>`("createdAt", code) > (${after.createdAt}, ${after.code})`).execute();
  });
  for await (const order of rows) {
    const transfers = await database.run((queries) =>
      queries
        .selectFrom('bank_transactions')
        .select(['provider', 'id', 'amount', 'currency', 'text', 'at'])
        .where('orderCode', '=', order.code)
        .execute(),
    );
    yield { ...withTimes(order), transfers: transfers.map(withTimes) };
  }
}
