export { type Admissions, createAdmissions, type Settlement } from './admissions.js';
export { type Budget, type BudgetRow, type BudgetState, type Budgets, createBudgets, toBudgetRow } from './budgets.js';
export {
  type CostedJob,
  createJobAdmission,
  createJobCosts,
  type JobCharge,
  type JobCosts,
  type ProductJobs,
  toJobTerms,
} from './job-admission.js';
export {
  createPrices,
  decimalOf,
  type HighestUse,
  PRICES_FILE_SCHEMA,
  type PricedImage,
  type PricedUse,
  type Prices,
  PricesError,
  readPrices,
} from './prices.js';
export { type UsageTotal, usageMigrations } from './tables.js';
export {
  type AdmittedWork,
  checkModel,
  createRequestCounts,
  createUsageService,
  isModelAllowed,
  type UsageService,
} from './usage.js';
export { createUsageLog, type UsageLog } from './usage-log.js';
export {
  addUp,
  type DayRange,
  encodeBudget,
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
export { ENTRIES_RETENTION_MS } from './usage-sweep.js';
