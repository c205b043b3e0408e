/*
 * Counts the jobs that an account submits per UTC day, one row for each account, kind and day. Changes are sums in one
 * upsert, written in a fixed order, so that transactions do not deadlock. Rows are deleted after 31 days.
 */

import { type Kysely, rowsOf, type Script, sql, type Tables } from '../../core/database/index.js';
import type { JobKind } from '../../core/jobs/index.js';
import { dayOf } from '../format/index.js';
import type { DailyQuotasTable } from './rate-limit-statements.js';

/** Days after which quota rows are deleted. */
const RETENTION_DAYS = 31;
const DAY_MS = 24 * 60 * 60 * 1000;

/** The daily quota: jobs of one kind that an account may submit per UTC day. Failed and cancelled jobs do not count. */
export interface DailyQuota {
  limit: number;
}

/**
 * Used quota of these accounts on a day; accounts without usage are absent.
 * @param queries Only compiles the queries, here and below.
 */
export function* readUsed(
  queries: Kysely<Tables>,
  kind: JobKind,
  day: string,
  accounts: readonly string[],
): Script<Map<string, number>> {
  if (accounts.length === 0) return new Map();
  const rows = yield* rowsOf(
    queries
      .selectFrom('daily_quotas')
      .select(['accountId', 'used'])
      .where('kind', '=', kind)
      .where('day', '=', day)
      .where('accountId', 'in', accounts)
      .compile(),
  );
  return new Map(rows.map(({ accountId, used }) => [accountId, used]));
}

/** Adds one per row, or subtracts one, by `sign`. */
export function* countUse(
  queries: Kysely<Tables>,
  rows: readonly Pick<DailyQuotasTable, 'accountId' | 'kind' | 'day'>[],
  sign: 1 | -1,
): Script<void> {
  const sums = new Map<string, DailyQuotasTable>();
  for (const { accountId, kind, day } of rows) {
    const name = JSON.stringify([accountId, kind, day]);
    const sum = sums.get(name) ?? { accountId, kind, day, used: 0 };
    sum.used += sign;
    sums.set(name, sum);
  }
  if (sums.size === 0) return;
  // A fixed order, so that two transactions do not deadlock.
  const values = [...sums.entries()].sort(([left], [right]) => (left < right ? -1 : 1)).map(([, sum]) => sum);
  yield queries
    .insertInto('daily_quotas')
    .values(values)
    .onConflict((conflict) =>
      conflict
        .columns(['accountId', 'kind', 'day'])
        .doUpdateSet({ used: sql<number>`daily_quotas.used + excluded.used` }),
    )
    .compile();
}

export async function forgetOldDays(queries: Kysely<Tables>, at: number): Promise<void> {
  await queries
    .deleteFrom('daily_quotas')
    .where('day', '<', dayOf(at - RETENTION_DAYS * DAY_MS))
    .execute();
}
