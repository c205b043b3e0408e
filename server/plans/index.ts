/*
 * The catalogue of plans, its file, and the terms that a plan gives. Other folders import these from here alone.
 */

export {
  type Catalogue,
  DEFAULT_CATALOGUE,
  FREE_PLAN_ID,
  type FreeTier,
  MODEL_NOTES,
  OPERATOR_PLAN,
  type Support,
} from './catalogue.js';
export { isTopUp, type TopUpPackage, type TopUpTerms } from './pay-as-you-go.js';
export { PLAN_FIELDS, type Plan } from './plan-fields.js';
export {
  type CatalogueTerms,
  type FreeTierPeriod,
  freeTierTerms,
  isOffered,
  OPERATOR_TERMS,
  type PlanKey,
  type PlanPrice,
  type PlanTerms,
  type PlanTermsOptions,
  planGrants,
  planKey,
  planTerms,
  termsAt,
} from './plan-terms.js';
export { FREE_TIER_SCHEMA, PLANS_FILE_SCHEMA, PlansFileError, readCatalogue } from './plans-file.js';
