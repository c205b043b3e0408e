import { isKept, type Kysely, sql, type Transaction } from '../../database/index.js';
import { hashText } from '../../jobs/index.js';
import { GatewayError } from '../../runtime/index.js';
import type { AccountsOptions, PlanTerms } from '../accounts/index.js';
import { lockAccount, previewPlans, refuseSuspended } from '../accounts/index.js';
import { writeAudit } from '../audit/index.js';
import { keyReused } from '../idempotency/index.js';
import type { Tables } from '../schema.js';
import { checkMoney } from './money-checks.js';
import { createOrderChanges } from './order-changes.js';
import { newOrderCode } from './order-codes.js';
import { type OrderRow, toOrder } from './order-rows.js';
import { createOrderSweep } from './order-sweep.js';
import { createOrderTransactions } from './order-transactions.js';
import type { NewOrder, OrderPage, Orders } from './orders.js';

const MOST_OPEN = 5;

/** Payment orders in SQL. */
export function createOrders(options: AccountsOptions): Orders {
  const { database, times } = options;
  const { engine } = database;

  return {
    async create(wanted) {
      checkMoney(wanted);
      const { accountId, idempotency, actor } = wanted;
      const key = idempotency && {
        idempotency_hash: hashText(JSON.stringify([accountId, idempotency.key])),
        fingerprint: hashText(idempotency.fingerprint),
      };
      return database.transaction(async (transaction) => {
        const account = await lockAccount(transaction, engine, accountId);
        const at = await times.read(transaction);
        const known = key && (await findByKey(transaction, key.idempotency_hash));
        if (known && known.fingerprint !== key.fingerprint) throw keyReused();
        if (known) return { order: toOrder(known, at), replayed: true };
        refuseSuspended(account);
        if ((await countOpen(transaction, accountId, at)) >= MOST_OPEN) throw tooManyOpen();
        const row = await insertOrder(transaction, wanted, { at, ...key });
        await writeAudit(transaction, { subject: row.code, at, actor, action: 'order.created', to: row.state });
        return { order: toOrder(row, at), replayed: false };
      });
    },

    find: (code) =>
      database.run(async (queries) => {
        if (!isKept(code)) return undefined;
        const row = await queries.selectFrom('orders').selectAll().where('code', '=', code).executeTakeFirst();
        return row && toOrder(row, await times.read(queries));
      }),

    preview: (code) =>
      database.run(async (queries) => {
        if (!isKept(code)) return undefined;
        const row = await queries.selectFrom('orders').selectAll().where('code', '=', code).executeTakeFirst();
        if (!row) return undefined;
        const price = { amount: row.amount, currency: row.currency };
        const terms = [{ ...(JSON.parse(row.terms) as PlanTerms), price }];
        const at = await times.read(queries);
        return (await previewPlans(queries, { accountId: row.account_id, terms, at }))[0];
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
  { at, idempotency_hash = null, fingerprint = null }: Partial<OrderRow> & { at: number },
): Promise<OrderRow> {
  const order = {
    account_id: accountId,
    plan_id: terms.planId,
    terms: JSON.stringify(terms),
    amount,
    currency,
    state: 'pending',
    paid_amount: 0,
    created_at: at,
    expires_at: at + lifetimeMs,
    paid_at: null,
    idempotency_hash,
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
  return transaction.selectFrom('orders').selectAll().where('idempotency_hash', '=', hash).executeTakeFirst();
}

async function countOpen(transaction: Transaction<Tables>, accountId: string, at: number): Promise<number> {
  const open = await transaction
    .selectFrom('orders')
    .select('code')
    .where('account_id', '=', accountId)
    .where((where) =>
      where.or([
        where('state', '=', 'underpaid'),
        where.and([where('state', '=', 'pending'), where('expires_at', '>', at)]),
      ]),
    )
    .limit(MOST_OPEN)
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
    .orderBy('created_at', 'desc')
    .orderBy('code', 'desc')
    .limit(limit);
  if (accountId !== undefined) orders = orders.where('account_id', '=', accountId);
  if (state !== undefined) {
    const stateNow = sql<string>`case when state = 'pending' and expires_at <= ${at} then 'expired' else state end`;
    orders = orders.where(stateNow, '=', state);
  }
  if (before === undefined) return orders.execute();
  if (!isKept(before)) return [];
  return orders
    .where(({ eb, refTuple, selectFrom }) =>
      eb(
        refTuple('created_at', 'code'),
        '<',
        selectFrom('orders as mark')
          .select(['mark.created_at', 'mark.code'])
          .where('mark.code', '=', before)
          .$asTuple('created_at', 'code'),
      ),
    )
    .execute();
}

function tooManyOpen(): GatewayError {
  const message = `This account has ${MOST_OPEN} open orders; pay or cancel one first.`;
  return new GatewayError('too_many_open_orders', message);
}
