/*
 * One free tier for one identity. Without this, a person could erase the account, sign in again, and use the free
 * allowance of the period once more. The erasure of an account keeps a keyed hash of issuer and subject, and what the
 * current period's free allowance had used: nothing else, and only until the period ends. The first sign-in of that
 * identity moves it to the new account and deletes the row. The secret of the hash is in no table, so that a copy of
 * the database identifies no person.
 */

import { createHmac, randomUUID } from 'node:crypto';
import type { Engine, Tables, Transaction } from '../../core/database/index.js';
import { atTime, type Budget, type BudgetRow, closePlanBudgets, nextPeriodAt, toBudgetRow } from '../budgets/index.js';
import { dayOf } from '../format/index.js';
import { FREE_PLAN_ID } from '../plans/index.js';

/** Secrets of the hash, newest first: at least one. Loaded when an identity is erased or new. */
export type IdentitySecrets = () => Promise<readonly Uint8Array[]>;

type UsedBudget = Pick<
  BudgetRow,
  'resets' | 'period' | 'requestsUsed' | 'tokensUsed' | 'costUsed' | 'currency' | 'day' | 'tokensUsedToday'
>;

interface UsedAllowance {
  budget?: UsedBudget;
  /** Jobs of the day. */
  jobs?: Pick<Tables['daily_quotas'], 'kind' | 'day' | 'used'>[];
}

/** An allowance without periods is kept for so long. */
const LIFETIME_MS = 400 * 24 * 60 * 60 * 1000;

/** @returns A hash for each secret. */
export function hashIdentity(
  { issuer, subject }: { issuer: string; subject: string },
  secrets: readonly Uint8Array[],
): readonly string[] {
  const text = JSON.stringify([issuer, subject]);
  return secrets.map((secret) =>
    createHmac('sha256', secret).update(`mediagate erased identity 1\n${text}`).digest('hex'),
  );
}

interface AllowanceChange {
  transaction: Transaction<Tables>;
  engine: Engine;
  accountId: string;
  hashes: readonly string[];
  at: number;
}

/** Keeps what the free allowance has used, and closes the plans' budgets: no request that still runs may use more. */
export async function keepAllowance({
  transaction,
  engine,
  accountId,
  hashes: [hash],
  at,
}: AllowanceChange): Promise<void> {
  const own = await closePlanBudgets(transaction, { engine, accountId, at });
  const [free] = own
    .filter(({ planId }) => planId === FREE_PLAN_ID)
    .sort((one, other) => other.createdAt - one.createdAt);
  const day = dayOf(at);
  const jobs = await transaction
    .selectFrom('daily_quotas')
    .select(['kind', 'day', 'used'])
    .where('accountId', '=', accountId)
    .where('day', '=', day)
    .execute();
  const budget = free && usedOf(atTime(free, at));
  const used = { ...(budget && { budget }), ...(jobs.length > 0 && { jobs }) } satisfies UsedAllowance;
  if (hash === undefined || Object.keys(used).length === 0) return;
  const periods = [...(budget ? [budget.resets] : []), ...(jobs.length > 0 ? (['day'] as const) : [])];
  const ends = periods.map((resets) => nextPeriodAt(resets, at) ?? at + LIFETIME_MS);
  const row = { hash, used: JSON.stringify(used), expiresAt: Math.max(...ends) };
  await transaction
    .insertInto('erased_allowances')
    .values(row)
    .onConflict((conflict) => conflict.column('hash').doUpdateSet(row))
    .execute();
}

/** Reserved amounts count as used. */
function usedOf(row: BudgetRow): UsedBudget | undefined {
  const { resets, period, requestsUsed, currency, day, tokensReserved } = row;
  const tokensUsed = row.tokensUsed + tokensReserved;
  const costUsed = row.costUsed + row.costReserved;
  const tokensUsedToday = row.tokensUsedToday + tokensReserved;
  if (requestsUsed + tokensUsed + costUsed + tokensUsedToday === 0) return undefined;
  return { resets, period, requestsUsed, tokensUsed, costUsed, currency, day, tokensUsedToday };
}

/** Moves what an erased account of the identity had used to its new account. */
export async function restoreAllowance({ transaction, accountId, hashes, at }: AllowanceChange): Promise<void> {
  const rows = await transaction.deleteFrom('erased_allowances').where('hash', 'in', hashes).returningAll().execute();
  const [row] = rows.filter(({ expiresAt }) => expiresAt > at);
  if (!row) return;
  const { budget, jobs = [] } = JSON.parse(row.used) as UsedAllowance;
  if (budget) {
    const { resets, currency } = budget;
    // The first key of the account resumes it, with the limits of the free tier.
    const closed: Budget = {
      id: `budget_${randomUUID()}`,
      accountId,
      planId: FREE_PLAN_ID,
      tokenLimit: null,
      dailyTokenLimit: null,
      requestLimit: 0,
      currency,
      resets,
      expiresAt: null,
      createdAt: at,
    };
    await transaction
      .insertInto('budgets')
      .values({ ...toBudgetRow(closed), ...budget })
      .execute();
  }
  const rowsOfJobs = jobs.map((job) => ({ ...job, accountId }));
  if (rowsOfJobs.length > 0) await transaction.insertInto('daily_quotas').values(rowsOfJobs).execute();
}

/** Deletes what belongs to periods that have ended. */
export async function forgetAllowances(transaction: Transaction<Tables>, at: number): Promise<void> {
  await transaction.deleteFrom('erased_allowances').where('expiresAt', '<=', at).execute();
}
