/*
 * Admission of requests and jobs, the usage log and its reports. Other folders import these from here alone.
 */

export { Admissions } from './admissions.js';
export { jobBudgetsOf } from './held-money.js';
export { costOfImage, JobAdmission, toJobTerms } from './job-admission.js';
export { type CostedJob, createJobCosts, type JobCharge, type JobCosts } from './job-costs.js';
export { Latencies, type ModelLatency, type Percentiles } from './latencies.js';
export { type ChargedLink, LinkCharges } from './link-charges.js';
export { actionOfCode, causeOfCode, statusOfCode, wordsOfCode } from './log-codes.js';
export { usagePersonalRecords } from './personal-records.js';
export { type ListedRequest, RequestCounts } from './request-counts.js';
export { MAX_INPUT_DAYS, type RequestInput, RequestInputs } from './request-inputs.js';
export {
  type AnyRequestQuery,
  failedHere,
  outcomeOf,
  REQUEST_OUTCOMES,
  RequestLog,
  type RequestOutcome,
  type RequestPlace,
  type RequestQuery,
  shownRequestId,
} from './request-log.js';
export {
  encodeCursor,
  type RequestFilter,
  readCursor,
  readDimension,
  readRequestFilter,
  readUsageQuery,
} from './request-queries.js';
export { latencyMigrations, StoredLatencies } from './stored-latencies.js';
export { type UsageTotal, usageMigrations } from './tables.js';
export {
  type AdmittedWork,
  checkModel,
  isModelAllowed,
  logRefusal,
  type SettleLinks,
  UsageService,
  usageLogIdOf,
} from './usage.js';
export { type RecentSums, type StoredToday, UsageDays } from './usage-days.js';
export {
  dearestFirst,
  eachDayOf,
  filterTotals,
  groupUsage,
  partsOf,
  renderUsageCsv,
  restOf,
  USAGE_DIMENSIONS,
  type UsageDimension,
  type UsageFilter,
  type UsageGroup,
  type UsagePart,
} from './usage-groups.js';
export { costOfUsage, type Settlement, type UsageEntry, UsageLog } from './usage-log.js';
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
} from './usage-report.js';
export { platformsOf, sendCsv, sendRequestsCsv, usageRoutes } from './usage-routes.js';
export { SUM_DIMENSIONS, type SumDimension, type SumQuery, UsageSums } from './usage-sums.js';
export { LOG_DAYS, type LogRetention, retentionMs } from './usage-sweep.js';
