/*
 * Sums of the usage of all keys by one dimension, for operators. The database adds the totals up along their index by
 * day, or by key or account if one is named, so that a month of many keys never reaches this process row by row.
 */

import { type Database, type Kysely, sql, type Tables } from '../../core/database/index.js';
import { TOTAL_COUNTS } from './tables.js';
import type { UsageGroup } from './usage-groups.js';
import { NO_TOTAL_COUNTS } from './usage-log.js';
import type { DayRange } from './usage-report.js';

export const SUM_DIMENSIONS = ['day', 'key', 'account', 'group', 'model', 'platform', 'route'] as const;
export type SumDimension = (typeof SUM_DIMENSIONS)[number];

/** What is added up; everything that is absent is not limited. */
export interface SumQuery extends DayRange {
  by: SumDimension;
  keyId?: string | undefined;
  /** Only these; at least one. */
  keyIds?: readonly string[];
  accountId?: string | undefined;
  group?: string | undefined;
  model?: string | undefined;
  route?: string | undefined;
  /** Keys of the platforms, which stand in the column of the model. */
  platforms: readonly string[];
  /** Maximum number of sums. */
  limit: number;
}

const COLUMNS: Readonly<Record<SumDimension, string>> = {
  day: 'total.day',
  key: 'total."keyId"',
  account: 'total."accountId"',
  group: 'coalesce(api_keys."groupName", \'\')',
  model: 'total.model',
  platform: 'total.model',
  route: 'total.route',
};

/** Throws GatewayError `upstream_unavailable` if the database does not answer. */
export class UsageSums {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Days newest first; everything else with the most requests first. */
  read(query: SumQuery): Promise<readonly UsageGroup[]> {
    return this.#database.run((queries) => selectSums(queries, query));
  }
}

async function selectSums(queries: Kysely<Tables>, query: SumQuery): Promise<readonly UsageGroup[]> {
  const { by, from, to, keyId, keyIds, accountId, group, model, route, platforms, limit } = query;
  const name = sql.raw(COLUMNS[by]);
  const joins = by === 'group' || group !== undefined;
  const known = sql.join(platforms.length === 0 ? [''] : platforms);
  const conditions = [
    sql`total.day >= ${from} and total.day <= ${to}`,
    ...(keyId === undefined ? [] : [sql`total."keyId" = ${keyId}`]),
    ...(keyIds === undefined ? [] : [sql`total."keyId" in (${sql.join(keyIds)})`]),
    ...(accountId === undefined ? [] : [sql`total."accountId" = ${accountId}`]),
    ...(group === undefined ? [] : [sql`api_keys."groupName" = ${group}`]),
    ...(model === undefined ? [] : [sql`total.model = ${model}`]),
    ...(route === undefined ? [] : [sql`total.route = ${route}`]),
    ...(by === 'platform' ? [sql`total.model in (${known})`] : []),
    ...(by === 'model' ? [sql`total.model not in (${known}) and total.model <> ''`] : []),
  ];
  const counts = TOTAL_COUNTS.map((count) => sql`sum(total.${sql.ref(count)}) as ${sql.ref(count)}`);
  const order = by === 'day' ? sql`name desc` : sql`sum(total.requests) desc, sum(total.refused) desc, name`;
  const { rows } = await sql<{ name: string } & Record<(typeof TOTAL_COUNTS)[number], number | string>>`
    select ${name} as name, ${sql.join(counts)} from usage_totals as total
    ${joins ? sql`left join api_keys on api_keys.id = total."keyId"` : sql``}
    where ${sql.join(conditions, sql` and `)} group by ${name} order by ${order} limit ${limit}`.execute(queries);
  // PostgreSQL returns sums of bigint as text.
  return rows.map((row) => {
    const sums = { ...NO_TOTAL_COUNTS };
    for (const count of TOTAL_COUNTS) sums[count] = Number(row[count]);
    return { name: row.name, counts: sums };
  });
}
