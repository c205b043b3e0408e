import { isoTime, renderMoney, renderTable, shown } from '../format/index.js';
import type { RecordedTransaction } from '../payments/index.js';
import type { Settings } from '../settings/index.js';
import { withState } from './command-state.js';
import { noteOf, operatorActor } from './operator.js';
import { CommandFailure, CommandMistake, print, printJson } from './output.js';

const LISTED = 1_000;
const HEAD = ['TRANSFER', 'AMOUNT', 'ORDER', 'LOOK', 'BOOKED', 'TEXT'];

export interface ReviewOptions {
  note?: string;
  json?: boolean;
}

/** Prints the transfers that wait for a look; with one of them, notes that somebody had it. */
export async function reviewPaymentsCommand(
  settings: Settings,
  transfer: string | undefined,
  { note, json }: ReviewOptions,
): Promise<number> {
  if (transfer !== undefined) return settle(settings, transfer, { note, json });
  if (note !== undefined) throw new CommandMistake('--note goes with a transfer.');
  const waiting = await withState(settings, (state) => state.orders.transactions({ review: true }, LISTED));
  if (json) printJson(waiting.map(describeTransfer));
  else if (waiting.length === 0) print('No transfer waits for a look.\n');
  else print(`${transferTable(waiting)}\n`);
  return 0;
}

async function settle(settings: Settings, transfer: string, { note, json }: ReviewOptions): Promise<number> {
  const [, provider, id] = /^([^:]+):(.+)$/.exec(transfer) ?? [];
  if (provider === undefined || id === undefined) {
    throw new CommandMistake('A transfer is named as PROVIDER:ID, as "mediagate payments review" shows it.');
  }
  const change = { actor: operatorActor(), ...noteOf(note) };
  const settled = await withState(settings, (state) => state.orders.settleReview({ provider, id }, change));
  if (!settled) throw new CommandFailure(`No transfer ${shown(transfer)} waits for a look.`);
  if (json) printJson({ provider, id, settled });
  else print(`Transfer ${shown(transfer)} waits no longer.\n`);
  return 0;
}

export function transferTable(transfers: readonly RecordedTransaction[]): string {
  const rows = transfers.map(({ provider, id, amount, currency, orderCode, review, at, text }) => [
    shown(`${provider}:${id}`),
    renderMoney(amount, currency),
    orderCode ?? '-',
    review ?? '-',
    isoTime(at),
    shown(text),
  ]);
  return renderTable(HEAD, rows);
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
