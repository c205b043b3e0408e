import { type AccountRow, hasPlan } from './account-table.js';
import type { PlanTerms } from './accounts.js';
import { findFunded, fund } from './plan-budgets.js';
import { type PlanChange, writePlan } from './plan-change.js';

export interface PlanGranting extends PlanChange {
  /** Code of an order, or random: one of these grants once. */
  id: string;
  terms: PlanTerms;
  /** Whether a budget that the account had of this plan is taken up again as it stands, instead of a full one. */
  resumes?: boolean;
}

/** Gives the account a plan, and its keys with it. What was granted before under this id is not granted again. */
export async function grantPlan(granting: PlanGranting): Promise<AccountRow> {
  const { transaction, account, id, terms, at, resumes = false } = granting;
  const known = await transaction.selectFrom('plan_grants').select('id').where('id', '=', id).executeTakeFirst();
  if (known) return account;
  const found = await findFunded(granting, terms, resumes);
  const expiresAt = endOf(granting, found !== undefined && !resumes);
  const budgetId = await fund(granting, terms, { found, resumes, expiresAt });
  await transaction
    .insertInto('plan_grants')
    .values({
      id,
      account_id: account.id,
      terms: JSON.stringify(terms),
      budget_id: budgetId,
      granted_at: at,
      taken_back_at: null,
    })
    .execute();
  return writePlan(granting, terms, { budgetId, expiresAt });
}

/** The same plan is lengthened; one that goes on with a running budget ends no sooner than that did. */
function endOf({ account, terms, at }: PlanGranting, extendsBudget: boolean): number | null {
  const { planId, durationMs } = terms;
  if (durationMs === null) return null;
  const end = at + durationMs;
  const lengthens = hasPlan(account, at) && account.plan_id === planId;
  if (!lengthens && !extendsBudget) return end;
  if (account.plan_expires_at === null) return null;
  return lengthens ? account.plan_expires_at + durationMs : Math.max(account.plan_expires_at, end);
}
