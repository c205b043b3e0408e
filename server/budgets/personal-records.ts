/*
 * An erasure keeps budgets, as bookkeeping under the random ids of account and keys. It closes those of plans, and puts
 * the prepaid balance on hold: what is left of it is the operator's debt.
 */

import type { Engine, Tables, Transaction } from '../../core/database/index.js';
import type { PersonalRecords } from '../personal-records/index.js';
import type { BudgetRow } from './tables.js';

export const budgetPersonalRecords: PersonalRecords = { tables: { budgets: 'retained' } };

/** Closes the plans' budgets and the balance of an account: no request that still runs may use more. @returns those of plans, locked. */
export async function closePlanBudgets(
  transaction: Transaction<Tables>,
  { engine, accountId, at }: { engine: Engine; accountId: string; at: number },
): Promise<BudgetRow[]> {
  const ofPlans = transaction
    .selectFrom('budgets')
    .selectAll()
    .where('accountId', '=', accountId)
    .where('scope', 'in', ['plan', 'balance'])
    .orderBy('id');
  const budgets = await (engine === 'postgres' ? ofPlans.forUpdate() : ofPlans).execute();
  const open = budgets.filter(({ expiresAt }) => expiresAt === null || expiresAt > at).map(({ id }) => id);
  if (open.length > 0)
    await transaction.updateTable('budgets').set({ expiresAt: at }).where('id', 'in', open).execute();
  return budgets.filter(({ scope }) => scope === 'plan');
}
