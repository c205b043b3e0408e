/*
 * Reads the usage log and its totals in SQL, and makes their rows. Counts that an upstream reports are rounded and
 * limited to 10^12, so that sums stay exact; an unknown count is null in an entry and 0 in a total. Totals are summed in
 * memory first, in a fixed order that prevents deadlocks; `usage-table.ts` writes them. Entries are selected by key, the
 * first column of their index. The currency can change only while no request has a cost.
 */

import type { Usage } from '../../core/contracts/index.js';
import type { Database, Kysely, Tables } from '../../core/database/index.js';
import { dayOf } from '../format/index.js';
import type { Prices } from '../prices/index.js';
import type { CountedRequests, RefusedRequest, RequestCounts } from './request-counts.js';
import { COUNTS, type Counts, TOTAL_COUNTS, type UsageEntriesTable, type UsageTotal } from './tables.js';

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
  /** The next row has often the same name. */
  #latest: UsageTotal | undefined;

  addEntry(entry: UsageEntriesTable): void {
    const total = this.#open(entry, dayOf(entry.at));
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
    const total = this.#open(now, dayOf(now.at));
    total.estimated += now.estimated - before.estimated;
    for (const count of COUNTS) total[count] += (now[count] ?? 0) - (before[count] ?? 0);
    total.priced += costCounts(now.cost).priced - costCounts(before.cost).priced;
    total.cost += (now.cost ?? 0) - (before.cost ?? 0);
  }

  addTotal(row: UsageTotal): void {
    const total = this.#open(row, row.day);
    for (const count of TOTAL_COUNTS) total[count] += row[count];
  }

  /** A fixed order, so that two transactions do not deadlock. */
  rows(): UsageTotal[] {
    return [...this.#totals].sort(([left], [right]) => (left < right ? -1 : 1)).map(([, total]) => total);
  }

  #open({ keyId, accountId, route, model }: Omit<TotalName, 'day'>, day: string): UsageTotal {
    const latest = this.#latest;
    const isLatest = latest?.keyId === keyId && latest.day === day && latest.accountId === accountId;
    if (isLatest && latest.route === route && latest.model === model) return latest;
    const name = `${keyId}\n${day}\n${accountId}\n${route}\n${model}`;
    const total = this.#totals.get(name) ?? { keyId, day, accountId, route, model, ...NO_TOTAL_COUNTS };
    this.#totals.set(name, total);
    this.#latest = total;
    return total;
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
