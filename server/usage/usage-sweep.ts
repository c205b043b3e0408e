/*
 * Deletes rows that have expired: entries of the usage log after 90 days, stored responses and their items after 30,
 * expired idempotency keys, old daily quotas, and marks of sent budget alerts after 60. The totals stay. The poll loop
 * of every process calls it, and it runs at most every 10 minutes. One call deletes at most 1,000 rows of a table and
 * visits at most 500 API keys, so no statement holds its locks long; the next call continues where this one stopped.
 */

import type { Database, DatabaseClock, Kysely, Tables } from '../../core/database/index.js';
import { forgetExpired } from '../idempotency/index.js';
import { forgetOldDays } from '../limits/index.js';

const DAY_MS = 24 * 60 * 60 * 1000;
export const ENTRIES_RETENTION_MS = 90 * DAY_MS;
const RESPONSES_RETENTION_MS = 30 * DAY_MS;
/** After this time no process writes them again. */
const SUMS_RETENTION_MS = DAY_MS;
const ALERTS_RETENTION_MS = 60 * DAY_MS;
const INTERVAL_MS = 10 * 60_000;
/** Rows per statement. */
const ROWS = 1_000;
/** Maximum number of keys per sweep, which has limited time. */
const KEYS = 500;

/**
 * Deletes expired rows: entries of the usage log, stored responses and their items, idempotency keys, daily quotas and marks of budget alerts. The totals stay.
 */
export class UsageSweeper {
  readonly #database: Database;
  readonly #clock: DatabaseClock;
  #sweptAt = Number.NEGATIVE_INFINITY;
  /** Id of the last key that was processed. */
  #reached = '';

  constructor(database: Database, clock: DatabaseClock) {
    this.#database = database;
    this.#clock = clock;
  }

  /** No effect if it is too early. */
  async sweep(): Promise<void> {
    if (performance.now() - this.#sweptAt < INTERVAL_MS) return;
    const swept = await this.#database.run((queries) => sweep(queries, this.#clock, this.#reached));
    // The next sweep continues.
    this.#reached = swept.reached;
    if (swept.complete) this.#sweptAt = performance.now();
  }
}

interface Swept {
  /** The same mark as before if these keys may have more entries; empty after the last key. */
  reached: string;
  /** Nothing is left. */
  complete: boolean;
}

async function sweep(queries: Kysely<Tables>, clock: DatabaseClock, reached: string): Promise<Swept> {
  const now = await clock.read(queries);
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
  const rows = await queries
    .selectFrom('api_keys')
    .select('id')
    .where('id', '>', reached)
    .orderBy('id')
    .limit(KEYS)
    .execute();
  const keyIds = rows.map(({ id }) => id);
  const entries = keyIds.length === 0 ? 0 : await deleteEntries(queries, keyIds, now - ENTRIES_RETENTION_MS);
  if (entries === ROWS) return { reached, complete: false };
  const last = keyIds.length < KEYS;
  return { reached: last ? '' : (keyIds.at(-1) ?? ''), complete: last && Math.max(responses, items, keys) < ROWS };
}

/** By key, which is the first column of the index. */
async function deleteEntries(queries: Kysely<Tables>, keyIds: readonly string[], before: number): Promise<number> {
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
