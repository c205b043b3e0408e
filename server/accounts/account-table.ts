import type { Engine, Kysely, Selectable, SelectQueryBuilder, Tables, Transaction } from '../../core/database/index.js';
import { isStorable } from '../../core/database/index.js';
import { GatewayError } from '../../core/runtime/index.js';
import type { Grant } from '../keys/index.js';
import type { AccountPlan, AccountRecord } from './accounts.js';
import type { AccountsTable } from './tables.js';

export type AccountRow = Selectable<AccountsTable>;

/** Locks what is read until the transaction ends; SQLite has one writer at a time anyway. */
export function locked<Names extends keyof Tables, Row>(
  engine: Engine,
  rows: SelectQueryBuilder<Tables, Names, Row>,
): SelectQueryBuilder<Tables, Names, Row> {
  return engine === 'postgres' ? rows.forUpdate() : rows;
}

export function findAccount(queries: Kysely<Tables>, id: string): Promise<AccountRow | undefined> {
  return queries.selectFrom('accounts').selectAll().where('id', '=', id).executeTakeFirst();
}

/**
 * Whatever of an account changes from here to the end of the transaction is changed by nobody else.
 * @throws GatewayError `account_not_found`.
 */
export async function lockAccount(transaction: Transaction<Tables>, engine: Engine, id: string): Promise<AccountRow> {
  const rows = transaction.selectFrom('accounts').selectAll().where('id', '=', id);
  const row = isStorable(id) ? await locked(engine, rows).executeTakeFirst() : undefined;
  if (!row) throw new GatewayError('account_not_found', 'There is no such account.');
  return row;
}

/** The account of a user. @throws GatewayError `user_not_found`. */
export async function lockAccountOf(
  transaction: Transaction<Tables>,
  engine: Engine,
  userId: string,
): Promise<AccountRow> {
  const users = transaction.selectFrom('users').select('account_id').where('id', '=', userId);
  const user = isStorable(userId) ? await users.executeTakeFirst() : undefined;
  if (!user) throw new GatewayError('user_not_found', 'There is no such user.');
  return lockAccount(transaction, engine, user.account_id);
}

/** @throws GatewayError `account_suspended`. */
export function refuseSuspended({ suspended_at }: Pick<AccountRow, 'suspended_at'>): void {
  if (suspended_at !== null) throw new GatewayError('account_suspended', 'This account is suspended.');
}

/** Whether the account has a plan at that time. */
export function hasPlan({ plan_id, plan_expires_at }: AccountRow, at: number): boolean {
  return plan_id !== null && (plan_expires_at === null || plan_expires_at > at);
}

export function toAccountRecord(row: AccountRow): AccountRecord {
  return { id: row.id, createdAt: row.created_at, suspendedAt: row.suspended_at, plan: toAccountPlan(row) };
}

export function toAccountPlan(row: AccountRow): AccountPlan | null {
  if (row.plan_id === null || row.granted_at === null) return null;
  return {
    planId: row.plan_id,
    grants: JSON.parse(row.grants ?? '[]') as Grant[],
    rpm: row.rpm,
    models: row.models === null ? null : (JSON.parse(row.models) as string[]),
    imageDailyLimit: row.image_daily_limit,
    budgetId: row.budget_id,
    expiresAt: row.plan_expires_at,
    grantedAt: row.granted_at,
  };
}
