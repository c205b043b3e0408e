/*
 * What is stored of an API key, and what a record says: its plan at a time, its state, whose quotas it uses, its share
 * of a queue. A row has the key's hash, never the key, and the current plan of its account in columns; later plans are
 * JSON, and each reader computes the plan of the moment, so a plan that resumes needs no write. What the user narrowed
 * (own-limits.ts) is applied to each of them when the row is read. Rows of accounts have the plan in the same columns. Keys of a site account share the account's quotas; each operator's key has its own.
 * Every change sets `changedAt` by the database's clock, by which nodes find changes. A lock of a key lasts until the
 * end of its transaction.
 */

import type { JobPriority, QueueShare } from '../../core/contracts/index.js';
import {
  type DatabaseClock,
  type Engine,
  isStorable,
  type Kysely,
  type Selectable,
  type Tables,
  type Transaction,
} from '../../core/database/index.js';
import { isoTime } from '../format/index.js';
import type { Grant } from '../http/index.js';
import type { ConsumeRequest, RateLimitFamily } from '../limits/index.js';
import { type BalanceBesidePlan, decodeBalance, type KeyGrant, planOfBalance, withBalance } from './key-balance.js';
import { createKey, hashKey, maskedKey, type Pepper } from './keys.js';
import { decodeOwn, encodeOwn, narrowPlan, type OwnLimits } from './own-limits.js';
import type { ApiKeysTable } from './tables.js';

export type { Grant, KeyGrant };

export const GRANTS: readonly Grant[] = ['images', 'extract', 'text', 'audio'];
/** What plans, accounts and their keys may have. */
export const KEY_GRANTS: readonly KeyGrant[] = [...GRANTS, 'vendor_ids', 'paid_tools'];
/** What an operator may give a key. */
export const OPERATOR_KEY_GRANTS: readonly KeyGrant[] = [...KEY_GRANTS, 'admin'];

/** The plan of a key. */
export type KeyPlan = Pick<
  ApiKeyRecord,
  | 'grants'
  | 'rpm'
  | 'planRpm'
  | 'planId'
  | 'budgetId'
  | 'models'
  | 'planModels'
  | 'imageDailyLimit'
  | 'expiresAt'
  | 'balance'
>;

/** A key as stored: without its secret, only its keyed hash. Times are milliseconds since 1970. */
export interface ApiKeyRecord {
  /** Public part of the key: 8 characters. */
  id: string;
  name: string;
  /** HMAC-SHA-256 of the whole key with the pepper of `pepperVersion`, 32 bytes in lower-case hex. */
  hash: string;
  pepperVersion: number;
  grants: readonly KeyGrant[];
  /** Requests per minute and route family; null is unlimited, 0 refuses. */
  rpm: number | null;
  /** The same of its plan, if the key has a limit of its own. */
  planRpm?: number | null;
  accountId: string;
  /** Plan of the catalogue; null if the key was made without a plan. */
  planId: string | null;
  /** Budget of its plan, that model requests are counted against; null is unlimited. */
  budgetId: string | null;
  /** Its own budgets, and those of its account and group. Default: none. */
  furtherBudgets?: readonly string[];
  /** The prepaid balance of its account: grants, models and rate limit include what it allows. Default: none. */
  balance?: BalanceBesidePlan;
  /** Group of keys that share budgets. Default: none. */
  groupName?: string;
  /** Order of its jobs among those of its account. Default `normal`. */
  priority?: JobPriority;
  /** Ids of the allowed models; null is all. */
  models: readonly string[] | null;
  /** Those of its plan, which limit it as well if it has models of its own. */
  planModels?: readonly string[] | null;
  /** What its user allows of its plan. Default: all. The other fields have it applied. */
  own?: OwnLimits;
  /** Images per UTC day; null is the gateway's setting. */
  imageDailyLimit: number | null;
  createdAt: number;
  /** The earlier of its own end and that of its plan. */
  expiresAt: number | null;
  /** Plans that resume after that end, one after the other. Default: none. */
  followingPlans?: readonly KeyPlan[];
  revokedAt: number | null;
  /** Whether its queued jobs were left to its account when it was revoked. Default: false, they were cancelled. */
  keepsJobs?: boolean;
  /** When the user of its account was suspended: then it answers `account_suspended`. */
  suspendedAt: number | null;
  /** Id of the key that replaced it in a rotation. */
  replacedBy: string | null;
  lastUsedAt: number | null;
  /** Whether pages of the site or a connected agent use it for its account: it has no secret, and lists of keys omit it. Default: false. */
  isInternal?: boolean;
}

/** A key to be stored, with the properties of the account's plan. */
export type NewKeyRecord = Pick<ApiKeyRecord, 'id' | 'name' | 'hash' | 'pepperVersion'>;

/** Throws if the id exists. */
export async function insertKey(
  transaction: Transaction<Tables>,
  { record, ...columns }: { record: ApiKeyRecord; planExpiresAt: number | null; changedAt: DatabaseClock['now'] },
): Promise<void> {
  await transaction
    .insertInto('api_keys')
    .values({ ...toKeyRow(record), ...columns })
    .execute();
}

/** Locks a key until the end of the transaction. */
export async function lockKey(
  transaction: Transaction<Tables>,
  engine: Engine,
  id: string,
): Promise<ApiKeyRow | undefined> {
  if (!isStorable(id)) return undefined;
  const rows = transaction.selectFrom('api_keys').selectAll().where('id', '=', id);
  return (engine === 'postgres' ? rows.forUpdate() : rows).executeTakeFirst();
}

/** Locks the keys of an account in the order of their ids, as the update of last uses does, so that the two do not deadlock. */
export async function lockKeys(
  transaction: Transaction<Tables>,
  engine: Engine,
  accountId: string,
): Promise<readonly string[]> {
  const keys = transaction.selectFrom('api_keys').select('id').where('accountId', '=', accountId).orderBy('id');
  return (await (engine === 'postgres' ? keys.forUpdate() : keys).execute()).map(({ id }) => id);
}

export type ApiKeyRow = Selectable<ApiKeysTable>;

function toKeyRow(record: ApiKeyRecord): Omit<ApiKeyRow, 'changedAt' | 'planExpiresAt' | 'followingPlans'> {
  const {
    grants,
    models,
    keepsJobs,
    followingPlans: _followingPlans,
    own: _own,
    planRpm: _planRpm,
    planModels: _planModels,
    balance: _balance,
    furtherBudgets,
    groupName,
    priority,
    isInternal,
    ...columns
  } = record;
  const lists = {
    grants: JSON.stringify(grants),
    models: models && JSON.stringify(models),
    furtherBudgets: furtherBudgets ? JSON.stringify(furtherBudgets) : null,
  };
  const own = { groupName: groupName ?? null, priority: priority ?? null, ownLimits: null, balance: null };
  return { ...columns, ...lists, ...own, keepsJobs: keepsJobs ? 1 : null, internal: isInternal ? 1 : null };
}

export function toKeyRecord(row: ApiKeyRow): ApiKeyRecord {
  const { grants, models, keepsJobs, changedAt: _changedAt, planExpiresAt, followingPlans: _plans, ...rest } = row;
  const { furtherBudgets, groupName, priority, ownLimits: _ownLimits, balance: _balance, internal, ...columns } = rest;
  const own = decodeOwn(row);
  const plan = {
    grants: JSON.parse(grants) as KeyGrant[],
    models: models === null ? null : (JSON.parse(models) as string[]),
    rpm: row.rpm,
  };
  const following = followingOf(row);
  return {
    ...columns,
    ...narrowPlan(withBalance(plan, decodeBalance(row)), own),
    ...(own && { own }),
    expiresAt: soonerOf(row.expiresAt, planExpiresAt),
    ...(following.length > 0 && { followingPlans: following }),
    ...(furtherBudgets !== null && { furtherBudgets: JSON.parse(furtherBudgets) as string[] }),
    ...(groupName !== null && { groupName }),
    ...(priority !== null && { priority }),
    ...(keepsJobs !== null && { keepsJobs: true }),
    ...(internal !== null && { isInternal: true }),
  };
}

/** Whether the end of the key ends its jobs as well. A rotated key that ends leaves them to its account. */
export function endsJobs({ revokedAt, suspendedAt, keepsJobs = false }: ApiKeyRecord): boolean {
  return suspendedAt !== null || (revokedAt !== null && !keepsJobs);
}

/** The earlier of two ends; null is never. */
export function soonerOf(left: number | null, right: number | null): number | null {
  return left === null || right === null ? (left ?? right) : Math.min(left, right);
}

export function isValidRow(row: ApiKeyRow, now: number): boolean {
  const { revokedAt, expiresAt } = keyAt(toKeyRecord(row), now);
  return revokedAt === null && (expiresAt === null || expiresAt > now);
}

function followingOf(row: ApiKeyRow): KeyPlan[] {
  const balance = decodeBalance(row);
  if (row.followingPlans === null && (!balance || row.planExpiresAt === null)) return [];
  const own = decodeOwn(row);
  const plans = decodeFollowing(row);
  const isEndless = plans.at(-1)?.expiresAt === null;
  const all = balance && !isEndless ? [...plans, planOfBalance(balance)] : plans;
  return all.map((plan) => {
    const whole = plan.balance ? plan : withBalance(plan, balance);
    return { ...narrowPlan(whole, own), expiresAt: soonerOf(row.expiresAt, plan.expiresAt) };
  });
}

/** Keys of an account, with the internal one, oldest first. */
export function keysOf(queries: Kysely<Tables>, accountId: string): Promise<ApiKeyRow[]> {
  return queries
    .selectFrom('api_keys')
    .selectAll()
    .where('accountId', '=', accountId)
    .orderBy('createdAt')
    .orderBy('id')
    .execute();
}

/** The record of a key with its plan at that time. */
export function keyAt(record: ApiKeyRecord, at: number): ApiKeyRecord {
  const { expiresAt, followingPlans: [plan, ...rest] = [] } = record;
  if (!plan || expiresAt === null || expiresAt > at) return record;
  return keyAt({ ...record, ...plan, followingPlans: rest }, at);
}

type PlanColumns = Pick<
  ApiKeysTable,
  'planId' | 'rpm' | 'models' | 'imageDailyLimit' | 'budgetId' | 'planExpiresAt' | 'followingPlans'
> & { grants: string | null };

function decodeFollowing({ followingPlans: plans }: Pick<PlanColumns, 'followingPlans'>): readonly KeyPlan[] {
  return plans === null ? [] : (JSON.parse(plans) as KeyPlan[]);
}

/** The row of an account with its plan at that time. */
export function accountAt<Row extends PlanColumns>(row: Row, at: number): Row {
  if (row.followingPlans === null || row.planExpiresAt === null || row.planExpiresAt > at) return row;
  const [plan, ...rest] = decodeFollowing(row);
  if (!plan) return row;
  const columns: PlanColumns = {
    planId: plan.planId,
    grants: JSON.stringify(plan.grants),
    rpm: plan.rpm,
    models: plan.models && JSON.stringify(plan.models),
    imageDailyLimit: plan.imageDailyLimit,
    budgetId: plan.budgetId,
    planExpiresAt: plan.expiresAt,
    followingPlans: rest.length === 0 ? null : JSON.stringify(rest),
  };
  return accountAt({ ...row, ...columns }, at);
}

/** Account of the keys that operators make. */
export const LOCAL_ACCOUNT = 'local';

/** The owner of the quotas that a request uses: the account, shared by all its keys; each operator key is its own. */
export function quotaSubject({ id, accountId }: Pick<ApiKeyRecord, 'id' | 'accountId'>): string {
  return accountId === LOCAL_ACCOUNT ? id : accountId;
}

/** Whether the gateway made the account, for a user of the site: its keys share limits. Operators cannot name one so. */
export function isSiteAccount(accountId: string): boolean {
  return accountId.startsWith('acct_');
}

/**
 * What a request takes of the key's rate limit; undefined for keys without a limit. Keys of a site account have the
 * limit of its plan, so one window for all of them holds both limits: that of the account, and that of each key. A key
 * with a lower limit of its own has a window of its own within that one.
 * @param count Requests that it counts as. Default 1.
 */
export function rateLimitOf(
  { id, accountId, rpm, planRpm }: Pick<ApiKeyRecord, 'id' | 'accountId' | 'rpm' | 'planRpm'>,
  family: RateLimitFamily,
  count = 1,
): ConsumeRequest | undefined {
  if (rpm === null) return undefined;
  const isShared = isSiteAccount(accountId);
  if (planRpm !== undefined && planRpm !== rpm) {
    const within = planRpm === null ? {} : { within: { keyId: accountId, limit: planRpm } };
    return { keyId: id, family, count, limit: rpm, ...within };
  }
  return { keyId: isShared ? accountId : id, isShared, family, count, limit: rpm };
}

/** Whether it is a key of a plan or of a site account, and not one of the operator's own. */
export function isPlanKey({ planId, accountId }: Pick<ApiKeyRecord, 'planId' | 'accountId'>): boolean {
  return planId !== null || isSiteAccount(accountId);
}

/** Whether the key opens the admin API. A plan never gives that, nor does an account, even if its row has the grant. */
export function isAdminKey(key: Pick<ApiKeyRecord, 'grants' | 'planId' | 'accountId' | 'rpm' | 'isInternal'>): boolean {
  return key.grants.includes('admin') && !isPlanKey(key) && !key.isInternal && key.rpm !== 0;
}

/**
 * How jobs of a key share a queue: accounts take turns, then the keys of an account. Operators' keys may fill it.
 * @param accountShare Share of a site account, above 0 to 1.
 */
export function queueShareOf(
  key: Pick<ApiKeyRecord, 'id' | 'accountId' | 'priority'>,
  accountShare: number,
): QueueShare {
  const { id, priority } = key;
  const share = { keyId: id, group: quotaSubject(key), ...(priority && { priority }) };
  return isSiteAccount(key.accountId) ? { ...share, groupShare: accountShare } : share;
}

export interface NewKey {
  name: string;
  grants: readonly KeyGrant[];
  /** Requests per minute and route family; null is unlimited. */
  rpm: number | null;
  /** Milliseconds since 1970; null is never. */
  expiresAt: number | null;
  /** Default: the account of all keys without one. */
  accountId?: string;
  /** Default: none; then there is no budget, model restriction or image limit of its own. */
  plan?: Pick<ApiKeyRecord, 'planId' | 'budgetId' | 'models' | 'imageDailyLimit'>;
}

export const NO_PLAN = { planId: null, budgetId: null, models: null, imageDailyLimit: null } as const;

/** A key and the record to store for it. The record does not contain the key. */
export function createKeyRecord(wanted: NewKey, pepper: Pepper, now: number): { key: string; record: ApiKeyRecord } {
  const { id, key } = createKey();
  const { name, grants, rpm, expiresAt, accountId = LOCAL_ACCOUNT, plan = NO_PLAN } = wanted;
  const record: ApiKeyRecord = {
    id,
    name,
    grants,
    rpm,
    expiresAt,
    ...plan,
    hash: hashKey(key, pepper),
    pepperVersion: pepper.version,
    accountId,
    createdAt: now,
    revokedAt: null,
    suspendedAt: null,
    replacedBy: null,
    lastUsedAt: null,
  };
  return { key, record };
}

/** `active`, `rotated` (it works until the end of its overlap), or why it is no longer valid. */
export type KeyState = 'active' | 'rotated' | 'suspended' | 'expired' | 'revoked';

export function keyState({ revokedAt, expiresAt, suspendedAt, replacedBy }: ApiKeyRecord, now: number): KeyState {
  if (revokedAt !== null) return 'revoked';
  if (expiresAt !== null && expiresAt <= now) return 'expired';
  if (suspendedAt !== null) return 'suspended';
  return replacedBy === null ? 'active' : 'rotated';
}

/** Whether it is valid. */
export function isValidKey(record: ApiKeyRecord, now: number): boolean {
  return isValidState(keyState(record, now));
}

export function isValidState(state: KeyState): boolean {
  return state === 'active' || state === 'rotated';
}

/** Own models that the plan no longer lists do not count. Requests are checked by all names of a model. */
export function effectiveModels({ models, planModels }: Pick<ApiKeyRecord, 'models' | 'planModels'>) {
  return models && planModels ? models.filter((name) => planModels.includes(name)) : models;
}

/** A key without its secret. */
export function encodeKey(record: ApiKeyRecord, now: number) {
  return {
    id: record.id,
    name: record.name,
    maskedKey: maskedKey(record.id),
    state: keyState(record, now),
    planId: record.planId,
    grants: record.grants,
    models: effectiveModels(record),
    rpm: record.rpm,
    own: encodeOwn(record),
    imageDailyLimit: record.imageDailyLimit,
    createdAt: isoTime(record.createdAt),
    expiresAt: isoTime(record.expiresAt),
    revokedAt: isoTime(record.revokedAt),
    replacedBy: record.replacedBy,
    lastUsedAt: isoTime(record.lastUsedAt),
  };
}
