/*
 * The commands that list, show, suspend, resume and sign out users, and helpers for all commands that name a user or
 * write to the audit log. A user is found by their id, the id of their account, or a unique email address. A suspension
 * ends the sessions and disables the keys; signing out ends only the sessions, and API keys stay valid. The actor in
 * the audit log is the system user who ran the command.
 */

import { systemClock } from '../../../core/runtime/index.js';
import type { AccountPlan, AccountRecord, UserRecord } from '../../accounts/index.js';
import type { AuditEntry } from '../../audit/index.js';
import type { BudgetState } from '../../budgets/index.js';
import { isoTime, renderMoney, sanitizeForTerminal } from '../../format/index.js';
import { type ApiKeyRecord, keyState } from '../../keys/index.js';
import type { OrderRecord } from '../../payments/index.js';
import type { Settings } from '../../settings/index.js';
import type { State } from '../../state.js';
import { leftOf, renderLeft } from '../../usage/index.js';
import { byOperator, limitOf, withState } from '../command.js';
import type { OptionsOf } from '../define-command.js';
import { CommandFailure } from '../mistakes.js';
import { encodeAudit, joinParts, type Outcome, renderAudit, renderFacts, renderRows } from '../output.js';
import type { listUsers, NoteOptions } from './access-commands.js';

const HEAD = ['ID', 'ACCOUNT', 'EMAIL', 'NAME', 'PLAN', 'STATE', 'CREATED', 'LAST SIGN-IN'];

/** Users, newest first. */
export async function listUsersCommand(
  settings: Settings,
  { limit, before }: OptionsOf<typeof listUsers>,
): Promise<Outcome<'Users'>> {
  const page = { limit: limitOf(limit), before };
  const listed = await withState(settings, async (state) =>
    Promise.all(
      (await state.users.list(page)).map(async (user) => [user, await state.accounts.find(user.accountId)] as const),
    ),
  );
  return {
    json: listed.map((one) => describeUser(...one)),
    text:
      renderRows(
        HEAD,
        listed.map((one) => row(...one)),
      ) || 'There are no users yet.',
  };
}

/** Ends the sessions of a user on all servers at once; API keys stay valid. */
export async function signOutUserCommand(
  settings: Settings,
  id: string,
  { note }: NoteOptions,
): Promise<Outcome<'SignedOut'>> {
  const by = byOperator(note);
  const { userId, ended } = await withState(settings, async (state) => {
    const { id: userId } = await findUser(state, id);
    return { userId, ended: await state.sessions.endAllOf({ userId, ...by }) };
  });
  const sessions = ended === 1 ? '1 session has' : `${ended} sessions have`;
  const text = ended === 0 ? `User ${userId} has no sessions.` : `User ${userId} is signed out: ${sessions} ended.`;
  return { json: { id: userId, ended }, text };
}

/** Suspends a user, which ends the sessions and disables the keys, or resumes one; servers follow within seconds. */
export async function changeUserCommand(
  settings: Settings,
  verb: 'suspend' | 'resume',
  id: string,
  { note }: NoteOptions,
): Promise<Outcome<'ChangedUser'>> {
  const by = byOperator(note);
  const { userId, changed } = await withState(settings, async (state) => {
    const { id: userId } = await findUser(state, id);
    return { userId, changed: await state.users[verb]({ userId, ...by }) };
  });
  const wanted = verb === 'suspend' ? 'suspended' : 'active';
  const text = changed ? `User ${userId} is ${wanted}.` : `User ${userId} was ${wanted} before.`;
  return { json: { id: userId, state: wanted, changed }, text };
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

/** One user: plan, remaining budget, keys, orders, and audit log. */
export async function showUserCommand(settings: Settings, id: string): Promise<Outcome<'UserDetails'>> {
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
  return { json: describeWhole(details), text: renderWhole(details) };
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
    audit: encodeAudit(audit),
  };
}

function renderWhole({ user, account, budget, keys, orders, audit }: Column): string {
  const now = systemClock.now();
  const plan = account?.plan;
  const facts = renderFacts([
    ['user', user.id],
    ['account', user.accountId],
    ['identity', `${sanitizeForTerminal(user.subject)} at ${sanitizeForTerminal(user.issuer)}`],
    ['email', sanitizeForTerminal(user.email ?? '-')],
    ['name', sanitizeForTerminal(user.name ?? '-')],
    ['state', stateOf(user)],
    ['plan', plan ? renderPlan(plan, now) : '-'],
    ['left', plan && !hasEnded(plan, now) ? renderLeft(budget, now) : '-'],
  ]);
  const keyRows = keys.map((record) => {
    const { id, name, createdAt, lastUsedAt } = record;
    return [id, name, keyState(record, now), isoTime(createdAt), isoTime(lastUsedAt) ?? 'never'];
  });
  const orderRows = orders.map(({ code, planId, state, amount, currency, createdAt }) => {
    return [code, planId, state, renderMoney(amount, currency), isoTime(createdAt)];
  });
  return joinParts(
    facts,
    renderRows(['KEY', 'NAME', 'STATE', 'CREATED', 'LAST USED'], keyRows),
    renderRows(['ORDER', 'PLAN', 'STATE', 'AMOUNT', 'CREATED'], orderRows),
    renderAudit(audit),
  );
}

function renderPlan(plan: AccountPlan, now: number): string {
  const { planId, expiresAt } = plan;
  if (expiresAt === null) return planId;
  return `${planId}${hasEnded(plan, now) ? ', ended' : ' to'} ${isoTime(expiresAt)}`;
}
