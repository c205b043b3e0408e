import { randomUUID } from 'node:crypto';
import type { PlanTerms } from '../plans/index.js';
import { type BudgetRow, toBudgetRow } from '../usage/index.js';
import { locked } from './account-table.js';
import type { PlanChange } from './plan-change.js';
import type { PlanEntry } from './plan-stack.js';

type BudgetTerms = NonNullable<PlanTerms['budget']>;

/** Finds the budget that a plan adds to, or the one it takes up again. */
export async function findFunded(
  { transaction, engine, account }: PlanChange,
  { planId, budget }: PlanTerms,
  { resumes, joined }: { resumes: boolean; joined?: PlanEntry },
): Promise<BudgetRow | undefined> {
  if (!budget) return undefined;
  const budgets = locked(engine, transaction.selectFrom('budgets').selectAll().where('account_id', '=', account.id));
  if (resumes) return budgets.where('plan_id', '=', planId).orderBy('created_at', 'desc').limit(1).executeTakeFirst();
  if (!joined || joined.budgetId === null) return undefined;
  const running = await budgets.where('id', '=', joined.budgetId).executeTakeFirst();
  return running && limitsTheSame(running, budget) ? running : undefined;
}

/** Adds what the plan gives to the budget that was found, or to a new one. When it ends is written with the plan. */
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
  const limits = {
    token_limit: adds ? plus(found.token_limit, budget.tokenLimit) : budget.tokenLimit,
    request_limit: adds ? plus(found.request_limit, budget.requestLimit) : budget.requestLimit,
  };
  await transaction.updateTable('budgets').set(limits).where('id', '=', found.id).execute();
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
