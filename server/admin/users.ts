/*
 * Users for operators: search by the beginning of an address, a word of a name or an id, details, suspension, sign-out, and the
 * plan of the account. Every change is one transaction with its audit row, in the room of the subject. A user may be
 * named by their id or by the id of their account.
 */

import { optional, Type } from '../../core/contracts/index.js';
import { GatewayError } from '../../core/runtime/index.js';
import type { AccountPlan, AccountRecord, UserRecord } from '../accounts/index.js';
import type { AuditEntry } from '../audit/index.js';
import type { BudgetState } from '../budgets/index.js';
import { isoTime } from '../format/index.js';
import { OneOf, type Route, Text } from '../http/index.js';
import { type ApiKeyRecord, keyState } from '../keys/index.js';
import { unknownName } from '../names/index.js';
import type { OrderRecord } from '../payments/index.js';
import { type CatalogueTerms, planTerms } from '../plans/index.js';
import { leftOf } from '../usage/index.js';
import { type AdminActor, adminRoute, NOTE, NoteBody, strict } from './admin-route.js';
import { encodeAuditEntry } from './audit.js';
import { encodePage, LIST_QUERY, type ListPage, type ListRange, listSchema, rangeOf, readPage } from './lists.js';
import { describeOrder } from './orders.js';
import type { AdminServices, Of, Stored } from './services.js';
import { ChangedUser, PlanOfUser, SignedOut, User, UserDetails } from './shapes.js';

/** Number of latest orders and audit rows in details. */
const MAX_ROWS = 20;
const DAY_MS = 24 * 60 * 60 * 1000;
const MAX_DAYS = 3_660;

/** A user with the account. */
export interface ListedUser {
  user: UserRecord;
  /** Undefined if the user was erased at this moment. */
  account: AccountRecord | undefined;
}

export interface UserFilter {
  /** Beginning of the address, the name, the id, or the id of the account, in any letters. */
  search?: string;
  state?: 'active' | 'suspended';
}

/** Newest first. */
export async function listUsers(
  { state: { users, accounts } }: Stored<'users' | 'accounts'>,
  filter: UserFilter,
  range: ListRange,
): Promise<ListPage<ListedUser>> {
  const read = (part: ListRange) => users.list({ ...filter, ...part });
  const { items, next } = await readPage(range, read, ({ createdAt: at, id }) => ({ at, id }));
  const listed = items.map(async (user) => ({ user, account: await accounts.find(user.accountId) }));
  return { items: await Promise.all(listed), ...(next && { next }) };
}

/** A user with what operators look for. */
export interface WholeUser extends ListedUser {
  /** Budget of the plan. */
  budget: BudgetState | undefined;
  keys: readonly ApiKeyRecord[];
  /** The latest ones. */
  orders: readonly OrderRecord[];
  /** Of the user and of the account, latest first. */
  audit: readonly AuditEntry[];
}

/** @throws GatewayError `user_not_found`. */
export async function showUser(
  services: Stored<'users' | 'accounts' | 'budgets' | 'keys' | 'orders' | 'audit'>,
  id: string,
): Promise<WholeUser> {
  const { state } = services;
  const user = await findUser(services, id);
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
}

/**
 * @param id Of the user or of the account, or the address of one user.
 * @throws GatewayError `user_not_found`; `invalid_value` if several users have the address.
 */
export async function findUser({ state: { users } }: Stored<'users'>, id: string): Promise<UserRecord> {
  if (id.includes('@')) {
    const [user, ...others] = await users.findByEmail(id);
    if (user && others.length === 0) return user;
    if (user) {
      const ids = [user, ...others].map((one) => one.id).join(', ');
      throw new GatewayError('invalid_value', `Several users have this address. Name one by its id: ${ids}.`, {
        param: 'id',
      });
    }
  }
  const user = id.startsWith('acct_') ? await users.findByAccount(id) : await users.find(id);
  if (user) return user;
  throw new GatewayError('user_not_found', 'There is no such user.', { param: 'id' });
}

/** Suspends or resumes a user. No effect if it is so already. @throws GatewayError `user_not_found`. */
export async function changeUser(services: Stored<'users'>, verb: 'suspend' | 'resume', id: string, by: AdminActor) {
  const { id: userId } = await findUser(services, id);
  const changed = await services.state.users[verb]({ userId, ...by });
  return { id: userId, state: verb === 'suspend' ? 'suspended' : 'active', changed };
}

export interface PlanOfUserInput extends AdminActor {
  id: string;
  planId: string;
  /** Days from now on. Default: those of the plan. */
  days?: number;
}

/**
 * Gives the account a plan without an order; the plan that it has already is extended.
 * @throws GatewayError `user_not_found`, `invalid_value` if there is no such plan.
 */
export async function setPlan(
  services: Stored<'users' | 'accounts'> & Of<'catalogue' | 'freeTierPeriod'>,
  { id, planId, days, ...by }: PlanOfUserInput,
): Promise<{ user: UserRecord; plan: AccountPlan }> {
  const user = await findUser(services, id);
  const terms = termsOfPlan(services, planId);
  const durationMs = days === undefined ? terms.durationMs : days * DAY_MS;
  const granted = { accountId: user.accountId, terms: { ...terms, durationMs }, ...by };
  return { user, plan: await services.state.accounts.grant(granted) };
}

/** The plan as the catalogue has it now. @throws GatewayError `invalid_value` with the nearest name. */
export function termsOfPlan(services: Of<'catalogue' | 'freeTierPeriod'>, planId: string): CatalogueTerms {
  const terms = planTerms(planId, services);
  if (terms) return terms;
  const { plans, freeTier } = services.catalogue;
  throw unknownName('plan', planId, [...plans.map((plan) => plan.id), freeTier.id]);
}

/** Ends all plans of the account at once. @throws GatewayError `user_not_found`. */
export async function endPlan(services: Stored<'users' | 'accounts'>, id: string, by: AdminActor) {
  const user = await findUser(services, id);
  const changed = await services.state.accounts.endPlans({ accountId: user.accountId, ...by });
  return { user, changed };
}

export function stateOfUser({ suspendedAt }: UserRecord): 'active' | 'suspended' {
  return suspendedAt === null ? 'active' : 'suspended';
}

/** A user for the API and the `--json` output. */
export function describeUser({ user, account }: ListedUser) {
  const { id, accountId, issuer, subject, email, name, role, createdAt, lastSignInAt } = user;
  return {
    id,
    account: accountId,
    issuer,
    subject,
    email,
    name,
    role,
    plan: account?.plan?.planId ?? null,
    plan_expires_at: isoTime(account?.plan?.expiresAt ?? null),
    state: stateOfUser(user),
    created_at: isoTime(createdAt),
    last_sign_in_at: isoTime(lastSignInAt),
    suspended_at: isoTime(user.suspendedAt),
  };
}

export function describeWholeUser(whole: WholeUser, now: number) {
  const { budget, keys, orders, audit } = whole;
  return {
    ...describeUser(whole),
    left: budget ? leftOf(budget) : null,
    keys: keys.map((record) => ({
      id: record.id,
      name: record.name,
      state: keyState(record, now),
      created_at: isoTime(record.createdAt),
      expires_at: isoTime(record.expiresAt),
      last_used_at: isoTime(record.lastUsedAt),
    })),
    orders: orders.map((order) => {
      const { code, plan, state, amount, currency, paid_amount, created_at } = describeOrder(order);
      return { code, plan, state, amount, currency, paid_amount, created_at };
    }),
    audit: audit.map(encodeAuditEntry),
  };
}

const USER = {
  id: { description: 'Id of the user or of the account, or the address of one user.', example: 'user_5f1c' },
};

export function userRoutes(services: AdminServices): Route[] {
  const { clock, state } = services;
  const change = (verb: 'suspend' | 'resume', summary: string, description: string) =>
    adminRoute(services, {
      method: 'POST',
      path: `/users/:id/${verb}`,
      params: USER,
      summary,
      description,
      body: NoteBody,
      answer: { description: 'The state.', name: 'ChangedUser', schema: ChangedUser },
      errors: ['user_not_found'],
      run: ({ param, by }) => changeUser(services, verb, param('id'), by),
    });
  return [
    adminRoute(services, {
      method: 'GET',
      path: '/users',
      summary: 'List users',
      description:
        'Lists users, newest first; `q` searches by the beginning of an address, an id, a name, or its second or last word.',
      query: {
        q: { schema: Text, description: 'Beginning of the address, the name, the id, or the id of the account.' },
        state: { schema: OneOf('active', 'suspended'), description: 'Only these. Default: all.' },
        ...LIST_QUERY,
      },
      answer: { description: 'The users.', name: 'UserList', schema: listSchema(User, 'Users') },
      async run({ query: { q: search, state: only, limit, after } }) {
        const filter = { ...(search !== undefined && { search }), ...(only && { state: only }) };
        return encodePage(await listUsers(services, filter, rangeOf({ limit, after })), describeUser);
      },
    }),
    adminRoute(services, {
      method: 'GET',
      path: '/users/:id',
      params: USER,
      summary: 'Get a user',
      description: 'Returns a user with plan, what is left of it, keys, latest orders and history.',
      answer: { description: 'The user.', name: 'UserDetails', schema: UserDetails },
      errors: ['user_not_found'],
      run: async ({ param }) => describeWholeUser(await showUser(services, param('id')), clock.now()),
    }),
    change('suspend', 'Suspend a user', 'Ends all sessions, stops the keys and cancels the jobs of the account.'),
    change('resume', 'End a suspension', 'Lets the keys work again; the user must sign in again.'),
    adminRoute(services, {
      method: 'POST',
      path: '/users/:id/sign_out',
      params: USER,
      summary: 'Sign a user out',
      description: 'Ends all sessions of a user on all servers; API keys keep working.',
      body: NoteBody,
      answer: { description: 'How many sessions ended.', name: 'SignedOut', schema: SignedOut },
      errors: ['user_not_found'],
      async run({ param, by }) {
        const { id: userId } = await findUser(services, param('id'));
        return { id: userId, ended: await state.sessions.endAllOf({ userId, ...by }) };
      },
    }),
    ...planRoutes(services),
  ];
}

const SetPlan = Type.Object(
  {
    plan: Type.String({ minLength: 1, maxLength: 64, description: 'Id of the plan.' }),
    days: optional(
      Type.Integer({ minimum: 1, maximum: MAX_DAYS }),
      'Days that it lasts, or by which the same plan is extended. Default: those of the plan.',
    ),
    ...NOTE,
  },
  strict,
);

function planRoutes(services: AdminServices): Route[] {
  const answer = { description: 'The plan.', name: 'PlanOfUser', schema: PlanOfUser };
  return [
    adminRoute(services, {
      method: 'POST',
      path: '/users/:id/plan',
      params: USER,
      summary: 'Set or extend the plan of a user',
      description: 'Gives the account a plan without an order. The same plan is extended; another one starts at once.',
      body: SetPlan,
      example: { plan: 'token_30m', days: 14, note: 'goodwill' },
      answer,
      errors: ['user_not_found', 'account_not_found'],
      async run({ param, body: { plan: planId, days }, by }) {
        const input = { id: param('id'), planId, ...(days !== undefined && { days }), ...by };
        const { user, plan } = await setPlan(services, input);
        return { user: user.id, account: user.accountId, plan: plan.planId, expires_at: isoTime(plan.expiresAt) };
      },
    }),
    adminRoute(services, {
      method: 'POST',
      path: '/users/:id/plan/end',
      params: USER,
      summary: 'End the plan of a user',
      description: 'Ends all plans of the account now, with their budgets. Orders keep their state.',
      body: NoteBody,
      answer,
      errors: ['user_not_found', 'account_not_found'],
      async run({ param, by }) {
        const { user } = await endPlan(services, param('id'), by);
        return { user: user.id, account: user.accountId, plan: null, expires_at: null };
      },
    }),
  ];
}
