export { grouped, leftOf, renderLeft } from './budget-text.js';
export { readRangeQuery } from './range-query.js';
export {
  type AdmittedWork,
  checkModel,
  createUsageDesk,
  isModelAllowed,
  type UsageDesk,
  type UsageDeskOptions,
} from './usage.js';
export { addUp, type DayRange, readDayRange, type UsageCounts } from './usage-days.js';
export { encodeCounts } from './usage-format.js';
export { addUsageRoute } from './usage-route.js';
export { lookAtUsage } from './usage-view.js';
