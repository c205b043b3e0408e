/*
 * Counts requests that no settlement writes: links, bytes of media links, and requests that were refused before any
 * work. They are summed in memory for 2 s and then written by write-behind, the totals of their day and a row of the
 * usage log for each; a process that is killed loses these seconds. Each sum has an id that is written with it, so it
 * counts once even if the answer to a commit is lost. While the database is unavailable, sums that wait are added up,
 * so they stay few. Rows are bounded: 10,000 wait at most, and 100 refusals of one key in 2 s; what is beyond has no
 * row and is counted in the totals.
 */

import { randomUUID } from 'node:crypto';
import type { Logger } from '../../core/contracts/index.js';
import { type Database, WriteBehind } from '../../core/database/index.js';
import { dayOf } from '../format/index.js';
import type { UsageEntriesTable, UsageTotal } from './tables.js';
import { type CountedTogether, countsOf, NO_TOTAL_COUNTS, Totals } from './usage-log.js';
import { createUsageTable } from './usage-table.js';

const INTERVAL_MS = 2_000;
/** Maximum sums that wait for the database. */
const CAPACITY = 10;
/** Maximum rows that wait for the database. */
const MAX_ROWS = 10_000;
/** Maximum rows of refused requests of one key in an interval: a client that repeats them floods nothing. */
const MAX_REFUSALS = 100;

/** Requests of one key, route and platform. */
export interface CountedRequests
  extends Pick<UsageTotal, 'keyId' | 'accountId' | 'route' | 'requests' | 'failed'>,
    Partial<Pick<UsageTotal, 'priced' | 'cost' | 'bytes'>> {
  /** Platform of the link. */
  model: string;
  /** Milliseconds of all of them together. */
  latencyMs: number;
  /** Milliseconds since 1970. */
  at: number;
  /** Their rows in the usage log. Default: they have none. */
  listed?: readonly ListedRequest[];
}

/** What a row of the usage log has of its own. */
export interface ListedRequest {
  /** Unique in the log. */
  requestId: string;
  status: number;
  errorCode: string | null;
  /** Millionths of the currency; null without a known price. */
  cost: number | null;
}

/** A request that was refused before any work. */
export interface RefusedRequest extends Pick<UsageEntriesTable, 'keyId' | 'accountId' | 'route' | 'requestId'> {
  status: number;
  errorCode: string;
  latencyMs: number;
  at: number;
}

export interface RequestCountsOptions {
  database: Pick<Database, 'queries' | 'script'>;
  logger: Logger;
}

export class RequestCounts {
  /** Not added up yet. */
  #counted: CountedRequests[] = [];
  #refused: RefusedRequest[] = [];
  #timer: NodeJS.Timeout | undefined;
  readonly #writing: WriteBehind<CountedTogether>;

  constructor({ database, logger }: RequestCountsOptions) {
    const table = createUsageTable(database.queries);
    this.#writing = new WriteBehind({
      database,
      name: 'counts of requests',
      capacity: CAPACITY,
      evict: addTogether,
      *write(sums) {
        const totals = new Totals();
        yield* table.insertSums(sums, totals);
        yield* table.addTotals(totals);
      },
      logger,
    });
  }

  /** In memory; written within 2 s, and again if the database did not answer. */
  count(requests: CountedRequests): void {
    this.#counted.push(requests);
    this.#addUpSoon();
  }

  /** Likewise. The model of such a request is not known, since its body may not have been read. */
  refuse(request: RefusedRequest): void {
    this.#refused.push(request);
    this.#addUpSoon();
  }

  /** Resolves when everything is written, or the database has been unavailable for 2.4 s. */
  async flush(): Promise<void> {
    this.#addUp();
    await this.#writing.flushInTime();
  }

  /** Writes what is counted, once. */
  async close(): Promise<void> {
    this.#addUp();
    await this.#writing.close();
  }

  #addUpSoon(): void {
    this.#timer ??= setTimeout(() => this.#addUp(), INTERVAL_MS).unref();
  }

  #addUp(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const counted = this.#counted;
    const refused = this.#refused;
    this.#counted = [];
    this.#refused = [];
    const at = counted[0]?.at ?? refused[0]?.at;
    if (at === undefined) return;
    const totals = new Totals();
    const entries: UsageEntriesTable[] = [];
    for (const requests of counted) {
      const { latencyMs, listed, at: ended, ...counts } = requests;
      totals.addTotal({ ...NO_TOTAL_COUNTS, ...counts, day: dayOf(ended), latencyMsSum: Math.round(latencyMs) });
      for (const one of listed ?? []) if (entries.length < MAX_ROWS) entries.push(toRow(requests, one));
    }
    const rowsOfKey = new Map<string, number>();
    for (const request of refused) {
      const { keyId, accountId, route } = request;
      totals.addTotal({ ...NO_TOTAL_COUNTS, keyId, accountId, route, model: '', refused: 1, day: dayOf(request.at) });
      const rows = rowsOfKey.get(keyId) ?? 0;
      if (rows === MAX_REFUSALS || entries.length === MAX_ROWS) continue;
      rowsOfKey.set(keyId, rows + 1);
      entries.push(toRefusedRow(request));
    }
    this.#writing.push({ id: randomUUID(), at: Math.floor(at), totals, entries });
  }
}

const NO_USAGE = { ...countsOf(), estimated: 0 };

function toRow(
  { keyId, accountId, route, model, latencyMs, requests, at }: CountedRequests,
  listed: ListedRequest,
): UsageEntriesTable {
  const ofEach = Math.round(latencyMs / Math.max(1, requests));
  return { keyId, at: Math.floor(at), accountId, route, model, ...NO_USAGE, ...listed, latencyMs: ofEach, refused: 0 };
}

function toRefusedRow({ at, latencyMs, ...request }: RefusedRequest): UsageEntriesTable {
  const times = { at: Math.floor(at), latencyMs: Math.round(latencyMs) };
  return { ...request, ...times, model: '', ...NO_USAGE, cost: null, refused: 1 };
}

function addTogether([first, ...others]: readonly CountedTogether[]): CountedTogether[] {
  if (!first) return [];
  for (const { totals } of others) for (const row of totals.rows()) first.totals.addTotal(row);
  const entries = [first, ...others].flatMap((sum) => sum.entries ?? []).slice(0, MAX_ROWS);
  return [{ ...first, entries }];
}
