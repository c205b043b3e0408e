import { FREE_PLAN_ID } from '../plans/index.js';
import { locked } from './account-table.js';
import { type PlanChange, writePlan } from './plan-change.js';
import { grantsOf, type StoredGrant } from './plan-grants.js';
import { scheduleOf, stackOf } from './plan-stack.js';

/** Takes back what was granted under this id: the account is left with what its other grants give. */
export async function takeBackPlan(change: PlanChange, id: string): Promise<void> {
  const { transaction, account, at } = change;
  const grants = await grantsOf(transaction, account.id);
  const taken = grants.find((each) => each.id === id);
  if (!taken) return;
  await transaction.updateTable('plan_grants').set({ taken_back_at: at }).where('id', '=', id).execute();
  await takeFromBudget(change, taken);
  const rest = grants.filter((each) => each !== taken);
  const schedule = scheduleOf(stackOf(rest, at));
  // The free tier comes back with a new key alone.
  const isFree = schedule[0]?.terms.planId === FREE_PLAN_ID && account.plan_id !== FREE_PLAN_ID;
  await writePlan(change, isFree ? [] : schedule);
}

/** It ends as well; one that another grant still uses gets its end with that one's plan. */
async function takeFromBudget(
  { transaction, engine, at }: PlanChange,
  { budgetId, terms: { budget } }: StoredGrant,
): Promise<void> {
  if (budgetId === null || budget === null) return;
  const budgets = transaction.selectFrom('budgets').selectAll().where('id', '=', budgetId);
  const row = await locked(engine, budgets).executeTakeFirstOrThrow();
  const isAdded = budget.resets === 'never';
  const limits = {
    token_limit: minus(row.token_limit, isAdded ? budget.tokenLimit : null),
    request_limit: minus(row.request_limit, isAdded ? budget.requestLimit : null),
    expires_at: row.expires_at === null ? at : Math.min(row.expires_at, at),
  };
  await transaction.updateTable('budgets').set(limits).where('id', '=', budgetId).execute();
}

function minus(limit: number | null, less: number | null): number | null {
  return limit === null || less === null ? limit : Math.max(0, limit - less);
}
