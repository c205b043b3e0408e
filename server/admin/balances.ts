/*
 * Prepaid balances for operators: which accounts have one or may top up, what is in it, its movements, and what an
 * operator changes. The rules, the ledger and the audit rows are in server/accounts and server/ledger.
 */

import { GatewayError } from '../../core/runtime/index.js';
import type { BalanceState, UserRecord } from '../accounts/index.js';
import { parseBudget } from '../budgets/index.js';
import type { StatementLine } from '../ledger/index.js';
import type { OrderRecord } from '../payments/index.js';
import type { AdminActor } from './admin-route.js';
import type { ListPage, ListRange } from './lists.js';
import { readPage } from './lists.js';
import type { Stored } from './services.js';
import { findUser } from './users.js';

const LINES = 25;
const ORDERS = 20;

export interface ListedBalance {
  accountId: string;
  /** Null: as the setting says. */
  topsUp: boolean | null;
  balance?: BalanceState;
}

/** Accounts that have a balance, or of which an operator chose whether they may top up; by id. */
export function listBalances(
  { state: { balances } }: Stored<'balances'>,
  range: ListRange,
): Promise<ListPage<ListedBalance>> {
  return readPage(
    range,
    ({ limit, after }) => balances.list(limit, after?.id),
    ({ accountId: id }) => ({ at: 0, id }),
  );
}

export interface WholeBalance {
  user: UserRecord;
  /** Undefined before the first top-up. */
  balance: BalanceState | undefined;
  /** Newest first. */
  lines: readonly StatementLine[];
  /** Latest orders of top-ups. */
  topUps: readonly OrderRecord[];
}

/** @throws GatewayError `user_not_found`. */
export async function showBalance(
  services: Stored<'users' | 'balances' | 'ledger' | 'orders'>,
  id: string,
  before?: number,
): Promise<WholeBalance> {
  const { state } = services;
  const user = await findUser(services, id);
  const { accountId } = user;
  const [balance, lines, orders] = await Promise.all([
    state.balances.find(accountId),
    state.ledger.statement({ accountId, limit: LINES, ...(before !== undefined && { before }) }),
    state.orders.list({ accountId, limit: ORDERS }),
  ]);
  return { user, balance, lines, topUps: orders.filter(({ topUp }) => topUp !== undefined) };
}

/** Lets an account top up, or no longer. @throws GatewayError `user_not_found`. */
export async function allowTopUps(
  services: Stored<'users' | 'balances'>,
  { id, isAllowed, ...by }: { id: string; isAllowed: boolean } & AdminActor,
): Promise<UserRecord> {
  const user = await findUser(services, id);
  await services.state.balances.setEligible({ accountId: user.accountId, ...by }, isAllowed);
  return user;
}

/**
 * Adds money without an order, or takes it away: at most what is free.
 * @param amount `5 EUR` or `-5 EUR`, in the currency of the balance.
 * @throws GatewayError `user_not_found`, `invalid_value` with `param`.
 */
export async function adjustBalance(
  services: Stored<'users' | 'balances'>,
  { id, amount: given, ...by }: { id: string; amount: string } & AdminActor,
): Promise<UserRecord> {
  const user = await findUser(services, id);
  const { accountId } = user;
  const isLess = given.startsWith('-');
  const { unit, amount = 0, currency, resets } = parseBudget(given.replace(/^-/, '')) ?? {};
  if (unit !== 'money' || resets !== 'never' || amount === 0) {
    throw new GatewayError('invalid_value', 'amount must be money, such as 5 EUR or -5 EUR.', { param: 'amount' });
  }
  const balance = await services.state.balances.find(accountId);
  if (balance && balance.currency !== currency) {
    throw new GatewayError('invalid_value', `amount must be in ${balance.currency}.`, { param: 'amount' });
  }
  await services.state.balances.adjust({ accountId, ...by }, isLess ? -amount : amount);
  return user;
}

/** Ends the hold after usage beyond a reservation. @throws GatewayError `user_not_found`, `invalid_value`. */
export async function resumeBalance(
  services: Stored<'users' | 'balances'>,
  { id, ...by }: { id: string } & AdminActor,
): Promise<{ user: UserRecord; changed: boolean }> {
  const user = await findUser(services, id);
  const changed = await services.state.balances.resume({ accountId: user.accountId, ...by });
  return { user, changed };
}
