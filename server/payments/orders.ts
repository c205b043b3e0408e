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
import {
  type AccountsOptions,
  lockAccount,
  type PlanPreview,
  previewPlans,
  refuseSuspended,
} from '../accounts/index.js';
import { writeAudit } from '../audit/index.js';
import { keyReused } from '../idempotency/index.js';
import type { PlanTerms } from '../plans/index.js';
import { createOrderChanges, createOrderSweep, newOrderCode, type OrderRow, toOrder } from './order-changes.js';
import { checkMoney, createOrderTransactions } from './order-transactions.js';

declare module '../http/server-context.js' {
  interface AccountStores {
    readonly orders: Orders;
  }
}

/**
 * `pending` → `paid` by exactly the amount, in one transfer or several; `underpaid` as long as less has arrived;
 * `needs_review` if more has arrived, or money in another currency, or for a cancelled order; `expired` by time if
 * nothing has arrived, which a later transfer still changes into the others; `cancelled` if nothing has arrived. An
 * operator changes any of them but `cancelled` and `refunded` into `paid`, and `paid`, `underpaid` and `needs_review`
 * into `refunded`. `refunded` is final.
 */
export type OrderState = 'pending' | 'underpaid' | 'paid' | 'expired' | 'cancelled' | 'refunded' | 'needs_review';

/** A payment order. Times are milliseconds since 1970; money is in minor units of its currency. */
export interface OrderRecord {
  /** `MG` and 8 characters of Crockford's base 32. */
  code: string;
  accountId: string;
  planId: string;
  amount: number;
  /** ISO 4217. */
  currency: string;
  state: OrderState;
  /** Received amount in the currency of the order, in any state. */
  paidAmount: number;
  createdAt: number;
  /** Expiry of a pending order. */
  expiresAt: number;
  /** When the plan was granted. */
  paidAt: number | null;
}

export interface NewOrder {
  accountId: string;
  /** The plan that is granted when it is paid. */
  terms: PlanTerms;
  /** From the catalogue; a whole number above 0. */
  amount: number;
  currency: string;
  /** Actor for the audit log: `user:user_…`. */
  actor: string;
  /** Milliseconds until it expires. */
  lifetimeMs: number;
  /**
   * Idempotency key of the account; kept as long as the order. `fingerprint` contains everything that distinguishes
   * requests.
   */
  idempotency?: { key: string; fingerprint: string };
}

export interface CreatedOrder {
  order: OrderRecord;
  /** Whether it was created before, with the same Idempotency-Key. */
  replayed: boolean;
}

/** One reported bank transfer. */
export interface BankTransaction {
  /** Provider of the id: `payos`. */
  provider: string;
  /** Unique within the provider; at most 200 characters. */
  id: string;
  /** Minor units; above 0. */
  amount: number;
  currency: string;
  /** The transfer's text: the order's code is found in it regardless of case, blanks and punctuation. */
  text: string;
  /** The bank's booking time. */
  at: number;
}

/** Why a transaction needs a review. */
export type ReviewReason = 'unmatched' | 'wrong_currency' | 'overpaid' | 'duplicate' | 'cancelled';

export interface RecordedTransaction extends BankTransaction {
  recordedAt: number;
  /** Code of its order; null if none was found. */
  orderCode: string | null;
  /** Null if it needs no review, or was reviewed. */
  review: ReviewReason | null;
}

export interface Recording {
  transaction: RecordedTransaction;
  /** The current order; undefined if none was found. */
  order?: OrderRecord;
  /** Whether it had been recorded before, and nothing was changed. */
  replayed: boolean;
}

/** An action of an operator on an order, or of its user (cancelling). */
export interface OrderChange {
  code: string;
  /** Actor for the audit log: `operator:ann`. */
  actor: string;
  note?: string;
  /** Default: any account. Otherwise, orders of other accounts are not found. */
  accountId?: string;
}

export interface OrderPage {
  /** Maximum number of orders. */
  limit: number;
  accountId?: string;
  state?: OrderState;
  /** Orders created before this one, by its code. Default: from the newest on. */
  before?: string;
}

/** Every method throws GatewayError `upstream_unavailable` within 2.5 s if the database does not answer. */
export interface Orders {
  /**
   * @throws GatewayError `too_many_open_orders` if 5 of the account are pending or underpaid, `idempotency_key_reused`,
   *   `account_not_found`, `account_suspended`, `invalid_value`.
   */
  create(order: NewOrder): Promise<CreatedOrder>;
  /** By its code, exactly. */
  find(code: string): Promise<OrderRecord | undefined>;
  /** The account's plan if the order were paid now. Undefined if there is no such order. */
  preview(code: string): Promise<PlanPreview | undefined>;
  /** Newest first. */
  list(page: OrderPage): Promise<readonly OrderRecord[]>;
  /**
   * Counts a transfer once, even if it is reported repeatedly: the order's state, its plan and the audit row change in
   * the same transaction. Resolves when that is durable.
   * @throws GatewayError `invalid_value` if it cannot be stored.
   */
  record(transaction: BankTransaction): Promise<Recording>;
  /**
   * An operator marks the order as paid. No effect on a paid order.
   * @throws GatewayError `order_not_found`, `order_state_conflict`.
   */
  confirm(change: OrderChange): Promise<OrderRecord>;
  /** No effect on a cancelled order. Throws as `confirm` does. */
  cancel(change: OrderChange): Promise<OrderRecord>;
  /**
   * Records a refund, and revokes the order's grant with its tokens, requests and time. The account keeps the plan of
   * its other grants, or none. No effect on a refunded order. Throws as `confirm` does.
   */
  refund(change: OrderChange): Promise<OrderRecord>;
  /** Transfers of one order, oldest first; or those that need a review, latest first. At most `limit`. */
  transactions(of: { code: string } | { review: true }, limit: number): Promise<readonly RecordedTransaction[]>;
  /** Marks a transfer as reviewed. False if it needed no review. Writes an audit row if it has an order. */
  settleReview(
    transaction: Pick<BankTransaction, 'provider' | 'id'>,
    change: Omit<OrderChange, 'code'>,
  ): Promise<boolean>;
  /** Expires due orders, and deletes unpaid ones that ended more than 90 days ago; at most 200 of each. */
  sweep(): Promise<{ expired: number; forgotten: number }>;
}

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

export interface OrdersTable extends OrderRecord {
  /** JSON of PlanTerms. */
  terms: string;
  /** SHA-256 of account and key in lower-case hex. */
  idempotencyHash: string | null;
  /** SHA-256, too. */
  fingerprint: string | null;
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
