import type { Script, Tables } from '../../core/database/index.js';
import { createListScript, createRowInsertScript, type Kysely, sql } from '../../core/database/index.js';
import type { ReservationsTable, UsageEntriesTable, UsageSumsTable, UsageTotalsTable } from './tables.js';
import { NO_COUNTS } from './usage-counts.js';
import { NO_TOTAL_COUNTS, TOTAL_COUNTS, type Totals } from './usage-totals.js';

/** The statements that write down what requests used, and what they held of a budget. */
export function createUsageTable(queries: Kysely<Tables>) {
  const insertEntries = createRowInsertScript({
    queries,
    table: 'usage_entries',
    sample: ENTRY,
    finish: (insert) => insert.onConflict((conflict) => conflict.doNothing()).returning(['key_id', 'at', 'request_id']),
  });

  const addTotals = createRowInsertScript({
    queries,
    table: 'usage_totals',
    sample: TOTAL,
    finish: (insert) =>
      insert.onConflict((conflict) =>
        conflict
          .columns(['key_id', 'day', 'account_id', 'route', 'model'])
          .doUpdateSet(Object.fromEntries(TOTAL_COUNTS.map((count) => [count, sum(count)]))),
      ),
  });

  const insertSums = createRowInsertScript({
    queries,
    table: 'usage_sums',
    sample: { id: '', at: 0 },
    finish: (insert) => insert.onConflict((conflict) => conflict.doNothing()).returning('id'),
  });

  const insertReservations = createRowInsertScript({ queries, table: 'reservations', sample: RESERVATION });

  const deleteReservations = createListScript((length) =>
    queries
      .deleteFrom('reservations')
      .where(
        'id',
        'in',
        Array.from({ length }, () => ''),
      )
      .returningAll()
      .compile(),
  );

  return {
    /** Those that were not there before: an entry that is given again, also within the list, is left out. */
    *insertEntries(rows: readonly UsageEntriesTable[]): Script<readonly UsageEntriesTable[]> {
      const inserted = yield* insertEntries(rows);
      if (inserted.length === rows.length) return rows;
      const names = new Set(inserted.map(nameOf));
      return rows.filter((row) => names.delete(nameOf(row)));
    },

    *addTotals(totals: Totals): Script<void> {
      yield* addTotals(totals.rows());
    },

    /** Those that were not there before. */
    *insertSums<Sum extends UsageSumsTable>(sums: readonly Sum[]): Script<readonly Sum[]> {
      const inserted = yield* insertSums(sums);
      return sums.filter(({ id }) => inserted.some((row) => row.id === id));
    },

    *insertReservations(rows: readonly ReservationsTable[]): Script<void> {
      yield* insertReservations(rows);
    },

    /** Those that were still there, by id: whoever gets one settles it. */
    *takeReservations(ids: readonly string[]): Script<Map<string, ReservationsTable>> {
      const rows = yield* deleteReservations(ids.map((id) => [id]));
      return new Map(rows.map((row) => [row.id, row]));
    },
  };
}

export type UsageTable = ReturnType<typeof createUsageTable>;

function nameOf({ key_id, at, request_id }: Pick<UsageEntriesTable, 'key_id' | 'at' | 'request_id'>): string {
  return `${key_id}\n${at}\n${request_id}`;
}

function sum(count: (typeof TOTAL_COUNTS)[number]) {
  return sql<number>`${sql.ref(`usage_totals.${count}`)} + ${sql.ref(`excluded.${count}`)}`;
}

const ENTRY: UsageEntriesTable = {
  key_id: '',
  at: 0,
  request_id: '',
  account_id: '',
  route: '',
  model: '',
  status: 0,
  latency_ms: 0,
  ...NO_COUNTS,
  estimated: 0,
};

const TOTAL: UsageTotalsTable = {
  key_id: '',
  day: '',
  account_id: '',
  route: '',
  model: '',
  ...NO_TOTAL_COUNTS,
};

const RESERVATION: ReservationsTable = {
  id: '',
  budget_id: '',
  key_id: '',
  account_id: '',
  route: '',
  model: '',
  tokens: 0,
  period: '',
  runner_id: '',
  at: 0,
};
