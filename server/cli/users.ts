/*
 * The commands that list, show, suspend, resume and sign out users, and helpers for all commands that name a user or
 * write to the audit log. A user is found by their id, the id of their account, or a unique email address. A suspension
 * ends the sessions and disables the keys; signing out ends only the sessions, and API keys stay valid. The actor in
 * the audit log is the system user who ran the command.
 */

import { userInfo } from 'node:os';
import { systemClock } from '../../core/runtime/index.js';
import type { AccountPlan, AccountRecord, UserRecord } from '../accounts/index.js';
import type { AuditEntry } from '../audit/index.js';
import type { BudgetState } from '../budgets/index.js';
import { isoTime, renderMoney, renderTable, sanitizeForTerminal } from '../format/index.js';
import { type ApiKeyRecord, keyState } from '../keys/index.js';
import type { OrderRecord } from '../payments/index.js';
import type { Settings } from '../settings/index.js';
import type { State } from '../state.js';
import { leftOf, renderLeft } from '../usage/index.js';
import { CommandFailure, CommandMistake, print, printJson, withState } from './command.js';

const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 1_000;

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
  if (options.json) printJson(listed.map(({ user, account }) => describeUser(user, account)));
  else if (listed.length === 0) print('There are no users yet.\n');
  else
    print(
      `${renderTable(
        HEAD,
        listed.map(({ user, account }) => row(user, account)),
      )}\n`,
    );
  return 0;
}

export interface UserChangeOptions {
  note?: string;
  json?: boolean;
}

/** Suspends a user: ends the sessions and disables the keys; servers follow within seconds. */
export function suspendUserCommand(settings: Settings, id: string, options: UserChangeOptions): Promise<number> {
  return change(settings, { id, verb: 'suspend', state: 'suspended', ...options });
}

/** Resumes a suspended user. */
export function resumeUserCommand(settings: Settings, id: string, options: UserChangeOptions): Promise<number> {
  return change(settings, { id, verb: 'resume', state: 'active', ...options });
}

/** Ends the sessions of a user on all servers at once; API keys stay valid. */
export async function signOutUserCommand(settings: Settings, id: string, options: UserChangeOptions): Promise<number> {
  const why = noteOf(options.note);
  const { userId, count } = await withState(settings, async (state) => {
    const { id: userId } = await findUser(state, id);
    return { userId, count: await state.sessions.endAllOf({ userId, actor: operatorActor(), ...why }) };
  });
  if (options.json) printJson({ id: userId, ended: count });
  else if (count === 0) print(`User ${userId} has no sessions.\n`);
  else print(`User ${userId} is signed out: ${count} ${count === 1 ? 'session has' : 'sessions have'} ended.\n`);
  return 0;
}

interface Change extends UserChangeOptions {
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

/** Finds a user by their id, the id of their account, or a unique email address. @throws CommandFailure */
export async function findUser(state: Pick<State, 'users'>, named: string): Promise<UserRecord> {
  if (named.includes('@')) return findByEmail(state, named);
  const user = named.startsWith('acct_') ? await state.users.findByAccount(named) : await state.users.find(named);
  if (user) return user;
  throw new CommandFailure(
    `There is no user with the id ${sanitizeForTerminal(named)}; "mediagate users list" shows them.`,
  );
}

async function findByEmail({ users }: Pick<State, 'users'>, email: string): Promise<UserRecord> {
  const [user, ...others] = await users.findByEmail(email);
  if (!user)
    throw new CommandFailure(
      `No user has the address ${sanitizeForTerminal(email)}; "mediagate users list" shows them.`,
    );
  if (others.length === 0) return user;
  const ids = [user, ...others].map(({ id }) => id).join(', ');
  throw new CommandFailure(
    `${others.length + 1} users have the address ${sanitizeForTerminal(email)}; name one by its id: ${ids}.`,
  );
}

export function limitOf(text: string | undefined): number {
  if (text === undefined) return DEFAULT_LIMIT;
  const value = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (value >= 1 && value <= MAX_LIMIT) return value;
  throw new CommandMistake(`--limit must be a whole number from 1 to ${MAX_LIMIT}.`);
}

/** A user in the `--json` output. */
export function describeUser(user: UserRecord, account: AccountRecord | undefined) {
  const { id, accountId, issuer, subject, email, name, createdAt, lastSignInAt, suspendedAt } = user;
  return {
    id,
    account: accountId,
    issuer,
    subject,
    email,
    name,
    plan: account?.plan?.planId ?? null,
    plan_expires_at: isoTime(account?.plan?.expiresAt ?? null),
    state: stateOf(user),
    created_at: isoTime(createdAt),
    last_sign_in_at: isoTime(lastSignInAt),
    suspended_at: isoTime(suspendedAt),
  };
}

function row(user: UserRecord, account: AccountRecord | undefined): string[] {
  const { id, accountId, email, name, createdAt, lastSignInAt } = user;
  const times = [isoTime(createdAt), isoTime(lastSignInAt)];
  return [
    id,
    accountId,
    sanitizeForTerminal(email ?? '-'),
    sanitizeForTerminal(name ?? '-'),
    planOf(account),
    stateOf(user),
    ...times,
  ];
}

/** An ended plan stays in the row until the next one, without effect. */
function planOf(account: AccountRecord | undefined): string {
  if (!account?.plan) return '-';
  const { planId } = account.plan;
  return hasEnded(account.plan, systemClock.now()) ? `${planId} (ended)` : planId;
}

export function hasEnded({ expiresAt }: AccountPlan, now: number): boolean {
  return expiresAt !== null && expiresAt <= now;
}

export function stateOf({ suspendedAt }: UserRecord): string {
  return suspendedAt === null ? 'active' : 'suspended';
}

/** Number of latest orders and audit rows. */
const MAX_ROWS = 20;

interface Column {
  user: UserRecord;
  account: AccountRecord | undefined;
  budget: BudgetState | undefined;
  keys: readonly ApiKeyRecord[];
  orders: readonly OrderRecord[];
  audit: readonly AuditEntry[];
}

/** Prints one user: plan, remaining budget, keys, orders, and audit log. */
export async function showUserCommand(settings: Settings, id: string, { json }: { json?: boolean }): Promise<number> {
  const details = await withState(settings, async (state): Promise<Column> => {
    const user = await findUser(state, id);
    const { accountId } = user;
    const account = await state.accounts.find(accountId);
    const budgetId = account?.plan?.budgetId ?? null;
    const [budget, keys, orders, ofUser, ofAccount] = await Promise.all([
      budgetId === null ? undefined : state.budgets.find(budgetId),
      state.keys.listOf(accountId),
      state.orders.list({ accountId, limit: MAX_ROWS }),
      state.audit.list({ subject: user.id, limit: MAX_ROWS }),
      state.audit.list({ subject: accountId, limit: MAX_ROWS }),
    ]);
    const audit = [...ofUser, ...ofAccount].sort((one, other) => other.at - one.at).slice(0, MAX_ROWS);
    return { user, account, budget, keys, orders, audit };
  });
  if (json) printJson(describeWhole(details));
  else print(renderWhole(details));
  return 0;
}

function describeWhole({ user, account, budget, keys, orders, audit }: Column) {
  const now = systemClock.now();
  return {
    ...describeUser(user, account),
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

function renderWhole({ user, account, budget, keys, orders, audit }: Column): string {
  const now = systemClock.now();
  const plan = account?.plan;
  const facts = [
    ['user', user.id],
    ['account', user.accountId],
    ['identity', `${sanitizeForTerminal(user.subject)} at ${sanitizeForTerminal(user.issuer)}`],
    ['email', sanitizeForTerminal(user.email ?? '-')],
    ['name', sanitizeForTerminal(user.name ?? '-')],
    ['state', stateOf(user)],
    ['plan', plan ? renderPlan(plan, now) : '-'],
    ['left', plan && !hasEnded(plan, now) ? renderLeft(budget, now) : '-'],
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
        return [isoTime(at), sanitizeForTerminal(actor), what, sanitizeForTerminal(note ?? '')];
      }),
    ),
  ];
  return [facts.join(''), ...tables].filter((part) => part !== '').join('\n');
}

function renderPlan(plan: AccountPlan, now: number): string {
  const { planId, expiresAt } = plan;
  if (expiresAt === null) return planId;
  return `${planId}${hasEnded(plan, now) ? ', ended' : ' to'} ${isoTime(expiresAt)}`;
}

function tableOf(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return rows.length === 0 ? '' : `${renderTable(head, rows)}\n`;
}

const MAX_NOTE = 500;

/** The actor of a command in the audit log: the system user who ran it. */
export function operatorActor(): string {
  try {
    return `operator:${userInfo().username}`;
  } catch {
    // Containers run with numeric users that have no name.
    return `operator:${process.getuid?.() ?? 'unknown'}`;
  }
}

/** @throws CommandMistake */
export function noteOf(text: string | undefined): { note?: string } {
  if (text === undefined) return {};
  const note = text.trim();
  if (note === '' || note.length > MAX_NOTE) {
    throw new CommandMistake(`--note must have 1 to ${MAX_NOTE} characters.`);
  }
  return { note };
}
