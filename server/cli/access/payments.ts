/*
 * The commands for orders and bank transfers. An operator can confirm, cancel or refund an order, and import the
 * transfers of a bank statement. An interrupted import can be repeated, since every transfer is counted once. Transfers
 * that fit no order, or not its amount, are listed for a review. Every change is in the audit log with the system user
 * who ran the command and an optional note.
 */

import { describeOrder, describeTransfer, describeWholeOrder } from '../../admin/index.js';
import { isoTime, renderMoney, renderTable, sanitizeForTerminal } from '../../format/index.js';
import {
  BankStatementError,
  type OrderRecord,
  type RecordedTransaction,
  type Recording,
  readBankStatement,
} from '../../payments/index.js';
import type { Settings } from '../../settings/index.js';
import { byOperator, limitOf, withState } from '../command.js';
import type { OptionsOf } from '../define-command.js';
import { CommandFailure, CommandMistake } from '../mistakes.js';
import { joinParts, type Outcome, renderAudit, renderRows } from '../output.js';
import type { importPayments, listPayments, NoteOptions } from './access-commands.js';

/** Transfers and audit rows printed per order. */
const MAX_ROWS = 100;

const HEAD = ['CODE', 'ACCOUNT', 'PLAN', 'STATE', 'AMOUNT', 'CAME', 'CREATED', 'EXPIRES'];

/** Orders, newest first. */
export async function listPaymentsCommand(
  settings: Settings,
  { account: accountId, limit, ...page }: OptionsOf<typeof listPayments>,
): Promise<Outcome<'Orders'>> {
  const filter = { limit: limitOf(limit), state: page.state, accountId, before: page.before };
  const orders = await withState(settings, (state) => state.orders.list(filter));
  return { json: orders.map(describeOrder), text: renderRows(HEAD, orders.map(row)) || 'There are no such orders.' };
}

/** One order, its transfers and its audit. */
export async function showPaymentCommand(settings: Settings, given: string): Promise<Outcome<'OrderDetails'>> {
  const code = given.toUpperCase();
  const { order, transfers, audit } = await withState(settings, async (state) => {
    const order = await state.orders.find(code);
    if (!order) throw unknown(given);
    const [transfers, audit] = await Promise.all([
      state.orders.transactions({ code }, MAX_ROWS),
      state.audit.list({ subject: code, limit: MAX_ROWS }),
    ]);
    return { order, transfers, audit };
  });
  return {
    json: describeWholeOrder({ order, transfers, audit }),
    text: joinParts(renderTable(HEAD, [row(order)]), transferTable(transfers), renderAudit(audit, 'STATES')),
  };
}

/** Confirms, cancels or refunds an order; servers follow within seconds. */
export async function changePaymentCommand(
  settings: Settings,
  verb: 'confirm' | 'cancel' | 'refund',
  given: string,
  { note }: NoteOptions,
): Promise<Outcome<'Order'>> {
  const change = { code: given.toUpperCase(), ...byOperator(note) };
  const order = await withState(settings, (state) => state.orders[verb](change));
  return { json: describeOrder(order), text: `Order ${order.code} is ${order.state}.` };
}

function unknown(code: string): CommandFailure {
  return new CommandFailure(`There is no order ${sanitizeForTerminal(code)}; "mediagate payments list" shows them.`);
}

function row(order: OrderRecord): string[] {
  const { code, accountId, planId, state, amount, paidAmount, currency, createdAt, expiresAt } = order;
  const money = [renderMoney(amount, currency), renderMoney(paidAmount, currency)];
  return [code, accountId, planId, state, ...money, isoTime(createdAt), isoTime(expiresAt)];
}

const IMPORT_HEAD = ['TRANSFER', 'AMOUNT', 'ORDER', 'STATE', 'LOOK'];

/** Counts the transfers of a file. An interrupted import can be repeated: transfers are counted once. */
export async function importPaymentsCommand(
  settings: Settings,
  file: string,
  { provider }: OptionsOf<typeof importPayments>,
): Promise<Outcome<'Imported'>> {
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
  const none = `There are no incoming transfers in ${sanitizeForTerminal(file)}.`;
  return { json: recordings.map(describeImport), text: renderRows(IMPORT_HEAD, recordings.map(importRow)) || none };
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

/** The transfers that need a review; or marks one as reviewed. */
export async function reviewPaymentsCommand(
  settings: Settings,
  transfer: string | undefined,
  { note }: NoteOptions,
): Promise<Outcome<'Reviews'>> {
  if (transfer !== undefined) return settle(settings, transfer, note);
  if (note !== undefined) throw new CommandMistake('--note needs a transfer.');
  const waiting = await withState(settings, (state) => state.orders.transactions({ review: true }, LISTED));
  return { json: waiting.map(describeTransfer), text: transferTable(waiting) || 'No transfer is under review.' };
}

async function settle(settings: Settings, transfer: string, note: string | undefined): Promise<Outcome<'Reviews'>> {
  const [, provider, id] = /^([^:]+):(.+)$/.exec(transfer) ?? [];
  if (provider === undefined || id === undefined) {
    throw new CommandMistake('Name the transfer as PROVIDER:ID (see "mediagate payments review").');
  }
  const by = byOperator(note);
  const settled = await withState(settings, (state) => state.orders.settleReview({ provider, id }, by));
  if (!settled) throw new CommandFailure(`Transfer ${sanitizeForTerminal(transfer)} is not under review.`);
  return { json: { provider, id, settled }, text: `Transfer ${sanitizeForTerminal(transfer)} is settled.` };
}

function transferTable(transfers: readonly RecordedTransaction[]): string {
  const rows = transfers.map(({ provider, id, amount, currency, orderCode, review, at, text }) => [
    sanitizeForTerminal(`${provider}:${id}`),
    renderMoney(amount, currency),
    orderCode ?? '-',
    review ?? '-',
    isoTime(at),
    sanitizeForTerminal(text),
  ]);
  return renderRows(REVIEW_HEAD, rows);
}
