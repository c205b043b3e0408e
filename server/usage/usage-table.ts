/*
 * The statements that write the usage log, its totals and the reservations of requests, each compiled once. Totals are
 * one upsert for each key, day, account, route and model.
 *
 * Rows are most of what the database does for a chat. An insert leaves out the columns in which no row of its list has
 * more than the usual value, and a list that is written for the first time fails if a row exists, instead of naming the
 * new ones: 4.7 in place of 9.8 µs of a row (tenth percentile of lists of 512 rows on SQLite). Tried and dropped: a
 * table without row ids, in which inserting takes 1.3 times as long once it has many keys.
 */

import {
  createListScript,
  createRowInsertScript,
  type Kysely,
  type Script,
  sql,
  type Tables,
} from '../../core/database/index.js';
import {
  type RequestInputsTable,
  type ReservationsTable,
  TOTAL_COUNTS,
  type UsageEntriesTable,
  type UsageTotal,
} from './tables.js';

/** Totals that are added up. */
interface TotalRows {
  rows(): readonly UsageTotal[];
  addTotal(row: UsageTotal): void;
}

/** Requests that were counted together. */
interface CountedRows {
  id: string;
  at: number;
  totals: TotalRows;
  entries?: readonly UsageEntriesTable[];
}

/** Of most entries. */
const USUAL = {
  cachedTokens: null,
  cacheWriteTokens: null,
  reasoningTokens: null,
  characters: null,
  seconds: null,
  images: null,
  cost: null,
  errorCode: null,
  refused: 0,
} as const;

/** The statements that write the usage and the budget reservations of requests. */
export function createUsageTable(queries: Kysely<Tables>) {
  const entries = { queries, table: 'usage_entries', usual: USUAL } as const;
  const insertNew = createRowInsertScript(entries);
  const insertMissing = createRowInsertScript({
    ...entries,
    finish: (insert) => insert.onConflict((conflict) => conflict.doNothing()),
  });
  const insertAndName = createRowInsertScript({
    ...entries,
    finish: (insert) => insert.onConflict((conflict) => conflict.doNothing()).returning(['keyId', 'at', 'requestId']),
  });

  const addTotals = createRowInsertScript({
    queries,
    table: 'usage_totals',
    finish: (insert) =>
      insert.onConflict((conflict) =>
        conflict
          .columns(['keyId', 'day', 'accountId', 'route', 'model'])
          .doUpdateSet(Object.fromEntries(TOTAL_COUNTS.map((count) => [count, sum(count)]))),
      ),
  });

  const insertSums = createRowInsertScript({
    queries,
    table: 'usage_overflow',
    finish: (insert) => insert.onConflict((conflict) => conflict.doNothing()).returning('id'),
  });

  const insertInputs = createRowInsertScript({
    queries,
    table: 'request_inputs',
    finish: (insert) => insert.onConflict((conflict) => conflict.doNothing()),
  });

  const insertReservations = createRowInsertScript({ queries, table: 'reservations' });

  const deleteReservations = createListScript((reservations: readonly Pick<ReservationsTable, 'id'>[]) => {
    const ids = reservations.map(({ id }) => id);
    return queries.deleteFrom('reservations').where('id', 'in', ids).returningAll().compile();
  });

  return {
    /** Leaves those that exist. */
    *insertMissing(rows: readonly UsageEntriesTable[]): Script<void> {
      yield* insertMissing(rows);
    },

    /**
     * Returns the new ones: an entry that exists, also earlier in the list, is omitted.
     * @param areNew Whether it fails if one exists. Naming the new ones takes a third of the time of an insert.
     */
    *insertEntries(rows: readonly UsageEntriesTable[], areNew: boolean): Script<readonly UsageEntriesTable[]> {
      const inserted = yield* areNew ? insertNew(rows) : insertAndName(rows);
      if (areNew || inserted.length === rows.length) return rows;
      const names = new Set((inserted as readonly EntryName[]).map(nameOf));
      return rows.filter((row) => names.delete(nameOf(row)));
    },

    *addTotals(totals: TotalRows): Script<void> {
      yield* addTotals(totals.rows());
    },

    /** Adds the new ones to the totals, and writes their rows. */
    *insertSums(sums: readonly CountedRows[], totals: TotalRows): Script<void> {
      const inserted = yield* insertSums(sums.map(({ id, at }) => ({ id, at })));
      const entries: UsageEntriesTable[] = [];
      for (const sum of sums) {
        if (!inserted.some(({ id }) => id === sum.id)) continue;
        for (const row of sum.totals.rows()) totals.addTotal(row);
        if (sum.entries) entries.push(...sum.entries);
      }
      yield* insertMissing(entries);
    },

    /** What requests asked; one that is stored stays as it is. */
    *insertInputs(rows: readonly RequestInputsTable[]): Script<void> {
      yield* insertInputs(rows);
    },

    *insertReservations(rows: readonly ReservationsTable[]): Script<void> {
      yield* insertReservations(rows);
    },

    /** Returns those that still existed, by id: the caller that receives one settles it. */
    *takeReservations(ids: readonly string[]): Script<Map<string, ReservationsTable>> {
      const rows = yield* deleteReservations(ids.map((id) => ({ id })));
      return new Map(rows.map((row) => [row.id, row]));
    },
  };
}

export type UsageTable = ReturnType<typeof createUsageTable>;

type EntryName = Pick<UsageEntriesTable, 'keyId' | 'at' | 'requestId'>;

function nameOf({ keyId, at, requestId }: EntryName): string {
  return `${keyId}\n${at}\n${requestId}`;
}

function sum(count: (typeof TOTAL_COUNTS)[number]) {
  return sql<number>`${sql.ref(`usage_totals.${count}`)} + ${sql.ref(`excluded.${count}`)}`;
}
