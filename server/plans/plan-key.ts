import { randomUUID } from 'node:crypto';
import type { ApiKeyRecord, Grant } from '../keys/index.js';
import type { Budget } from '../usage/index.js';
import { type PlanTermsOptions, planTerms } from './plan-terms.js';

/** What a key of a plan is made with, where it belongs to no account of a person. */
export interface PlanKey {
  grants: readonly Grant[];
  rpm: number;
  maxRpm: number;
  /** Milliseconds since 1970; null is never. */
  expiresAt: number | null;
  plan: Pick<ApiKeyRecord, 'planId' | 'budgetId' | 'models' | 'imageDailyLimit'>;
  /** To be created before the key. Undefined where the plan limits nothing that is counted. */
  budget?: Budget;
}

export interface PlanKeyOptions extends PlanTermsOptions {
  accountId: string;
  /** Milliseconds since 1970. */
  now: number;
}

/** Undefined where there is no such plan. */
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
