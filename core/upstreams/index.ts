/*
 * What other folders may import of upstreams: fail-over, the check of a model list, limits that vendors report, and
 * the errors of useless answers.
 */

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
