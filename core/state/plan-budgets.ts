import { randomUUID } from 'node:crypto';
import { hasPlan, locked } from './account-table.js';
import { FREE_PLAN_ID, type PlanTerms } from './accounts.js';
import { type BudgetRow, toBudgetRow } from './budget-account.js';
import type { PlanChange } from './plan-change.js';

type BudgetTerms = NonNullable<PlanTerms['budget']>;

/** Finds the running budget that a plan adds to, or the one it takes up again. */
export async function findFunded(
  { transaction, engine, account, at }: PlanChange,
  { planId, budget }: PlanTerms,
  resumes: boolean,
): Promise<BudgetRow | undefined> {
  if (!budget) return undefined;
  const budgets = locked(engine, transaction.selectFrom('budgets').selectAll().where('account_id', '=', account.id));
  if (resumes) return budgets.where('plan_id', '=', planId).orderBy('created_at', 'desc').limit(1).executeTakeFirst();
  if (!hasPlan(account, at) || account.budget_id === null) return undefined;
  // It has no end, which nobody pays for, and is taken up again as it stands.
  if (account.plan_id === FREE_PLAN_ID && planId !== FREE_PLAN_ID) return undefined;
  const running = await budgets.where('id', '=', account.budget_id).executeTakeFirst();
  return running && limitsTheSame(running, budget) ? running : undefined;
}

/** Writes what the plan gives into the budget that was found, or into a new one. */
export async function fund(
  { transaction, account, at }: PlanChange,
  { planId, budget }: PlanTerms,
  { found, resumes, expiresAt }: { found?: BudgetRow; resumes: boolean; expiresAt: number | null },
): Promise<string | null> {
  if (!budget) return null;
  if (!found) {
    const id = `budget_${randomUUID()}`;
    const row = toBudgetRow({ ...budget, id, accountId: account.id, planId, expiresAt, createdAt: at });
    await transaction.insertInto('budgets').values(row).execute();
    return id;
  }
  const adds = !resumes && budget.resets === 'never';
  const change = {
    plan_id: planId,
    token_limit: adds ? plus(found.token_limit, budget.tokenLimit) : budget.tokenLimit,
    request_limit: adds ? plus(found.request_limit, budget.requestLimit) : budget.requestLimit,
    daily_token_limit: budget.dailyTokenLimit,
    expires_at: expiresAt,
  };
  await transaction.updateTable('budgets').set(change).where('id', '=', found.id).execute();
  return found.id;
}

function limitsTheSame(row: BudgetRow, budget: BudgetTerms): boolean {
  return (
    row.resets === budget.resets &&
    (row.token_limit === null) === (budget.tokenLimit === null) &&
    (row.request_limit === null) === (budget.requestLimit === null) &&
    (row.daily_token_limit === null) === (budget.dailyTokenLimit === null)
  );
}

function plus(limit: number | null, more: number | null): number | null {
  return limit === null || more === null ? null : limit + more;
}
