/*
 * Deletes rows that have expired: entries of the usage log after `REQUEST_LOG_DAYS`, and the oldest beyond
 * `REQUEST_LOG_ROWS` of a key; what requests asked, when its account says; stored responses and their items after 30 days, expired idempotency keys, old daily
 * quotas, and marks of sent budget alerts after 60. It also stores the sums of days that ended (usage-days.ts). The totals stay. The poll loop of every process calls it, and it
 * runs at most every 10 minutes. One statement deletes at most 1,000 rows, so none holds its locks long; one call
 * visits at most 500 API keys and deletes at most 20,000 entries, and the next call continues where this one stopped.
 */

import { type Database, type DatabaseClock, type Kysely, sql, type Tables } from '../../core/database/index.js';
import { dayOf } from '../format/index.js';
import { forgetExpired } from '../idempotency/index.js';
import { forgetOldDays } from '../limits/index.js';
import { InputSweeper } from './request-inputs.js';
import { UsageDays } from './usage-days.js';

const DAY_MS = 24 * 60 * 60 * 1000;
const RESPONSES_RETENTION_MS = 30 * DAY_MS;
/** After this time no process writes them again. */
const SUMS_RETENTION_MS = DAY_MS;
const ALERTS_RETENTION_MS = 60 * DAY_MS;
const INTERVAL_MS = 10 * 60_000;
/** For the sums of today. */
const TODAY_MS = 60_000;
/** Rows per statement. */
const ROWS = 1_000;
/** Maximum number of keys per sweep, which has limited time. */
const KEYS = 500;
/** Maximum number of statements that delete entries, per sweep. */
const PIECES = 20;

/** What is kept of the usage log. */
export interface LogRetention {
  /** Default 30. */
  days?: number | undefined;
  /** Newest rows of each API key, about: more may be there until the next sweep. Default 100,000. */
  rowsPerKey?: number | undefined;
}

/** Days for which entries are kept by default. */
export const LOG_DAYS = 30;
const ROWS_PER_KEY = 100_000;

/** Milliseconds for which entries of the usage log are kept. */
export function retentionMs({ days = LOG_DAYS }: LogRetention = {}): number {
  return days * DAY_MS;
}

/**
 * Deletes expired rows: entries of the usage log, stored responses and their items, idempotency keys, daily quotas and marks of budget alerts. The totals stay.
 */
export class UsageSweeper {
  readonly #database: Database;
  readonly #clock: DatabaseClock;
  readonly #retention: LogRetention;
  readonly #inputs: InputSweeper;
  #sweptAt = Number.NEGATIVE_INFINITY;
  /** When the sums of today were stored, or another process had stored them. */
  #addedAt = Number.NEGATIVE_INFINITY;
  readonly #days: UsageDays;
  /** Id of the last key that was processed. */
  #reached = '';

  constructor(database: Database, clock: DatabaseClock, retention: LogRetention = {}) {
    this.#database = database;
    this.#clock = clock;
    this.#retention = retention;
    this.#days = new UsageDays(database);
    this.#inputs = new InputSweeper(database);
  }

  /** No effect if it is too early. */
  async sweep(): Promise<void> {
    const isDue = performance.now() - this.#sweptAt >= INTERVAL_MS;
    const isTodayDue = performance.now() - this.#addedAt >= TODAY_MS;
    if (!isDue && !isTodayDue) return;
    const now = await this.#database.run((queries) => this.#clock.read(queries));
    if (isTodayDue) {
      this.#addedAt = performance.now();
      await this.#days.storeToday(now);
    }
    if (!isDue) return;
    const areInputsDone = await this.#inputs.sweep(now);
    await this.#days.store(now);
    const isRestDone = await this.#database.run((queries) => sweepOthers(queries, now));
    const keyIds = await this.#database.run((queries) => nextKeys(queries, this.#reached));
    // The next sweep continues with these keys if they have more.
    if (!(await this.#sweepEntries(keyIds, now))) return;
    const isLast = keyIds.length < KEYS;
    this.#reached = isLast ? '' : (keyIds.at(-1) ?? '');
    if (isLast && isRestDone && areInputsDone) this.#sweptAt = performance.now();
  }

  /** Whether nothing is left. */
  async #sweepEntries(keyIds: readonly string[], now: number): Promise<boolean> {
    if (keyIds.length === 0) return true;
    const { rowsPerKey = ROWS_PER_KEY } = this.#retention;
    const before = now - retentionMs(this.#retention);
    const busy = await this.#database.run((queries) => keysAbove(queries, keyIds, { rows: rowsPerKey, before }));
    const parts = [{ keyIds, before }, ...busy.map(({ keyId, at }) => ({ keyIds: [keyId], before: at }))];
    let pieces = 0;
    for (const part of parts) {
      for (let isFull = true; isFull; pieces += 1) {
        if (pieces === PIECES) return false;
        isFull = (await this.#database.run((queries) => deleteEntries(queries, part))) === ROWS;
      }
    }
    return true;
  }
}

/** Everything but entries. Whether nothing is left. */
async function sweepOthers(queries: Kysely<Tables>, now: number): Promise<boolean> {
  await forgetOldDays(queries, now);
  const responsesBefore = now - RESPONSES_RETENTION_MS;
  const responses = await deleteOld(queries, 'stored_responses', responsesBefore);
  const items = await deleteOld(queries, 'response_items', responsesBefore);
  const keys = await forgetExpired(queries, now, ROWS);
  await queries
    .deleteFrom('usage_overflow')
    .where('at', '<', now - SUMS_RETENTION_MS)
    .execute();
  // A month is over by then; the periods of a lifetime have no name after their unit.
  await queries
    .deleteFrom('budget_alerts')
    .where('dueAt', 'is', null)
    .where('at', '<', now - ALERTS_RETENTION_MS)
    .where('period', 'like', '%-%')
    .execute();
  return Math.max(responses, items, keys) < ROWS;
}

async function nextKeys(queries: Kysely<Tables>, reached: string): Promise<string[]> {
  const rows = await queries
    .selectFrom('api_keys')
    .select('id')
    .where('id', '>', reached)
    .orderBy('id')
    .limit(KEYS)
    .execute();
  return rows.map(({ id }) => id);
}

/**
 * The keys with more rows, each with the time of the oldest row to keep. The totals say which keys may have them, so
 * that the log is not counted.
 */
async function keysAbove(
  queries: Kysely<Tables>,
  keyIds: readonly string[],
  { rows, before }: { rows: number; before: number },
): Promise<{ keyId: string; at: number }[]> {
  const busy = await queries
    .selectFrom('usage_totals')
    .select('keyId')
    .where('keyId', 'in', keyIds)
    .where('day', '>=', dayOf(before))
    .groupBy('keyId')
    .having(({ fn }) => sql<boolean>`${fn.sum('requests')} + ${fn.sum('refused')} > ${rows}`)
    .execute();
  const oldest: { keyId: string; at: number }[] = [];
  for (const { keyId } of busy) {
    const row = await queries
      .selectFrom('usage_entries')
      .select('at')
      .where('keyId', '=', keyId)
      .orderBy('at', 'desc')
      .limit(1)
      .offset(rows - 1)
      .executeTakeFirst();
    if (row) oldest.push({ keyId, at: row.at });
  }
  return oldest;
}

/** By key, which is the first column of the index. Returns the number of deleted rows. */
async function deleteEntries(
  queries: Kysely<Tables>,
  { keyIds, before }: { keyIds: readonly string[]; before: number },
): Promise<number> {
  const { numDeletedRows } = await queries
    .deleteFrom('usage_entries')
    .where(({ eb, refTuple, selectFrom }) =>
      eb(
        refTuple('keyId', 'at', 'requestId'),
        'in',
        selectFrom('usage_entries as old')
          .select(['old.keyId', 'old.at', 'old.requestId'])
          .where('old.keyId', 'in', keyIds)
          .where('old.at', '<', before)
          .limit(ROWS)
          .$asTuple('keyId', 'at', 'requestId'),
      ),
    )
    .executeTakeFirstOrThrow();
  return Number(numDeletedRows);
}

async function deleteOld(
  queries: Kysely<Tables>,
  table: 'stored_responses' | 'response_items',
  before: number,
): Promise<number> {
  const { numDeletedRows } = await queries
    .deleteFrom(table)
    .where(({ eb, refTuple, selectFrom }) =>
      eb(
        refTuple('id', 'owner'),
        'in',
        selectFrom(`${table as 'response_items'} as old`)
          .select(['old.id', 'old.owner'])
          .where('old.createdAt', '<', before)
          .orderBy('old.createdAt')
          .limit(ROWS)
          .$asTuple('id', 'owner'),
      ),
    )
    .executeTakeFirstOrThrow();
  return Number(numDeletedRows);
}
