import {
  type AccountRecord,
  type ApiKeyRecord,
  type AuditEntry,
  type BudgetState,
  type OrderRecord,
  type State,
  systemClock,
  type UserRecord,
} from 'mediagate';
import { keyState } from '../account/key-state.js';
import { leftOf, renderLeft } from '../budget-text.js';
import { renderMoney } from '../money.js';
import type { Settings } from '../settings.js';
import { renderTable } from '../text-table.js';
import { isoTime } from '../wire/iso-time.js';
import { withState } from './command-state.js';
import { noteOf, operatorActor } from './operator.js';
import { CommandFailure, print, printJson } from './output.js';

const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 1_000;
/** Latest orders and audit rows that `show` tells of. */
const SHOWN = 20;

const HEAD = ['ID', 'ACCOUNT', 'EMAIL', 'NAME', 'PLAN', 'STATE', 'CREATED', 'LAST SIGN-IN'];

export interface ListUsersOptions {
  limit?: string;
  before?: string;
  json?: boolean;
}

/** Prints users, newest first. */
export async function listUsersCommand(settings: Settings, options: ListUsersOptions): Promise<number> {
  const limit = limitOf(options.limit);
  const listed = await withState(settings, async (state) => {
    const users = await state.users.list({ limit, before: options.before });
    return Promise.all(users.map(async (user) => ({ user, account: await state.accounts.find(user.accountId) })));
  });
  if (options.json) printJson(listed.map(({ user, account }) => describe(user, account)));
  else if (listed.length === 0) print('There are no users: nobody has signed in yet.\n');
  else
    print(
      `${renderTable(
        HEAD,
        listed.map(({ user, account }) => row(user, account)),
      )}\n`,
    );
  return 0;
}

interface Shown {
  user: UserRecord;
  account: AccountRecord | undefined;
  budget: BudgetState | undefined;
  keys: readonly ApiKeyRecord[];
  orders: readonly OrderRecord[];
  audit: readonly AuditEntry[];
}

/** Prints one user: plan, what is left of it, keys, orders, and what was done. */
export async function showUserCommand(settings: Settings, id: string, { json }: { json?: boolean }): Promise<number> {
  const shown = await withState(settings, async (state): Promise<Shown> => {
    const user = await findUser(state, id);
    const { accountId } = user;
    const account = await state.accounts.find(accountId);
    const budgetId = account?.plan?.budgetId ?? null;
    const [budget, keys, orders, ofUser, ofAccount] = await Promise.all([
      budgetId === null ? undefined : state.budgets.find(budgetId),
      state.keys.listOf(accountId),
      state.orders.list({ accountId, limit: SHOWN }),
      state.audit.list({ subject: user.id, limit: SHOWN }),
      state.audit.list({ subject: accountId, limit: SHOWN }),
    ]);
    const audit = [...ofUser, ...ofAccount].sort((one, other) => other.at - one.at).slice(0, SHOWN);
    return { user, account, budget, keys, orders, audit };
  });
  if (json) printJson(describeWhole(shown));
  else print(renderWhole(shown));
  return 0;
}

export interface SuspendOptions {
  note?: string;
  json?: boolean;
}

/** Ends the sessions of a user and stops their keys; servers follow within seconds. */
export function suspendUserCommand(settings: Settings, id: string, options: SuspendOptions): Promise<number> {
  return change(settings, { id, verb: 'suspend', state: 'suspended', ...options });
}

/** Takes a suspension back. */
export function resumeUserCommand(settings: Settings, id: string, options: SuspendOptions): Promise<number> {
  return change(settings, { id, verb: 'resume', state: 'active', ...options });
}

interface Change extends SuspendOptions {
  id: string;
  verb: 'suspend' | 'resume';
  state: 'suspended' | 'active';
}

async function change(settings: Settings, { id, verb, state: wanted, note, json }: Change): Promise<number> {
  const why = noteOf(note);
  const changed = await withState(settings, async (state) => {
    const { id: userId } = await findUser(state, id);
    return { userId, done: await state.users[verb]({ userId, actor: operatorActor(), ...why }) };
  });
  if (json) printJson({ id: changed.userId, state: wanted, changed: changed.done });
  else print(`User ${changed.userId} ${changed.done ? 'is' : 'was'} ${wanted}${changed.done ? '' : ' before'}.\n`);
  return 0;
}

/** By their own id or that of their account. @throws CommandFailure */
export async function findUser(state: Pick<State, 'users'>, id: string): Promise<UserRecord> {
  const user = id.startsWith('acct_') ? await state.users.findByAccount(id) : await state.users.find(id);
  if (user) return user;
  throw new CommandFailure(`There is no user with the id ${shown(id)}; "mediagate users list" shows them.`);
}

export function limitOf(text: string | undefined): number {
  if (text === undefined) return DEFAULT_LIMIT;
  const value = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (value >= 1 && value <= MAX_LIMIT) return value;
  throw new CommandFailure(`--limit must be a whole number from 1 to ${MAX_LIMIT}.`, 2);
}

function describe(user: UserRecord, account: AccountRecord | undefined) {
  const { id, accountId, issuer, subject, email, name, createdAt, lastSignInAt, suspendedAt } = user;
  return {
    id,
    account: accountId,
    issuer,
    subject,
    email,
    name,
    plan: account?.plan?.planId ?? null,
    state: stateOf(user),
    created_at: isoTime(createdAt),
    last_sign_in_at: isoTime(lastSignInAt),
    suspended_at: isoTime(suspendedAt),
  };
}

function describeWhole({ user, account, budget, keys, orders, audit }: Shown) {
  const now = systemClock.now();
  return {
    ...describe(user, account),
    plan_expires_at: isoTime(account?.plan?.expiresAt ?? null),
    left: budget ? leftOf(budget) : null,
    keys: keys.map((record) => ({
      id: record.id,
      name: record.name,
      state: keyState(record, now),
      created_at: isoTime(record.createdAt),
      expires_at: isoTime(record.expiresAt),
      last_used_at: isoTime(record.lastUsedAt),
    })),
    orders: orders.map(({ code, planId, state, amount, currency, paidAmount, createdAt }) => ({
      code,
      plan: planId,
      state,
      amount,
      currency,
      paid_amount: paidAmount,
      created_at: isoTime(createdAt),
    })),
    audit: audit.map(({ at, ...entry }) => ({ at: isoTime(at), ...entry })),
  };
}

function renderWhole({ user, account, budget, keys, orders, audit }: Shown): string {
  const now = systemClock.now();
  const plan = account?.plan;
  const facts = [
    ['user', user.id],
    ['account', user.accountId],
    ['identity', `${shown(user.subject)} at ${shown(user.issuer)}`],
    ['email', shown(user.email ?? '-')],
    ['name', shown(user.name ?? '-')],
    ['state', stateOf(user)],
    ['plan', plan ? `${plan.planId}${plan.expiresAt === null ? '' : ` to ${isoTime(plan.expiresAt)}`}` : '-'],
    ['left', plan ? renderLeft(budget, now) : '-'],
  ].map(([name = '', value = '']) => `${name.padEnd(10)}${value}\n`);
  const tables = [
    tableOf(
      ['KEY', 'NAME', 'STATE', 'CREATED', 'LAST USED'],
      keys.map((record) => {
        const { id, name, createdAt, lastUsedAt } = record;
        return [id, name, keyState(record, now), isoTime(createdAt), isoTime(lastUsedAt) ?? 'never'];
      }),
    ),
    tableOf(
      ['ORDER', 'PLAN', 'STATE', 'AMOUNT', 'CREATED'],
      orders.map(({ code, planId, state, amount, currency, createdAt }) => [
        code,
        planId,
        state,
        renderMoney(amount, currency),
        isoTime(createdAt),
      ]),
    ),
    tableOf(
      ['AT', 'WHO', 'WHAT', 'NOTE'],
      audit.map(({ at, actor, action, to, note }) => {
        const what = to === null ? action : `${action} (${to})`;
        return [isoTime(at), shown(actor), what, shown(note ?? '')];
      }),
    ),
  ];
  return [facts.join(''), ...tables].filter((part) => part !== '').join('\n');
}

function tableOf(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return rows.length === 0 ? '' : `${renderTable(head, rows)}\n`;
}

function row(user: UserRecord, account: AccountRecord | undefined): string[] {
  const { id, accountId, email, name, createdAt, lastSignInAt } = user;
  const plan = account?.plan?.planId ?? '-';
  const times = [isoTime(createdAt), isoTime(lastSignInAt)];
  return [id, accountId, shown(email ?? '-'), shown(name ?? '-'), plan, stateOf(user), ...times];
}

function stateOf({ suspendedAt }: UserRecord): string {
  return suspendedAt === null ? 'active' : 'suspended';
}

/** What a provider said of somebody must not steer the terminal. */
export function shown(text: string): string {
  return text.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '?');
}
