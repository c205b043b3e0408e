/*
 * Writes the plans of accounts. A grant is a row that stays when it is revoked. The plan in force and those after it
 * are computed from all grants that were not revoked (plan-stack.ts), and then copied to the account, to all its keys
 * and to their budgets in the same transaction, so that a request reads only its key. Each id grants once: a repeated
 * payment notice has no effect. Every change locks the account first and its keys in the order of their ids, so that
 * two transactions do not deadlock.
 */

import { randomUUID } from 'node:crypto';
import {
  type Engine,
  isStorable,
  type Kysely,
  type Selectable,
  type SelectQueryBuilder,
  type Tables,
  type Transaction,
} from '../../core/database/index.js';
import { GatewayError } from '../../core/runtime/index.js';
import { type BudgetRow, toBudgetRow } from '../budgets/index.js';
import { type Grant, type KeyPlan, lockKeys } from '../keys/index.js';
import { FREE_PLAN_ID, type PlanTerms } from '../plans/index.js';
import { addPlan, type GrantedPlan, type PlanEntry, type PlanPeriod, scheduleOf, stackOf } from './plan-stack.js';
import type { AccountsTable } from './tables.js';

export type AccountRow = Selectable<AccountsTable>;

/** Locks what is read until the transaction ends; SQLite has one writer at a time anyway. */
export function locked<Names extends keyof Tables, Row>(
  engine: Engine,
  rows: SelectQueryBuilder<Tables, Names, Row>,
): SelectQueryBuilder<Tables, Names, Row> {
  return engine === 'postgres' ? rows.forUpdate() : rows;
}

export function findAccount(queries: Kysely<Tables>, id: string): Promise<AccountRow | undefined> {
  return queries.selectFrom('accounts').selectAll().where('id', '=', id).executeTakeFirst();
}

/**
 * Locks the account until the end of the transaction.
 * @throws GatewayError `account_not_found`.
 */
export async function lockAccount(transaction: Transaction<Tables>, engine: Engine, id: string): Promise<AccountRow> {
  const rows = transaction.selectFrom('accounts').selectAll().where('id', '=', id);
  const row = isStorable(id) ? await locked(engine, rows).executeTakeFirst() : undefined;
  if (!row) throw new GatewayError('account_not_found', 'There is no such account.');
  return row;
}

/** The account of a user. @throws GatewayError `user_not_found`. */
export async function lockAccountOf(
  transaction: Transaction<Tables>,
  engine: Engine,
  userId: string,
): Promise<AccountRow> {
  const users = transaction.selectFrom('users').select('accountId').where('id', '=', userId);
  const user = isStorable(userId) ? await users.executeTakeFirst() : undefined;
  if (!user) throw new GatewayError('user_not_found', 'There is no such user.');
  return lockAccount(transaction, engine, user.accountId);
}

/** @throws GatewayError `account_suspended`. */
export function refuseSuspended({ suspendedAt }: Pick<AccountRow, 'suspendedAt'>): void {
  if (suspendedAt !== null) throw new GatewayError('account_suspended', 'This account is suspended.');
}

/** Whether the account has a plan at that time. */
export function hasPlan({ planId, planExpiresAt }: AccountRow, at: number): boolean {
  return planId !== null && (planExpiresAt === null || planExpiresAt > at);
}

export function toAccountRecord(row: AccountRow): AccountRecord {
  return { id: row.id, createdAt: row.createdAt, suspendedAt: row.suspendedAt, plan: toAccountPlan(row) };
}

export function toAccountPlan(row: AccountRow): AccountPlan | null {
  if (row.planId === null || row.grantedAt === null) return null;
  return {
    planId: row.planId,
    grants: JSON.parse(row.grants ?? '[]') as Grant[],
    rpm: row.rpm,
    models: row.models === null ? null : (JSON.parse(row.models) as string[]),
    imageDailyLimit: row.imageDailyLimit,
    budgetId: row.budgetId,
    expiresAt: row.planExpiresAt,
    grantedAt: row.grantedAt,
  };
}

/** The state of a plan change: a transaction with the account's lock, and the time to write. */
export interface PlanChange {
  transaction: Transaction<Tables>;
  engine: Engine;
  account: AccountRow;
  at: number;
}

/**
 * Writes the plans of an account, the current one first, and those of its keys and budgets. Without any, its plan has
 * ended.
 */
export async function writePlan(
  { transaction, engine, account, at }: PlanChange,
  [running, ...following]: readonly PlanPeriod[],
): Promise<AccountRow> {
  const { planExpiresAt: end } = account;
  const ended = { planExpiresAt: end === null ? at : Math.min(end, at), followingPlans: null };
  const plan = running
    ? {
        planId: running.terms.planId,
        grants: JSON.stringify(running.terms.grants),
        rpm: running.terms.rpm,
        models: running.terms.models && JSON.stringify(running.terms.models),
        imageDailyLimit: running.terms.imageDailyLimit,
        budgetId: running.budgetId,
        planExpiresAt: running.expiresAt,
        followingPlans: encodeFollowing(following),
      }
    : ended;
  const written = { ...plan, grantedAt: at };
  await transaction.updateTable('accounts').set(written).where('id', '=', account.id).execute();
  const keys = await lockKeys(transaction, engine, account.id);
  if (keys.length > 0) {
    const change = { ...plan, changedAt: at };
    await transaction.updateTable('api_keys').set(change).where('id', 'in', keys).execute();
  }
  // The current plan last: it determines a budget that another plan shares.
  if (running) for (const period of [...following.toReversed(), running]) await writeBudget(transaction, period);
  return { ...account, ...written };
}

async function writeBudget(
  transaction: Transaction<Tables>,
  { budgetId, expiresAt, terms: { planId, budget } }: PlanPeriod,
): Promise<void> {
  if (budgetId === null || budget === null) return;
  const { dailyTokenLimit, tokenLimit, requestLimit, costLimit = null, resets } = budget;
  const change = {
    planId,
    dailyTokenLimit,
    expiresAt,
    // Budgets that never reset are the sum of what was granted.
    ...(resets !== 'never' && { tokenLimit, requestLimit, costLimit }),
  };
  await transaction.updateTable('budgets').set(change).where('id', '=', budgetId).execute();
}

function encodeFollowing(periods: readonly PlanPeriod[]): string | null {
  if (periods.length === 0) return null;
  const plans = periods.map(({ terms, budgetId, expiresAt }): KeyPlan => {
    const { planId, grants, rpm, models, imageDailyLimit } = terms;
    return { planId, grants, rpm, models, imageDailyLimit, budgetId, expiresAt };
  });
  return JSON.stringify(plans);
}

type BudgetTerms = NonNullable<PlanTerms['budget']>;

/** Finds the budget that a plan adds to, or the one it resumes. */
export async function findFunded(
  { transaction, engine, account }: PlanChange,
  { planId, budget }: PlanTerms,
  { resumes, joined }: { resumes: boolean; joined?: PlanEntry },
): Promise<BudgetRow | undefined> {
  if (!budget) return undefined;
  const budgets = locked(engine, transaction.selectFrom('budgets').selectAll().where('accountId', '=', account.id));
  if (resumes) return budgets.where('planId', '=', planId).orderBy('createdAt', 'desc').limit(1).executeTakeFirst();
  if (!joined || joined.budgetId === null) return undefined;
  const running = await budgets.where('id', '=', joined.budgetId).executeTakeFirst();
  return running && limitsTheSame(running, budget) ? running : undefined;
}

/** Adds what the plan gives to the found budget, or to a new one. Its end is written with the plan. */
export async function fund(
  { transaction, account, at }: PlanChange,
  { planId, budget }: PlanTerms,
  { found, resumes }: { found?: BudgetRow; resumes: boolean },
): Promise<string | null> {
  if (!budget) return null;
  if (!found) {
    const id = `budget_${randomUUID()}`;
    const row = toBudgetRow({ ...budget, id, accountId: account.id, planId, expiresAt: null, createdAt: at });
    await transaction.insertInto('budgets').values(row).execute();
    return id;
  }
  const adds = !resumes && budget.resets === 'never';
  const { costLimit = null } = budget;
  const limits = {
    costLimit: adds ? plus(found.costLimit, costLimit) : costLimit,
    tokenLimit: adds ? plus(found.tokenLimit, budget.tokenLimit) : budget.tokenLimit,
    requestLimit: adds ? plus(found.requestLimit, budget.requestLimit) : budget.requestLimit,
  };
  await transaction.updateTable('budgets').set(limits).where('id', '=', found.id).execute();
  return found.id;
}

function limitsTheSame(row: BudgetRow, budget: BudgetTerms): boolean {
  return (
    row.resets === budget.resets &&
    row.currency === (budget.currency ?? null) &&
    (row.tokenLimit === null) === (budget.tokenLimit === null) &&
    (row.requestLimit === null) === (budget.requestLimit === null) &&
    (row.dailyTokenLimit === null) === (budget.dailyTokenLimit === null)
  );
}

function plus(limit: number | null, more: number | null): number | null {
  return limit === null || more === null ? null : limit + more;
}

export interface PlanGranting extends PlanChange {
  /** Code of an order, or random: each id grants once. */
  id: string;
  terms: PlanTerms;
  /** Whether an existing budget of this plan is resumed unchanged, instead of a full one. */
  resumes?: boolean;
}

export interface StoredGrant extends GrantedPlan {
  id: string;
  number: number;
}

/** Grants the account a plan, and its keys with it. A repeated id has no effect. */
export async function grantPlan(granting: PlanGranting): Promise<AccountRow> {
  const { transaction, account, id, terms, at, resumes = false } = granting;
  const known = await transaction.selectFrom('plan_grants').select('id').where('id', '=', id).executeTakeFirst();
  if (known) return account;
  const grants = await grantsOf(transaction, account.id);
  const stack = stackOf(grants, at);
  const { joined } = addPlan(stack, { terms, budgetId: null });
  const found = await findFunded(granting, terms, { resumes, joined });
  const budgetId = await fund(granting, terms, { found, resumes });
  const row = { id, accountId: account.id, terms: JSON.stringify(terms), budgetId, grantedAt: at };
  const number = 1 + Math.max(0, ...grants.map((grant) => grant.number));
  await transaction
    .insertInto('plan_grants')
    .values({ ...row, number, takenBackAt: null })
    .execute();
  return writePlan(granting, scheduleOf(addPlan(stack, { terms, budgetId }).stack));
}

/** Computes the account's plan for each of these, if it were granted now. */
export async function previewPlans(
  queries: Kysely<Tables>,
  { accountId, terms, at }: { accountId: string; terms: readonly PlanTerms[]; at: number },
): Promise<PlanPreview[]> {
  const stack = stackOf(await grantsOf(queries, accountId), at);
  const [current] = scheduleOf(stack);
  return terms.map((each) => {
    const { stack: after, creditedDays } = addPlan(stack, { terms: each, budgetId: null });
    const [running, next] = scheduleOf(after);
    const isReplaced = current && ![each.planId, FREE_PLAN_ID].includes(current.terms.planId);
    const replaced = isReplaced ? current : undefined;
    // A plan without an end permanently includes the unused rest of one that has an end.
    const isCovered = running?.expiresAt === null && replaced !== undefined && replaced.expiresAt !== null;
    return {
      planId: each.planId,
      at,
      expiresAt: running?.expiresAt ?? null,
      creditedDays,
      replacedPlanId: replaced?.terms.planId ?? null,
      nextPlanId: next?.terms.planId ?? null,
      endsReplaced: isCovered,
    };
  });
}

/** The grants of an account that were not revoked, in order of creation. */
export async function grantsOf(queries: Kysely<Tables>, accountId: string): Promise<StoredGrant[]> {
  const rows = await queries
    .selectFrom('plan_grants')
    .selectAll()
    .where('accountId', '=', accountId)
    .where('takenBackAt', 'is', null)
    .orderBy('grantedAt')
    .orderBy('number')
    .orderBy('id')
    .execute();
  return rows.map(({ id, number, grantedAt: at, budgetId, terms }) => {
    return { id, number, at, budgetId, terms: JSON.parse(terms) as PlanTerms };
  });
}

/** Revokes a grant: the account keeps what its other grants give. */
export async function takeBackPlan(change: PlanChange, id: string): Promise<void> {
  const { transaction, account, at } = change;
  const grants = await grantsOf(transaction, account.id);
  const taken = grants.find((each) => each.id === id);
  if (!taken) return;
  await transaction.updateTable('plan_grants').set({ takenBackAt: at }).where('id', '=', id).execute();
  await takeFromBudget(change, taken);
  const rest = grants.filter((each) => each !== taken);
  const schedule = scheduleOf(stackOf(rest, at));
  // The free tier only resumes with a new key.
  const isFree = schedule[0]?.terms.planId === FREE_PLAN_ID && account.planId !== FREE_PLAN_ID;
  await writePlan(change, isFree ? [] : schedule);
}

/** Revokes all grants: the account has no plan. */
export async function takeBackAll(change: PlanChange): Promise<void> {
  const { transaction, account, at } = change;
  const taken = await grantsOf(transaction, account.id);
  for (const grant of taken) {
    await transaction.updateTable('plan_grants').set({ takenBackAt: at }).where('id', '=', grant.id).execute();
    await takeFromBudget(change, grant);
  }
  await writePlan(change, []);
}

/** Its budget ends as well; one that another grant uses gets its end with that plan. */
async function takeFromBudget(
  { transaction, engine, at }: PlanChange,
  { budgetId, terms: { budget } }: StoredGrant,
): Promise<void> {
  if (budgetId === null || budget === null) return;
  const budgets = transaction.selectFrom('budgets').selectAll().where('id', '=', budgetId);
  const row = await locked(engine, budgets).executeTakeFirstOrThrow();
  const isAdded = budget.resets === 'never';
  const limits = {
    costLimit: minus(row.costLimit, isAdded ? (budget.costLimit ?? null) : null),
    tokenLimit: minus(row.tokenLimit, isAdded ? budget.tokenLimit : null),
    requestLimit: minus(row.requestLimit, isAdded ? budget.requestLimit : null),
    expiresAt: row.expiresAt === null ? at : Math.min(row.expiresAt, at),
  };
  await transaction.updateTable('budgets').set(limits).where('id', '=', budgetId).execute();
}

function minus(limit: number | null, less: number | null): number | null {
  return limit === null || less === null ? limit : Math.max(0, limit - less);
}

/** The plan of an account. Times are milliseconds since 1970. */
export interface AccountPlan extends Omit<PlanTerms, 'durationMs' | 'budget' | 'price'> {
  /** Budget that model requests of all its keys are counted against; null is unlimited. */
  budgetId: string | null;
  /** After this time its keys have the following plan, or answer `expired_api_key` if there is none; null is never. */
  expiresAt: number | null;
  /** The latest time. */
  grantedAt: number;
}

/** The account's plan if this one were granted at `at`. Times are milliseconds since 1970. */
export interface PlanPreview {
  planId: string;
  at: number;
  /** End of the plan; null is never. */
  expiresAt: number | null;
  /** Days credited for the rest of the current plan. */
  creditedDays: number;
  /** The current plan, if it is another one. */
  replacedPlanId: string | null;
  /** The plan that resumes at its end. */
  nextPlanId: string | null;
  /** Whether the rest of the current plan is lost: this one has no end after which it could resume. */
  endsReplaced: boolean;
}

/** The owner of keys, jobs, orders and budgets. */
export interface AccountRecord {
  /** `acct_` and 128 random bits. */
  id: string;
  createdAt: number;
  /** When its user was suspended. */
  suspendedAt: number | null;
  /** Null until the first key was made or the first plan granted. */
  plan: AccountPlan | null;
}
