import type { BudgetState, Budgets } from './budgets.js';
import type { UsageLedger, UsageQuery, UsageTotal } from './usage-log.js';

export interface UsageView {
  /** Undefined where there is none. */
  readonly budget: BudgetState | undefined;
  readonly totals: readonly UsageTotal[];
}

export interface UsageSources {
  budgets: Pick<Budgets, 'find'>;
  ledger: Pick<UsageLedger, 'totals'>;
}

/** What was used and what is left. The totals are never behind the budget: whatever it was charged is among them. */
export async function lookAtUsage(
  { budgets, ledger }: UsageSources,
  budgetId: string | null,
  query: UsageQuery,
): Promise<UsageView> {
  // Both are written in one transaction. Read the other way round, a commit in between shows tokens that no request used.
  const budget = budgetId === null ? undefined : await budgets.find(budgetId);
  return { budget, totals: await ledger.totals(query) };
}
