export type { Admissions } from './admissions.js';
export { createAdmissions } from './admissions-sql.js';
export { type BudgetRow, toBudgetRow } from './budget-account.js';
export type { Budget, Budgets } from './budgets.js';
export { createBudgets } from './budgets-sql.js';
export type { UsageLedger } from './usage.js';
export { createUsageLedger } from './usage-sql.js';
export { ENTRIES_KEPT_MS } from './usage-sweep.js';
