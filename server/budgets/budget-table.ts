/*
 * The table of budgets as a transaction uses it: it locks the rows of some budgets, in the order of their ids against
 * deadlocks on PostgreSQL, and writes those that were changed, with the alerts that are due after them. Periods follow
 * the database's clock on PostgreSQL, and that of the process on SQLite. What is charged to a prepaid balance is written
 * to the ledger with it.
 */

import type { Clock } from '../../core/contracts/index.js';
import {
  createListScript,
  createStatement,
  DATABASE_NOW,
  type Engine,
  type Kysely,
  type Script,
  sql,
  type Tables,
} from '../../core/database/index.js';
import { createMovementScript, type Movement } from '../ledger/index.js';
import type { AlertTable } from './alerts.js';
import { type BalanceChange, chargeBalance, correctBalance, isBalance, type Occasion } from './balances.js';
import { atTime, type Correction, correct, type Release, release } from './budgets.js';
import type { BudgetRow } from './tables.js';

export interface BudgetTableOptions {
  engine: Engine;
  /** Only compiles queries. */
  queries: Kysely<Tables>;
  /** Clock of periods and days. Default: the database's clock. */
  clock?: Clock;
  /** Default: no alerts are written. */
  alertTable?: AlertTable;
}

/** The columns that requests change. */
const SPENT = [
  'period',
  'tokensUsed',
  'tokensReserved',
  'requestsUsed',
  'day',
  'tokensUsedToday',
  'costUsed',
  'costReserved',
] as const;

/** The columns of a balance that requests change. */
const PAID = ['costLimit', 'costReserved', 'requestsUsed', 'expiresAt', 'lowBelow'] as const;

export class BudgetTable {
  readonly #clock: Clock | undefined;
  readonly #alertTable: AlertTable | undefined;
  readonly #select: (
    names: readonly Pick<BudgetRow, 'id'>[],
  ) => Script<readonly (BudgetRow & { databaseNow: number })[]>;
  readonly #update: (row: BudgetRow) => Script<unknown>;
  readonly #updateBalance: (row: BudgetRow) => Script<unknown>;
  readonly #writeMovements: (movements: readonly Movement[]) => Script<void>;

  constructor({ engine, queries, clock, alertTable }: BudgetTableOptions) {
    this.#clock = clock;
    this.#alertTable = alertTable;
    const postgres = engine === 'postgres';
    const databaseNow = postgres ? DATABASE_NOW : sql<number>`0`;
    this.#select = createListScript((names) => {
      const ids = names.map(({ id }) => id);
      const budgets = queries.selectFrom('budgets').selectAll().select(databaseNow.as('databaseNow'));
      const rows = budgets.where('id', 'in', ids);
      return (postgres ? rows.orderBy('id').forUpdate() : rows).compile();
    });
    const createUpdate = (columns: readonly (keyof BudgetRow)[]) =>
      createStatement((row: BudgetRow) =>
        queries
          .updateTable('budgets')
          .set(Object.fromEntries(columns.map((column) => [column, row[column]])))
          .where('id', '=', row.id)
          .compile(),
      );
    this.#update = createUpdate(SPENT);
    this.#updateBalance = createUpdate(PAID);
    this.#writeMovements = createMovementScript(queries);
  }

  *lock(ids: readonly string[]): Script<LockedBudgets> {
    // A fixed order, so that two transactions do not deadlock.
    const ordered = [...new Set(ids)].sort();
    const found = yield* this.#select(ordered.map((id) => ({ id })));
    const at = this.#clock ? Math.floor(this.#clock.now()) : (found[0]?.databaseNow ?? 0);
    return new LockedBudgets(
      at,
      found.map(({ databaseNow, ...row }) => atTime(row, at)),
      this,
    );
  }

  /** Writes rows that are locked, the alerts that are due after them, and what balances paid. */
  *save(rows: readonly BudgetRow[], movements: readonly Movement[], at: number): Script<void> {
    const low = this.#alertTable ? rows.filter(isLow) : [];
    for (const row of rows) {
      if (isBalance(row)) yield* this.#updateBalance(low.includes(row) ? { ...row, lowBelow: null } : row);
      else yield* this.#update(row);
    }
    yield* this.#writeMovements(movements);
    if (!this.#alertTable) return;
    yield* this.#alertTable.write(rows, at);
    yield* this.#alertTable.writeLow(low, at);
  }
}

/** Budgets in their current state, locked until the transaction ends. */
export class LockedBudgets {
  readonly #table: BudgetTable;
  readonly #rows: Map<string, BudgetRow>;
  readonly #changed = new Set<string>();
  readonly #movements: Movement[] = [];

  /** @param at When they were read, in milliseconds since 1970. */
  constructor(
    readonly at: number,
    rows: readonly BudgetRow[],
    table: BudgetTable,
  ) {
    this.#rows = new Map(rows.map((row) => [row.id, row]));
    this.#table = table;
  }

  find(id: string): BudgetRow | undefined {
    return this.#rows.get(id);
  }

  /** Each read includes the earlier changes. */
  change(row: BudgetRow): void {
    this.#rows.set(row.id, row);
    this.#changed.add(row.id);
  }

  /** Ends the reservation of a budget; no effect if it was removed. */
  release(id: string, end: Release, occasion: Occasion): void {
    const row = this.#rows.get(id);
    if (!row) return;
    if (isBalance(row)) this.#changeBalance(chargeBalance(row, end, occasion, this.at));
    else this.change(release(row, end));
  }

  /** Replaces an estimate; no effect if the budget was removed. */
  correct(id: string, correction: Correction, occasion: Occasion): void {
    const row = this.#rows.get(id);
    if (!row) return;
    if (isBalance(row)) this.#changeBalance(correctBalance(row, correction, occasion, this.at));
    else this.change(correct(row, correction));
  }

  #changeBalance({ row, movements }: BalanceChange): void {
    this.change(row);
    this.#movements.push(...movements);
  }

  /** Writes the changes; they count when the transaction commits. */
  save(): Script<void> {
    const changed = Array.from(this.#changed, (id) => this.#rows.get(id) as BudgetRow);
    return this.#table.save(changed, this.#movements, this.at);
  }
}

/** Whether an alert of a balance is due. */
function isLow({ scope, costLimit, lowBelow }: BudgetRow): boolean {
  return scope === 'balance' && lowBelow !== null && (costLimit ?? 0) < lowBelow;
}
