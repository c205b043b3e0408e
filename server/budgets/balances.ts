/*
 * How a prepaid balance is counted, as pure functions on its row. A balance is a budget of the scope `balance`, one for
 * an account. Its limit is what is in it: a top-up adds to it, and each charge takes from it, so that its used amount
 * stays 0 and amounts stay small however long it is used. It is reserved like a budget of money, and charged at most
 * what was reserved: the rest is the operator's loss, and puts the balance on hold (`expiresAt`) until an operator
 * resumes it. So limit >= reserved >= 0 holds at any time, and no request takes it below zero. Each change makes a
 * movement of the ledger with the next number of the balance, which stands in `requestsUsed`.
 */

import { type GatewayError, isGatewayError } from '../../core/runtime/index.js';
import type { Movement } from '../ledger/index.js';
import {
  type BudgetGrant,
  type Correction,
  type CountedWants,
  type GrantOptions,
  grantOf,
  type Release,
} from './budgets.js';
import type { BudgetRow } from './tables.js';

/** What a movement of the ledger is about. */
export interface Occasion {
  /** Code of an order, id of a request or of a job. */
  reference: string;
  /** Model, platform, or the actor of an operator's change. */
  note: string;
}

export interface BalanceChange {
  row: BudgetRow;
  movements: readonly Movement[];
}

export function isBalance({ scope }: Pick<BudgetRow, 'scope'>): boolean {
  return scope === 'balance';
}

/** What is in a balance, in millionths. */
export function amountIn({ costLimit }: Pick<BudgetRow, 'costLimit'>): number {
  return costLimit ?? 0;
}

/** What is neither used nor reserved. */
export function freeOf(row: Pick<BudgetRow, 'costLimit' | 'costReserved'>): number {
  return Math.max(0, amountIn(row) - row.costReserved);
}

/** Puts money into a balance, or takes it out. @param amount Below 0: at most what is free. */
export function moveMoney(
  row: BudgetRow,
  kind: Movement['kind'],
  { amount, occasion, at }: { amount: number; occasion: Occasion; at: number },
): BalanceChange {
  if (amount === 0) return { row, movements: [] };
  const number = row.requestsUsed + 1;
  const isLoss = kind === 'loss';
  const changed = { ...row, requestsUsed: number, costLimit: amountIn(row) + (isLoss ? 0 : amount) };
  const { id: balanceId, accountId, currency } = row;
  const movement = { kind, balanceId, accountId, number, amount, currency: currency ?? '', ...occasion, at };
  return { row: changed, movements: [movement] };
}

/** Ends a reservation: at most what was reserved is charged. */
export function chargeBalance(row: BudgetRow, end: Release, occasion: Occasion, at: number): BalanceChange {
  const { reserved, costUsed } = end;
  const charged = Math.min(costUsed, reserved.cost);
  const released = { ...row, costReserved: row.costReserved - reserved.cost };
  const paid = moveMoney(released, 'usage', { amount: charged === 0 ? 0 : -charged, occasion, at });
  return lose(paid, costUsed - charged, occasion, at);
}

/**
 * Replaces an estimate that was charged. What is more goes to the loss of the operator: the reservation is released, and
 * others may have reserved its rest since. A background request is estimated by its whole reservation as a rule.
 */
export function correctBalance(row: BudgetRow, correction: Correction, occasion: Occasion, at: number): BalanceChange {
  const { moreCost, morePaid = Math.min(0, moreCost) } = correction;
  const paid = Math.min(0, morePaid);
  const refunded = moveMoney(row, 'correction', { amount: -paid || 0, occasion, at });
  return lose(refunded, moreCost - paid, occasion, at);
}

/** @param amount Below 0: an earlier loss was none. */
function lose({ row, movements }: BalanceChange, amount: number, occasion: Occasion, at: number): BalanceChange {
  const lost = moveMoney(row, 'loss', { amount, occasion, at });
  const expiresAt = amount > 0 ? (row.expiresAt ?? at) : row.expiresAt;
  return { row: { ...lost.row, expiresAt }, movements: [...movements, ...lost.movements] };
}

/** What pays for a request, and what it gets. */
export interface Payment {
  /** The budgets that count it. */
  rows: readonly BudgetRow[];
  grant: BudgetGrant | GatewayError;
}

export interface Payers {
  /** The budgets of the plan, the key, its account and its group; without the balance. */
  rows: readonly BudgetRow[];
  /** Why the plan takes no request. Default: it may take it. */
  refusal?: GatewayError | undefined;
  /** Pays in place of the plan. Default: none. */
  balance?: BudgetRow | undefined;
}

/**
 * The plan pays what it can pay whole. Otherwise the balance pays, if it grants the request more output; budgets of the
 * key, its account and its group limit it as well.
 */
export function choosePayment(
  { rows, refusal, balance }: Payers,
  wanted: CountedWants,
  options: GrantOptions,
  grants: typeof grantOf = grantOf,
): Payment {
  const byPlan = { rows, grant: refusal ?? grants(rows, wanted, options) };
  if (!balance || !isShort(byPlan.grant, wanted)) return byPlan;
  const others = [balance, ...rows.filter(({ scope }) => scope !== 'plan')];
  const byBalance = { rows: others, grant: grants(others, wanted, options) };
  if (isGatewayError(byBalance.grant)) {
    // A plan that is over is no help to a caller whose balance is too small.
    return isGatewayError(byPlan.grant) ? byBalance : byPlan;
  }
  return outputOf(byBalance.grant) > outputOf(byPlan.grant) ? byBalance : byPlan;
}

function isShort(grant: BudgetGrant | GatewayError, { demand }: CountedWants): boolean {
  if (isGatewayError(grant)) return true;
  if (!demand || !grant.reserved) return false;
  return grant.reserved.output < Math.floor(demand.output / demand.choices) * demand.choices;
}

/** -1 if it is refused. */
function outputOf(grant: BudgetGrant | GatewayError): number {
  return isGatewayError(grant) ? -1 : (grant.reserved?.output ?? Number.MAX_SAFE_INTEGER);
}
