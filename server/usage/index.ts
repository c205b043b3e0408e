export { type Admissions, createAdmissions, type Settlement } from './admissions.js';
export { type AlertTry, type BudgetAlerts, createAlertTable, createBudgetAlerts } from './budget-alerts.js';
export {
  BUDGET_FORM,
  type BudgetAmount,
  limitsOfAmount,
  MICROS,
  parseBudget,
  renderBudget,
  renderMoney,
} from './budget-amounts.js';
export {
  type BudgetOwner,
  type BudgetOwners,
  budgetIdsOf,
  createBudgetOwners,
  holdBudgetOwners,
} from './budget-owners.js';
export { encodeSharedBudget, renderSharedLeft } from './budget-report.js';
export {
  amountOf,
  atTime,
  type Budget,
  type BudgetRow,
  type BudgetState,
  type Budgets,
  createBudgets,
  nextPeriodAt,
  toBudgetRow,
} from './budgets.js';
export {
  type CostedJob,
  costOfImage,
  createJobAdmission,
  createJobCosts,
  type JobCharge,
  type JobCosts,
  jobBudgetsOf,
  type ProductJobs,
  toJobTerms,
} from './job-admission.js';
export { type UsageTotal, usageMigrations } from './tables.js';
export {
  type AdmittedWork,
  checkModel,
  createRequestCounts,
  createUsageService,
  isModelAllowed,
  type SettleLinks,
  type UsageService,
} from './usage.js';
export { createUsageLog, type UsageLog } from './usage-log.js';
export {
  addUp,
  type DayRange,
  encodeBudget,
  encodeCost,
  encodeCounts,
  getUsage,
  grouped,
  leftOf,
  readDayRange,
  readRangeQuery,
  renderCost,
  renderLeft,
  type UsageCounts,
  usageRoutes,
} from './usage-report.js';
export { ENTRIES_RETENTION_MS } from './usage-sweep.js';
