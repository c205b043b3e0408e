/*
 * The commands for orders and bank transfers. An operator can confirm, cancel or refund an order, and import the
 * transfers of a bank statement. An interrupted import can be repeated, since every transfer is counted once. Transfers
 * that fit no order, or not its amount, are listed for a review. Every change is in the audit log with the system user
 * who ran the command and an optional note.
 */

import type { AuditEntry } from '../audit/index.js';
import { isoTime, renderMoney, renderTable, sanitizeForTerminal } from '../format/index.js';
import {
  BankStatementError,
  type OrderRecord,
  type OrderState,
  type RecordedTransaction,
  type Recording,
  readBankStatement,
} from '../payments/index.js';
import type { Settings } from '../settings/index.js';
import { CommandFailure, CommandMistake, print, printJson, withState } from './command.js';
import { limitOf, noteOf, operatorActor } from './users.js';

const STATES: readonly OrderState[] = [
  'pending',
  'underpaid',
  'paid',
  'expired',
  'cancelled',
  'refunded',
  'needs_review',
];
/** Transfers and audit rows printed per order. */
const MAX_ROWS = 100;

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
    const [transactions, done] = await Promise.all([
      state.orders.transactions({ code }, MAX_ROWS),
      state.audit.list({ subject: code, limit: MAX_ROWS }),
    ]);
    return { order: found, transfers: transactions, audit: done };
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
  return new CommandFailure(`There is no order ${sanitizeForTerminal(code)}; "mediagate payments list" shows them.`);
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
    return [isoTime(at), sanitizeForTerminal(actor), action, states, sanitizeForTerminal(note ?? '')];
  });
  const tables = [
    renderTable(HEAD, [row(order)]),
    ...(transfers.length === 0 ? [] : [transferTable(transfers)]),
    renderTable(['AT', 'WHO', 'WHAT', 'STATES', 'NOTE'], done),
  ];
  return `${tables.join('\n\n')}\n`;
}

const IMPORT_HEAD = ['TRANSFER', 'AMOUNT', 'ORDER', 'STATE', 'LOOK'];

export interface ImportOptions {
  provider: string;
  json?: boolean;
}

/** Counts the transfers of a file. An interrupted import can be repeated: transfers are counted once. */
export async function importPaymentsCommand(
  settings: Settings,
  file: string,
  { provider, json }: ImportOptions,
): Promise<number> {
  if (!/^[a-z0-9][a-z0-9_.-]{0,49}$/.test(provider)) {
    throw new CommandMistake('--provider must have 1 to 50 small letters, digits, and . _ or - between them.');
  }
  const transfers = await readBankStatement(file).catch((error: unknown) => {
    throw error instanceof BankStatementError ? new CommandMistake(error.message) : error;
  });
  const recordings = await withState(settings, async (state) => {
    const all: Recording[] = [];
    for (const transfer of transfers) all.push(await state.orders.record({ ...transfer, provider }));
    return all;
  });
  if (json) printJson(recordings.map(describeImport));
  else if (recordings.length === 0) print(`There are no incoming transfers in ${sanitizeForTerminal(file)}.\n`);
  else print(`${renderTable(IMPORT_HEAD, recordings.map(importRow))}\n`);
  return 0;
}

function describeImport({ transaction, order, replayed }: Recording) {
  const { provider, id, amount, currency, review } = transaction;
  return { provider, id, amount, currency, order: order?.code ?? null, state: order?.state ?? null, review, replayed };
}

function importRow({ transaction, order, replayed }: Recording): string[] {
  const { provider, id, amount, currency, review } = transaction;
  const outcome = replayed ? 'told before' : (review ?? '-');
  return [
    sanitizeForTerminal(`${provider}:${id}`),
    renderMoney(amount, currency),
    order?.code ?? '-',
    order?.state ?? '-',
    outcome,
  ];
}

const LISTED = 1_000;
const REVIEW_HEAD = ['TRANSFER', 'AMOUNT', 'ORDER', 'LOOK', 'BOOKED', 'TEXT'];

export interface ReviewOptions {
  note?: string;
  json?: boolean;
}

/** Prints the transfers that need a review; or marks one as reviewed. */
export async function reviewPaymentsCommand(
  settings: Settings,
  transfer: string | undefined,
  { note, json }: ReviewOptions,
): Promise<number> {
  if (transfer !== undefined) return settle(settings, transfer, { note, json });
  if (note !== undefined) throw new CommandMistake('--note needs a transfer.');
  const waiting = await withState(settings, (state) => state.orders.transactions({ review: true }, LISTED));
  if (json) printJson(waiting.map(describeTransfer));
  else if (waiting.length === 0) print('No transfer is under review.\n');
  else print(`${transferTable(waiting)}\n`);
  return 0;
}

async function settle(settings: Settings, transfer: string, { note, json }: ReviewOptions): Promise<number> {
  const [, provider, id] = /^([^:]+):(.+)$/.exec(transfer) ?? [];
  if (provider === undefined || id === undefined) {
    throw new CommandMistake('Name the transfer as PROVIDER:ID (see "mediagate payments review").');
  }
  const change = { actor: operatorActor(), ...noteOf(note) };
  const settled = await withState(settings, (state) => state.orders.settleReview({ provider, id }, change));
  if (!settled) throw new CommandFailure(`Transfer ${sanitizeForTerminal(transfer)} is not under review.`);
  if (json) printJson({ provider, id, settled });
  else print(`Transfer ${sanitizeForTerminal(transfer)} is settled.\n`);
  return 0;
}

export function transferTable(transfers: readonly RecordedTransaction[]): string {
  const rows = transfers.map(({ provider, id, amount, currency, orderCode, review, at, text }) => [
    sanitizeForTerminal(`${provider}:${id}`),
    renderMoney(amount, currency),
    orderCode ?? '-',
    review ?? '-',
    isoTime(at),
    sanitizeForTerminal(text),
  ]);
  return renderTable(REVIEW_HEAD, rows);
}

export function describeTransfer(transfer: RecordedTransaction) {
  return {
    provider: transfer.provider,
    id: transfer.id,
    amount: transfer.amount,
    currency: transfer.currency,
    order: transfer.orderCode,
    review: transfer.review,
    text: transfer.text,
    booked_at: isoTime(transfer.at),
    recorded_at: isoTime(transfer.recordedAt),
  };
}
