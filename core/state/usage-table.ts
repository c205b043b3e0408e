import { type Kysely, sql, type Transaction } from 'kysely';
import { createRowInsert } from './row-insert.js';
import type { ReservationsTable, Tables, UsageEntriesTable, UsageSumsTable, UsageTotalsTable } from './schema.js';
import { createListStatement } from './statements.js';
import { NO_COUNTS } from './usage-counts.js';
import { NO_TOTAL_COUNTS, TOTAL_COUNTS, type Totals } from './usage-totals.js';

/** The statements that write down what requests used, and what they held of a budget. */
export function createUsageTable(queries: Kysely<Tables>) {
  const insertEntries = createRowInsert({
    queries,
    table: 'usage_entries',
    sample: ENTRY,
    finish: (insert) => insert.onConflict((conflict) => conflict.doNothing()).returning(['key_id', 'at', 'request_id']),
  });

  const addTotals = createRowInsert({
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

  const insertSums = createRowInsert({
    queries,
    table: 'usage_sums',
    sample: { id: '', at: 0 },
    finish: (insert) => insert.onConflict((conflict) => conflict.doNothing()).returning('id'),
  });

  const insertReservations = createRowInsert({ queries, table: 'reservations', sample: RESERVATION });

  const deleteReservations = createListStatement((length) =>
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
    async insertEntries(
      transaction: Transaction<Tables>,
      rows: readonly UsageEntriesTable[],
    ): Promise<readonly UsageEntriesTable[]> {
      const inserted = await insertEntries(transaction, rows);
      if (inserted.length === rows.length) return rows;
      const names = new Set(inserted.map(nameOf));
      return rows.filter((row) => names.delete(nameOf(row)));
    },

    async addTotals(transaction: Transaction<Tables>, totals: Totals): Promise<void> {
      await addTotals(transaction, totals.rows());
    },

    /** Those that were not there before. */
    async insertSums<Sum extends UsageSumsTable>(
      transaction: Transaction<Tables>,
      sums: readonly Sum[],
    ): Promise<readonly Sum[]> {
      const inserted = await insertSums(transaction, sums);
      return sums.filter(({ id }) => inserted.some((row) => row.id === id));
    },

    async insertReservations(transaction: Transaction<Tables>, rows: readonly ReservationsTable[]): Promise<void> {
      await insertReservations(transaction, rows);
    },

    /** Those that were still there, by id: whoever gets one settles it. */
    async takeReservations(
      transaction: Transaction<Tables>,
      ids: readonly string[],
    ): Promise<Map<string, ReservationsTable>> {
      const rows = await deleteReservations(
        transaction,
        ids.map((id) => [id]),
      );
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
