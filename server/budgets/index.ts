/*
 * Budgets of plans, keys, accounts and groups, with their amounts, alerts and tables. Other folders import these from
 * here.
 */

// Declares its error codes.
import './errors.js';

export { AlertTable, type AlertTry, BudgetAlerts, isLowBalance } from './alerts.js';
export {
  BUDGET_FORM,
  type BudgetAmount,
  limitsOfAmount,
  MICROS,
  parseBudget,
  renderBudget,
  renderMoney,
} from './amounts.js';
export { MAX_BALANCE, MAX_CREDIT, openBalance, putIn, resumeBalance, takeOut } from './balance-changes.js';
export { amountIn, choosePayment, freeOf, isBalance, type Occasion, type Payers } from './balances.js';
export { BudgetTable, type LockedBudgets } from './budget-table.js';
export {
  atTime,
  type BudgetWants,
  type Correction,
  type CountedWants,
  type GrantOptions,
  grantOf,
  grantOfMoney,
  nextPeriodAt,
  reserve,
  toBudgetRow,
} from './budgets.js';
export { addKeyBudgets, budgetIdsOf } from './owner-rows.js';
export { Budgets, holdBudgetOwners, type NearlyUsed } from './owners.js';
export { budgetPersonalRecords, closePlanBudgets } from './personal-records.js';
export { encodeSharedBudget, renderSharedLeft, SharedBudget } from './report.js';
export { type Budget, type BudgetRow, type BudgetState, budgetMigrations } from './tables.js';
