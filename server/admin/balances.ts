/*
 * Prepaid balances for operators: which accounts have one or may top up, what is in it, its movements, and what an
 * operator changes, for the console and the admin API. The rules, the ledger and the audit rows are in server/accounts and
 * server/ledger. A change of an amount is a movement of two rows and needs a reason in the API; a top-up is given back by
 * the refund of its order, which is a reversal.
 */

import { field, Type } from '../../core/contracts/index.js';
import { GatewayError } from '../../core/runtime/index.js';
import type { BalanceState, UserRecord } from '../accounts/index.js';
import { parseBudget } from '../budgets/index.js';
import { isoTime } from '../format/index.js';
import { Count, Nullable, type Route, Text } from '../http/index.js';
import { decimal, type StatementLine } from '../ledger/index.js';
import type { OrderRecord } from '../payments/index.js';
import { type AdminActor, adminRoute, NoteBody, strict } from './admin-route.js';
import { encodePage, LIST_QUERY, type ListPage, type ListRange, listSchema, rangeOf, readPage } from './lists.js';
import type { AdminServices, Stored } from './services.js';
import { changed } from './shapes.js';
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
  { accountId: only }: { accountId?: string } = {},
): Promise<ListPage<ListedBalance>> {
  return readPage(
    range,
    ({ limit, after }) => balances.list(limit, after?.id, only),
    ({ accountId: id }) => ({ at: 0, id }),
  );
}

export interface WholeBalance {
  user: UserRecord;
  /** Undefined before the first top-up. */
  balance: BalanceState | undefined;
  /** Null: as the setting says. */
  topsUp: boolean | null;
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
  const [balance, topsUp, lines, orders] = await Promise.all([
    state.balances.find(accountId),
    state.balances.choiceOf(accountId),
    state.ledger.statement({ accountId, limit: LINES, withActors: true, ...(before !== undefined && { before }) }),
    state.orders.list({ accountId, limit: ORDERS }),
  ]);
  return { user, balance, topsUp, lines, topUps: orders.filter(({ topUp }) => topUp !== undefined) };
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
 * @returns What was moved, in millionths.
 * @throws GatewayError `user_not_found`, `invalid_value` with `param`.
 */
export async function adjustBalance(
  services: Stored<'users' | 'balances'>,
  { id, amount: given, ...by }: { id: string; amount: string } & AdminActor,
): Promise<{ user: UserRecord; moved: number }> {
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
  const moved = await services.state.balances.adjust({ accountId, ...by }, isLess ? -amount : amount);
  return { user, moved };
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

/** Movements of a balance, newest first. @throws GatewayError `user_not_found`, `invalid_value` for an invented cursor. */
export async function listMovements(
  services: Stored<'users' | 'ledger'>,
  id: string,
  range: ListRange,
): Promise<ListPage<StatementLine>> {
  const { accountId } = await findUser(services, id);
  const read = ({ limit, after }: ListRange) => {
    if (after === undefined) return services.state.ledger.statement({ accountId, limit, withActors: true });
    if (!/^\d{1,12}$/.test(after.id)) {
      throw new GatewayError('invalid_value', 'after must be `next` of an earlier page.', { param: 'after' });
    }
    return services.state.ledger.statement({ accountId, limit, before: Number(after.id), withActors: true });
  };
  return readPage(range, read, ({ at, number }) => ({ at, id: String(number) }));
}

/** A balance for the API and the `--json` output. */
export function describeBalance({ accountId, currency, amount, reserved, free, heldAt }: BalanceState) {
  const amounts = { amount: decimal(amount), reserved: decimal(reserved), free: decimal(free) };
  return { account: accountId, currency, ...amounts, on_hold_since: isoTime(heldAt) };
}

export function describeListedBalance({ accountId, topsUp, balance }: ListedBalance) {
  return { account: accountId, may_top_up: topsUp, balance: balance ? describeBalance(balance) : null };
}

export function describeMovement({ number, at, kind, amount, left, reference, note }: StatementLine) {
  return { number, at: isoTime(at), kind, amount: decimal(amount), left: decimal(left), reference, note };
}

/** Whether the ledger sums up to zero and agrees with all balances. */
export async function checkLedger({ state: { ledger } }: Stored<'ledger'>) {
  const { accounts, unbalanced, different } = await ledger.sums();
  return {
    ok: unbalanced.length === 0 && different.length === 0,
    accounts: accounts.map((each) => ({ ...each, amount: decimal(each.amount) })),
    unbalanced,
    different: different.map(({ accountId, balance, ledger: sum }) => {
      return { account: accountId, balance: decimal(balance), ledger: decimal(sum) };
    }),
  };
}

const account = field(Text, 'Id of the account.');
export const Balance = Type.Object({
  account,
  currency: field(Text, 'Currency (ISO 4217).', 'EUR'),
  amount: field(Text, 'What is in it.', '12.5'),
  reserved: field(Text, 'Reserved for running requests.', '0.02'),
  free: field(Text, 'What further requests may use.', '12.48'),
  on_hold_since: field(Nullable(Text), 'Since when it pays nothing (RFC 3339). Null if it pays.'),
});
export const ListedBalanceShape = Type.Object({
  account,
  may_top_up: field(Nullable(Type.Boolean()), 'Whether it may top up. Null: as the setting `PREPAID_BALANCE`.'),
  balance: field(Nullable(Balance), 'Its balance. Null if it has none.'),
});
export const MovementShape = Type.Object({
  number: field(Count, 'Counts the movements of the balance from 1.'),
  at: field(Text, 'When it happened (RFC 3339).'),
  kind: field(Text, '`top_up`, `usage`, `correction`, `refund` or `adjustment`.', 'top_up'),
  amount: field(Text, 'What came in; below 0 is what was paid.', '20'),
  left: field(Text, 'What was left afterwards.', '32.5'),
  reference: field(Text, 'Code of the order, id of the request or of the job, or the reason of an adjustment.'),
  note: field(Text, 'Package, model, platform or operator.'),
});

export const LedgerCheck = Type.Object({
  ok: field(Type.Boolean(), 'Whether all sums agree.'),
  accounts: field(
    Type.Array(
      Type.Object({
        account: field(Text, '`balances` together, `payments`, `usage`, `adjustments` or `operator_loss`.'),
        currency: field(Text, 'Currency (ISO 4217).'),
        amount: field(Text, 'Sum of its rows.'),
      }),
    ),
    'Accounts of the ledger.',
  ),
  unbalanced: field(Type.Array(Text), 'Movements whose rows do not sum up to 0.'),
  different: field(
    Type.Array(
      Type.Object({
        account,
        balance: field(Text, 'What is in the balance.'),
        ledger: field(Text, 'What the ledger says.'),
      }),
    ),
    'Balances that differ from the ledger.',
  ),
});

const ACCOUNT = {
  id: { description: 'Id of the account or of its user, or the address of one user.', example: 'acct_1a2b' },
};
const ERRORS = ['user_not_found', 'account_not_found', 'invalid_value'] as const;
const Adjustment = Type.Object(
  {
    amount: field(Type.String({ minLength: 1, maxLength: 40 }), 'What is added, or with `-` taken away.', '5 EUR'),
    note: field(
      Type.String({ minLength: 1, maxLength: 500 }),
      'Reason, for the statement and the audit log.',
      'goodwill',
    ),
  },
  strict,
);
const mayTopUp = { may_top_up: field(Type.Boolean(), 'Whether it may top up now.') };

export function balanceRoutes(services: AdminServices): Route[] {
  const { state } = services;
  const allow = (verb: 'allow' | 'refuse', summary: string, description: string) =>
    adminRoute(services, {
      method: 'POST',
      path: `/balances/:id/${verb}`,
      params: ACCOUNT,
      summary,
      description,
      body: NoteBody,
      answer: {
        description: 'Whether it may top up.',
        name: 'AllowedTopUps',
        schema: Type.Object({ account, ...mayTopUp }),
      },
      errors: ERRORS,
      async run({ param, by }) {
        const isAllowed = verb === 'allow';
        const user = await allowTopUps(services, { id: param('id'), isAllowed, ...by });
        return { account: user.accountId, may_top_up: isAllowed };
      },
    });
  return [
    adminRoute(services, {
      method: 'GET',
      path: '/balances',
      summary: 'List prepaid balances',
      description: 'Lists accounts that have a prepaid balance, or of which an operator chose whether they may top up.',
      query: LIST_QUERY,
      answer: {
        description: 'The balances.',
        name: 'BalanceList',
        schema: listSchema(ListedBalanceShape, 'Accounts', 'by their ids'),
      },
      run: async ({ query }) => encodePage(await listBalances(services, rangeOf(query)), describeListedBalance),
    }),
    adminRoute(services, {
      method: 'GET',
      path: '/balances/:id',
      params: ACCOUNT,
      summary: 'Get a prepaid balance',
      description: 'Returns the prepaid balance of an account. Null before its first top-up.',
      answer: {
        description: 'The balance.',
        name: 'AdminBalance',
        schema: Type.Object({ account, balance: field(Nullable(Balance), 'Its balance. Null if it has none.') }),
      },
      errors: ERRORS,
      async run({ param }) {
        const { accountId } = await findUser(services, param('id'));
        const balance = await state.balances.find(accountId);
        return { account: accountId, balance: balance ? describeBalance(balance) : null };
      },
    }),
    adminRoute(services, {
      method: 'GET',
      path: '/balances/:id/movements',
      params: ACCOUNT,
      summary: 'List movements of a balance',
      description: 'Lists what came into a prepaid balance and what it paid, with what was left after each movement.',
      query: LIST_QUERY,
      answer: {
        description: 'The movements.',
        name: 'MovementList',
        schema: listSchema(MovementShape, 'Movements'),
      },
      errors: ERRORS,
      run: async ({ param, query }) =>
        encodePage(await listMovements(services, param('id'), rangeOf(query)), describeMovement),
    }),
    adminRoute(services, {
      method: 'GET',
      path: '/ledger',
      summary: 'Check the ledger',
      description:
        'Adds up the whole ledger of prepaid balances: every movement must sum up to 0, and every balance must be that of its rows.',
      answer: { description: 'The sums, and what does not agree.', name: 'LedgerCheck', schema: LedgerCheck },
      run: () => checkLedger(services),
    }),
    allow('allow', 'Let an account top up', 'Lets an account top up its prepaid balance.'),
    allow('refuse', 'End the top-ups of an account', 'The account tops up no longer; what is left can be used.'),
    adminRoute(services, {
      method: 'POST',
      path: '/balances/:id/adjust',
      params: ACCOUNT,
      summary: 'Adjust a prepaid balance',
      description:
        'Adds money without an order, or takes it away: at most what is free. To give back a top-up, refund its order.',
      body: Adjustment,
      example: { amount: '5 EUR', note: 'goodwill' },
      answer: {
        description: 'What was moved.',
        name: 'AdjustedBalance',
        schema: Type.Object({
          account,
          moved: field(Text, 'What was added; below 0 is what was taken away.', '5'),
        }),
      },
      errors: ERRORS,
      async run({ param, body: { amount }, by }) {
        const { user, moved } = await adjustBalance(services, { id: param('id'), amount, ...by });
        return { account: user.accountId, moved: decimal(moved) };
      },
    }),
    adminRoute(services, {
      method: 'POST',
      path: '/balances/:id/resume',
      params: ACCOUNT,
      summary: 'Resume a prepaid balance',
      description: 'Lets a balance pay again after usage beyond a reservation.',
      body: NoteBody,
      answer: {
        description: 'Whether it was on hold.',
        name: 'ResumedBalance',
        schema: Type.Object({ account, ...changed }),
      },
      errors: ERRORS,
      async run({ param, by }) {
        const { user, changed: isChanged } = await resumeBalance(services, { id: param('id'), ...by });
        return { account: user.accountId, changed: isChanged };
      },
    }),
  ];
}
