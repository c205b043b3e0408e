import { type AccountRow, locked } from './account-table.js';
import type { PlanTerms } from './accounts.js';
import type { Engine } from './database.js';
import type { Transaction } from './kysely.js';
import type { Tables } from './schema.js';

/** What changes a plan: a transaction that holds the lock of the account, and the time to write. */
export interface PlanChange {
  transaction: Transaction<Tables>;
  engine: Engine;
  account: AccountRow;
  at: number;
}

/** How an account's plan stands, besides what its terms say. */
export interface PlanStanding {
  budgetId: string | null;
  expiresAt: number | null;
}

/** Writes the plan of an account and of its keys. */
export async function writePlan(
  { transaction, engine, account, at }: PlanChange,
  terms: PlanTerms,
  { budgetId, expiresAt }: PlanStanding,
): Promise<AccountRow> {
  const plan = {
    plan_id: terms.planId,
    grants: JSON.stringify(terms.grants),
    rpm: terms.rpm,
    models: terms.models && JSON.stringify(terms.models),
    image_daily_limit: terms.imageDailyLimit,
    budget_id: budgetId,
    plan_expires_at: expiresAt,
  };
  const written = { ...plan, granted_at: at };
  await transaction.updateTable('accounts').set(written).where('id', '=', account.id).execute();
  const keys = await lockKeys(transaction, engine, account.id);
  if (keys.length > 0) {
    const change = { ...plan, grants: JSON.stringify(terms.grants), changed_at: at };
    await transaction.updateTable('api_keys').set(change).where('id', 'in', keys).execute();
  }
  return { ...account, ...written };
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
