import { locked } from './account-table.js';
import type { PlanTerms } from './accounts.js';
import type { Selectable } from './kysely.js';
import { type PlanChange, writePlan } from './plan-change.js';
import type { PlanGrantsTable } from './schema.js';

interface Granted {
  id: string;
  at: number;
  budgetId: string | null;
  terms: PlanTerms;
}

/** Takes back what was granted under this id: the account is left with what the other grants of the same budget give. */
export async function takeBackPlan(change: PlanChange, id: string): Promise<void> {
  const { transaction, account, at } = change;
  const rows = await transaction
    .selectFrom('plan_grants')
    .selectAll()
    .where('account_id', '=', account.id)
    .where('taken_back_at', 'is', null)
    .orderBy('granted_at')
    .orderBy('id')
    .execute();
  const grants = rows.map(toGranted);
  const taken = grants.find((each) => each.id === id);
  if (!taken) return;
  await transaction.updateTable('plan_grants').set({ taken_back_at: at }).where('id', '=', id).execute();
  const rest = grants.filter((each) => each !== taken && continues(each, taken));
  const latest = rest.at(-1);
  const expiresAt = latest ? endOf(rest) : at;
  await takeFromBudget(change, taken, expiresAt);
  const standing = {
    id: '',
    at,
    budgetId: account.budget_id,
    terms: { ...taken.terms, planId: account.plan_id ?? '' },
  };
  if (!continues(standing, taken)) return;
  await writePlan(change, (latest ?? taken).terms, { budgetId: taken.budgetId, expiresAt });
}

/** Whether two grants made one plan: one budget, or where nothing is counted, one name. */
function continues(one: Granted, other: Granted): boolean {
  if (one.budgetId !== other.budgetId) return false;
  return one.budgetId !== null || one.terms.planId === other.terms.planId;
}

/** When a plan ends that was granted like this, oldest first. */
function endOf(grants: readonly Granted[]): number | null {
  let end = Number.NEGATIVE_INFINITY;
  let planId: string | undefined;
  for (const { at, terms } of grants) {
    if (terms.durationMs === null) return null;
    const lengthens = end > at && planId === terms.planId;
    end = lengthens ? end + terms.durationMs : Math.max(end, at + terms.durationMs);
    planId = terms.planId;
  }
  return end;
}

async function takeFromBudget(
  { transaction, engine }: PlanChange,
  { budgetId, terms: { budget } }: Granted,
  expiresAt: number | null,
): Promise<void> {
  if (budgetId === null || budget === null) return;
  const budgets = transaction.selectFrom('budgets').selectAll().where('id', '=', budgetId);
  const row = await locked(engine, budgets).executeTakeFirstOrThrow();
  const isAdded = budget.resets === 'never';
  const limits = {
    token_limit: minus(row.token_limit, isAdded ? budget.tokenLimit : null),
    request_limit: minus(row.request_limit, isAdded ? budget.requestLimit : null),
    expires_at: expiresAt,
  };
  await transaction.updateTable('budgets').set(limits).where('id', '=', budgetId).execute();
}

function minus(limit: number | null, less: number | null): number | null {
  return limit === null || less === null ? limit : Math.max(0, limit - less);
}

function toGranted(row: Selectable<PlanGrantsTable>): Granted {
  return { id: row.id, at: row.granted_at, budgetId: row.budget_id, terms: JSON.parse(row.terms) as PlanTerms };
}
