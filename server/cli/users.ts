import { systemClock } from 'mediagate';
import type { AccountPlan, AccountRecord, UserRecord } from '../accounts/index.js';
import { isoTime, renderTable, shown } from '../format/index.js';
import type { Settings } from '../settings/index.js';
import type { State } from '../state.js';
import { withState } from './command-state.js';
import { noteOf, operatorActor } from './operator.js';
import { CommandFailure, CommandMistake, print, printJson } from './output.js';

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

export interface UserChangeOptions {
  note?: string;
  json?: boolean;
}

/** Ends the sessions of a user and stops their keys; servers follow within seconds. */
export function suspendUserCommand(settings: Settings, id: string, options: UserChangeOptions): Promise<number> {
  return change(settings, { id, verb: 'suspend', state: 'suspended', ...options });
}

/** Takes a suspension back. */
export function resumeUserCommand(settings: Settings, id: string, options: UserChangeOptions): Promise<number> {
  return change(settings, { id, verb: 'resume', state: 'active', ...options });
}

/** Ends the sessions of a user on all servers at once; their keys go on. */
export async function signOutUserCommand(settings: Settings, id: string, options: UserChangeOptions): Promise<number> {
  const why = noteOf(options.note);
  const { userId, count } = await withState(settings, async (state) => {
    const { id: userId } = await findUser(state, id);
    return { userId, count: await state.sessions.endAllOf({ userId, actor: operatorActor(), ...why }) };
  });
  if (options.json) printJson({ id: userId, ended: count });
  else if (count === 0) print(`User ${userId} was signed in nowhere.\n`);
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

/** By their own id or that of their account, or by an address that nobody else has. @throws CommandFailure */
export async function findUser(state: Pick<State, 'users'>, named: string): Promise<UserRecord> {
  if (named.includes('@')) return findByEmail(state, named);
  const user = named.startsWith('acct_') ? await state.users.findByAccount(named) : await state.users.find(named);
  if (user) return user;
  throw new CommandFailure(`There is no user with the id ${shown(named)}; "mediagate users list" shows them.`);
}

async function findByEmail({ users }: Pick<State, 'users'>, email: string): Promise<UserRecord> {
  const [user, ...others] = await users.findByEmail(email);
  if (!user) throw new CommandFailure(`No user has the address ${shown(email)}; "mediagate users list" shows them.`);
  if (others.length === 0) return user;
  const ids = [user, ...others].map(({ id }) => id).join(', ');
  throw new CommandFailure(`${others.length + 1} users have the address ${shown(email)}; name one by its id: ${ids}.`);
}

export function limitOf(text: string | undefined): number {
  if (text === undefined) return DEFAULT_LIMIT;
  const value = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (value >= 1 && value <= MAX_LIMIT) return value;
  throw new CommandMistake(`--limit must be a whole number from 1 to ${MAX_LIMIT}.`);
}

/** As `--json` prints a user. */
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
  return [id, accountId, shown(email ?? '-'), shown(name ?? '-'), planOf(account), stateOf(user), ...times];
}

/** One that has ended stays noted until the next one, and gives nothing any more. */
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
