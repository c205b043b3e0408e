import { randomUUID } from 'node:crypto';
import type { ApiKeyRecord, Budget, Grant } from 'mediagate';
import type { Catalogue, FreeTier, Plan } from './catalogue.js';

const DAY_MS = 24 * 60 * 60 * 1000;

/** When requests of the free tier are forgotten. */
export type FreeTierPeriod = 'lifetime' | 'month' | 'day';

/** What a key of a plan is made with. */
export interface PlanKey {
  grants: readonly Grant[];
  rpm: number;
  maxRpm: number;
  /** Milliseconds since 1970; null is never. */
  expiresAt: number | null;
  plan: Pick<ApiKeyRecord, 'planId' | 'budgetId' | 'models'>;
  /** To be created before the key. Undefined where the plan limits nothing that is counted. */
  budget?: Budget;
}

export interface PlanKeyOptions {
  catalogue: Catalogue;
  freeTierPeriod: FreeTierPeriod;
  accountId: string;
  /** Milliseconds since 1970. */
  now: number;
}

/** Undefined where there is no such plan. */
export function planKey(planId: string, options: PlanKeyOptions): PlanKey | undefined {
  const { plans, freeTier } = options.catalogue;
  if (planId === freeTier.id) return freeKey(freeTier, options);
  const plan = plans.find(({ id }) => id === planId);
  return plan && keyOfPlan(plan, options);
}

function freeKey({ id, requestLimit, rpm, modelAccess }: FreeTier, options: PlanKeyOptions): PlanKey {
  const resets = options.freeTierPeriod === 'lifetime' ? 'never' : options.freeTierPeriod;
  const budget = newBudget({ planId: id, requestLimit, resets }, options);
  const plan = { planId: id, budgetId: budget.id, models: modelAccess };
  return { grants: ['text'], rpm, maxRpm: rpm, expiresAt: null, plan, budget };
}

function keyOfPlan(plan: Plan, options: PlanKeyOptions): PlanKey {
  const { id, durationDays, requestLimit, tokenLimit, dailyTokenLimit, includedRpm, maxRpm } = plan;
  const expiresAt = durationDays === 0 ? null : options.now + durationDays * DAY_MS;
  const isCounted = !plan.imageOnly && [requestLimit, tokenLimit, dailyTokenLimit].some((limit) => limit !== null);
  const limits = { planId: id, requestLimit, tokenLimit, dailyTokenLimit, expiresAt };
  const budget = isCounted ? newBudget(limits, options) : undefined;
  const models = plan.allModels || plan.imageOnly ? null : options.catalogue.freeTier.modelAccess;
  return {
    grants: grantsOf(plan),
    rpm: includedRpm,
    maxRpm,
    expiresAt,
    plan: { planId: id, budgetId: budget?.id ?? null, models },
    ...(budget && { budget }),
  };
}

function grantsOf({ imageOnly, includesAudio, includesImage }: Plan): Grant[] {
  if (imageOnly) return ['images'];
  return [...(includesImage ? (['images'] as const) : []), 'text', ...(includesAudio ? (['audio'] as const) : [])];
}

function newBudget(limits: Partial<Budget> & Pick<Budget, 'planId'>, { accountId, now }: PlanKeyOptions): Budget {
  return {
    id: `budget_${randomUUID()}`,
    accountId,
    tokenLimit: null,
    dailyTokenLimit: null,
    requestLimit: null,
    resets: 'never',
    expiresAt: null,
    createdAt: now,
    ...limits,
  };
}
