import {
  createListScript,
  createRowInsertScript,
  type Database,
  type Kysely,
  type Script,
  sql,
  type Tables,
} from '../../core/database/index.js';
import type { ReservationsTable, UsageEntriesTable, UsageSumsTable, UsageTotalsTable } from './tables.js';
import { NO_COUNTS, NO_TOTAL_COUNTS, TOTAL_COUNTS, type Totals, toUsageEntry, toUsageTotal } from './usage-rows.js';

declare module '../http/server-context.js' {
  interface AppDependencies {
    ledger: UsageLog;
  }
}

/** What requests used: all of a key, a route, a model and a day (UTC) together. */
export interface UsageTotal {
  /** `2026-06-15`. */
  day: string;
  keyId: string;
  accountId: string;
  route: string;
  model: string;
  requests: number;
  /** Of them, answered with a status of 400 and more. */
  failed: number;
  /** Of them, those whose usage was counted by us. */
  estimated: number;
  inputTokens: number;
  cachedTokens: number;
  outputTokens: number;
  reasoningTokens: number;
  characters: number;
  /** Seconds of sound. */
  seconds: number;
  images: number;
  latencyMsSum: number;
}

export interface UsageQuery {
  keyId?: string;
  accountId?: string;
  /** First and last day, both included: `2026-06-15`. */
  from: string;
  to: string;
}

/** One request as it is kept, 90 days. */
export interface UsageEntry {
  requestId: string;
  keyId: string;
  accountId: string;
  route: string;
  model: string;
  status: number;
  latencyMs: number;
  inputTokens: number | null;
  cachedTokens: number | null;
  outputTokens: number | null;
  reasoningTokens: number | null;
  characters: number | null;
  seconds: number | null;
  images: number | null;
  estimated: boolean;
  at: number;
}

/** The usage ledger, to look at. Throws GatewayError `upstream_unavailable` where the database does not answer. */
export interface UsageLog {
  /** Newest day first. */
  totals(query: UsageQuery): Promise<readonly UsageTotal[]>;
  /** Newest first. */
  entries(query: UsageQuery, limit: number): Promise<readonly UsageEntry[]>;
}

const DAY_MS = 24 * 60 * 60 * 1000;

/** The usage ledger in SQL, to look at. It is written by admissions. */
export function createUsageLog(database: Database): UsageLog {
  return {
    async totals({ keyId, accountId, from, to }) {
      const rows = await database.run((queries) => {
        let select = queries.selectFrom('usage_totals').selectAll().where('day', '>=', from).where('day', '<=', to);
        if (keyId !== undefined) select = select.where('key_id', '=', keyId);
        if (accountId !== undefined) select = select.where('account_id', '=', accountId);
        return select.orderBy('day', 'desc').orderBy('key_id').orderBy('route').orderBy('model').execute();
      });
      return rows.map(toUsageTotal);
    },

    async entries(query, limit) {
      const rows = await database.run((queries) => selectEntries(queries, query).limit(limit).execute());
      return rows.map(toUsageEntry);
    },
  };
}

function selectEntries(queries: Kysely<Tables>, { keyId, accountId, from, to }: UsageQuery) {
  let select = queries
    .selectFrom('usage_entries')
    .selectAll()
    .where('at', '>=', Date.parse(from))
    .where('at', '<', Date.parse(to) + DAY_MS)
    .orderBy('at', 'desc')
    .orderBy('request_id');
  if (keyId !== undefined) select = select.where('key_id', '=', keyId);
  if (accountId !== undefined) {
    // By its keys, which the index begins with.
    const keys = queries.selectFrom('api_keys').select('id').where('account_id', '=', accountId);
    select = select.where('key_id', 'in', keys).where('account_id', '=', accountId);
  }
  return select;
}

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
