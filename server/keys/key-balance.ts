/*
 * The prepaid balance of an account in its keys: what it allows beside the plan, and whether plan or balance pays for a
 * request. The row of each key has it as JSON, so that a request reads its key alone. A key may use what the plan or the
 * balance allows. The plan of a kind pays first, and the balance pays what the plan cannot; what the plan does not
 * include is paid by the balance at once. After the end of the last plan, the balance is all that a key has.
 */

import type { Grant } from '../http/index.js';

/**
 * A route group, or a permission within the text routes: ids of things in the operator's account at the model vendor,
 * and tools and service tiers that cost more than tokens. Keys without a plan need neither permission. `admin` opens the
 * admin API; only an operator gives it, to a key without a plan.
 */
export type KeyGrant = Grant | 'vendor_ids' | 'paid_tools' | 'admin';

/** What a prepaid balance allows; stored with its account and with each key. */
export interface KeyBalance {
  /** Id of its budget. */
  id: string;
  grants: readonly Grant[];
  /** Requests per minute and route family; null is unlimited. */
  rpm: number | null;
  /** Ids of the allowed models; null is all. */
  models: readonly string[] | null;
}

/** The same in the record of a key, with what the plan allows by itself. */
export interface BalanceBesidePlan extends KeyBalance {
  planGrants: readonly KeyGrant[];
  planModels: readonly string[] | null;
}

/** Plan of a key that has nothing but a balance. */
export const BALANCE_PLAN_ID = 'pay_as_you_go';

export function decodeBalance({ balance }: { balance: string | null }): KeyBalance | undefined {
  return balance === null ? undefined : (JSON.parse(balance) as KeyBalance);
}

interface PlanLimits {
  grants: readonly KeyGrant[];
  models: readonly string[] | null;
  rpm: number | null;
}

/** The plan with what the balance allows besides. */
export function withBalance<Plan extends PlanLimits>(
  plan: Plan,
  balance: KeyBalance | undefined,
): Plan & { balance?: BalanceBesidePlan } {
  if (!balance) return plan;
  const { grants: planGrants, models: planModels, rpm } = plan;
  return {
    ...plan,
    grants: [...new Set([...planGrants, ...balance.grants])],
    models: planModels && balance.models && [...new Set([...planModels, ...balance.models])],
    rpm: rpm === null || balance.rpm === null ? null : Math.max(rpm, balance.rpm),
    balance: { ...balance, planGrants, planModels },
  };
}

/** What a key has after the end of its last plan. */
export function planOfBalance(balance: KeyBalance) {
  const nothing = { grants: [], models: [], rpm: 0 };
  const none = { planId: BALANCE_PLAN_ID, budgetId: null, imageDailyLimit: null, expiresAt: null };
  return withBalance<PlanLimits & typeof none>({ ...nothing, ...none }, balance);
}

/** The budgets that count a request, and the balance that pays if the plan cannot. */
export interface KeyPayers {
  budgetId: string | null;
  furtherBudgets?: readonly string[];
  balanceId?: string;
}

export interface PaidUse {
  grant: Grant;
  /** Whether a list of models has the one that is asked for. Default: models do not matter. */
  isListed?(models: readonly string[]): boolean;
}

/** Who pays for a request of a key. */
export function payersOf(
  { budgetId, furtherBudgets, balance }: Omit<KeyPayers, 'balanceId'> & { balance?: BalanceBesidePlan },
  { grant, isListed = () => true }: PaidUse,
): KeyPayers {
  const further = furtherBudgets ? { furtherBudgets } : {};
  if (!balance) return { budgetId, ...further };
  const includes = (grants: readonly KeyGrant[], models: readonly string[] | null) =>
    grants.includes(grant) && (models === null || isListed(models));
  if (!includes(balance.planGrants, balance.planModels)) return { budgetId: balance.id, ...further };
  // A plan without limits pays everything, but for the images of a day.
  const mayPay = includes(balance.grants, balance.models) && (budgetId !== null || grant === 'images');
  return { budgetId, ...further, ...(mayPay && { balanceId: balance.id }) };
}
