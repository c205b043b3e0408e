/*
 * Movements of money between accounts of the ledger, and their two rows each. The money of a customer is in a balance;
 * the gateway has four accounts of its own, whose other side is always a balance or usage. A movement of a balance has
 * the number that the locked row of the balance gave it, so it can be written once only. Movements of 0 are not written.
 *
 * | kind | from | to |
 * |---|---|---|
 * | `top_up` | `payments` | balance |
 * | `refund` | balance | `payments` |
 * | `usage` | balance | `usage` |
 * | `correction` | `usage` | balance |
 * | `loss` | `operator_loss` | `usage` |
 * | `adjustment` | `adjustments` | balance, or the other way |
 */

import { createRowInsertScript, type Kysely, type Script, storable, type Tables } from '../../core/database/index.js';
import type { LedgerEntriesTable } from './tables.js';

export type MovementKind = 'top_up' | 'refund' | 'usage' | 'correction' | 'loss' | 'adjustment';

/** The gateway's own account on the other side of a balance. */
const OTHER_SIDE: Readonly<Record<Exclude<MovementKind, 'loss'>, string>> = {
  top_up: 'payments',
  refund: 'payments',
  usage: 'usage',
  correction: 'usage',
  adjustment: 'adjustments',
};

export interface Movement {
  kind: MovementKind;
  /** Id of the row of the balance. */
  balanceId: string;
  /** The account that has the balance. */
  accountId: string;
  /** Of the movements of this balance, from 1. */
  number: number;
  /**
   * Millionths of the currency: what comes into the balance, or with `loss` what the operator bears (above 0). No effect
   * if 0.
   */
  amount: number;
  currency: string;
  /** Code of an order, id of a request or of a job. */
  reference: string;
  /** Model, platform, or the actor of an operator's change. */
  note: string;
  at: number;
}

/** Writes movements, in the transaction that changes the balances. */
export function createMovementScript(queries: Kysely<Tables>): (movements: readonly Movement[]) => Script<void> {
  const insert = createRowInsertScript({ queries, table: 'ledger_entries' });
  return function* write(movements) {
    const rows = movements.filter(({ amount }) => amount !== 0).flatMap(rowsOfMovement);
    if (rows.length > 0) yield* insert(rows);
  };
}

/** Name of the ledger's account for the balance of an account. */
export function balanceAccount(accountId: string): string {
  return `balance:${accountId}`;
}

const MAX_REFERENCE = 200;

function rowsOfMovement(movement: Movement): LedgerEntriesTable[] {
  const { kind, balanceId, accountId, number, amount, currency, at } = movement;
  const isLoss = kind === 'loss';
  const [to, from] = kind === 'loss' ? ['usage', 'operator_loss'] : [balanceAccount(accountId), OTHER_SIDE[kind]];
  const shared = {
    id: `${balanceId}:${number}`,
    kind,
    currency,
    reference: storable(movement.reference, MAX_REFERENCE),
    note: storable(movement.note, MAX_REFERENCE),
    at,
  };
  return [
    { ...shared, line: 0, pair: 1, account: to, number: isLoss ? null : number, amount, opposite: -amount },
    { ...shared, line: 1, pair: 0, account: from, number: null, amount: -amount, opposite: amount },
  ];
}
