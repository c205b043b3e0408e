/*
 * The table of budgets as a transaction uses it: it locks the rows of some budgets, in the order of their ids against
 * deadlocks on PostgreSQL, and writes those that were changed, with the alerts that are due after them. Periods follow
 * the database's clock on PostgreSQL, and that of the process on SQLite.
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
import type { AlertTable } from './alerts.js';
import { atTime } from './budgets.js';
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

export class BudgetTable {
  readonly #clock: Clock | undefined;
  readonly #alertTable: AlertTable | undefined;
  readonly #select: (
    names: readonly Pick<BudgetRow, 'id'>[],
  ) => Script<readonly (BudgetRow & { databaseNow: number })[]>;
  readonly #update: (row: BudgetRow) => Script<unknown>;

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
    this.#update = createStatement((row) =>
      queries
        .updateTable('budgets')
        .set(Object.fromEntries(SPENT.map((column) => [column, row[column]])))
        .where('id', '=', row.id)
        .compile(),
    );
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

  /** Writes rows that are locked, and the alerts that are due after them. */
  *save(rows: readonly BudgetRow[], at: number): Script<void> {
    for (const row of rows) yield* this.#update(row);
    if (this.#alertTable) yield* this.#alertTable.write(rows, at);
  }
}

/** Budgets in their current state, locked until the transaction ends. */
export class LockedBudgets {
  readonly #table: BudgetTable;
  readonly #rows: Map<string, BudgetRow>;
  readonly #changed = new Set<string>();

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

  /** Writes the changes; they count when the transaction commits. */
  save(): Script<void> {
    const changed = Array.from(this.#changed, (id) => this.#rows.get(id) as BudgetRow);
    return this.#table.save(changed, this.at);
  }
}
