/*
 * Money that work holds which is no request to a model: jobs, and links of batches. The budgets of money of a key hold the
 * highest cost until the end of the work, and then the used money replaces it. If those of the plan have no room, or the
 * plan does not include the work, the prepaid balance holds it in their place.
 */

import type { Script } from '../../core/database/index.js';
import { type GatewayError, isGatewayError } from '../../core/runtime/index.js';
import {
  type BudgetRow,
  type BudgetTable,
  choosePayment,
  type GrantOptions,
  grantOfMoney,
  isBalance,
  type LockedBudgets,
  type Occasion,
} from '../budgets/index.js';
import { type ApiKeyRecord, type Grant, payersOf } from '../keys/index.js';
import type { HighestUse } from '../prices/index.js';

/** What a job costs at most, for budgets of money: those of tokens and requests count requests to models alone. */
export interface JobBudgets {
  ids: readonly string[];
  /** The prepaid balance that pays if the plan cannot. Default: none. */
  balanceId?: string;
  uses: HighestUse;
}

/** The budgets of a key for a job; undefined if it has none. */
export function jobBudgetsOf(key: ApiKeyRecord, grant: Grant, uses: HighestUse): JobBudgets | undefined {
  const { budgetId, furtherBudgets = [], balanceId } = payersOf(key, { grant });
  const ids = budgetId === null ? furtherBudgets : [budgetId, ...furtherBudgets];
  if (balanceId !== undefined) return { ids, balanceId, uses };
  return ids.length === 0 ? undefined : { ids, uses };
}

/** Money that budgets hold. */
export interface Held {
  /** Micro units. */
  cost: number;
  /** The periods of the budgets that it is held in, by id. */
  periods: Readonly<Record<string, string>>;
}

/** What pays for work that is no request to a model. */
export interface MoneyPayment {
  rows: readonly BudgetRow[];
  /** What to hold, in micro units, or why a budget refuses it. */
  cost: number | GatewayError;
  byBalance: boolean;
}

export const FREE: MoneyPayment = { rows: [], cost: 0, byBalance: false };

export function idsOf({ ids, balanceId }: Pick<JobBudgets, 'ids' | 'balanceId'>): readonly string[] {
  return balanceId === undefined ? ids : [...ids, balanceId];
}

/** The budgets of money that pay, or in place of the plan the balance. @param refusal Why the plan cannot pay. */
export function payMoney(
  budgets: LockedBudgets,
  { ids, balanceId }: JobBudgets,
  { uses, refusal, ...options }: GrantOptions & { uses: HighestUse; refusal?: GatewayError | undefined },
): MoneyPayment {
  const found = ids.map((id) => budgets.find(id)).filter((row) => row !== undefined);
  const ofMoney = found.filter(({ costLimit }) => costLimit !== null);
  const balance = balanceId === undefined ? undefined : budgets.find(balanceId);
  const wanted = { model: uses.model, tokens: 0, uses };
  const { rows, grant } = choosePayment({ rows: ofMoney, refusal, balance }, wanted, options, grantOfMoney);
  const byBalance = rows.some(isBalance);
  return { rows, cost: isGatewayError(grant) ? grant : grant.cost, byBalance };
}

interface HeldEnd {
  held: Held;
  costUsed: number;
  /** For the ledger, if a balance pays. */
  occasion: Occasion;
}

/** The used money replaces the held one. */
export function* settleHeld(budgetTable: BudgetTable, ends: readonly HeldEnd[]): Script<void> {
  if (ends.length === 0) return;
  const budgets = yield* budgetTable.lock(ends.flatMap(({ held }) => Object.keys(held.periods)));
  for (const { held, costUsed, occasion } of ends) {
    for (const [id, period] of Object.entries(held.periods)) {
      const reserved = { tokens: 0, cost: held.cost, period };
      budgets.release(id, { reserved, tokensUsed: 0, costUsed, givesBack: false }, occasion);
    }
  }
  yield* budgets.save();
}
