/*
 * Records bank transfers and counts them for orders. The id of a transfer is unique within its provider, so a repeated
 * notice changes nothing; a concurrent one waits for the first. The order is found by the code in the text of the
 * transfer; a text that names several orders matches none. Transfer, order, plan and audit row change in one
 * transaction. A transfer without an order is stored and waits for an operator. For an erased account only the code is
 * stored, since the texts of transfers name people.
 */

import {
  type DatabaseClock,
  type Engine,
  isStorable,
  type Kysely,
  type Selectable,
  sql,
  storable,
  type Tables,
  type Transaction,
} from '../../core/database/index.js';
import { GatewayError } from '../../core/runtime/index.js';
import { lockAccount } from '../accounts/index.js';
import { writeAudit } from '../audit/index.js';
import { minorDecimal } from '../format/index.js';
import {
  afterMoney,
  lockOrder,
  moveOrder,
  type OrderMove,
  type OrderRow,
  orderCodesIn,
  orderNotFound,
  toOrder,
} from './order-changes.js';
import type { BankTransaction, OrderChange, OrderRecord, RecordedTransaction, Recording } from './order-records.js';

/** Counts a transfer once, and the order that it pays. */
export async function recordTransaction(
  transaction: Transaction<Tables>,
  reported: BankTransaction,
  { engine, at }: { engine: Engine; at: number },
): Promise<Recording> {
  const row = await insertTransaction(transaction, reported, at);
  if (!row) return findRecorded(transaction, reported, at);
  const match = await matchOrder(transaction, row.text);
  const { provider } = row;
  const line = {
    actor: `bank:${provider}`,
    action: 'order.money',
    ...sourceOf(row),
  } as const;
  const counted = match && (await countFor(match, row, { transaction, engine, at, line }));
  return counted ?? { transaction: row, replayed: false };
}

/** A place in the order of transfers. */
export type TransactionPlace = Pick<RecordedTransaction, 'recordedAt' | 'provider' | 'id'>;

/** Which transfers are listed: those of one order, those that need a review, or all. */
export type TransactionFilter = { code: string } | { review: boolean; after?: TransactionPlace };

/** Transfers of one order, oldest first; or others, latest first. */
export async function selectTransactions(
  queries: Kysely<Tables>,
  of: TransactionFilter,
  limit: number,
): Promise<readonly RecordedTransaction[]> {
  const all = queries.selectFrom('bank_transactions').selectAll().limit(limit);
  if ('code' in of) {
    if (!isStorable(of.code)) return [];
    const ofOrder = all.where('orderCode', '=', of.code);
    return ofOrder.orderBy('recordedAt').orderBy('provider').orderBy('id').execute();
  }
  const { review, after } = of;
  return all
    .$if(review, (some) => some.where(sql<boolean>`review is not null`))
    .$if(after !== undefined, (some) =>
      some.where(sql<boolean>`("recordedAt", provider, id) < (${after?.recordedAt}, ${after?.provider}, ${after?.id})`),
    )
    .orderBy('recordedAt', 'desc')
    .orderBy('provider', 'desc')
    .orderBy('id', 'desc')
    .execute();
}

/** Marks a transfer as reviewed. False if it needed no review. */
export async function settleReview(
  transaction: Transaction<Tables>,
  { provider, id }: Pick<BankTransaction, 'provider' | 'id'>,
  { actor, note, engine, times }: Omit<OrderChange, 'code'> & { engine: Engine; times: DatabaseClock },
): Promise<boolean> {
  if (!isStorable(provider) || !isStorable(id)) return false;
  const known = await transaction
    .selectFrom('bank_transactions')
    .select('orderCode')
    .where('provider', '=', provider)
    .where('id', '=', id)
    .executeTakeFirst();
  if (!known) return false;
  const { orderCode: code } = known;
  // The order is locked first, as in a confirmation.
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
  const source = note === undefined ? `${provider} ${id}` : `${provider} ${id}: ${note}`;
  await writeAudit(transaction, { subject, at, actor, action: 'transaction.reviewed', note: source });
  return true;
}

const MAX_TEXT = 500;

type TransactionRow = Selectable<RecordedTransaction>;

/** A transfer in the audit log: `bank B-2042`, and its money. */
function sourceOf({ provider, id, amount, currency }: TransactionRow) {
  return { note: `${provider} ${id}`, amount: minorDecimal(amount, currency), currency };
}

interface Counting {
  transaction: Transaction<Tables>;
  engine: Engine;
  at: number;
  line: OrderMove['line'];
}

/**
 * Counts a transfer without an order for one that an operator names.
 * @throws GatewayError `order_not_found`; `invalid_value` if there is no such transfer, or it has an order.
 */
export async function matchTransaction(
  transaction: Transaction<Tables>,
  { provider, id }: Pick<BankTransaction, 'provider' | 'id'>,
  { code, actor, note, engine, times }: OrderChange & { engine: Engine; times: DatabaseClock },
): Promise<OrderRecord> {
  const order = isStorable(code)
    ? await transaction.selectFrom('orders').select(['code', 'accountId']).where('code', '=', code).executeTakeFirst()
    : undefined;
  if (!order) throw orderNotFound();
  // In the order of all changes of an account: account, order, transfer.
  await lockAccount(transaction, engine, order.accountId);
  await lockOrder(transaction, engine, order.code);
  const rows = transaction
    .selectFrom('bank_transactions')
    .selectAll()
    .where('provider', '=', provider)
    .where('id', '=', id);
  const isNamed = isStorable(provider) && isStorable(id);
  const row = isNamed ? await (engine === 'postgres' ? rows.forUpdate() : rows).executeTakeFirst() : undefined;
  if (!row) throw new GatewayError('invalid_value', 'There is no such transfer.', { param: 'id' });
  if (row.orderCode !== null) {
    throw new GatewayError('invalid_value', `This transfer belongs to the order ${row.orderCode}.`, { param: 'id' });
  }
  const at = await times.read(transaction);
  const source = sourceOf(row);
  const words = note === undefined ? source.note : `${source.note}; ${note}`;
  const line = { actor, action: 'order.money', ...source, note: words } as const;
  const counted = await countFor(order, row, { transaction, engine, at, line });
  if (!counted?.order) throw orderNotFound();
  return counted.order;
}

/** Counts a transfer for an order. Undefined if the order was deleted at this moment. */
async function countFor(
  { code, accountId }: Pick<OrderRow, 'code' | 'accountId'>,
  row: TransactionRow,
  { transaction, engine, at, line }: Counting,
): Promise<Recording | undefined> {
  const account = await lockAccount(transaction, engine, accountId);
  const order = await lockOrder(transaction, engine, code);
  if (!order) return undefined;
  const { state: to, paidAmount, review } = afterMoney(toOrder(order, at), row);
  const erased = await transaction
    .selectFrom('erasures')
    .select('accountId')
    .where('accountId', '=', account.id)
    .executeTakeFirst();
  // The texts of transfers name people, so for an erased account only the code is stored.
  const counted = { orderCode: code, review, ...(erased && { text: code }) };
  const { provider, id } = row;
  await transaction
    .updateTable('bank_transactions')
    .set(counted)
    .where('provider', '=', provider)
    .where('id', '=', id)
    .execute();
  const change = { transaction, engine, account, at };
  const moved = await moveOrder({ ...change, order, to, paidAmount, line });
  return { transaction: { ...row, ...counted }, order: toOrder(moved, at), replayed: false };
}

/**
 * Inserts a transfer that is not matched to an order yet. Undefined if it was recorded before; a concurrent insert of
 * the same one is waited for.
 */
function insertTransaction(
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
      recordedAt,
      orderCode: null,
      review: 'unmatched',
    })
    .onConflict((conflict) => conflict.doNothing())
    .returningAll()
    .executeTakeFirst();
}

async function findRecorded(
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
  const { orderCode: code } = row;
  const order =
    code === null
      ? undefined
      : await queries.selectFrom('orders').selectAll().where('code', '=', code).executeTakeFirst();
  return { transaction: row, ...(order && { order: toOrder(order, at) }), replayed: true };
}

/** The matching order; none if the text names several. */
async function matchOrder(
  queries: Kysely<Tables>,
  text: string,
): Promise<Pick<OrderRow, 'code' | 'accountId'> | undefined> {
  const codes = orderCodesIn(text);
  if (codes.length === 0) return undefined;
  const found = await queries.selectFrom('orders').select(['code', 'accountId']).where('code', 'in', codes).execute();
  return found.length === 1 ? found[0] : undefined;
}

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
  for (const [param, text, max] of names) {
    if (text !== '' && storable(text, max) === text) continue;
    throw invalid(param, `1 to ${max} characters without control characters`);
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
