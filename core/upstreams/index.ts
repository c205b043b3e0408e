export { checkModelList, type ModelListCheck } from './check.js';
export {
  createFailOver,
  type FailOver,
  type FailOverCall,
  type FailOverOptions,
  type TryConsequence,
  TryFailure,
} from './fail-over.js';
export { retryAfterSeconds, uselessAnswer } from './failures.js';
export { resumeBody } from './model-upstreams.js';
export { vendorLimitsOf } from './quotas.js';
