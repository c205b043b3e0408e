/*
 * Roles of users. An `operator` runs the gateway: the account has the operator's plan, with every grant and without the
 * limits of a plan. `billing` sees to orders and payments, and a `member` uses the own account alone. A change of the
 * role grants or takes back the operator's plan in the same transaction. A gateway that has an operator keeps one: the
 * last active operator cannot be suspended, erased or given another role. Concurrent changes wait for a named lock, so
 * that two operators cannot remove each other at the same moment.
 */

import { randomUUID } from 'node:crypto';
import { type Engine, type Kysely, lockNamed, type Tables, type Transaction } from '../../core/database/index.js';
import { GatewayError } from '../../core/runtime/index.js';
import { writeAudit } from '../audit/index.js';
import { OPERATOR_PLAN, OPERATOR_TERMS } from '../plans/index.js';
import { type AccountRow, grantPlan, grantsOf, takeBackPlan } from './account-plans.js';
import type { UserRecord, UserRole } from './tables.js';

interface RoleChange {
  transaction: Transaction<Tables>;
  engine: Engine;
  user: Pick<UserRecord, 'id' | 'role'>;
  /** The user's account, locked. */
  account: AccountRow;
  role: UserRole;
  at: number;
  actor: string;
  note?: string;
}

/**
 * Gives the user a role, and the account the plan that belongs to it. No effect if the user has the role. Writes the
 * audit row `user.role-changed`.
 * @throws GatewayError `last_operator`.
 */
export async function changeRole(change: RoleChange): Promise<boolean> {
  const { transaction, engine, user, account, role, at, actor, note } = change;
  if (user.role === role) return false;
  await keepOperator(transaction, engine, user);
  await transaction.updateTable('users').set({ role }).where('id', '=', user.id).execute();
  const line = { subject: user.id, at, actor, action: 'user.role-changed', from: user.role, to: role, note } as const;
  await writeAudit(transaction, line);
  const plan = { transaction, engine, account, at };
  const about = { subject: account.id, at, actor, to: OPERATOR_PLAN.id } as const;
  if (role === 'operator') {
    await grantPlan({ ...plan, id: `operator_${randomUUID()}`, terms: OPERATOR_TERMS });
    await writeAudit(transaction, { ...about, action: 'plan.granted' });
  } else if (user.role === 'operator') {
    const granted = await grantsOf(transaction, account.id);
    for (const { id, terms } of granted) if (terms.planId === OPERATOR_PLAN.id) await takeBackPlan(plan, id);
    await writeAudit(transaction, { ...about, action: 'plan.taken-back' });
  }
  return true;
}

/**
 * Call it before an operator loses the role, is suspended or erased. The caller holds the lock of the account.
 * @throws GatewayError `last_operator` if no other operator is active.
 */
export async function keepOperator(
  transaction: Transaction<Tables>,
  engine: Engine,
  { id, role }: Pick<UserRecord, 'id' | 'role'>,
): Promise<void> {
  if (role !== 'operator') return;
  await lockOperators(transaction, engine);
  if (await hasOperator(transaction, id)) return;
  const message =
    'This is the last operator. Make another user an operator first: mediagate users invite --operator, or mediagate users role.';
  throw new GatewayError('last_operator', message);
}

/** Other changes of operators wait until the transaction ends. */
export async function lockOperators(transaction: Transaction<Tables>, engine: Engine): Promise<void> {
  if (engine === 'postgres') await transaction.executeQuery(lockNamed('operators'));
}

/** Whether there is an operator who is not suspended. @param besides Id of a user who does not count. */
export async function hasOperator(queries: Kysely<Tables>, besides = ''): Promise<boolean> {
  const other = await queries
    .selectFrom('users')
    .innerJoin('accounts', 'accounts.id', 'users.accountId')
    .select('users.id')
    .where('users.role', '=', 'operator')
    .where('accounts.suspendedAt', 'is', null)
    .where('users.id', '<>', besides)
    .limit(1)
    .executeTakeFirst();
  return other !== undefined;
}
