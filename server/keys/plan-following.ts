import type { ApiKeyRecord, KeyPlan } from './api-keys.js';
import type { ApiKeysTable } from './tables.js';

/*
 * Rows of accounts and keys hold the running plan in columns, and those that come after its end as JSON. So a plan that comes
 * back needs no write: each reader of a row computes which plan it is.
 */

type PlanColumns = Pick<
  ApiKeysTable,
  'plan_id' | 'rpm' | 'models' | 'image_daily_limit' | 'budget_id' | 'plan_expires_at' | 'following_plans'
> & { grants: string | null };

export function decodeFollowing({ following_plans: plans }: Pick<PlanColumns, 'following_plans'>): readonly KeyPlan[] {
  return plans === null ? [] : (JSON.parse(plans) as KeyPlan[]);
}

/** The row of an account with the plan that it has at that time. */
export function accountAt<Row extends PlanColumns>(row: Row, at: number): Row {
  if (row.following_plans === null || row.plan_expires_at === null || row.plan_expires_at > at) return row;
  const [plan, ...rest] = decodeFollowing(row);
  if (!plan) return row;
  const columns: PlanColumns = {
    plan_id: plan.planId,
    grants: JSON.stringify(plan.grants),
    rpm: plan.rpm,
    models: plan.models && JSON.stringify(plan.models),
    image_daily_limit: plan.imageDailyLimit,
    budget_id: plan.budgetId,
    plan_expires_at: plan.expiresAt,
    following_plans: rest.length === 0 ? null : JSON.stringify(rest),
  };
  return accountAt({ ...row, ...columns }, at);
}

/** The record of a key with the plan that it has at that time. */
export function keyAt(record: ApiKeyRecord, at: number): ApiKeyRecord {
  const { expiresAt, followingPlans: [plan, ...rest] = [] } = record;
  if (!plan || expiresAt === null || expiresAt > at) return record;
  return keyAt({ ...record, ...plan, followingPlans: rest }, at);
}
