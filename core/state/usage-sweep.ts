import type { Kysely } from 'kysely';
import type { Database } from './database.js';
import type { JobClock } from './job-clock.js';
import type { Tables } from './schema.js';

const DAY_MS = 24 * 60 * 60 * 1000;
export const ENTRIES_KEPT_MS = 90 * DAY_MS;
const RESPONSES_KEPT_MS = 30 * DAY_MS;
/** By then nobody writes them again. */
const SUMS_KEPT_MS = DAY_MS;
const INTERVAL_MS = 10 * 60_000;
/** Rows of one statement. */
const ROWS = 1_000;

export interface UsageSweeper {
  /** Does nothing where it is too early for that. */
  sweep(): Promise<void>;
}

/** Deletes what is kept for a time: entries of the ledger and stored responses. The totals stay. */
export function createUsageSweeper(database: Database, clock: JobClock): UsageSweeper {
  let sweptAt = Number.NEGATIVE_INFINITY;
  return {
    async sweep() {
      if (performance.now() - sweptAt < INTERVAL_MS) return;
      const deleted = await database.run((queries) => sweep(queries, clock));
      // A full batch means that there are more: the next round goes on.
      if (deleted.every((count) => count < ROWS)) sweptAt = performance.now();
    },
  };
}

async function sweep(queries: Kysely<Tables>, clock: JobClock): Promise<number[]> {
  const now = await clock.read(queries);
  const keys = await queries.selectFrom('api_keys').select('id').execute();
  const deleted = [await deleteResponses(queries, now - RESPONSES_KEPT_MS)];
  // Key by key, as the index is ordered.
  for (const { id } of keys) deleted.push(await deleteEntries(queries, id, now - ENTRIES_KEPT_MS));
  await queries
    .deleteFrom('usage_sums')
    .where('at', '<', now - SUMS_KEPT_MS)
    .execute();
  return deleted;
}

async function deleteEntries(queries: Kysely<Tables>, keyId: string, before: number): Promise<number> {
  const { numDeletedRows } = await queries
    .deleteFrom('usage_entries')
    .where(({ eb, refTuple, selectFrom }) =>
      eb(
        refTuple('key_id', 'at', 'request_id'),
        'in',
        selectFrom('usage_entries as old')
          .select(['old.key_id', 'old.at', 'old.request_id'])
          .where('old.key_id', '=', keyId)
          .where('old.at', '<', before)
          .orderBy('old.at')
          .limit(ROWS)
          .$asTuple('key_id', 'at', 'request_id'),
      ),
    )
    .executeTakeFirstOrThrow();
  return Number(numDeletedRows);
}

async function deleteResponses(queries: Kysely<Tables>, before: number): Promise<number> {
  const { numDeletedRows } = await queries
    .deleteFrom('stored_responses')
    .where(({ eb, refTuple, selectFrom }) =>
      eb(
        refTuple('id', 'account_id'),
        'in',
        selectFrom('stored_responses as old')
          .select(['old.id', 'old.account_id'])
          .where('old.created_at', '<', before)
          .orderBy('old.created_at')
          .limit(ROWS)
          .$asTuple('id', 'account_id'),
      ),
    )
    .executeTakeFirstOrThrow();
  return Number(numDeletedRows);
}
