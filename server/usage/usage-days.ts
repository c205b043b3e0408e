/*
 * Sums of all keys by day, for the first look of an operator. A day that has ended is added up once, by the sweep of any
 * process, an hour after its end: in all, by model, by route, and for the 100 accounts with the most requests. So the sums of a week
 * read some hundred rows and the totals of today, however many keys there are. A day without stored sums is added up from
 * its totals; on SQLite in steps of 2,000 rows between which other requests run, since a day of many keys takes a second
 * of this process. Where today has more than 2,000 totals, its sums are stored every five minutes too, as of then, and so are
 * those of the day before until they are final: the first look after a start reads these. A correction that comes more than
 * an hour after the end of its day is in the totals and reports alone.
 */

import { setImmediate as immediate } from 'node:timers/promises';
import { type Database, type Kysely, sql, type Tables } from '../../core/database/index.js';
import { dayOf } from '../format/index.js';
import { TOTAL_COUNTS, type UsageTodayTable } from './tables.js';
import type { UsageGroup } from './usage-groups.js';
import { NO_TOTAL_COUNTS } from './usage-log.js';
import type { DayRange } from './usage-report.js';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Days that are added up, and kept. */
const STORED_DAYS = 40;
const ACCOUNTS = 100;
const STEP_ROWS = 2_000;
/** The sums of today are stored so often. */
const TODAY_MS = 5 * 60_000;

type Dimension = 'day' | 'model' | 'route' | 'account';

/** Sums of some days. */
export interface RecentSums {
  /** Newest first; days without requests are left out. */
  days: readonly UsageGroup[];
  /** With the most requests, as the next. */
  models: readonly UsageGroup[];
  accounts: readonly UsageGroup[];
  /** Days of each model and platform, oldest first; days without requests are left out. */
  daysOfModels: ReadonlyMap<string, readonly UsageGroup[]>;
  /** Set if sums of days without final ones are stored ones. */
  open?: StoredToday;
}

/** When stored sums of today, and in its first hour of yesterday, were added up, in milliseconds since 1970, and how long that took. */
export type StoredToday = Pick<UsageTodayTable, 'at' | 'tookMs'>;

type SumRow = { dimension: Dimension; name: string; day: string } & Record<
  (typeof TOTAL_COUNTS)[number],
  number | string
>;

/** Throws GatewayError `upstream_unavailable` if the database does not answer. */
export class UsageDays {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /**
   * @param platforms Keys of platforms, which stand in the column of the model and are no models.
   * @param takesStored Whether stored sums of days that are not final do, if there are any: they are some minutes old.
   */
  async read(
    { from, to }: DayRange,
    platforms: ReadonlySet<string>,
    limit: number,
    takesStored = false,
  ): Promise<RecentSums> {
    const { missing, stored, open } = await this.#database.run(async (queries) => {
      const missing = await missingDays(queries, { from, to });
      const open = takesStored ? await storedOpen(queries, missing) : [];
      return { missing, stored: await storedSums(queries, { from, to }), open };
    });
    const live = missing.filter((day) => !open.some((one) => one.day === day));
    const sumsOfOpen = open.flatMap(({ day, sums }) => (JSON.parse(sums) as SumRow[]).map((row) => ({ ...row, day })));
    const rows = [...stored, ...sumsOfOpen, ...(await this.#liveSums(live))];
    const groupsOf = (dimension: Dimension) => {
      const sums = new Map<string, UsageGroup>();
      for (const row of rows) if (row.dimension === dimension) add(sums, row);
      return [...sums.values()].filter(({ counts }) => counts.requests + counts.refused > 0);
    };
    const byRequests = (one: UsageGroup, other: UsageGroup) =>
      other.counts.requests - one.counts.requests ||
      other.counts.refused - one.counts.refused ||
      (one.name < other.name ? -1 : 1);
    const models = groupsOf('model').filter(({ name }) => name !== '' && !platforms.has(name));
    return {
      days: groupsOf('day').sort((one, other) => (one.name < other.name ? 1 : -1)),
      models: models.sort(byRequests).slice(0, limit),
      accounts: groupsOf('account').sort(byRequests).slice(0, limit),
      daysOfModels: daysOfModels(rows),
      ...(open.length > 0 && {
        open: {
          at: Math.min(...open.map(({ at }) => at)),
          tookMs: open.reduce((sum, { tookMs }) => sum + tookMs, 0),
        },
      }),
    };
  }

  /** The days of the range that may have requests of a model or a route: those of which it is known, and those without sums. */
  daysWith(dimension: 'model' | 'route', name: string, { from, to }: DayRange): Promise<readonly string[]> {
    return this.#database.run(async (queries) => {
      const stored = await queries
        .selectFrom('usage_days')
        .select('day')
        .where('dimension', '=', dimension)
        .where('day', '>=', from)
        .where('day', '<=', to)
        .where('name', '=', name)
        .execute();
      return [...stored.map(({ day }) => day), ...(await missingDays(queries, { from, to }))].sort();
    });
  }

  /** Adds up days that ended and are not stored, and forgets old sums. @param now Milliseconds since 1970. */
  async store(now: number): Promise<void> {
    const range = { from: dayOf(now - STORED_DAYS * DAY_MS), to: dayOf(now - DAY_MS - HOUR_MS) };
    const missing = await this.#database.run(async (queries) => {
      await queries.deleteFrom('usage_days').where('day', '<', range.from).execute();
      return missingDays(queries, range);
    });
    for (const day of missing) {
      const sums = await this.#liveSums([day]);
      await this.#database.run((queries) => storeDay(queries, day, sums));
    }
  }

  /**
   * Adds up the day that runs, and in its first hour the day before, unless a process did so in the last five minutes.
   * @param now Milliseconds since 1970.
   * @param minRows Days of no more totals are not stored. Set by tests.
   */
  async storeToday(now: number, minRows = STEP_ROWS): Promise<void> {
    const range = { from: dayOf(now - DAY_MS), to: dayOf(now) };
    const { open, known } = await this.#database.run(async (queries) => {
      const open = await missingDays(queries, range);
      await queries.deleteFrom('usage_today').where('day', 'not in', open).execute();
      return { open, known: await storedOpen(queries, open) };
    });
    for (const day of open) {
      if (known.some((one) => one.day === day && now - one.at < TODAY_MS)) continue;
      if (!(await this.#database.run((queries) => hasMore(queries, day, minRows)))) {
        await this.#database.run((queries) => queries.deleteFrom('usage_today').where('day', '=', day).execute());
        continue;
      }
      const begun = performance.now();
      const sums = await this.#liveSums([day]);
      const tookMs = Math.round(performance.now() - begun);
      await this.#database.run((queries) => {
        const values = { at: now, tookMs, sums: JSON.stringify(sums) };
        const insert = queries.insertInto('usage_today').values({ day, ...values });
        return insert.onConflict((conflict) => conflict.column('day').doUpdateSet(values)).execute();
      });
    }
  }

  async #liveSums(days: readonly string[]): Promise<readonly SumRow[]> {
    if (this.#database.engine === 'postgres') return this.#database.run((queries) => liveSums(queries, days));
    const rows: SumRow[] = [];
    for (const day of days) rows.push(...(await sumsInSteps(this.#database, day)));
    return rows;
  }
}

function daysOfModels(rows: readonly SumRow[]): ReadonlyMap<string, readonly UsageGroup[]> {
  const ofModels = Map.groupBy(
    rows.filter(({ dimension, name }) => dimension === 'model' && name !== ''),
    ({ name }) => name,
  );
  const days = Array.from(ofModels, ([name, some]) => {
    const sums = new Map<string, UsageGroup>();
    for (const row of some) add(sums, { ...row, name: row.day });
    return [name, [...sums.values()].sort((one, other) => (one.name < other.name ? -1 : 1))] as const;
  });
  return new Map(days);
}

function add(sums: Map<string, UsageGroup>, row: SumRow): void {
  const before = sums.get(row.name)?.counts ?? NO_TOTAL_COUNTS;
  const counts = { ...before };
  // PostgreSQL returns sums of bigint as text.
  for (const count of TOTAL_COUNTS) counts[count] += Number(row[count]);
  sums.set(row.name, { name: row.name, counts });
}

/** Whether a day has more totals than so many. */
async function hasMore(queries: Kysely<Tables>, day: string, rows: number): Promise<boolean> {
  const beyond = queries.selectFrom('usage_totals').select('day').where('day', '=', day).offset(rows).limit(1);
  return (await beyond.executeTakeFirst()) !== undefined;
}

/** Of days that have no final sums yet. */
function storedOpen(queries: Kysely<Tables>, days: readonly string[]): Promise<UsageTodayTable[]> {
  if (days.length === 0) return Promise.resolve([]);
  return queries.selectFrom('usage_today').selectAll().where('day', 'in', days).execute();
}

/** Days of the range without stored sums. */
async function missingDays(queries: Kysely<Tables>, { from, to }: DayRange): Promise<string[]> {
  const stored = await queries
    .selectFrom('usage_days')
    .select('day')
    .where('dimension', '=', 'day')
    .where('day', '>=', from)
    .where('day', '<=', to)
    .execute();
  const known = new Set(stored.map(({ day }) => day));
  const days: string[] = [];
  for (let at = Date.parse(from); dayOf(at) <= to; at += DAY_MS) if (!known.has(dayOf(at))) days.push(dayOf(at));
  return days;
}

const sums = sql.join(TOTAL_COUNTS.map((count) => sql`coalesce(sum(${sql.ref(count)}), 0) as ${sql.ref(count)}`));

async function storedSums(queries: Kysely<Tables>, { from, to }: DayRange): Promise<readonly SumRow[]> {
  const { rows } = await sql<SumRow>`
    select dimension, name, day, ${sums} from usage_days
    where dimension in ('day', 'model', 'account') and day >= ${from} and day <= ${to}
    group by dimension, name, day`.execute(queries);
  return rows;
}

/** The sums of a day on SQLite, whose process waits for each statement: in steps along the index of the day. */
async function sumsInSteps(database: Database, day: string): Promise<readonly SumRow[]> {
  const models = new Map<string, UsageGroup>();
  const routes = new Map<string, UsageGroup>();
  const requests = new Map<string, number>();
  for (let after = 0, full = true; full; ) {
    const step = sql`from (select *, rowid as place from usage_totals
      where day = ${day} and rowid > ${after} order by rowid limit ${sql.lit(STEP_ROWS)})`;
    const found = await database.run(async (queries) => {
      const byModel = await sql<SumRow & { route: string; rows: number; last: number }>`
        select 'model' as dimension, model as name, route, count(*) as rows, max(place) as last, ${sums} ${step}
        group by model, route`.execute(queries);
      const byAccount = await sql<{ accountId: string; requests: number }>`
        select "accountId", sum(requests) as requests ${step} group by "accountId"`.execute(queries);
      return { models: byModel.rows, accounts: byAccount.rows };
    });
    for (const row of found.models) {
      add(models, row);
      add(routes, { ...row, name: row.route });
    }
    for (const one of found.accounts) {
      requests.set(one.accountId, (requests.get(one.accountId) ?? 0) + one.requests);
    }
    full = found.models.reduce((sum, { rows }) => sum + rows, 0) === STEP_ROWS;
    after = Math.max(after, ...found.models.map(({ last }) => last));
    if (full) await immediate();
  }
  const most = [...requests].sort(([, one], [, other]) => other - one).slice(0, ACCOUNTS);
  const accounts = await database.run((queries) =>
    sumsOfAccounts(
      queries,
      [day],
      most.map(([id]) => id),
    ),
  );
  const groups = [...models.values()];
  return [
    ...groups.map(({ counts }): SumRow => ({ ...counts, dimension: 'day', name: day, day })),
    ...groups.map(({ name, counts }): SumRow => ({ ...counts, dimension: 'model', name, day })),
    ...Array.from(routes.values(), ({ name, counts }): SumRow => ({ ...counts, dimension: 'route', name, day })),
    ...accounts,
  ];
}

async function sumsOfAccounts(
  queries: Kysely<Tables>,
  days: readonly string[],
  ids: readonly string[],
): Promise<readonly SumRow[]> {
  if (ids.length === 0) return [];
  const { rows } = await sql<SumRow>`
    select 'account' as dimension, "accountId" as name, day, ${sums} from usage_totals as total
    where total.day in (${sql.join(days)}) and "accountId" in (${sql.join(ids)}) group by "accountId", day`.execute(
    queries,
  );
  return rows;
}

/** From the totals. All sums of accounts are only made of those with the most requests. */
async function liveSums(queries: Kysely<Tables>, days: readonly string[]): Promise<readonly SumRow[]> {
  if (days.length === 0) return [];
  const ofDays = sql`from usage_totals as total where total.day in (${sql.join(days)})`;
  const byModel = await sql<SumRow & { day: string; model: string; route: string }>`
    select day, model, route, ${sums} ${ofDays} group by day, model, route`.execute(queries);
  const most = await sql<{ accountId: string }>`
    select "accountId" ${ofDays} group by "accountId" order by sum(requests) desc limit ${sql.lit(ACCOUNTS)}`.execute(
    queries,
  );
  const ids = most.rows.map(({ accountId }) => accountId);
  const byAccount = await sumsOfAccounts(queries, days, ids);
  return [
    ...byModel.rows.map(({ model: _, route: __, ...row }): SumRow => ({ ...row, dimension: 'day', name: row.day })),
    ...byModel.rows.map(({ model, route: _, ...row }): SumRow => ({ ...row, dimension: 'model', name: model })),
    ...byModel.rows.map(({ model: _, route, ...row }): SumRow => ({ ...row, dimension: 'route', name: route })),
    ...byAccount,
  ];
}

/** One row of the day itself says that it is stored, also without requests. */
async function storeDay(queries: Kysely<Tables>, day: string, sums: readonly SumRow[]): Promise<void> {
  const empty = { ...NO_TOTAL_COUNTS, dimension: 'day' as const, name: day, day };
  const groups = Map.groupBy([empty, ...sums], ({ dimension }) => dimension);
  const values = Array.from(groups).flatMap(([dimension, rows]) => {
    const found = new Map<string, UsageGroup>();
    for (const row of rows) add(found, row);
    return Array.from(found.values(), ({ name, counts }) => ({ day, dimension, name, ...counts }));
  });
  for (let begun = 0; begun < values.length; begun += ACCOUNTS) {
    const insert = queries.insertInto('usage_days').values(values.slice(begun, begun + ACCOUNTS));
    await insert.onConflict((conflict) => conflict.doNothing()).execute();
  }
}
