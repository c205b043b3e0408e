import { randomUUID } from 'node:crypto';
import type { Database, DatabaseClock, Tables, Transaction } from '../../core/database/index.js';
import { GatewayError } from '../../core/runtime/index.js';
import { writeAudit } from '../audit/index.js';
import {
  type ApiKeyRecord,
  type ApiKeyRow,
  type ApiKeys,
  accountAt,
  isValidRow,
  keyAt,
  keysOf,
  type NewKeyRecord,
  soonerOf,
  toKeyRecord,
} from '../keys/index.js';
import type { PlanTerms } from '../plans/index.js';
import { ENTRIES_KEPT_MS } from '../usage/index.js';
import { type AccountRow, grantPlan, hasPlan, lockAccount, refuseSuspended } from './account-plans.js';

declare module '../http/server-context.js' {
  interface AccountStores {
    readonly keys: AccountKeys;
  }
}

export interface KeyIssue {
  accountId: string;
  key: NewKeyRecord;
  /** What the account gets where it has no plan, or its plan has ended. */
  otherwise: PlanTerms;
  /** Keys that may be good at once; one that was rotated counts where its successor is good no longer. */
  maxKeys: number;
}

export interface KeyRotation {
  accountId: string;
  /** Id of the key to be replaced. */
  id: string;
  /** The name of the old one goes over to it. */
  successor: Omit<NewKeyRecord, 'name'>;
  /** Milliseconds that the old key goes on beside the new one; 0 ends it at once. */
  overlapMs: number;
}

/** API keys, with those that go by the plan of their account. */
export interface AccountKeys extends ApiKeys {
  /**
   * Makes a key with the plan of its account.
   * @throws GatewayError `too_many_keys`, `account_not_found`, `account_suspended`.
   */
  issue(issue: KeyIssue): Promise<ApiKeyRecord>;
  /**
   * Makes a key that has everything the old one has; the old one goes on for the overlap, and one that still goes on since
   * an earlier rotation ends. All share one budget.
   * @throws GatewayError `key_not_found` where the account has no such key or it is no longer good, `key_replaced`,
   * `account_suspended`.
   */
  rotate(rotation: KeyRotation): Promise<ApiKeyRecord>;
}

/** Keys that go by the plan of their account. */
export function createKeyIssue(
  { engine, transaction: run }: Database,
  times: DatabaseClock,
): Pick<AccountKeys, 'issue' | 'rotate'> {
  return {
    issue: ({ accountId, key, otherwise, maxKeys }: KeyIssue): Promise<ApiKeyRecord> =>
      run(async (transaction) => {
        let account = await lockAccount(transaction, engine, accountId);
        refuseSuspended(account);
        const now = await times.read(transaction);
        const known = await keysOf(transaction, accountId);
        const good = known.filter((row) => isValidRow(row, now));
        if (good.filter((row) => !isReplaced(row, good)).length >= maxKeys) throw tooMany(maxKeys);
        await forgetEndedKeys(transaction, known, now);
        account = accountAt(account, now);
        if (!hasPlan(account, now)) {
          const granting = { transaction, engine, account, at: now, id: `grant_${randomUUID()}` };
          account = await grantPlan({ ...granting, terms: otherwise, resumes: true });
          const { planId } = otherwise;
          const line = { subject: accountId, at: now, action: 'plan.granted', to: planId } as const;
          await writeAudit(transaction, { ...line, actor: 'gateway' });
        }
        return insertKey(transaction, key, ofPlan(account), now);
      }),

    rotate: ({ accountId, id, successor, overlapMs }: KeyRotation): Promise<ApiKeyRecord> =>
      run(async (transaction) => {
        refuseSuspended(await lockAccount(transaction, engine, accountId));
        const now = await times.read(transaction);
        const known = await keysOf(transaction, accountId);
        const good = known.filter((row) => isValidRow(row, now));
        const old = good.find((row) => row.id === id);
        if (!old) throw new GatewayError('key_not_found', 'This account has no such key that is still good.');
        if (isReplaced(old, good)) throw new GatewayError('key_replaced', 'This key was rotated before.');
        await forgetEndedKeys(transaction, known, now);
        const end = (row: ApiKeyRow, at: number) =>
          transaction
            .updateTable('api_keys')
            .set({ expiresAt: soonerOf(row.expiresAt, at), replacedBy: successor.id, changedAt: now })
            .where('id', '=', row.id)
            .execute();
        await end(old, now + overlapMs);
        // One overlap at a time, or rotating would heap up good keys.
        for (const older of good) if (older.replacedBy === id) await end(older, now);
        return insertKey(transaction, { ...successor, name: old.name }, old, now);
      }),
  };
}

type PlanOfKey = Pick<
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
  | 'expiresAt'
>;

function ofPlan({ id, grants, ...account }: AccountRow): PlanOfKey {
  return { ...account, accountId: id, grants: grants ?? '[]', expiresAt: null };
}

async function insertKey(
  transaction: Transaction<Tables>,
  { id, name, hash, pepperVersion }: NewKeyRecord,
  plan: PlanOfKey,
  now: number,
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
    expiresAt: plan.expiresAt,
    createdAt: now,
    changedAt: now,
    revokedAt: null,
    suspendedAt: null,
    replacedBy: null,
    lastUsedAt: null,
  };
  await transaction.insertInto('api_keys').values(row).execute();
  return keyAt(toKeyRecord(row), now);
}

/** Not by a key that was revoked since: rotating keys and revoking their successors would heap up good ones. */
function isReplaced({ replacedBy }: ApiKeyRow, good: readonly ApiKeyRow[]): boolean {
  return replacedBy !== null && good.some(({ id }) => id === replacedBy);
}

function tooMany(maxKeys: number): GatewayError {
  return new GatewayError('too_many_keys', `This account may have ${maxKeys} keys at once; revoke one first.`);
}

/** Of an account, to be shown. */
const KEPT = 20;
/** By then everybody who used it has written that down, and every node has read that it is good no longer. */
const SETTLED_MS = 60 * 60 * 1000;

/**
 * Deletes keys that are no longer good, all but the latest, so that making and revoking them heaps nothing up. One that was
 * used stays as long as entries of the ledger go by its id.
 * @param keys All of an account, oldest first.
 */
export async function forgetEndedKeys(
  transaction: Transaction<Tables>,
  keys: readonly ApiKeyRow[],
  now: number,
): Promise<void> {
  const ended = keys.filter((row) => !isValidRow(row, now));
  const old = ended.slice(0, Math.max(0, ended.length - KEPT)).filter((row) => isForgettable(row, now));
  const ids = old.map(({ id }) => id);
  if (ids.length === 0) return;
  await transaction.deleteFrom('rate_slots').where('keyId', 'in', ids).execute();
  await transaction.deleteFrom('rate_windows').where('keyId', 'in', ids).execute();
  await transaction.deleteFrom('api_keys').where('id', 'in', ids).execute();
}

function isForgettable({ changedAt, lastUsedAt }: ApiKeyRow, now: number): boolean {
  if (now - changedAt < SETTLED_MS) return false;
  return lastUsedAt === null || now - lastUsedAt > ENTRIES_KEPT_MS + SETTLED_MS;
}
