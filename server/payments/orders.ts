/*
 * Payment orders in SQL: creating, finding and listing them, and their tables. An account has at most 5 open orders,
 * which the lock of its account makes exact. A repeated request with the same `Idempotency-Key` returns the first
 * order; the key is stored as a hash for as long as the order. The terms of the plan are stored with the order, so a
 * later change of the catalogue does not affect it. The state `expired` follows from the time, whether or not it was
 * written.
 */

import {
  type Database,
  type DatabaseClock,
  type Engine,
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
import { isTopUp } from '../plans/index.js';
import {
  type ChangeName,
  changeOrder,
  expireOrders,
  forgetOrders,
  newOrderCode,
  type OrderRow,
  termsOf,
  toOrder,
} from './order-changes.js';
import type {
  BankTransaction,
  CreatedOrder,
  NewOrder,
  OrderChange,
  OrderPage,
  OrderRecord,
  OrderState,
  OrdersTable,
  RecordedTransaction,
  Recording,
} from './order-records.js';
import {
  checkMoney,
  checkTransaction,
  matchTransaction,
  recordTransaction,
  selectTransactions,
  settleReview,
  type TransactionFilter,
} from './order-transactions.js';
import type { ReceiptCounter } from './receipts.js';

const MAX_OPEN = 5;

/**
 * Payment orders in SQL. Every method throws GatewayError `upstream_unavailable` within 2.5 s if the database does not
 * answer.
 */
export class Orders {
  readonly #database: Database;
  readonly #engine: Engine;
  readonly #times: DatabaseClock;

  constructor({ database, times }: AccountsOptions) {
    this.#database = database;
    this.#engine = database.engine;
    this.#times = times;
  }

  /**
   * @throws GatewayError `too_many_open_orders` if 5 of the account are pending or underpaid, `idempotency_key_reused`,
   *   `account_not_found`, `account_suspended`, `invalid_value`.
   */
  async create(wanted: NewOrder): Promise<CreatedOrder> {
    checkMoney(wanted);
    const { accountId, idempotency, actor } = wanted;
    const key = idempotency && {
      idempotencyHash: hashText(JSON.stringify([accountId, idempotency.key])),
      fingerprint: hashText(idempotency.fingerprint),
    };
    return this.#database.transaction(async (transaction) => {
      const account = await lockAccount(transaction, this.#engine, accountId);
      const at = await this.#times.read(transaction);
      const known = key && (await findByKey(transaction, key.idempotencyHash));
      if (known && known.fingerprint !== key.fingerprint) throw keyReused();
      if (known) return { order: toOrder(known, at), replayed: true };
      refuseSuspended(account);
      if ((await countOpen(transaction, accountId, at)) >= MAX_OPEN) throw tooManyOpen();
      const row = await insertOrder(transaction, wanted, { at, ...key });
      await writeAudit(transaction, { subject: row.code, at, actor, action: 'order.created', to: row.state });
      return { order: toOrder(row, at), replayed: false };
    });
  }

  /** By its code, exactly. */
  find(code: string): Promise<OrderRecord | undefined> {
    return this.#database.run(async (queries) => {
      const row = await findRow(queries, code);
      return row && toOrder(row, await this.#times.read(queries));
    });
  }

  /** Those of these orders that exist; at most those of a page. */
  async ofCodes(codes: readonly string[]): Promise<readonly OrderRecord[]> {
    if (codes.length === 0) return [];
    return this.#database.run(async (queries) => {
      const rows = await queries.selectFrom('orders').selectAll().where('code', 'in', codes).execute();
      const at = await this.#times.read(queries);
      return rows.map((row) => toOrder(row, at));
    });
  }

  /** The account's plan if the order were paid now. Undefined if there is no such order, or it is a top-up. */
  preview(code: string): Promise<PlanPreview | undefined> {
    return this.#database.run(async (queries) => {
      const row = await findRow(queries, code);
      if (!row) return undefined;
      const at = await this.#times.read(queries);
      const terms = termsOf(row);
      if (isTopUp(terms)) return undefined;
      return (await previewPlans(queries, { accountId: row.accountId, terms: [terms], at }))[0];
    });
  }

  /** Newest first. */
  list(page: OrderPage): Promise<readonly OrderRecord[]> {
    return this.#database.run(async (queries) => {
      const at = await this.#times.read(queries);
      return (await selectPage(queries, page, at)).map((row) => toOrder(row, at));
    });
  }

  /** How many are in a state, counted up to a number. */
  countIn(state: OrderState, most: number): Promise<number> {
    return this.#database.run(async (queries) => {
      const at = await this.#times.read(queries);
      const some = queries
        .selectFrom('orders')
        .select('code')
        .where('state', '=', state)
        .$if(state === 'pending', (waiting) => waiting.where('expiresAt', '>', at))
        .orderBy('createdAt', 'desc')
        .limit(most);
      return (await some.execute()).length;
    });
  }

  /**
   * Counts a transfer once, even if it is reported repeatedly: the order's state, its plan and the audit row change in
   * the same transaction. Resolves when that is durable.
   * @throws GatewayError `invalid_value` if it cannot be stored.
   */
  async record(reported: BankTransaction): Promise<Recording> {
    checkTransaction(reported);
    return this.#database.transaction(async (transaction) => {
      const at = await this.#times.read(transaction);
      return recordTransaction(transaction, reported, { engine: this.#engine, at });
    });
  }

  /**
   * An operator marks the order as paid. No effect on a paid order.
   * @throws GatewayError `order_not_found`, `order_state_conflict`.
   */
  confirm(change: OrderChange): Promise<OrderRecord> {
    return this.#change('confirm', change);
  }

  /** No effect on a cancelled order. Throws as `confirm` does. */
  cancel(change: OrderChange): Promise<OrderRecord> {
    return this.#change('cancel', change);
  }

  /**
   * Records a refund, and revokes the order's grant with its tokens, requests and time. The account keeps the plan of
   * its other grants, or none. No effect on a refunded order. Throws as `confirm` does.
   */
  refund(change: OrderChange): Promise<OrderRecord> {
    return this.#change('refund', change);
  }

  /** Transfers of one order, oldest first; or all, or those that need a review, latest first. At most `limit`. */
  transactions(of: TransactionFilter, limit: number): Promise<readonly RecordedTransaction[]> {
    return this.#database.run((queries) => selectTransactions(queries, of, limit));
  }

  /**
   * Counts a transfer without an order for one that an operator names, as if its text had the code.
   * @throws GatewayError `order_not_found`; `invalid_value` if there is no such transfer, or it has an order.
   */
  match(name: Pick<BankTransaction, 'provider' | 'id'>, change: OrderChange): Promise<OrderRecord> {
    const clocks = { engine: this.#engine, times: this.#times };
    return this.#database.transaction((transaction) => matchTransaction(transaction, name, { ...change, ...clocks }));
  }

  /** Marks a transfer as reviewed. False if it needed no review. Writes an audit row if it has an order. */
  settleReview(name: Pick<BankTransaction, 'provider' | 'id'>, change: Omit<OrderChange, 'code'>): Promise<boolean> {
    const clocks = { engine: this.#engine, times: this.#times };
    return this.#database.transaction((transaction) => settleReview(transaction, name, { ...change, ...clocks }));
  }

  /** Expires due orders, and deletes unpaid ones that ended more than 90 days ago; at most 200 of each. */
  sweep(): Promise<{ expired: number; forgotten: number }> {
    return this.#database.transaction(async (transaction) => {
      const at = await this.#times.read(transaction);
      return {
        expired: await expireOrders(transaction, this.#engine, at),
        forgotten: await forgetOrders(transaction, this.#engine, at),
      };
    });
  }

  #change(name: ChangeName, change: OrderChange): Promise<OrderRecord> {
    const clocks = { engine: this.#engine, times: this.#times };
    return this.#database.transaction((transaction) => changeOrder(transaction, name, { ...change, ...clocks }));
  }
}

async function findRow(queries: Kysely<Tables>, code: string): Promise<OrderRow | undefined> {
  if (!isStorable(code)) return undefined;
  return queries.selectFrom('orders').selectAll().where('code', '=', code).executeTakeFirst();
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
    receiptYear: null,
    receiptNumber: null,
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

/** An order that waits expires by time, whether or not that was written: those are read in two parts. */
async function selectPage(queries: Kysely<Tables>, page: OrderPage, at: number): Promise<OrderRow[]> {
  const { limit, accountId, state, before, after } = page;
  if (!isStorable(`${accountId}${before}${after?.id}`)) return [];
  const stored = state === 'expired' ? (['expired', 'pending'] as const) : state === undefined ? [] : [state];
  const select = (storedState?: OrderState) =>
    queries
      .selectFrom('orders')
      .selectAll()
      .orderBy('createdAt', 'desc')
      .orderBy('code', 'desc')
      .limit(limit)
      .$if(accountId !== undefined, (some) => some.where('accountId', '=', accountId as string))
      .$if(storedState !== undefined, (some) => some.where('state', '=', storedState as OrderState))
      .$if(storedState === 'pending', (some) => some.where('expiresAt', state === 'pending' ? '>' : '<=', at))
      .$if(after !== undefined, (some) => some.where(sql<boolean>`("createdAt", code) < (${after?.at}, ${after?.id})`))
      .$if(before !== undefined, (some) =>
        some.where(({ eb, refTuple, selectFrom }) =>
          eb(
            refTuple('createdAt', 'code'),
            '<',
            selectFrom('orders as mark')
              .select(['mark.createdAt', 'mark.code'])
              .where('mark.code', '=', before as string)
              .$asTuple('createdAt', 'code'),
          ),
        ),
      )
      .execute();
  const parts = stored.length === 0 ? [await select()] : await Promise.all(stored.map(select));
  return parts
    .flat()
    .sort((one, other) => other.createdAt - one.createdAt || (other.code < one.code ? -1 : 1))
    .slice(0, limit);
}

function tooManyOpen(): GatewayError {
  const message = `This account has ${MAX_OPEN} open orders; pay or cancel one first.`;
  return new GatewayError('too_many_open_orders', message);
}

declare module '../../core/database/tables.js' {
  interface Tables {
    orders: OrdersTable;
    bank_transactions: RecordedTransaction;
    receipt_counters: ReceiptCounter;
  }
}

/** The tables of orders and bank transactions. Queries repeat the conditions of partial indexes to the letter. */
export const paymentMigrations: Migrations = {
  '0001-payments': {
    ...sqlMigration(
      `create table orders (
      code text primary key, "accountId" text not null references accounts (id), "planId" text not null, terms text not null,
      amount bigint not null, currency text not null, state text not null, "paidAmount" bigint not null,
      "createdAt" bigint not null, "expiresAt" bigint not null, "paidAt" bigint,
      "idempotencyHash" text unique, fingerprint text)`,
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
  '0002-receipts': {
    ...sqlMigration(
      'alter table orders add column "receiptYear" integer',
      'alter table orders add column "receiptNumber" integer',
      `create unique index orders_receipt on orders ("receiptYear", "receiptNumber") where "receiptNumber" is not null`,
      `create table receipt_counters (year integer not null primary key, last integer not null)`,
    ),
    changes: ['orders'],
  },
};
