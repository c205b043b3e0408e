import type { Kysely, Tables } from '../../core/database/index.js';
import { FREE_PLAN_ID, type PlanTerms } from '../plans/index.js';
import type { AccountRow } from './account-table.js';
import type { PlanPreview } from './accounts.js';
import { findFunded, fund } from './plan-budgets.js';
import { type PlanChange, writePlan } from './plan-change.js';
import { addPlan, type GrantedPlan, scheduleOf, stackOf } from './plan-stack.js';

export interface PlanGranting extends PlanChange {
  /** Code of an order, or random: one of these grants once. */
  id: string;
  terms: PlanTerms;
  /** Whether a budget that the account had of this plan is taken up again as it stands, instead of a full one. */
  resumes?: boolean;
}

export interface StoredGrant extends GrantedPlan {
  id: string;
  number: number;
}

/** Gives the account a plan, and its keys with it. What was granted before under this id is not granted again. */
export async function grantPlan(granting: PlanGranting): Promise<AccountRow> {
  const { transaction, account, id, terms, at, resumes = false } = granting;
  const known = await transaction.selectFrom('plan_grants').select('id').where('id', '=', id).executeTakeFirst();
  if (known) return account;
  const grants = await grantsOf(transaction, account.id);
  const stack = stackOf(grants, at);
  const { joined } = addPlan(stack, { terms, budgetId: null });
  const found = await findFunded(granting, terms, { resumes, joined });
  const budgetId = await fund(granting, terms, { found, resumes });
  const row = { id, account_id: account.id, terms: JSON.stringify(terms), budget_id: budgetId, granted_at: at };
  const number = 1 + Math.max(0, ...grants.map((grant) => grant.number));
  await transaction
    .insertInto('plan_grants')
    .values({ ...row, number, taken_back_at: null })
    .execute();
  return writePlan(granting, scheduleOf(addPlan(stack, { terms, budgetId }).stack));
}

/** What each of these would make of the account's plan, if it were granted now. */
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
    // A plan without an end covers for good what was not used of one that has an end.
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

/** Those of an account that were not taken back, in the order in which they were made. */
export async function grantsOf(queries: Kysely<Tables>, accountId: string): Promise<StoredGrant[]> {
  const rows = await queries
    .selectFrom('plan_grants')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('taken_back_at', 'is', null)
    .orderBy('granted_at')
    .orderBy('number')
    .orderBy('id')
    .execute();
  return rows.map(({ id, number, granted_at: at, budget_id: budgetId, terms }) => {
    return { id, number, at, budgetId, terms: JSON.parse(terms) as PlanTerms };
  });
}
