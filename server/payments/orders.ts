/*
 * Payment orders in SQL: creating, finding and listing them, and their tables. An account has at most 5 open orders,
 * which the lock of its account makes exact. A repeated request with the same `Idempotency-Key` returns the first
 * order; the key is stored as a hash for as long as the order. The terms of the plan are stored with the order, so a
 * later change of the catalogue does not affect it. The state `expired` follows from the time, whether or not it was
 * written.
 */

import {
  isStorable,
  type Kysely,
  type Migrations,
  sql,
  sqlMigration,
  type Tables,
  type Transaction,
} from '../../core/database/index.js';
import { hashText } from '../../core/jobs/index.js';
import { GatewayError } from '../../core/runtime/index.js';
import { type AccountsOptions, lockAccount, previewPlans, refuseSuspended } from '../accounts/index.js';
import { writeAudit } from '../audit/index.js';
import { keyReused } from '../idempotency/index.js';
import type { PlanTerms } from '../plans/index.js';
import { createOrderChanges, createOrderSweep, newOrderCode, type OrderRow, toOrder } from './order-changes.js';
import type { NewOrder, OrderPage, Orders, OrdersTable, RecordedTransaction } from './order-records.js';
import { checkMoney, createOrderTransactions } from './order-transactions.js';

const MAX_OPEN = 5;

/** Payment orders in SQL. */
export function createOrders(options: AccountsOptions): Orders {
  const { database, times } = options;
  const { engine } = database;

  return {
    async create(wanted) {
      checkMoney(wanted);
      const { accountId, idempotency, actor } = wanted;
      const key = idempotency && {
        idempotencyHash: hashText(JSON.stringify([accountId, idempotency.key])),
        fingerprint: hashText(idempotency.fingerprint),
      };
      return database.transaction(async (transaction) => {
        const account = await lockAccount(transaction, engine, accountId);
        const at = await times.read(transaction);
        const known = key && (await findByKey(transaction, key.idempotencyHash));
        if (known && known.fingerprint !== key.fingerprint) throw keyReused();
        if (known) return { order: toOrder(known, at), replayed: true };
        refuseSuspended(account);
        if ((await countOpen(transaction, accountId, at)) >= MAX_OPEN) throw tooManyOpen();
        const row = await insertOrder(transaction, wanted, { at, ...key });
        await writeAudit(transaction, { subject: row.code, at, actor, action: 'order.created', to: row.state });
        return { order: toOrder(row, at), replayed: false };
      });
    },

    find: (code) =>
      database.run(async (queries) => {
        if (!isStorable(code)) return undefined;
        const row = await queries.selectFrom('orders').selectAll().where('code', '=', code).executeTakeFirst();
        return row && toOrder(row, await times.read(queries));
      }),

    preview: (code) =>
      database.run(async (queries) => {
        if (!isStorable(code)) return undefined;
        const row = await queries.selectFrom('orders').selectAll().where('code', '=', code).executeTakeFirst();
        if (!row) return undefined;
        const price = { amount: row.amount, currency: row.currency };
        const terms = [{ ...(JSON.parse(row.terms) as PlanTerms), price }];
        const at = await times.read(queries);
        return (await previewPlans(queries, { accountId: row.accountId, terms, at }))[0];
      }),

    list: (page) =>
      database.run(async (queries) => {
        const at = await times.read(queries);
        return (await selectPage(queries, page, at)).map((row) => toOrder(row, at));
      }),

    ...createOrderTransactions(options),
    ...createOrderChanges(options),
    ...createOrderSweep(database, times),
  };
}

async function insertOrder(
  transaction: Transaction<Tables>,
  { accountId, terms, amount, currency, lifetimeMs }: NewOrder,
  { at, idempotencyHash = null, fingerprint = null }: Partial<OrderRow> & { at: number },
): Promise<OrderRow> {
  const order = {
    accountId,
    planId: terms.planId,
    terms: JSON.stringify(terms),
    amount,
    currency,
    state: 'pending',
    paidAmount: 0,
    createdAt: at,
    expiresAt: at + lifetimeMs,
    paidAt: null,
    idempotencyHash,
    fingerprint,
  } as const;
  for (;;) {
    const row = await transaction
      .insertInto('orders')
      .values({ ...order, code: newOrderCode() })
      .onConflict((conflict) => conflict.column('code').doNothing())
      .returningAll()
      .executeTakeFirst();
    if (row) return row;
  }
}

function findByKey(transaction: Transaction<Tables>, hash: string): Promise<OrderRow | undefined> {
  return transaction.selectFrom('orders').selectAll().where('idempotencyHash', '=', hash).executeTakeFirst();
}

async function countOpen(transaction: Transaction<Tables>, accountId: string, at: number): Promise<number> {
  const open = await transaction
    .selectFrom('orders')
    .select('code')
    .where('accountId', '=', accountId)
    .where((where) =>
      where.or([
        where('state', '=', 'underpaid'),
        where.and([where('state', '=', 'pending'), where('expiresAt', '>', at)]),
      ]),
    )
    .limit(MAX_OPEN)
    .execute();
  return open.length;
}

async function selectPage(
  queries: Kysely<Tables>,
  { limit, accountId, state, before }: OrderPage,
  at: number,
): Promise<OrderRow[]> {
  let orders = queries
    .selectFrom('orders')
    .selectAll()
    .orderBy('createdAt', 'desc')
    .orderBy('code', 'desc')
    .limit(limit);
  if (accountId !== undefined) orders = orders.where('accountId', '=', accountId);
  if (state !== undefined) {
    const stateNow = sql<string>`case when state = 'pending' and "expiresAt" <= ${at} then 'expired' else state end`;
    orders = orders.where(stateNow, '=', state);
  }
  if (before === undefined) return orders.execute();
  if (!isStorable(before)) return [];
  return orders
    .where(({ eb, refTuple, selectFrom }) =>
      eb(
        refTuple('createdAt', 'code'),
        '<',
        selectFrom('orders as mark')
          .select(['mark.createdAt', 'mark.code'])
          .where('mark.code', '=', before)
          .$asTuple('createdAt', 'code'),
      ),
    )
    .execute();
}

function tooManyOpen(): GatewayError {
  const message = `This account has ${MAX_OPEN} open orders; pay or cancel one first.`;
  return new GatewayError('too_many_open_orders', message);
}

declare module '../../core/database/tables.js' {
  interface Tables {
    orders: OrdersTable;
    bank_transactions: RecordedTransaction;
  }
}

/** The tables of orders and bank transactions. Queries repeat the conditions of partial indexes to the letter. */
export const paymentMigrations: Migrations = {
  '0001-payments': {
    ...sqlMigration(
      `create table orders (
      code text primary key, "accountId" text not null references accounts (id), "planId" text not null, terms text not null,
      amount bigint not null, currency text not null, state text not null, "paidAmount" bigint not null,
      "createdAt" bigint not null, "expiresAt" bigint not null, "paidAt" bigint, "idempotencyHash" text unique, fingerprint text)`,
      `create index orders_created_at on orders ("createdAt", code)`,
      `create index orders_account on orders ("accountId", "createdAt", code)`,
      `create index orders_due on orders ("expiresAt") where state = 'pending'`,
      `create index orders_moneyless on orders ("expiresAt") where state in ('expired', 'cancelled') and "paidAmount" = 0`,
      `create table bank_transactions (
      provider text not null, id text not null, amount bigint not null, currency text not null, text text not null,
      at bigint not null, "recordedAt" bigint not null, "orderCode" text, review text, primary key (provider, id))`,
      `create index bank_transactions_order on bank_transactions ("orderCode", "recordedAt")`,
      `create index bank_transactions_review on bank_transactions ("recordedAt") where review is not null`,
    ),
    // The reference locks it.
    changes: ['accounts'],
  },
};
