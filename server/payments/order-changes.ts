/*
 * Moves orders between states: by operators, by their user (cancelling), by money and by time. A move locks the account
 * and then the order, and writes the new state, the granted or revoked plan, the number of the receipt and the audit rows in one transaction. A
 * move to the current state has no effect; one that the table of changes does not list is refused. The plan is granted
 * at the price of the order, not of the current catalogue; a top-up goes into the prepaid balance instead. The sweep skips orders that are locked, and changes at most
 * 200 orders at once. The file also has the codes of orders and how they are found in the text of a transfer.
 */

import { randomInt } from 'node:crypto';
import {
  type DatabaseClock,
  type Engine,
  isStorable,
  type Selectable,
  sql,
  type Tables,
  type Transaction,
} from '../../core/database/index.js';
import { GatewayError } from '../../core/runtime/index.js';
import {
  grantPlan,
  lockAccount,
  locked,
  type PlanChange,
  takeBackPlan,
  takeBackTopUp,
  topUpAccount,
} from '../accounts/index.js';
import { type AuditLine, writeAudit } from '../audit/index.js';
import { decimal } from '../ledger/index.js';
import { isTopUp, type PlanTerms, type TopUpTerms } from '../plans/index.js';
import type {
  BankTransaction,
  OrderChange,
  OrderRecord,
  OrderState,
  OrdersTable,
  ReviewReason,
} from './order-records.js';
import { takeReceiptNumber } from './receipts.js';

/** An operator, or the user, changes an order. No effect on one that is in the wanted state already. */
export async function changeOrder(
  transaction: Transaction<Tables>,
  name: ChangeName,
  { code, actor, note, accountId, engine, times }: OrderChange & { engine: Engine; times: DatabaseClock },
): Promise<OrderRecord> {
  const { to, from, action } = CHANGES[name];
  const owner = isStorable(code) ? await ownerOf(transaction, code) : undefined;
  if (owner === undefined || (accountId !== undefined && owner !== accountId)) throw orderNotFound();
  const account = await lockAccount(transaction, engine, owner);
  const order = await lockOrder(transaction, engine, code);
  if (!order) throw orderNotFound();
  const at = await times.read(transaction);
  const state = stateAt(order, at);
  if (state === to) return toOrder(order, at);
  if (!from.some((each) => each === state)) {
    throw new GatewayError('order_state_conflict', `An order that is ${state} cannot become ${to}.`);
  }
  const plan = { transaction, engine, account, at };
  const line = { actor, action, note };
  const moved = await moveOrder({ ...plan, order, to, paidAmount: order.paidAmount, line });
  // A decision about the order settles the review of its transfers.
  await transaction.updateTable('bank_transactions').set({ review: null }).where('orderCode', '=', code).execute();
  return toOrder(moved, at);
}

async function ownerOf(transaction: Transaction<Tables>, code: string): Promise<string | undefined> {
  const order = await transaction.selectFrom('orders').select('accountId').where('code', '=', code).executeTakeFirst();
  return order?.accountId;
}

export function orderNotFound(): GatewayError {
  return new GatewayError('order_not_found', 'There is no such order.');
}

/** A change of an order. Its row, and that of its account, are locked. */
export interface OrderMove extends PlanChange {
  order: OrderRow;
  to: OrderState;
  paidAmount: number;
  line: Pick<AuditLine, 'actor' | 'action' | 'note' | 'amount' | 'currency'>;
}

/** Writes the new state, and its consequences in the same transaction: the plan, and the audit log. */
export async function moveOrder(move: OrderMove): Promise<OrderRow> {
  const { transaction, order, at, to, paidAmount, line } = move;
  const { code } = order;
  const from = stateAt(order, at);
  const isGranted = to === 'paid' && from !== 'paid';
  const receipt = isGranted && (await takeReceiptNumber(transaction, at));
  const change = { state: to, paidAmount, ...(receipt && { paidAt: at, ...receipt }) };
  await transaction.updateTable('orders').set(change).where('code', '=', code).execute();
  await writeAudit(transaction, { ...line, subject: code, at, from, to });
  if (isGranted) await grant(move);
  if (to === 'refunded' && from === 'paid') await takeBack(move);
  return { ...order, ...change };
}

async function grant(move: OrderMove): Promise<void> {
  const { transaction, order, account, at, line } = move;
  const entry = { subject: account.id, at, actor: line.actor, note: order.code };
  const terms = termsOf(order);
  if (isTopUp(terms)) {
    await topUpAccount(move, order.code, terms);
    const money = { amount: decimal(terms.credit), currency: terms.currency };
    await writeAudit(transaction, { ...entry, action: 'balance.credited', ...money });
    return;
  }
  await grantPlan({ ...move, id: order.code, terms });
  await writeAudit(transaction, { ...entry, action: 'plan.granted', to: order.planId });
}

/** Of a top-up, what was not used or reserved; the audit row says how much. */
async function takeBack(move: OrderMove): Promise<void> {
  const { transaction, order, account, at, line } = move;
  const entry = { subject: account.id, at, actor: line.actor, note: order.code };
  const terms = termsOf(order);
  if (isTopUp(terms)) {
    const taken = await takeBackTopUp(move, order.code, terms);
    const money = { amount: decimal(-taken), currency: terms.currency };
    await writeAudit(transaction, { ...entry, action: 'balance.taken-back', ...money });
    return;
  }
  await takeBackPlan(move, order.code);
  await writeAudit(transaction, { ...entry, action: 'plan.taken-back', to: order.planId });
}

/** The terms at the price of the order, not the current one of the catalogue. */
export function termsOf({ terms, amount, currency }: OrderRow): PlanTerms | TopUpTerms {
  const stored = JSON.parse(terms) as PlanTerms | TopUpTerms;
  return isTopUp(stored) ? stored : { ...stored, price: { amount, currency } };
}

/** The effect of a transfer on an order. */
export interface AfterMoney {
  state: OrderState;
  paidAmount: number;
  /** Why the transfer needs a review. */
  review: ReviewReason | null;
}

type Standing = Pick<OrderRecord, 'state' | 'amount' | 'currency' | 'paidAmount'>;

export function afterMoney(order: Standing, money: Pick<BankTransaction, 'amount' | 'currency'>): AfterMoney {
  const { state } = order;
  const isOver = state === 'paid' || state === 'refunded';
  if (money.currency !== order.currency) {
    return { state: isOver ? state : 'needs_review', paidAmount: order.paidAmount, review: 'wrong_currency' };
  }
  const paidAmount = order.paidAmount + money.amount;
  if (isOver) return { state, paidAmount, review: 'duplicate' };
  if (state === 'cancelled') return { state: 'needs_review', paidAmount, review: 'cancelled' };
  if (paidAmount > order.amount) return { state: 'needs_review', paidAmount, review: 'overpaid' };
  if (state === 'needs_review') return { state, paidAmount, review: null };
  return { state: paidAmount === order.amount ? 'paid' : 'underpaid', paidAmount, review: null };
}

/** Actions on an order, and the state transitions they cause. */
const CHANGES = {
  confirm: { to: 'paid', from: ['pending', 'underpaid', 'expired', 'needs_review'], action: 'order.confirmed' },
  cancel: { to: 'cancelled', from: ['pending'], action: 'order.cancelled' },
  refund: { to: 'refunded', from: ['paid', 'underpaid', 'needs_review'], action: 'order.refunded' },
} as const satisfies Record<string, { to: OrderState; from: readonly OrderState[]; action: string }>;

export type ChangeName = keyof typeof CHANGES;

export type OrderRow = Selectable<OrdersTable>;

/** An order expires by time, whether or not that was written. */
export function stateAt({ state, expiresAt }: OrderRow, at: number): OrderState {
  return state === 'pending' && expiresAt <= at ? 'expired' : state;
}

export function toOrder(row: OrderRow, at: number): OrderRecord {
  const { terms, idempotencyHash: _hash, fingerprint: _fingerprint, ...order } = row;
  const stored = JSON.parse(terms) as PlanTerms | TopUpTerms;
  return { ...order, ...(isTopUp(stored) && { topUp: stored }), state: stateAt(row, at) };
}

/** The caller holds the lock of its account. */
export function lockOrder(
  transaction: Transaction<Tables>,
  engine: Engine,
  code: string,
): Promise<OrderRow | undefined> {
  return locked(engine, transaction.selectFrom('orders').selectAll().where('code', '=', code)).executeTakeFirst();
}

const ROWS = 200;
const RETENTION_MS = 90 * 24 * 60 * 60 * 1000;

/** Expires due orders. One that is being changed at this moment is skipped until the next sweep. */
export async function expireOrders(transaction: Transaction<Tables>, engine: Engine, at: number): Promise<number> {
  const due = transaction
    .selectFrom('orders')
    .select('code')
    .where(sql<boolean>`state = 'pending'`)
    .where('expiresAt', '<=', at)
    .orderBy('expiresAt')
    .limit(ROWS);
  const orders = await (engine === 'postgres' ? due.forUpdate().skipLocked() : due).execute();
  for (const { code } of orders) {
    await transaction.updateTable('orders').set({ state: 'expired' }).where('code', '=', code).execute();
    const states = { from: 'pending', to: 'expired' };
    await writeAudit(transaction, { subject: code, at, actor: 'gateway', action: 'order.expired', ...states });
  }
  return orders.length;
}

/** Deletes unpaid orders that ended more than 90 days ago. */
export async function forgetOrders(transaction: Transaction<Tables>, engine: Engine, at: number): Promise<number> {
  const old = transaction
    .selectFrom('orders')
    .select('code')
    .where(sql<boolean>`state in ('expired', 'cancelled') and "paidAmount" = 0`)
    .where('expiresAt', '<', at - RETENTION_MS)
    .orderBy('expiresAt')
    .limit(ROWS);
  const orders = await (engine === 'postgres' ? old.forUpdate().skipLocked() : old).execute();
  const codes = orders.map(({ code }) => code);
  if (codes.length === 0) return 0;
  await transaction.deleteFrom('audit_entries').where('subject', 'in', codes).execute();
  await transaction.deleteFrom('orders').where('code', 'in', codes).execute();
  return codes.length;
}

const PREFIX = 'MG';
/** Crockford's base 32. */
const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const LENGTH = 8;
const MAX_TEXT = 500;

export function newOrderCode(): string {
  return PREFIX + Array.from({ length: LENGTH }, () => ALPHABET.charAt(randomInt(ALPHABET.length))).join('');
}

const CODE = new RegExp(`^${PREFIX}[0-9A-Z]{${LENGTH}}$`);

/** Whether a text has the form of a code. */
export function isOrderCode(text: string): boolean {
  return CODE.test(text);
}

/**
 * Every part of a text that may be a code. Banks change case and drop blanks and punctuation, which may also join a
 * code and adjacent words; people write O for 0 and I or L for 1.
 */
export function orderCodesIn(text: string): string[] {
  const plain = text
    .slice(0, MAX_TEXT)
    .toUpperCase()
    .replace(/[^0-9A-Z]/g, '');
  const codes = new Set<string>();
  for (let start = plain.indexOf(PREFIX); start !== -1; start = plain.indexOf(PREFIX, start + 1)) {
    const characters = plain.slice(start + PREFIX.length, start + PREFIX.length + LENGTH);
    const rest = characters.replaceAll('O', '0').replace(/[IL]/g, '1');
    if (rest.length === LENGTH && [...rest].every((each) => ALPHABET.includes(each))) codes.add(PREFIX + rest);
  }
  return [...codes];
}
