export type { Admissions, Settlement } from './admissions.js';
export { createAdmissions } from './admissions.js';
export { type BudgetRow, toBudgetRow } from './budget-account.js';
export type { Budget, BudgetState, Budgets } from './budgets.js';
export { createBudgets } from './budgets.js';
export { createJobAdmission, type JobRequestTerms, type JobTerms, toJobTerms } from './job-admission.js';
export type { CostedJob, JobCharge, JobCosts } from './job-costs.js';
export { createJobCosts, type ProductJobs } from './job-costs.js';
export {
  type AdmittedWork,
  checkModel,
  createUsageDesk,
  isModelAllowed,
  type UsageDesk,
  type UsageDeskOptions,
} from './usage.js';
export type { UsageLedger, UsageTotal } from './usage-log.js';
export { createUsageLedger } from './usage-log.js';
export {
  addUp,
  type DayRange,
  encodeCounts,
  grouped,
  leftOf,
  lookAtUsage,
  readDayRange,
  readRangeQuery,
  renderLeft,
  type UsageCounts,
  usageRoutes,
} from './usage-report.js';
export { ENTRIES_KEPT_MS } from './usage-sweep.js';
