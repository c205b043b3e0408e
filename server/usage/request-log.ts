/*
 * Reads and deletes single requests of the usage log: those of some API keys in a span of time, newest first, in pages,
 * with filters. Each key is read by the index of its rows and the results are merged, so a page costs the same for a
 * log of any length; failures have an index of their own. A cursor is a place in that order and names no key, so it
 * shows no requests of other accounts. Inputs are read only on demand, for one account. What a failure means in words
 * is in log-codes.ts.
 */

import {
  type Database,
  type Engine,
  type Kysely,
  type RawBuilder,
  sql,
  type Tables,
} from '../../core/database/index.js';
import { dayOf } from '../format/index.js';
import { timeOfRequestId } from '../http/index.js';
import type { RequestInputs } from './request-inputs.js';
import { HAS_OTHER_ID, type UsageEntriesTable } from './tables.js';
import { toUsageEntry, type UsageEntry } from './usage-log.js';

/** How a request ended: `failed` was counted and gave no whole answer, `refused` got no work at all. */
export const REQUEST_OUTCOMES = ['succeeded', 'failed', 'refused'] as const;
export type RequestOutcome = (typeof REQUEST_OUTCOMES)[number];

export interface RequestQuery {
  /** Keys whose requests are read. */
  keyIds: readonly string[];
  /** Those of this account alone: an id of a key is given once, but an account may be erased. */
  accountId: string;
  /** Milliseconds since 1970; the end is not included. */
  from: number;
  to: number;
  outcome?: RequestOutcome | undefined;
  /** Template of a route. */
  route?: string | undefined;
  /** Id of a model, or key of a platform. */
  model?: string | undefined;
  errorCode?: string | undefined;
  /** The id that the client got. */
  requestId?: string | undefined;
  /** Whether what they asked is read as well, if the account keeps it. Default false. */
  withInputs?: boolean | undefined;
}

/** The same for all keys. */
export type AnyRequestQuery = Omit<RequestQuery, 'keyIds' | 'accountId' | 'withInputs'>;

/** A place in the order of the requests: the last one of a page. */
export interface RequestPlace {
  at: number;
  requestId: string;
}

/** How a request ended. */
export function outcomeOf({
  status,
  errorCode,
  refused,
}: Pick<UsageEntry, 'status' | 'errorCode' | 'refused'>): RequestOutcome {
  if (refused) return 'refused';
  return status >= 400 || errorCode !== null ? 'failed' : 'succeeded';
}

/** Whether the gateway or its upstreams failed, and not the caller or the item of a link. */
export function failedHere({ status, errorCode }: Pick<UsageEntry, 'status' | 'errorCode'>): boolean {
  return status >= 500 || errorCode?.startsWith('upstream') === true;
}

/** The id that the client got: what follows distinguishes the rows of one request. */
export function shownRequestId({ requestId }: Pick<UsageEntry, 'requestId'>): string {
  const [shown = ''] = requestId.split('/');
  return shown;
}

/** The last day of four digits, so that days are ordered as text. */
const LAST_TIME = Date.UTC(9_999, 11, 31);
/** Keys of one statement. */
const KEYS = 100;
/** Rows of one statement that deletes. */
const ROWS = 1_000;
/** A request that has just ended may be written again, if the answer to its commit was lost. */
const SETTLED_MS = 60_000;
const DAY_MS = 24 * 60 * 60_000;
/** Ids of requests say when they were made since then. */
const FIRST_TIMED_ID = Date.UTC(2026, 10);

/** Throws GatewayError `upstream_unavailable` if the database does not answer. */
export class RequestLog {
  readonly #database: Database;
  /** What requests asked, of accounts that keep it. */
  readonly inputs: RequestInputs;

  constructor(database: Database, inputs: RequestInputs) {
    this.#database = database;
    this.inputs = inputs;
  }

  /** Newest first, after a place. */
  async list(query: RequestQuery, limit: number, after?: RequestPlace): Promise<readonly UsageEntry[]> {
    const { engine } = this.#database;
    const keyIds = await this.#keysWith(query);
    const found: UsageEntriesTable[] = [];
    for (let begun = 0; begun < keyIds.length; begun += KEYS) {
      const piece = { ...query, keyIds: keyIds.slice(begun, begun + KEYS) };
      found.push(...(await this.#database.run((queries) => selectOfKeys(queries, piece, { engine, limit, after }))));
    }
    const rows = found.sort(newestFirst).slice(0, limit).map(toUsageEntry);
    return query.withInputs ? this.#withInputs(query.accountId, rows) : rows;
  }

  async #withInputs(accountId: string, rows: readonly UsageEntry[]): Promise<readonly UsageEntry[]> {
    const texts = await this.inputs.textsOf(
      accountId,
      rows.map(({ requestId }) => requestId),
    );
    return texts ? rows.map((row) => ({ ...row, input: texts.get(row.requestId) ?? null })) : rows;
  }

  /** The totals say which keys used a model or a route: the rows of others are not searched. */
  async #keysWith({ keyIds, from, to, model, route }: RequestQuery): Promise<readonly string[]> {
    if (keyIds.length === 0 || (model === undefined && route === undefined)) return keyIds;
    const rows = await this.#database.run((queries) =>
      queries
        .selectFrom('usage_totals')
        .select('keyId')
        .distinct()
        .where('keyId', 'in', keyIds)
        .where('day', '>=', dayOf(Math.max(0, from)))
        .where('day', '<=', dayOf(Math.min(to, LAST_TIME)))
        .$if(model !== undefined, (query) => query.where('model', '=', model ?? ''))
        .$if(route !== undefined, (query) => query.where('route', '=', route ?? ''))
        .execute(),
    );
    return rows.map(({ keyId }) => keyId);
  }

  /** Requests of all keys, newest first, after a place. Those of one key or account are read by `list`. */
  async listAll(query: AnyRequestQuery, limit: number, after?: RequestPlace): Promise<readonly UsageEntry[]> {
    const part = { engine: this.#database.engine, limit, after };
    const wanted = aroundId(query);
    const select = wanted === undefined ? selectOfId : selectOfAll;
    return (await this.#database.run((queries) => select(queries, wanted ?? query, part))).map(toUsageEntry);
  }

  /**
   * How many of the latest requests failed by the gateway or its upstreams, and the most frequent code of these.
   * Refused requests, errors of callers, and callers who left do not count.
   * @param since Milliseconds since 1970. @param max The latest so many are read.
   */
  async latestFailures(since: number, max: number): Promise<{ requests: number; failed: number; code?: string }> {
    const { rows } = await this.#database.run((queries) =>
      sql<{ code: string | null; failed: number; requests: number }>`
        select failed, code, count(*) as requests from (
          select case when ${FAILED_HERE} then 1 else 0 end as failed, case when ${FAILED_HERE} then "errorCode" end as code
          from (select * from usage_entries where at >= ${Math.floor(since)} order by at desc, "requestId" desc limit ${max}) as latest
          where refused = 0) as judged
        group by failed, code order by requests desc`.execute(queries),
    );
    const sum = (some: typeof rows) => some.reduce((all, { requests }) => all + Number(requests), 0);
    const failures = rows.filter(({ failed }) => Number(failed) === 1);
    const code = failures.find((row) => row.code !== null)?.code ?? undefined;
    return { requests: sum(rows), failed: sum(failures), ...(code !== undefined && { code }) };
  }

  /** All of them, newest first, read in pages. */
  async *all(query: RequestQuery): AsyncGenerator<UsageEntry> {
    for (let after: RequestPlace | undefined, isFull = true; isFull; ) {
      const page = await this.list(query, ROWS, after);
      yield* page;
      after = page.at(-1);
      isFull = page.length === ROWS;
    }
  }

  /**
   * Deletes rows of keys of an account that ended at least a minute before, and what they asked; the totals stay. An estimate of background
   * work stays until it is corrected.
   * @param now Milliseconds since 1970.
   * @returns The number of deleted rows.
   */
  async delete({ keyIds, accountId }: Pick<RequestQuery, 'keyIds' | 'accountId'>, now: number): Promise<number> {
    const before = now - SETTLED_MS;
    let deleted = 0;
    for (const keyId of keyIds) {
      for (let isFull = true; isFull; ) {
        const rows = await this.#database.run((queries) => deleteSome(queries, { keyId, accountId, before }));
        deleted += rows;
        isFull = rows === ROWS;
      }
    }
    await this.inputs.delete({ accountId, keyIds, before });
    return deleted;
  }
}

function newestFirst(left: RequestPlace, right: RequestPlace): number {
  if (left.at !== right.at) return right.at - left.at;
  if (left.requestId === right.requestId) return 0;
  return left.requestId < right.requestId ? 1 : -1;
}

/** The condition of the partial index, word by word. */
const HAS_FAILED = sql.raw<boolean>(`(status >= 400 or "errorCode" is not null)`);

/** The same as `failedHere`. */
const FAILED_HERE = sql.raw<boolean>(`(status >= 500 or "errorCode" like 'upstream%')`);

const OUTCOMES: Readonly<Record<RequestOutcome, RawBuilder<boolean>>> = {
  succeeded: sql.raw(`status < 400 and "errorCode" is null`),
  failed: sql`${HAS_FAILED} and refused = 0`,
  refused: sql`${HAS_FAILED} and refused = 1`,
};

/**
 * Where the rows of a request id are searched: an id of the gateway says when it was made, so those of a day from then on
 * are walked. One from before ids said so names a time that cannot be, and all days are walked. Undefined for another id,
 * which is in the index of such.
 */
function aroundId(query: AnyRequestQuery): AnyRequestQuery | undefined {
  const { requestId, from, to } = query;
  if (requestId === undefined) return query;
  const madeAt = timeOfRequestId(requestId);
  if (madeAt === undefined) return undefined;
  if (madeAt < FIRST_TIMED_ID || madeAt > to + DAY_MS) return query;
  return { ...query, from: Math.max(from, madeAt - SETTLED_MS), to: Math.min(to, madeAt + DAY_MS) };
}

interface Part {
  engine: Engine;
  limit: number;
  after: RequestPlace | undefined;
}

function conditionsOf(query: AnyRequestQuery, { engine, after }: Part) {
  const { from, to, outcome, route, model, errorCode, requestId } = query;
  return [
    sql`at >= ${Math.floor(from)} and at < ${Math.ceil(to)}`,
    ...(after ? [sql`(at, "requestId") < (${after.at}, ${after.requestId})`] : []),
    ...(outcome === undefined ? [] : [OUTCOMES[outcome]]),
    ...(route === undefined ? [] : [sql`route = ${route}`]),
    ...(model === undefined ? [] : [sql`model = ${model}`]),
    ...(errorCode === undefined ? [] : [sql`${HAS_FAILED} and "errorCode" = ${errorCode}`]),
    ...(requestId === undefined ? [] : [isRequest(requestId, engine)]),
  ];
}

/**
 * The rows of a request: its id, or what follows a slash, which `0` comes after. As a range first, since it is compared in
 * each row of a walk, where most differ at once.
 */
function isRequest(id: string, engine: Engine): RawBuilder<boolean> {
  const own = engine === 'postgres' ? sql`"requestId" collate "C"` : sql`"requestId"`;
  return sql`(${own} >= ${id} and ${own} < ${`${id}0`} and (${own} = ${id} or ${own} > ${`${id}/`}))`;
}

async function selectOfKeys(
  queries: Kysely<Tables>,
  { keyIds, accountId, ...query }: RequestQuery,
  part: Part,
): Promise<readonly UsageEntriesTable[]> {
  const ofAll = [sql`"accountId" = ${accountId}`, ...conditionsOf(query, part)];
  const order = sql`order by at desc, "requestId" desc limit ${part.limit}`;
  const ofEach = keyIds.map(
    (keyId) =>
      sql`select * from (select * from usage_entries where "keyId" = ${keyId} and ${sql.join(ofAll, sql` and `)} ${order}) as rows_of_key`,
  );
  const union = sql.join(ofEach, sql` union all `);
  const { rows } = await sql<UsageEntriesTable>`${union} ${order}`.execute(queries);
  return rows;
}

/** Of an id that the gateway did not make alone: along its index, of which a plan by time would make a walk. */
async function selectOfId(
  queries: Kysely<Tables>,
  { requestId = '', ...query }: AnyRequestQuery,
  part: Part,
): Promise<readonly UsageEntriesTable[]> {
  const { rows } = await sql<UsageEntriesTable>`
    with found as materialized (
      select * from usage_entries where ${sql.raw(HAS_OTHER_ID)} and ${isRequest(requestId, part.engine)})
    select * from found where ${sql.join(conditionsOf(query, part), sql` and `)}
    order by at desc, "requestId" desc limit ${part.limit}`.execute(queries);
  return rows;
}

async function selectOfAll(
  queries: Kysely<Tables>,
  query: AnyRequestQuery,
  part: Part,
): Promise<readonly UsageEntriesTable[]> {
  const all = sql.join(conditionsOf(query, part), sql` and `);
  const { rows } = await sql<UsageEntriesTable>`
    select * from usage_entries where ${all} order by at desc, "requestId" desc limit ${part.limit}`.execute(queries);
  return rows;
}

async function deleteSome(
  queries: Kysely<Tables>,
  { keyId, accountId, before }: { keyId: string; accountId: string; before: number },
): Promise<number> {
  const { numAffectedRows = 0n } = await sql`
    delete from usage_entries where "keyId" = ${keyId} and (at, "requestId") in (
      select at, "requestId" from usage_entries as old
      where "keyId" = ${keyId} and "accountId" = ${accountId} and at < ${Math.floor(before)} and not exists (
        select 1 from background_responses as open
        where open."keyId" = old."keyId" and open.at = old.at and open."requestId" = old."requestId")
      order by at limit ${ROWS})`.execute(queries);
  return Number(numAffectedRows);
}
