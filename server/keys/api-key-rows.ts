import type { Kysely, Selectable, Tables } from '../../core/database/index.js';
import type { ApiKeyRecord, Grant, KeyPlan } from './api-keys.js';
import { decodeFollowing, keyAt } from './plan-following.js';
import type { ApiKeysTable } from './tables.js';

export type ApiKeyRow = Selectable<ApiKeysTable>;

export function toKeyRow(record: ApiKeyRecord): Omit<ApiKeyRow, 'changed_at' | 'plan_expires_at' | 'following_plans'> {
  return {
    id: record.id,
    name: record.name,
    hash: record.hash,
    pepper_version: record.pepperVersion,
    grants: JSON.stringify(record.grants),
    rpm: record.rpm,
    account_id: record.accountId,
    created_at: record.createdAt,
    expires_at: record.expiresAt,
    revoked_at: record.revokedAt,
    last_used_at: record.lastUsedAt,
    plan_id: record.planId,
    budget_id: record.budgetId,
    models: record.models && JSON.stringify(record.models),
    image_daily_limit: record.imageDailyLimit,
    suspended_at: record.suspendedAt,
    replaced_by: record.replacedBy,
  };
}

export function toKeyRecord(row: ApiKeyRow): ApiKeyRecord {
  return {
    id: row.id,
    name: row.name,
    hash: row.hash,
    pepperVersion: row.pepper_version,
    grants: JSON.parse(row.grants) as Grant[],
    rpm: row.rpm,
    accountId: row.account_id,
    planId: row.plan_id,
    budgetId: row.budget_id,
    models: row.models === null ? null : (JSON.parse(row.models) as string[]),
    imageDailyLimit: row.image_daily_limit,
    createdAt: row.created_at,
    expiresAt: soonerOf(row.expires_at, row.plan_expires_at),
    ...(row.following_plans !== null && { followingPlans: followingOf(row) }),
    revokedAt: row.revoked_at,
    suspendedAt: row.suspended_at,
    replacedBy: row.replaced_by,
    lastUsedAt: row.last_used_at,
  };
}

/** Of two ends; null is never. */
export function soonerOf(left: number | null, right: number | null): number | null {
  return left === null || right === null ? (left ?? right) : Math.min(left, right);
}

export function isValidRow(row: ApiKeyRow, now: number): boolean {
  const { revokedAt, expiresAt } = keyAt(toKeyRecord(row), now);
  return revokedAt === null && (expiresAt === null || expiresAt > now);
}

function followingOf(row: ApiKeyRow): KeyPlan[] {
  return decodeFollowing(row).map((plan) => ({ ...plan, expiresAt: soonerOf(row.expires_at, plan.expiresAt) }));
}

/** Of an account, oldest first. */
export function keysOf(queries: Kysely<Tables>, accountId: string): Promise<ApiKeyRow[]> {
  return queries
    .selectFrom('api_keys')
    .selectAll()
    .where('account_id', '=', accountId)
    .orderBy('created_at')
    .orderBy('id')
    .execute();
}
