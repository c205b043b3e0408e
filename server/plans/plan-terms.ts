/*
 * What a plan of the catalogue gives an account: grants, rate limit, models, images, duration and budget. Terms are
 * stored with an order and with a grant, so later changes of the catalogue do not affect what was bought. Grants follow
 * from the fields of the plan, and the plans file may add some. A budget of the plans file replaces the limits of
 * requests and tokens. The same terms make the key of a plan that an operator creates for an account without a user,
 * with a budget of its own.
 */

import { randomUUID } from 'node:crypto';
import { type Budget, limitsOfAmount } from '../budgets/index.js';
import { type ApiKeyRecord, KEY_GRANTS, type KeyGrant } from '../keys/index.js';
import { type Catalogue, type FreeTier, OPERATOR_PLAN } from './catalogue.js';
import type { Plan } from './plan-fields.js';

const DAY_MS = 24 * 60 * 60 * 1000;

/** What a plan costs. */
export interface PlanPrice {
  /** In minor units of the currency; above 0. */
  amount: number;
  /** ISO 4217. */
  currency: string;
}

/** What a plan gives an account, as it was when it was bought: later changes of the catalogue do not affect it. */
export interface PlanTerms {
  planId: string;
  grants: readonly KeyGrant[];
  /** Requests per minute and route family; null is unlimited, 0 refuses. */
  rpm: number | null;
  /** Ids of the allowed models; null is all. */
  models: readonly string[] | null;
  /** Images per UTC day; null is the gateway's setting. */
  imageDailyLimit: number | null;
  /** Milliseconds of validity from the grant on; null is unlimited. */
  durationMs: number | null;
  /** The counted limits; null if there are none. */
  budget: Pick<Budget, 'tokenLimit' | 'dailyTokenLimit' | 'requestLimit' | 'costLimit' | 'currency' | 'resets'> | null;
  /** Price of the whole duration, for crediting the rest when another plan starts. Default: none. */
  price?: PlanPrice;
}

/** When the usage of the free tier is reset. */
export type FreeTierPeriod = 'lifetime' | 'month' | 'day';

/** Limits of a catalogue plan, without its requests per minute. */
export type CatalogueTerms = PlanTerms & { rpm: number };

/** All that the gateway offers, without limits but those of the gateway's settings. */
export const OPERATOR_TERMS: PlanTerms = {
  planId: OPERATOR_PLAN.id,
  grants: KEY_GRANTS,
  rpm: null,
  models: null,
  imageDailyLimit: null,
  durationMs: null,
  budget: null,
};

export interface PlanTermsOptions {
  catalogue: Catalogue;
  freeTierPeriod: FreeTierPeriod;
}

/** The plan as the catalogue has it now. Undefined if there is no such plan. */
export function planTerms(planId: string, { catalogue, freeTierPeriod }: PlanTermsOptions): CatalogueTerms | undefined {
  const { plans, freeTier } = catalogue;
  const grants = planGrants(planId, catalogue);
  if (planId === freeTier.id) return freeTerms(freeTier, grants, freeTierPeriod);
  const plan = plans.find(({ id }) => id === planId);
  const price = catalogue.prices.find((one) => one.planId === planId);
  const stated = catalogue.budgets?.find((one) => one.planId === planId)?.budget;
  return (
    plan && {
      ...termsOf(plan, grants, freeTier),
      ...(stated && { budget: { ...limitsOfAmount(stated), dailyTokenLimit: plan.dailyTokenLimit } }),
      ...(price && { price: { amount: price.amount, currency: price.currency } }),
    }
  );
}

/** The free tier as the catalogue has it now: what an account without a plan gets with its first key. */
export function freeTierTerms({ catalogue, freeTierPeriod }: PlanTermsOptions): CatalogueTerms {
  return freeTerms(catalogue.freeTier, planGrants(catalogue.freeTier.id, catalogue), freeTierPeriod);
}

/** The plan of an account at a time: its own one, or the free tier if it has none or that one has ended. */
export function termsAt<Own extends { expiresAt: number | null }>(
  own: Own | null,
  at: number,
  options: PlanTermsOptions,
): Own | CatalogueTerms {
  return own && (own.expiresAt === null || own.expiresAt > at) ? own : freeTierTerms(options);
}

/** Route groups that keys of a plan may use. Empty if there is no such plan. */
export function planGrants(planId: string, { plans, freeTier, furtherGrants }: Catalogue): readonly KeyGrant[] {
  const plan = plans.find(({ id }) => id === planId);
  const own: readonly KeyGrant[] = planId === freeTier.id ? ['text'] : plan ? grantsOf(plan) : [];
  const further = furtherGrants.find((one) => one.planId === planId)?.grants ?? [];
  return KEY_GRANTS.filter((grant) => own.includes(grant) || further.includes(grant));
}

/** Whether the free tier or any plan includes this group of routes. */
export function isOffered(grant: KeyGrant, catalogue: Catalogue): boolean {
  const { freeTier, plans } = catalogue;
  return [freeTier, ...plans].some(({ id }) => planGrants(id, catalogue).includes(grant));
}

function freeTerms(
  { id, requestLimit, rpm, modelAccess }: FreeTier,
  grants: readonly KeyGrant[],
  period: FreeTierPeriod,
) {
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

function termsOf(plan: Plan, grants: readonly KeyGrant[], { modelAccess }: FreeTier): CatalogueTerms {
  const { durationDays, tokenLimit, dailyTokenLimit, requestLimit } = plan;
  // An image-only plan, with additional grants.
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

function grantsOf({ imageOnly, includesAudio, includesImage }: Plan): KeyGrant[] {
  if (imageOnly) return ['images'];
  return [...(includesImage ? (['images'] as const) : []), 'text', ...(includesAudio ? (['audio'] as const) : [])];
}

/** The properties of a key of a plan, if it belongs to no user account. */
export interface PlanKey {
  grants: readonly KeyGrant[];
  rpm: number;
  maxRpm: number;
  /** Milliseconds since 1970; null is never. */
  expiresAt: number | null;
  plan: Pick<ApiKeyRecord, 'planId' | 'budgetId' | 'models' | 'imageDailyLimit'>;
  /** Budget to create before the key. Undefined if the plan has no counted limits. */
  budget?: Budget;
}

export interface PlanKeyOptions extends PlanTermsOptions {
  accountId: string;
  /** Milliseconds since 1970. */
  now: number;
}

/** Undefined if there is no such plan. */
export function planKey(planId: string, options: PlanKeyOptions): PlanKey | undefined {
  const terms = planTerms(planId, options);
  if (!terms) return undefined;
  const { accountId, now, catalogue } = options;
  const { grants, rpm, models, imageDailyLimit, durationMs } = terms;
  const expiresAt = durationMs === null ? null : now + durationMs;
  const id = `budget_${randomUUID()}`;
  const budget = terms.budget && { ...terms.budget, id, accountId, planId, expiresAt, createdAt: now };
  return {
    grants,
    rpm,
    maxRpm: catalogue.plans.find((plan) => plan.id === planId)?.maxRpm ?? rpm,
    expiresAt,
    plan: { planId, budgetId: budget?.id ?? null, models, imageDailyLimit },
    ...(budget && { budget }),
  };
}
