/*
 * Makes and rotates keys that follow the plan of their account. The transaction locks the account, counts its valid
 * keys, grants the free tier if there is no plan, and inserts the key with the columns of the plan and the limits of its
 * own. A rotated key stays valid for its overlap and shares limits and budgets with its successor; at most ten replaced
 * keys of a site account may still work. The internal key of an account is found or made under the same lock, and the
 * key of a connected agent is made under it, with the grants that the user allowed. Each
 * creation deletes invalid keys beyond the latest 20, unless the usage log may still refer to them. Accounts of operators
 * have no row, so their rotation locks the key itself.
 */

import {
  type Database,
  type DatabaseClock,
  type Kysely,
  storable,
  type Tables,
  type Transaction,
} from '../../core/database/index.js';
import { GatewayError } from '../../core/runtime/index.js';
import { writeAudit } from '../audit/index.js';
import { forgetRateLimits } from '../limits/index.js';
import {
  type ApiKeyRecord,
  type ApiKeyRow,
  isSiteAccount,
  isValidRow,
  type KeyGrant,
  keyAt,
  keysOf,
  lockKey,
  type NewKeyRecord,
  soonerOf,
  toKeyRecord,
} from './key-rows.js';
import { createKey, NO_HASH } from './keys.js';
import { changeOwn, describeOwn, grantsOfPlan, type OwnLimitsChange } from './own-limits.js';

/** What keys need of the accounts that own them. Accounts and budgets know keys, so they pass this in. */
export interface KeyOwners<Terms> {
  /** Until the transaction ends, no budgets of accounts and groups change. */
  holdBudgets(transaction: Transaction<Tables>): Promise<void>;
  /**
   * Locks an account until the transaction ends.
   * @throws GatewayError `account_not_found`, `account_suspended`.
   */
  lock(transaction: Transaction<Tables>, accountId: string): Promise<LockedAccount<Terms>>;
}

export interface LockedAccount<Terms> {
  /** What a key of the account gets from its plan. If it has none, `otherwise` is granted, with an audit row. */
  planOfKey(otherwise: Terms, at: number): Promise<PlanOfKey>;
  /** Makes the budgets of a new key, and returns their ids. */
  addBudgets(keyId: string, budgets: readonly string[], at: number): Promise<readonly string[]>;
}

/** The columns of a key that a plan, or the key that it replaces, determines. */
export type PlanOfKey = Pick<
  ApiKeyRow,
  | 'accountId'
  | 'planId'
  | 'grants'
  | 'rpm'
  | 'models'
  | 'imageDailyLimit'
  | 'budgetId'
  | 'planExpiresAt'
  | 'followingPlans'
  | 'balance'
  | 'ownLimits'
  | 'furtherBudgets'
  | 'groupName'
  | 'priority'
  | 'expiresAt'
>;

export interface KeyIssue<Terms> {
  accountId: string;
  key: NewKeyRecord;
  /** What the account gets if it has no plan, or its plan has ended. */
  otherwise: Terms;
  /** Maximum valid keys; a rotated one counts if its successor is no longer valid. */
  maxKeys: number;
  /** What it is limited to within the plan. Default: nothing. */
  own?: OwnLimitsChange;
  /** Its own budgets: `50 USD/month`. Default: none. */
  budgets?: readonly string[];
  /** For the audit row `key.created`. Default: no row. */
  actor?: string;
}

export interface KeyRotation {
  accountId: string;
  /** Id of the key to be replaced. */
  id: string;
  /** Default: the name of the old key. */
  successor: Omit<NewKeyRecord, 'name'>;
  /** Milliseconds that the old key stays valid beside the new one; 0 ends it at once. */
  overlapMs: number;
  /** For the audit row `key.rotated`. Default: no row. */
  audit?: { actor: string; note?: string };
}

interface IssueOptions<Terms> {
  database: Pick<Database, 'engine'>;
  times: DatabaseClock;
  owners: KeyOwners<Terms>;
  entriesRetentionMs: number;
}

/** Makes a key with the plan of its account, within a transaction. @throws GatewayError `invalid_value` as changeOwn. */
export async function issueKey<Terms>(
  transaction: Transaction<Tables>,
  { times, owners, entriesRetentionMs }: IssueOptions<Terms>,
  { accountId, key, otherwise, maxKeys, own = {}, budgets = [], actor }: KeyIssue<Terms>,
): Promise<ApiKeyRecord> {
  const account = await owners.lock(transaction, accountId);
  const now = await times.read(transaction);
  const known = (await keysOf(transaction, accountId)).filter(({ internal }) => internal === null);
  const valid = known.filter((row) => isValidRow(row, now));
  if (valid.filter((row) => !isReplaced(row, valid)).length >= maxKeys) throw tooMany(maxKeys);
  await forgetEndedKeys(transaction, known, { now, entriesRetentionMs });
  const plan = await account.planOfKey(otherwise, now);
  const limited = { ...plan, ...changeOwn(plan, own, now) };
  if (budgets.length > 0) {
    const ids = await account.addBudgets(key.id, budgets, now);
    limited.furtherBudgets = JSON.stringify([...ids, ...budgetIdsOf(plan)]);
  }
  const made = await insertWithPlan(transaction, key, limited, now);
  if (actor !== undefined) {
    const to = [...describeOwn(limited, own), ...budgets.map((budget) => `budget ${budget}`)].join('; ');
    const line = { subject: key.id, at: now, actor, action: 'key.created' } as const;
    await writeAudit(transaction, to === '' ? line : { ...line, to: storable(to, MAX_STATE) });
  }
  return made;
}

const MAX_STATE = 500;

function budgetIdsOf({ furtherBudgets }: PlanOfKey): readonly string[] {
  return furtherBudgets === null ? [] : (JSON.parse(furtherBudgets) as string[]);
}

/** Name of internal keys, in lists of usage. */
export const INTERNAL_NAME = 'Playground';

export interface InternalKeyIssue<Terms> {
  accountId: string;
  /** What the account gets if it has no plan, or its plan has ended. */
  otherwise: Terms;
}

/** The row of an account's internal key, unless it was revoked. */
export function findInternalKey(queries: Kysely<Tables>, accountId: string): Promise<ApiKeyRow | undefined> {
  return queries
    .selectFrom('api_keys')
    .selectAll()
    .where('accountId', '=', accountId)
    .where('internal', '=', OF_SITE)
    .where('revokedAt', 'is', null)
    .executeTakeFirst();
}

/** Finds or makes the internal key of an account (internal-key.ts), within a transaction. */
export async function issueInternalKey<Terms>(
  transaction: Transaction<Tables>,
  { times, owners }: Pick<IssueOptions<Terms>, 'times' | 'owners'>,
  { accountId, otherwise }: InternalKeyIssue<Terms>,
): Promise<ApiKeyRecord> {
  const account = await owners.lock(transaction, accountId);
  const now = await times.read(transaction);
  const known = await findInternalKey(transaction, accountId);
  if (known && isValidRow(known, now)) return keyAt(toKeyRecord(known), now);
  // A new plan is given to the existing keys as well.
  const plan = await account.planOfKey(otherwise, now);
  const renewed = known && (await findInternalKey(transaction, accountId));
  if (renewed) return keyAt(toKeyRecord(renewed), now);
  const key = { id: createKey().id, name: INTERNAL_NAME, hash: NO_HASH, pepperVersion: 0 };
  return insertWithPlan(transaction, key, plan, now, OF_SITE);
}

/** Replaces a key within a transaction. Accounts of operators have no row, so for them the key itself is locked. */
export async function rotateKey<Terms>(
  transaction: Transaction<Tables>,
  { database: { engine }, times, owners, entriesRetentionMs }: IssueOptions<Terms>,
  { accountId, id, successor, overlapMs, audit }: KeyRotation,
): Promise<ApiKeyRecord> {
  await owners.holdBudgets(transaction);
  const isSite = isSiteAccount(accountId);
  if (isSite) await owners.lock(transaction, accountId);
  else await lockKey(transaction, engine, id);
  const now = await times.read(transaction);
  const all = await (isSite ? keysOf(transaction, accountId) : rotatedKeysOf(transaction, accountId, id));
  const known = all.filter(({ internal }) => internal === null);
  const valid = known.filter((row) => isValidRow(row, now));
  const old = valid.find((row) => row.id === id);
  if (!old) throw new GatewayError('key_not_found', 'This account has no valid key with this id.');
  if (isReplaced(old, valid)) throw new GatewayError('key_replaced', 'This key was rotated before.');
  // Each overlap lasts as long as it was promised, and rotation must not accumulate valid keys.
  if (isSite && valid.filter((row) => isReplaced(row, valid)).length >= MAX_OVERLAPPING) throw tooManyOverlap(valid);
  if (isSite) await forgetEndedKeys(transaction, known, { now, entriesRetentionMs });
  await transaction
    .updateTable('api_keys')
    .set({ expiresAt: soonerOf(old.expiresAt, now + overlapMs), replacedBy: successor.id, changedAt: now })
    .where('id', '=', id)
    .execute();
  if (audit) await writeAudit(transaction, { ...audit, subject: id, at: now, action: 'key.rotated', to: successor.id });
  return insertWithPlan(transaction, { ...successor, name: old.name }, old, now);
}

/** A key of an operator, the keys that it replaced, and its successor. The account may have very many keys. */
function rotatedKeysOf(transaction: Transaction<Tables>, accountId: string, id: string): Promise<ApiKeyRow[]> {
  const successors = transaction.selectFrom('api_keys').select('replacedBy').where('id', '=', id);
  return transaction
    .selectFrom('api_keys')
    .selectAll()
    .where('accountId', '=', accountId)
    .where((eb) => eb.or([eb('id', '=', id), eb('replacedBy', '=', id), eb('id', 'in', successors)]))
    .execute();
}

export interface AgentKeyIssue<Terms> extends InternalKeyIssue<Terms> {
  /** Of the agent. */
  name: string;
  /** What the user allows; the plan limits it. */
  grants: readonly KeyGrant[];
  /** For the audit row `key.created`. */
  actor: string;
}

/** Makes a key without a secret for a connected agent, within a transaction. It is one of the internal keys. */
export async function issueAgentKey<Terms>(
  transaction: Transaction<Tables>,
  { times, owners, entriesRetentionMs }: IssueOptions<Terms>,
  { accountId, otherwise, name, grants, actor }: AgentKeyIssue<Terms>,
): Promise<ApiKeyRecord> {
  const account = await owners.lock(transaction, accountId);
  const now = await times.read(transaction);
  const known = (await keysOf(transaction, accountId)).filter(({ internal }) => internal === OF_AGENT);
  await forgetEndedKeys(transaction, known, { now, entriesRetentionMs });
  const plan = await account.planOfKey(otherwise, now);
  const allowed = grantsOfPlan(plan).filter((grant) => grants.includes(grant));
  const limited = { ...plan, ...changeOwn(plan, { grants: allowed }, now) };
  const key = { id: createKey().id, name, hash: NO_HASH, pepperVersion: 0 };
  const made = await insertWithPlan(transaction, key, limited, now, OF_AGENT);
  const to = describeOwn(limited, { grants: allowed }).join('; ');
  await writeAudit(transaction, { subject: key.id, at: now, actor, action: 'key.created', to });
  return made;
}

/** Values of the column `internal`. */
const OF_SITE = 1;
const OF_AGENT = 2;

/** @param internal Which of the internal keys of the account it is. Default: none of them. */
async function insertWithPlan(
  transaction: Transaction<Tables>,
  { id, name, hash, pepperVersion }: NewKeyRecord,
  plan: PlanOfKey,
  now: number,
  internal: typeof OF_SITE | typeof OF_AGENT | null = null,
): Promise<ApiKeyRecord> {
  const row: ApiKeyRow = {
    id,
    name,
    hash,
    pepperVersion,
    accountId: plan.accountId,
    planId: plan.planId,
    grants: plan.grants,
    rpm: plan.rpm,
    models: plan.models,
    imageDailyLimit: plan.imageDailyLimit,
    budgetId: plan.budgetId,
    planExpiresAt: plan.planExpiresAt,
    followingPlans: plan.followingPlans,
    balance: plan.balance,
    ownLimits: plan.ownLimits,
    furtherBudgets: plan.furtherBudgets,
    groupName: plan.groupName,
    priority: plan.priority,
    expiresAt: plan.expiresAt,
    createdAt: now,
    changedAt: now,
    revokedAt: null,
    suspendedAt: null,
    replacedBy: null,
    keepsJobs: null,
    lastUsedAt: null,
    internal,
  };
  await transaction.insertInto('api_keys').values(row).execute();
  return keyAt(toKeyRecord(row), now);
}

/** Not by a key that was revoked since: rotating keys and revoking their successors would accumulate valid ones. */
function isReplaced({ replacedBy }: ApiKeyRow, valid: readonly ApiKeyRow[]): boolean {
  return replacedBy !== null && valid.some(({ id }) => id === replacedBy);
}

function tooMany(maxKeys: number): GatewayError {
  return new GatewayError('too_many_keys', `This account may have ${maxKeys} keys at once; revoke one first.`);
}

/** Replaced keys of an account that still work. */
const MAX_OVERLAPPING = 10;

function tooManyOverlap(valid: readonly ApiKeyRow[]): GatewayError {
  const ends = valid.flatMap(({ replacedBy, expiresAt }) =>
    replacedBy === null || expiresAt === null ? [] : [expiresAt],
  );
  const until = new Date(Math.min(...ends)).toISOString();
  const message = `This account has ${MAX_OVERLAPPING} replaced keys that still work. Revoke one of them, or wait until ${until}.`;
  return new GatewayError('too_many_keys', message);
}

/** Keys of an account, for display. */
const MAX_INVALID_KEYS = 20;
/** By then every process has written the key's uses, and every node has read that it is no longer valid. */
const SETTLED_MS = 60 * 60 * 1000;

/**
 * Deletes invalid keys, all but the latest, so that making and revoking them accumulates nothing. A used key stays as
 * long as log entries refer to its id.
 * @param keys All of an account, oldest first.
 */
async function forgetEndedKeys(
  transaction: Transaction<Tables>,
  keys: readonly ApiKeyRow[],
  { now, entriesRetentionMs }: { now: number; entriesRetentionMs: number },
): Promise<void> {
  const ended = keys.filter((row) => !isValidRow(row, now));
  const old = ended.slice(0, Math.max(0, ended.length - MAX_INVALID_KEYS));
  const ids = old.filter((row) => isForgettable(row, now, entriesRetentionMs)).map(({ id }) => id);
  if (ids.length === 0) return;
  await forgetRateLimits(transaction, ids);
  await transaction.deleteFrom('api_keys').where('id', 'in', ids).execute();
}

function isForgettable({ changedAt, lastUsedAt }: ApiKeyRow, now: number, entriesRetentionMs: number): boolean {
  if (now - changedAt < SETTLED_MS) return false;
  return lastUsedAt === null || now - lastUsedAt > entriesRetentionMs + SETTLED_MS;
}
