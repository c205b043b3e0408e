/*
 * The commands for prepaid balances: which accounts may top up, what is in a balance, its statement, changes without an
 * order, the end of a hold after a loss, and the check that the ledger agrees with all balances. Every change is in the
 * audit log.
 */

import type { BalanceState } from '../../accounts/index.js';
import { checkLedger, describeBalance, describeListedBalance, describeMovement } from '../../admin/index.js';
import { parseBudget } from '../../budgets/index.js';
import { groupedDecimal, isoTime, renderTable } from '../../format/index.js';
import { decimal } from '../../ledger/index.js';
import type { Settings } from '../../settings/index.js';
import { byOperator, limitOf, withState } from '../command.js';
import { CommandFailure, CommandMistake } from '../mistakes.js';
import { joinParts, type Outcome, renderFacts, renderRows } from '../output.js';
import type { NoteOptions } from './access-commands.js';
import { findUser } from './users.js';

const LINES = 20;

/** The accounts that may top up by an operator's choice, or have a balance. */
export async function listBalancesCommand(
  settings: Settings,
  { limit }: { limit?: string },
): Promise<Outcome<'Balances'>> {
  const rows = await withState(settings, (state) => state.balances.list(limitOf(limit)));
  const head = ['ACCOUNT', 'MAY TOP UP', 'BALANCE', 'RESERVED', 'ON HOLD'];
  const cells = rows.map(({ accountId, topsUp, balance }) => {
    const allowed = topsUp === null ? 'as the setting' : topsUp ? 'yes' : 'no';
    const money = balance ? [moneyOf(balance, 'amount'), moneyOf(balance, 'reserved')] : ['-', '-'];
    return [accountId, allowed, ...money, isoTime(balance?.heldAt ?? null) ?? '-'];
  });
  return {
    json: rows.map(describeListedBalance),
    text: renderRows(head, cells) || 'No account has a balance.',
  };
}

/** The balance of a user, and its latest movements. */
export async function showBalanceCommand(settings: Settings, id: string): Promise<Outcome<'BalanceDetails'>> {
  const { balance, lines } = await withState(settings, async (state) => {
    const { accountId } = await findUser(state, id);
    const balance = await state.balances.find(accountId);
    if (!balance) throw new CommandFailure('This account has no prepaid balance.');
    return { balance, lines: await state.ledger.statement({ accountId, limit: LINES, withActors: true }) };
  });
  const facts = renderFacts([
    ['account', balance.accountId],
    ['balance', moneyOf(balance, 'amount')],
    ['reserved', moneyOf(balance, 'reserved')],
    ['on hold since', isoTime(balance.heldAt)],
  ]);
  const head = ['AT', 'KIND', 'AMOUNT', 'LEFT', 'REFERENCE', 'NOTE'];
  const rows = lines.map(({ at, kind, amount, left, reference, note }) => {
    return [isoTime(at), kind, groupedDecimal(decimal(amount)), groupedDecimal(decimal(left)), reference, note];
  });
  return {
    json: { ...describeBalance(balance), statement: lines.map(describeMovement) },
    text: joinParts(facts, renderRows(head, rows)),
  };
}

/** Lets an account top up, or no longer; what is in its balance can be used with each. */
export async function allowBalanceCommand(
  settings: Settings,
  isAllowed: boolean,
  id: string,
  { note }: NoteOptions,
): Promise<Outcome<'BalanceChange'>> {
  const accountId = await withState(settings, async (state) => {
    const { accountId } = await findUser(state, id);
    await state.balances.setEligible({ accountId, ...byOperator(note) }, isAllowed);
    return accountId;
  });
  const text = isAllowed ? `Account ${accountId} may top up.` : `Account ${accountId} may not top up any more.`;
  return { json: { account: accountId, may_top_up: isAllowed }, text };
}

/** Adds money to a balance without an order, or takes it away. */
export async function adjustBalanceCommand(
  settings: Settings,
  id: string,
  given: string,
  { note }: NoteOptions,
): Promise<Outcome<'BalanceChange'>> {
  const isLess = given.startsWith('-');
  const { unit, amount = 0, currency, resets } = parseBudget(given.replace(/^-/, '')) ?? {};
  if (unit !== 'money' || resets !== 'never' || amount === 0) {
    throw new CommandMistake('The amount must be money, such as "5 EUR" or "-5 EUR".');
  }
  const { accountId, moved } = await withState(settings, async (state) => {
    const { accountId } = await findUser(state, id);
    const balance = await state.balances.find(accountId);
    if (balance && balance.currency !== currency) {
      throw new CommandMistake(`The balance of this account is in ${balance.currency}.`);
    }
    return {
      accountId,
      moved: await state.balances.adjust({ accountId, ...byOperator(note) }, isLess ? -amount : amount),
    };
  });
  const text = `${groupedDecimal(decimal(Math.abs(moved)))} ${currency} ${isLess ? 'less' : 'more'} are in the balance of ${accountId}.`;
  return { json: { account: accountId, moved: decimal(moved) }, text };
}

/** Ends the hold of a balance after a loss. */
export async function resumeBalanceCommand(
  settings: Settings,
  id: string,
  { note }: NoteOptions,
): Promise<Outcome<'BalanceChange'>> {
  const { accountId, changed } = await withState(settings, async (state) => {
    const { accountId } = await findUser(state, id);
    return { accountId, changed: await state.balances.resume({ accountId, ...byOperator(note) }) };
  });
  const text = changed ? `The balance of ${accountId} pays again.` : `The balance of ${accountId} was not on hold.`;
  return { json: { account: accountId, changed }, text };
}

/** The whole statement of a balance as CSV. */
export async function balanceStatementCommand(settings: Settings, id: string): Promise<Outcome<'BalanceStatement'>> {
  const csv = await withState(settings, async (state) => {
    const { accountId } = await findUser(state, id);
    let text = '';
    for await (const part of state.ledger.csv(accountId)) text += part;
    return text;
  });
  return { json: { csv }, text: csv.trimEnd() };
}

/** Whether the ledger sums up to zero and agrees with all balances. Exits with 1 if not. */
export async function checkBalancesCommand(settings: Settings): Promise<Outcome<'LedgerCheck'>> {
  const json = await withState(settings, (state) => checkLedger({ state }));
  const { ok, accounts, unbalanced, different } = json;
  const rows = accounts.map(({ account, currency, amount }) => [account, `${groupedDecimal(amount)} ${currency}`]);
  const table = rows.length === 0 ? 'The ledger is empty.' : renderTable(['LEDGER', 'SUM'], rows);
  const faults = [
    ...unbalanced.map((each) => `The rows of the movement ${each} do not sum up to 0.`),
    ...different.map(
      ({ account, balance, ledger }) => `The balance of ${account} is ${balance}, and its ledger ${ledger}.`,
    ),
  ];
  return { json, text: joinParts(table, ok ? 'All sums agree.' : faults.join('\n')), exitCode: ok ? 0 : 1 };
}

function moneyOf(balance: BalanceState, part: 'amount' | 'reserved'): string {
  return `${groupedDecimal(decimal(balance[part]))} ${balance.currency}`;
}
