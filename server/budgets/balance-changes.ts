/*
 * Changes of prepaid balances that are no requests: opening, topping up, taking a refund back, adjusting, and resuming
 * after a loss. The caller holds the lock of the account; the row of the balance is locked after it, as in requests. The
 * row and the movements of the ledger change in the same transaction. What is taken out is at most what is free, so
 * running requests keep what they reserved.
 */

import { randomUUID } from 'node:crypto';
import { type Engine, type Kysely, runScript, type Tables, type Transaction } from '../../core/database/index.js';
import { createMovementScript } from '../ledger/index.js';
import { type BalanceChange, freeOf, moveMoney, type Occasion } from './balances.js';
import { toBudgetRow } from './budgets.js';
import type { BudgetRow } from './tables.js';

/** The most that a balance may hold after an operator's change, so that all sums stay exact. */
export const MAX_BALANCE = 1e15;
/** The most that a top-up may add. */
export const MAX_CREDIT = 1e14;

interface MoneyMove {
  transaction: Transaction<Tables>;
  engine: Engine;
  balanceId: string;
  occasion: Occasion;
  at: number;
}

/** Opens an empty balance. @returns Its id. */
export async function openBalance(
  transaction: Transaction<Tables>,
  { accountId, currency, at }: { accountId: string; currency: string; at: number },
): Promise<string> {
  const row = toBudgetRow({
    ...{ id: `balance_${randomUUID()}`, accountId, subject: accountId, scope: 'balance', planId: null },
    ...{ tokenLimit: null, dailyTokenLimit: null, requestLimit: null, costLimit: 0, currency },
    ...{ resets: 'never', expiresAt: null, createdAt: at },
  });
  await transaction.insertInto('budgets').values(row).execute();
  return row.id;
}

/** @param lowBelow Threshold of the next alert; null: none. Default: as it is. */
export async function putIn(
  move: MoneyMove & { kind: 'top_up' | 'adjustment'; amount: number; lowBelow?: number | null },
): Promise<BudgetRow> {
  const row = await lockBalance(move);
  const { row: changed, movements } = moveMoney(row, move.kind, move);
  const { lowBelow = row.lowBelow } = move;
  return write(move, { row: { ...changed, lowBelow }, movements });
}

/** Takes out at most what is free. @returns The row afterwards, and what was taken, in millionths. */
export async function takeOut(
  move: MoneyMove & { kind: 'refund' | 'adjustment'; amount: number },
): Promise<{ row: BudgetRow; taken: number }> {
  const row = await lockBalance(move);
  const taken = Math.min(move.amount, freeOf(row));
  const change = moveMoney(row, move.kind, { ...move, amount: taken === 0 ? 0 : -taken });
  return { row: await write(move, change), taken };
}

/** Ends the hold after a loss. @returns False if there was none. */
export async function resumeBalance(move: Omit<MoneyMove, 'occasion' | 'at'>): Promise<boolean> {
  const row = await lockBalance(move);
  if (row.expiresAt === null) return false;
  await write(move, { row: { ...row, expiresAt: null }, movements: [] });
  return true;
}

async function lockBalance({ transaction, engine, balanceId }: Omit<MoneyMove, 'occasion' | 'at'>): Promise<BudgetRow> {
  const rows = transaction.selectFrom('budgets').selectAll().where('id', '=', balanceId);
  return (engine === 'postgres' ? rows.forUpdate() : rows).executeTakeFirstOrThrow();
}

async function write(
  { transaction }: Pick<MoneyMove, 'transaction'>,
  { row, movements }: BalanceChange,
): Promise<BudgetRow> {
  const { costLimit, requestsUsed, expiresAt, lowBelow } = row;
  const change = { costLimit, requestsUsed, expiresAt, lowBelow };
  await transaction.updateTable('budgets').set(change).where('id', '=', row.id).execute();
  const queries: Kysely<Tables> = transaction;
  await runScript(transaction, createMovementScript(queries)(movements));
  return row;
}
