import type { PlanTerms } from '../accounts/index.js';
import type { Grant } from '../keys/index.js';
import { GRANTS } from '../keys/index.js';
import type { Catalogue, FreeTier, Plan } from './catalogue.js';

const DAY_MS = 24 * 60 * 60 * 1000;

/** When requests of the free tier are forgotten. */
export type FreeTierPeriod = 'lifetime' | 'month' | 'day';

/** What a plan of the catalogue gives: never any number of requests per minute. */
export type CatalogueTerms = PlanTerms & { rpm: number };

export interface PlanTermsOptions {
  catalogue: Catalogue;
  freeTierPeriod: FreeTierPeriod;
}

/** What a plan of the catalogue gives, as it stands there now. Undefined where there is no such plan. */
export function planTerms(planId: string, { catalogue, freeTierPeriod }: PlanTermsOptions): CatalogueTerms | undefined {
  const { plans, freeTier } = catalogue;
  const grants = planGrants(planId, catalogue);
  if (planId === freeTier.id) return freeTerms(freeTier, grants, freeTierPeriod);
  const plan = plans.find(({ id }) => id === planId);
  const price = catalogue.prices.find((one) => one.planId === planId);
  return (
    plan && {
      ...termsOf(plan, grants, freeTier),
      ...(price && { price: { amount: price.amount, currency: price.currency } }),
    }
  );
}

/** Groups of routes that keys of a plan open. Empty where there is no such plan. */
export function planGrants(planId: string, { plans, freeTier, furtherGrants }: Catalogue): readonly Grant[] {
  const plan = plans.find(({ id }) => id === planId);
  const own: readonly Grant[] = planId === freeTier.id ? ['text'] : plan ? grantsOf(plan) : [];
  const further = furtherGrants.find((one) => one.planId === planId)?.grants ?? [];
  return GRANTS.filter((grant) => own.includes(grant) || further.includes(grant));
}

function freeTerms({ id, requestLimit, rpm, modelAccess }: FreeTier, grants: readonly Grant[], period: FreeTierPeriod) {
  const resets = period === 'lifetime' ? 'never' : period;
  return {
    planId: id,
    grants,
    rpm,
    models: modelAccess,
    imageDailyLimit: null,
    durationMs: null,
    budget: { tokenLimit: null, dailyTokenLimit: null, requestLimit, resets },
  } satisfies CatalogueTerms;
}

function termsOf(plan: Plan, grants: readonly Grant[], { modelAccess }: FreeTier): CatalogueTerms {
  const { durationDays, tokenLimit, dailyTokenLimit, requestLimit } = plan;
  // One for images alone, to which these may be granted all the same.
  const hasModels = grants.includes('text') || grants.includes('audio');
  const isCounted = hasModels && [requestLimit, tokenLimit, dailyTokenLimit].some((limit) => limit !== null);
  return {
    planId: plan.id,
    grants,
    rpm: plan.includedRpm,
    models: plan.allModels || !hasModels ? null : modelAccess,
    imageDailyLimit: plan.imageDailyLimit,
    durationMs: durationDays === 0 ? null : durationDays * DAY_MS,
    budget: isCounted ? { tokenLimit, dailyTokenLimit, requestLimit, resets: 'never' } : null,
  };
}

function grantsOf({ imageOnly, includesAudio, includesImage }: Plan): Grant[] {
  if (imageOnly) return ['images'];
  return [...(includesImage ? (['images'] as const) : []), 'text', ...(includesAudio ? (['audio'] as const) : [])];
}
