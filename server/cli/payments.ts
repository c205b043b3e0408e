import type { AuditEntry } from '../audit/index.js';
import { isoTime, renderMoney, renderTable, shown } from '../format/index.js';
import type { OrderRecord, OrderState, RecordedTransaction } from '../payments/index.js';
import type { Settings } from '../settings/index.js';
import { withState } from './command-state.js';
import { noteOf, operatorActor } from './operator.js';
import { CommandFailure, CommandMistake, print, printJson } from './output.js';
import { describeTransfer, transferTable } from './payment-review.js';
import { limitOf } from './users.js';

const STATES: readonly OrderState[] = [
  'pending',
  'underpaid',
  'paid',
  'expired',
  'cancelled',
  'refunded',
  'needs_review',
];
/** Transfers and audit rows of one order that are shown. */
const SHOWN = 100;

const HEAD = ['CODE', 'ACCOUNT', 'PLAN', 'STATE', 'AMOUNT', 'CAME', 'CREATED', 'EXPIRES'];

export interface ListPaymentsOptions {
  state?: string;
  account?: string;
  limit?: string;
  before?: string;
  json?: boolean;
}

/** Prints orders, newest first. */
export async function listPaymentsCommand(settings: Settings, options: ListPaymentsOptions): Promise<number> {
  const { account: accountId, before, json } = options;
  const page = { limit: limitOf(options.limit), state: stateOf(options.state), accountId, before };
  const orders = await withState(settings, (state) => state.orders.list(page));
  if (json) printJson(orders.map(describe));
  else if (orders.length === 0) print('There are no such orders.\n');
  else print(`${renderTable(HEAD, orders.map(row))}\n`);
  return 0;
}

/** Prints one order, its transfers and its audit. */
export async function showPaymentCommand(
  settings: Settings,
  given: string,
  { json }: { json?: boolean },
): Promise<number> {
  const code = given.toUpperCase();
  const { order, transfers, audit } = await withState(settings, async (state) => {
    const found = await state.orders.find(code);
    if (!found) throw unknown(given);
    const [told, done] = await Promise.all([
      state.orders.transactions({ code }, SHOWN),
      state.audit.list({ subject: code, limit: SHOWN }),
    ]);
    return { order: found, transfers: told, audit: done };
  });
  if (json) {
    const done = audit.map(({ at, ...entry }) => ({ at: isoTime(at), ...entry }));
    printJson({ ...describe(order), transfers: transfers.map(describeTransfer), audit: done });
  } else print(renderWhole(order, transfers, audit));
  return 0;
}

export interface ChangePaymentOptions {
  note?: string;
  json?: boolean;
}

/** Confirms, cancels or refunds an order; servers follow within seconds. */
export async function changePaymentCommand(
  settings: Settings,
  verb: 'confirm' | 'cancel' | 'refund',
  given: string,
  { note, json }: ChangePaymentOptions,
): Promise<number> {
  const change = { code: given.toUpperCase(), actor: operatorActor(), ...noteOf(note) };
  const order = await withState(settings, (state) => state.orders[verb](change));
  if (json) printJson(describe(order));
  else print(`Order ${order.code} is ${order.state}.\n`);
  return 0;
}

function stateOf(text: string | undefined): OrderState | undefined {
  if (text === undefined) return undefined;
  const found = STATES.find((state) => state === text);
  if (found) return found;
  throw new CommandMistake(`--state must be one of ${STATES.join(', ')}.`);
}

function unknown(code: string): CommandFailure {
  return new CommandFailure(`There is no order ${shown(code)}; "mediagate payments list" shows them.`);
}

function describe(order: OrderRecord) {
  return {
    code: order.code,
    account: order.accountId,
    plan: order.planId,
    state: order.state,
    amount: order.amount,
    paid_amount: order.paidAmount,
    currency: order.currency,
    created_at: isoTime(order.createdAt),
    expires_at: isoTime(order.expiresAt),
    paid_at: isoTime(order.paidAt),
  };
}

function row(order: OrderRecord): string[] {
  const { code, accountId, planId, state, amount, paidAmount, currency, createdAt, expiresAt } = order;
  const money = [renderMoney(amount, currency), renderMoney(paidAmount, currency)];
  return [code, accountId, planId, state, ...money, isoTime(createdAt), isoTime(expiresAt)];
}

function renderWhole(
  order: OrderRecord,
  transfers: readonly RecordedTransaction[],
  audit: readonly AuditEntry[],
): string {
  const done = audit.map(({ at, actor, action, from, to, note }) => {
    const states = [from, to].filter((state) => state !== null).join(' → ');
    return [isoTime(at), shown(actor), action, states, shown(note ?? '')];
  });
  const tables = [
    renderTable(HEAD, [row(order)]),
    ...(transfers.length === 0 ? [] : [transferTable(transfers)]),
    renderTable(['AT', 'WHO', 'WHAT', 'STATES', 'NOTE'], done),
  ];
  return `${tables.join('\n\n')}\n`;
}
