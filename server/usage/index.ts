/*
 * Admission of requests and jobs, the usage log and its reports. Other folders import these from here alone.
 */

export { Admissions } from './admissions.js';
export { costOfImage, JobAdmission, jobBudgetsOf, toJobTerms } from './job-admission.js';
export { type CostedJob, createJobCosts, type JobCharge, type JobCosts } from './job-costs.js';
export { type ChargedLink, LinkCharges } from './link-charges.js';
export { usagePersonalRecords } from './personal-records.js';
export { RequestCounts } from './request-counts.js';
export { type UsageTotal, usageMigrations } from './tables.js';
export {
  type AdmittedWork,
  checkModel,
  isModelAllowed,
  type SettleLinks,
  UsageService,
} from './usage.js';
export { type Settlement, UsageLog } from './usage-log.js';
export {
  addUp,
  type DayRange,
  encodeBudget,
  encodeCost,
  encodeCounts,
  getUsage,
  grouped,
  leftOf,
  PlanBudget,
  readDayRange,
  readRangeQuery,
  renderCost,
  renderLeft,
  USAGE_COUNTS,
  type UsageCounts,
  usageRoutes,
} from './usage-report.js';
export { ENTRIES_RETENTION_MS } from './usage-sweep.js';
