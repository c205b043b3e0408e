/*
 * The commands that list, show, suspend, resume and sign out users and change their roles, and helpers for all commands that name a user or
 * write to the audit log. A user is found by their id, the id of their account, or a unique email address. A suspension
 * ends the sessions and disables the keys; signing out ends only the sessions, and API keys stay valid. The actor in
 * the audit log is the system user who ran the command.
 */

import { systemClock } from '../../../core/runtime/index.js';
import type { AccountPlan, AccountRecord, UserRecord, UserRole } from '../../accounts/index.js';
import { describeUser, describeWholeUser, showUser, stateOfUser, type WholeUser } from '../../admin/index.js';
import { isoTime, renderMoney, sanitizeForTerminal } from '../../format/index.js';
import { keyState } from '../../keys/index.js';
import type { Settings } from '../../settings/index.js';
import type { State } from '../../state.js';
import { renderLeft } from '../../usage/index.js';
import { byOperator, limitOf, withState } from '../command.js';
import type { OptionsOf } from '../define-command.js';
import { CommandFailure } from '../mistakes.js';
import { joinParts, type Outcome, renderAudit, renderFacts, renderRows } from '../output.js';
import type { listUsers, NoteOptions } from './access-commands.js';

const HEAD = ['ID', 'ACCOUNT', 'EMAIL', 'NAME', 'ROLE', 'PLAN', 'STATE', 'CREATED', 'LAST SIGN-IN'];

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
    json: listed.map(([user, account]) => describeUser({ user, account })),
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

/** Gives a user a role, and the account the plan that belongs to it; servers follow within seconds. */
export async function changeRoleCommand(
  settings: Settings,
  id: string,
  role: UserRole,
  { note }: NoteOptions,
): Promise<Outcome<'ChangedRole'>> {
  const by = byOperator(note);
  const { userId, changed } = await withState(settings, async (state) => {
    const { id: userId } = await findUser(state, id);
    return { userId, changed: await state.users.setRole({ userId, role, ...by }) };
  });
  return {
    json: { id: userId, role, changed },
    text: changed ? `User ${userId} has the role ${role}.` : `User ${userId} had the role ${role} before.`,
  };
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

function row(user: UserRecord, account: AccountRecord | undefined): string[] {
  const { id, accountId, email, name, role, createdAt, lastSignInAt } = user;
  const times = [isoTime(createdAt), isoTime(lastSignInAt)];
  return [
    id,
    accountId,
    sanitizeForTerminal(email ?? '-'),
    sanitizeForTerminal(name ?? '-'),
    role,
    planOf(account),
    stateOfUser(user),
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

/** One user: plan, remaining budget, keys, orders, and audit log. */
export async function showUserCommand(settings: Settings, id: string): Promise<Outcome<'UserDetails'>> {
  const details = await withState(settings, async (state): Promise<WholeUser> => {
    const user = await findUser(state, id);
    return showUser({ state }, user.id);
  });
  return { json: describeWholeUser(details, systemClock.now()), text: renderWhole(details) };
}

function renderWhole({ user, account, budget, keys, orders, audit }: WholeUser): string {
  const now = systemClock.now();
  const plan = account?.plan;
  const facts = renderFacts([
    ['user', user.id],
    ['account', user.accountId],
    ['identity', `${sanitizeForTerminal(user.subject)} at ${sanitizeForTerminal(user.issuer)}`],
    ['email', sanitizeForTerminal(user.email ?? '-')],
    ['name', sanitizeForTerminal(user.name ?? '-')],
    ['role', user.role],
    ['state', stateOfUser(user)],
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
