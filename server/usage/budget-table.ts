import type { Clock } from '../../core/contracts/index.js';
import type { Engine, Tables } from '../../core/database/index.js';
import {
  createListScript,
  DATABASE_NOW,
  filled,
  type Kysely,
  rowsOf,
  type Script,
  sql,
} from '../../core/database/index.js';
import { atTime, type BudgetRow } from './budget-account.js';

/** Budgets that are locked until the transaction ends, as they stand now. */
export interface LockedBudgets {
  /** The time they were read at, in milliseconds since 1970. */
  readonly at: number;
  find(id: string): BudgetRow | undefined;
  /** Each look sees what was changed before. */
  change(row: BudgetRow): void;
  /** Writes down what was changed; it counts when the transaction commits. */
  save(): Script<void>;
}

export interface BudgetTable {
  lock(ids: readonly string[]): Script<LockedBudgets>;
}

export interface BudgetTableOptions {
  engine: Engine;
  /** Only compiles queries. */
  queries: Kysely<Tables>;
  /** What periods and days go by. Default: the database's own clock. */
  clock?: Clock;
}

export function createBudgetTable({ engine, queries, clock }: BudgetTableOptions): BudgetTable {
  const postgres = engine === 'postgres';
  const databaseNow = postgres ? DATABASE_NOW : sql<number>`0`;

  const select = createListScript((length) => {
    const ids = Array.from({ length }, () => '');
    const rows = queries
      .selectFrom('budgets')
      .selectAll()
      .select(databaseNow.as('database_now'))
      .where('id', 'in', ids);
    return (postgres ? rows.orderBy('id').forUpdate() : rows).compile();
  });

  const update = queries
    .updateTable('budgets')
    .set({ period: '', tokens_used: 0, tokens_reserved: 0, requests_used: 0, day: '', tokens_used_today: 0 })
    .where('id', '=', '')
    .compile();

  return {
    *lock(ids) {
      // In one order, so that two transactions do not wait for each other in a ring.
      const ordered = [...new Set(ids)].sort();
      const found = yield* select(ordered.map((id) => [id]));
      const at = clock ? Math.floor(clock.now()) : (found[0]?.database_now ?? 0);
      const rows = new Map<string, BudgetRow>();
      for (const { database_now, ...row } of found) rows.set(row.id, atTime(row, at));
      const changed = new Set<string>();
      return {
        at,
        find: (id) => rows.get(id),
        change(row) {
          rows.set(row.id, row);
          changed.add(row.id);
        },
        *save() {
          for (const id of changed) {
            const row = rows.get(id) as BudgetRow;
            const { period, tokens_used, tokens_reserved, requests_used, day, tokens_used_today } = row;
            const values = [period, tokens_used, tokens_reserved, requests_used, day, tokens_used_today];
            yield* rowsOf(filled(update, [...values, id]));
          }
        },
      };
    },
  };
}
