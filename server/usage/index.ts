export type { Admissions, Settlement } from './admissions.js';
export { createAdmissions } from './admissions.js';
export type { Budget, BudgetState, Budgets } from './budgets.js';
export { type BudgetRow, createBudgets, toBudgetRow } from './budgets.js';
export type { CostedJob, JobCharge, JobCosts } from './job-admission.js';
export { createJobAdmission, createJobCosts, type ProductJobs, toJobTerms } from './job-admission.js';
export { type AdmittedWork, checkModel, createUsageService, isModelAllowed, type UsageService } from './usage.js';
export type { UsageLog, UsageTotal } from './usage-log.js';
export { createUsageLog } from './usage-log.js';
export {
  addUp,
  type DayRange,
  encodeCounts,
  getUsage,
  grouped,
  leftOf,
  readDayRange,
  readRangeQuery,
  renderLeft,
  type UsageCounts,
  usageRoutes,
} from './usage-report.js';
export { ENTRIES_KEPT_MS } from './usage-sweep.js';
