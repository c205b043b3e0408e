import type { Engine, Tables, Transaction } from '../../core/database/index.js';
import type { KeyPlan } from '../keys/index.js';
import { type AccountRow, locked } from './account-table.js';
import type { PlanPeriod } from './plan-stack.js';

/** What changes a plan: a transaction that holds the lock of the account, and the time to write. */
export interface PlanChange {
  transaction: Transaction<Tables>;
  engine: Engine;
  account: AccountRow;
  at: number;
}

/** Writes the plans of an account, the running one first, and those of its keys and budgets. Without any, its plan has ended. */
export async function writePlan(
  { transaction, engine, account, at }: PlanChange,
  [running, ...following]: readonly PlanPeriod[],
): Promise<AccountRow> {
  const { plan_expires_at: end } = account;
  const ended = { plan_expires_at: end === null ? at : Math.min(end, at), following_plans: null };
  const plan = running
    ? {
        plan_id: running.terms.planId,
        grants: JSON.stringify(running.terms.grants),
        rpm: running.terms.rpm,
        models: running.terms.models && JSON.stringify(running.terms.models),
        image_daily_limit: running.terms.imageDailyLimit,
        budget_id: running.budgetId,
        plan_expires_at: running.expiresAt,
        following_plans: encodeFollowing(following),
      }
    : ended;
  const written = { ...plan, granted_at: at };
  await transaction.updateTable('accounts').set(written).where('id', '=', account.id).execute();
  const keys = await lockKeys(transaction, engine, account.id);
  if (keys.length > 0) {
    const change = { ...plan, changed_at: at };
    await transaction.updateTable('api_keys').set(change).where('id', 'in', keys).execute();
  }
  // The running plan last: it decides over a budget that another one shares.
  if (running) for (const period of [...following.toReversed(), running]) await writeBudget(transaction, period);
  return { ...account, ...written };
}

async function writeBudget(
  transaction: Transaction<Tables>,
  { budgetId, expiresAt, terms: { planId, budget } }: PlanPeriod,
): Promise<void> {
  if (budgetId === null || budget === null) return;
  const { dailyTokenLimit, tokenLimit, requestLimit, resets } = budget;
  const change = {
    plan_id: planId,
    daily_token_limit: dailyTokenLimit,
    expires_at: expiresAt,
    // Those that never reset are the sum of what was granted.
    ...(resets !== 'never' && { token_limit: tokenLimit, request_limit: requestLimit }),
  };
  await transaction.updateTable('budgets').set(change).where('id', '=', budgetId).execute();
}

/** In one order, as whoever notes last uses does it, so that the two do not wait for each other in a ring. */
export async function lockKeys(
  transaction: Transaction<Tables>,
  engine: Engine,
  accountId: string,
): Promise<readonly string[]> {
  const keys = transaction.selectFrom('api_keys').select('id').where('account_id', '=', accountId).orderBy('id');
  return (await locked(engine, keys).execute()).map(({ id }) => id);
}

function encodeFollowing(periods: readonly PlanPeriod[]): string | null {
  if (periods.length === 0) return null;
  const plans = periods.map(({ terms, budgetId, expiresAt }): KeyPlan => {
    const { planId, grants, rpm, models, imageDailyLimit } = terms;
    return { planId, grants, rpm, models, imageDailyLimit, budgetId, expiresAt };
  });
  return JSON.stringify(plans);
}
