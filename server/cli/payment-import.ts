import { renderMoney, renderTable, shown } from '../format/index.js';
import type { Recording } from '../payments/index.js';
import { BankStatementError, readBankStatement } from '../payments/index.js';
import type { Settings } from '../settings/index.js';
import { withState } from './command-state.js';
import { CommandMistake, print, printJson } from './output.js';

const HEAD = ['TRANSFER', 'AMOUNT', 'ORDER', 'STATE', 'LOOK'];

export interface ImportOptions {
  provider: string;
  json?: boolean;
}

/** Counts the transfers of a file. One that ends halfway is given again: what was counted is not counted twice. */
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
  if (json) printJson(recordings.map(describe));
  else if (recordings.length === 0) print(`No money comes in in ${shown(file)}.\n`);
  else print(`${renderTable(HEAD, recordings.map(row))}\n`);
  return 0;
}

function describe({ transaction, order, replayed }: Recording) {
  const { provider, id, amount, currency, review } = transaction;
  return { provider, id, amount, currency, order: order?.code ?? null, state: order?.state ?? null, review, replayed };
}

function row({ transaction, order, replayed }: Recording): string[] {
  const { provider, id, amount, currency, review } = transaction;
  const look = replayed ? 'told before' : (review ?? '-');
  return [shown(`${provider}:${id}`), renderMoney(amount, currency), order?.code ?? '-', order?.state ?? '-', look];
}
