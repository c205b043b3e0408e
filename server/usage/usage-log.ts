/*
 * Reads and writes the usage log and its totals in SQL. Counts that an upstream reports are rounded and limited to
 * 10^12, so that sums stay exact; an unknown count is null in an entry and 0 in a total. Totals are summed in memory
 * first and written as one upsert for each key, day, account, route and model, in a fixed order that prevents
 * deadlocks. Entries are selected by key, the first column of their index. The currency can change only while no
 * request has a cost.
 */

import type { Usage } from '../../core/contracts/index.js';
import {
  createListScript,
  createRowInsertScript,
  type Database,
  type Kysely,
  type Script,
  sql,
  type Tables,
} from '../../core/database/index.js';
import { dayOf } from '../format/index.js';
import type { Prices } from '../prices/index.js';
import type { CountedRequests, RefusedRequest, RequestCounts } from './request-counts.js';
import {
  COUNTS,
  type Counts,
  type RequestInputsTable,
  type ReservationsTable,
  type UsageEntriesTable,
  type UsageTotal,
} from './tables.js';

export function toEntryRow(settlement: Settlement): UsageEntriesTable {
  const { keyId, at, requestId, accountId, route, model, status, latencyMs, usage } = settlement;
  return {
    keyId,
    at: Math.floor(at),
    requestId,
    accountId,
    route,
    model,
    status,
    latencyMs: wholeNumber(latencyMs) ?? 0,
    ...countsOf(usage),
    estimated: usage?.estimated ? 1 : 0,
    cost: settlement.cost ?? null,
    errorCode: settlement.errorCode ?? null,
    refused: 0,
  };
}

export function toUsageEntry(row: UsageEntriesTable): UsageEntry {
  return { ...row, estimated: row.estimated === 1, refused: row.refused === 1 };
}

/** Maximum plausible value from an upstream; sums stay far below 2^53. */
const MAX_COUNT = 1e12;

export const NO_COUNTS = Object.fromEntries(COUNTS.map((count) => [count, 0])) as Counts;

/** Input and output tokens together. */
export function tokensOf(usage: Usage | undefined): number {
  return (
    wholeNumber(usage?.totalTokens) ?? (wholeNumber(usage?.inputTokens) ?? 0) + (wholeNumber(usage?.outputTokens) ?? 0)
  );
}

/** For entries, where unknown is not zero. */
export function countsOf(usage: Usage = {}): Counts<null> {
  const input = wholeNumber(usage.inputTokens);
  const total = wholeNumber(usage.totalTokens);
  return {
    inputTokens: input,
    cachedTokens: wholeNumber(usage.cachedTokens),
    cacheWriteTokens: wholeNumber(usage.cacheWriteTokens),
    // If only the sum is known, it is kept.
    outputTokens: wholeNumber(usage.outputTokens) ?? (total === null ? null : Math.max(0, total - (input ?? 0))),
    reasoningTokens: wholeNumber(usage.reasoningTokens),
    characters: wholeNumber(usage.characters),
    seconds: positive(usage.seconds),
    images: null,
  };
}

/** Millionths of the currency; null without a known price. */
export function costOfUsage(prices: Prices, model: string, usage: Usage | undefined): number | null {
  return prices.costOf(usage ? { model, ...countsOf(usage), ...pricedPartsOf(usage) } : { model, nothing: true });
}

/** What has a price of its own at some vendors, and no column in the log. */
export function pricedPartsOf(usage: Usage = {}) {
  const { cacheWriteLongTokens, inputImageTokens, inputAudioTokens, webSearches, serviceTier } = usage;
  const { outputTextTokens, outputImageTokens, outputAudioTokens } = usage;
  const output = { outputTextTokens, outputImageTokens, outputAudioTokens };
  return { cacheWriteLongTokens, inputImageTokens, inputAudioTokens, ...output, webSearches, serviceTier };
}

/** Null if it is no plausible number. */
function positive(value: number | undefined): number | null {
  return value !== undefined && value >= 0 ? Math.min(value, MAX_COUNT) : null;
}

/** As {@link positive}, rounded. */
export function wholeNumber(value: number | undefined): number | null {
  const count = positive(value);
  return count === null ? null : Math.round(count);
}

/** The columns that totals sum up. */
export const TOTAL_COUNTS = [
  'requests',
  'failed',
  'estimated',
  ...COUNTS,
  'priced',
  'cost',
  'latencyMsSum',
  'bytes',
  'refused',
] as const;

const NO_COST = { priced: 0, cost: 0 };
export const NO_TOTAL_COUNTS = {
  requests: 0,
  failed: 0,
  estimated: 0,
  ...NO_COUNTS,
  ...NO_COST,
  latencyMsSum: 0,
  bytes: 0,
  refused: 0,
};

/** Of one cost, for totals. */
function costCounts(cost: number | null | undefined): { priced: number; cost: number } {
  return cost === null || cost === undefined ? NO_COST : { priced: 1, cost };
}

type TotalName = Pick<UsageTotal, 'keyId' | 'day' | 'accountId' | 'route' | 'model'>;

/** Sums up rows of the same key, day, route and model. */
export class Totals {
  readonly #totals = new Map<string, UsageTotal>();

  addEntry(entry: UsageEntriesTable): void {
    const total = this.#open({ ...entry, day: dayOf(entry.at) });
    total.requests += 1;
    total.failed += entry.status >= 400 || entry.errorCode !== null ? 1 : 0;
    total.estimated += entry.estimated;
    for (const count of COUNTS) total[count] += entry[count] ?? 0;
    if (entry.cost !== null) {
      total.priced += 1;
      total.cost += entry.cost;
    }
    total.latencyMsSum += entry.latencyMs;
  }

  /** The difference between the new and the old values of an existing entry. */
  addDifference(before: UsageEntriesTable, now: UsageEntriesTable): void {
    const total = this.#open({ ...now, day: dayOf(now.at) });
    total.estimated += now.estimated - before.estimated;
    for (const count of COUNTS) total[count] += (now[count] ?? 0) - (before[count] ?? 0);
    total.priced += costCounts(now.cost).priced - costCounts(before.cost).priced;
    total.cost += (now.cost ?? 0) - (before.cost ?? 0);
  }

  addTotal(row: UsageTotal): void {
    const total = this.#open(row);
    for (const count of TOTAL_COUNTS) total[count] += row[count];
  }

  /** A fixed order, so that two transactions do not deadlock. */
  rows(): UsageTotal[] {
    return [...this.#totals].sort(([left], [right]) => (left < right ? -1 : 1)).map(([, total]) => total);
  }

  #open({ keyId, day, accountId, route, model }: TotalName): UsageTotal {
    const name = `${keyId}\n${day}\n${accountId}\n${route}\n${model}`;
    const known = this.#totals.get(name);
    if (known) return known;
    const made = { keyId, day, accountId, route, model, ...NO_TOTAL_COUNTS };
    this.#totals.set(name, made);
    return made;
  }
}

/** Requests without entries of their own, added up. */
export interface CountedTogether {
  /** Id that prevents counting them twice. */
  id: string;
  /** When the first of them ended, in milliseconds since 1970. */
  at: number;
  totals: Totals;
  /** Their rows; not all of them if they are many. Default: none. */
  entries?: readonly UsageEntriesTable[];
}

export interface UsageQuery {
  keyId?: string;
  accountId?: string;
  /** First and last day, both included: `2026-06-15`. */
  from: string;
  to: string;
}

/** One request in the usage log. */
export interface UsageEntry extends Omit<UsageEntriesTable, 'estimated' | 'refused'> {
  estimated: boolean;
  refused: boolean;
  /** What it asked. Null if it was not stored, undefined if the account does not keep it or it was not read. */
  input?: string | null;
}

const DAY_MS = 24 * 60 * 60 * 1000;

/**
 * Reads the usage log in SQL, and counts requests without entries. Admissions and jobs write it too. Throws GatewayError
 * `upstream_unavailable` if the database does not answer.
 */
export class UsageLog {
  readonly #database: Database;
  readonly #counts: RequestCounts;

  constructor(database: Database, counts: RequestCounts) {
    this.#database = database;
    this.#counts = counts;
  }

  /** In memory; written within 2 s, and again if the database did not answer. */
  count(requests: CountedRequests): void {
    this.#counts.count(requests);
  }

  /** Likewise, of a request that was refused before any work. */
  refuse(request: RefusedRequest): void {
    this.#counts.refuse(request);
  }

  /** Resolves when everything is written, or the database has been unavailable for 2.4 s. */
  flushCounts(): Promise<void> {
    return this.#counts.flush();
  }

  /** Currency of the costs; undefined if there never were prices. */
  async currency(): Promise<string | undefined> {
    const row = await this.#database.run((queries) =>
      queries.selectFrom('usage_currency').selectAll().executeTakeFirst(),
    );
    return row?.currency;
  }

  /**
   * Sets the currency of the costs.
   * @returns False if there are costs in another one, and nothing was set.
   */
  setCurrency(currency: string): Promise<boolean> {
    return this.#database.transaction(async (transaction) => {
      const row = await transaction.selectFrom('usage_currency').selectAll().executeTakeFirst();
      if (row?.currency === currency) return true;
      const priced = transaction.selectFrom('usage_totals').select('day').where('priced', '>', 0).limit(1);
      if (row && (await priced.executeTakeFirst())) return false;
      const set = transaction.insertInto('usage_currency').values({ id: 1, currency });
      await set.onConflict((conflict) => conflict.column('id').doUpdateSet({ currency })).execute();
      return true;
    });
  }

  /** Newest day first. */
  totals({ keyId, accountId, from, to }: UsageQuery): Promise<readonly UsageTotal[]> {
    return this.#database.run((queries) => {
      let select = queries.selectFrom('usage_totals').selectAll().where('day', '>=', from).where('day', '<=', to);
      if (keyId !== undefined) select = select.where('keyId', '=', keyId);
      if (accountId !== undefined) select = select.where('accountId', '=', accountId);
      return select.orderBy('day', 'desc').orderBy('keyId').orderBy('route').orderBy('model').execute();
    });
  }

  /** Newest first. */
  async entries(query: UsageQuery, limit: number): Promise<readonly UsageEntry[]> {
    const rows = await this.#database.run((queries) => selectEntries(queries, query).limit(limit).execute());
    return rows.map(toUsageEntry);
  }
}

function selectEntries(queries: Kysely<Tables>, { keyId, accountId, from, to }: UsageQuery) {
  let select = queries
    .selectFrom('usage_entries')
    .selectAll()
    .where('at', '>=', Date.parse(from))
    .where('at', '<', Date.parse(to) + DAY_MS)
    .orderBy('at', 'desc')
    .orderBy('requestId');
  if (keyId !== undefined) select = select.where('keyId', '=', keyId);
  if (accountId !== undefined) {
    // By key, which is the first column of the index.
    const keys = queries.selectFrom('api_keys').select('id').where('accountId', '=', accountId);
    select = select.where('keyId', 'in', keys).where('accountId', '=', accountId);
  }
  return select;
}

/** The statements that write the usage and the budget reservations of requests. */
export function createUsageTable(queries: Kysely<Tables>) {
  const insertEntries = createRowInsertScript({
    queries,
    table: 'usage_entries',
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
    /** Returns the new ones: an entry that exists, also earlier in the list, is omitted. */
    *insertEntries(rows: readonly UsageEntriesTable[]): Script<readonly UsageEntriesTable[]> {
      const inserted = yield* insertEntries(rows);
      if (inserted.length === rows.length) return rows;
      const names = new Set(inserted.map(nameOf));
      return rows.filter((row) => names.delete(nameOf(row)));
    },

    *addTotals(totals: Totals): Script<void> {
      yield* addTotals(totals.rows());
    },

    /** Adds the new ones to the totals, and writes their rows. */
    *insertSums(sums: readonly CountedTogether[], totals: Totals): Script<void> {
      const inserted = yield* insertSums(sums.map(({ id, at }) => ({ id, at })));
      const entries: UsageEntriesTable[] = [];
      for (const sum of sums) {
        if (!inserted.some(({ id }) => id === sum.id)) continue;
        for (const row of sum.totals.rows()) totals.addTotal(row);
        if (sum.entries) entries.push(...sum.entries);
      }
      yield* insertEntries(entries);
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

function nameOf({ keyId, at, requestId }: Pick<UsageEntriesTable, 'keyId' | 'at' | 'requestId'>): string {
  return `${keyId}\n${at}\n${requestId}`;
}

function sum(count: (typeof TOTAL_COUNTS)[number]) {
  return sql<number>`${sql.ref(`usage_totals.${count}`)} + ${sql.ref(`excluded.${count}`)}`;
}

/** The end of an admitted request: a row of the usage log. */
export interface Settlement {
  /**
   * Made by the gateway, not chosen by the client alone: settlements of the same id, key and time are one, as are those
   * of the same reservation.
   */
  requestId: string;
  keyId: string;
  accountId: string;
  reservation?: string;
  route: string;
  model: string;
  /**
   * HTTP status of the answer; 499 if the client disconnected before it. A failure without usage refunds its request to
   * the budget, unless it is 499.
   */
  status: number;
  /** Why it failed, or its stream broke off after the status was sent. Default: it did not. */
  errorCode?: string;
  /** Milliseconds from the request to the end of its answer. */
  latencyMs: number;
  /** Absent if nothing was used, e.g. if the upstream refused. Includes `estimated`. */
  usage?: Usage;
  /** Whether its tokens are taken from the budget. Default true. */
  spendsTokens?: boolean;
  /** The upstream continues in the background: `usage` is an estimate until {@link BackgroundResponses} correct it. */
  background?: {
    responseId: string;
    upstream: string;
    budgetId: string | null;
    /** Default: none. */
    furtherBudgets?: readonly string[];
  };
  /** End of the request, in milliseconds since 1970. */
  at: number;
  /** Millionths of the currency; null is not known. Default: by the prices of {@link AdmissionsOptions}. */
  cost?: number | null;
}
