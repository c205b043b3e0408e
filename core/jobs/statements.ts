/*
 * SQL that inserts, reads, counts and deletes jobs, the same for both engines. Every poll of a client reads a job and
 * every acceptance counts the queue, so these statements are compiled once per kind. Reads leave out the input, and
 * lists also the results unless they are asked for. A job past its retention is hidden at once, although the sweep may
 * delete its row later. The file also converts rows to records, and errors to what clients may read of a failure.
 */

import { createHash } from 'node:crypto';
import type { JobFailure, JobState } from '../contracts/index.js';
import {
  type CompiledQuery,
  createRowInsertScript,
  createStatement,
  type Database,
  type DatabaseClock,
  type Kysely,
  lockNamed,
  type RawBuilder,
  rowsOf,
  runScript,
  type Script,
  type Selectable,
  sql,
  type Tables,
} from '../database/index.js';
import { GatewayError, isGatewayError } from '../runtime/index.js';
import { forEachKind, type JobKind, jobKinds, kindOfJob, retentionMs } from './kinds.js';
import type { JobCounts, JobFilter, JobRecord, JobRun } from './records.js';
import type { JobOwnersTable, JobsTable } from './tables.js';

/** Maximum number of queued jobs that are counted before another. */
const MAX_COUNTED = 999;
/** Maximum number of jobs per statement. */
const MAX_IDS = 500;

/** Dedupe hash of a job that cannot be joined. */
export const NOT_JOINED = '';
/*
 * Conditions are literals, word for word as in the partial indexes: neither engine uses such an index with a parameter. Kinds and
 * limits of frequent statements are literals, too: if a table has partial indexes, SQLite plans a statement again each time it
 * compares a column with a parameter, unless the parameter is in a list.
 */
export const ACTIVE = sql<boolean>`state in ('queued', 'running')`;
export const QUEUED = sql<boolean>`state = 'queued'`;
export const RUNNING = sql<boolean>`state = 'running'`;
export const ONE = sql.lit(1);

const JOINABLE = sql<boolean>`"dedupeHash" <> ''`;

/** The initial column values of every job. */
export const NEW_JOB = {
  state: 'queued',
  attempts: 0,
  crashCount: 0,
  processId: null,
  asked: null,
  startedAt: null,
  finishedAt: null,
  result: null,
  error: null,
  webhookDueAt: null,
  webhookTries: 0,
  retryOf: null,
  retriedAs: null,
} as const satisfies Partial<JobRow>;

export type NewJobRow = JobRow & typeof NEW_JOB;

/** Queries inside or outside of a transaction. */
type Queries = Kysely<Tables>;

/** Whether a row of `jobs` belongs to the owner. */
export function ownedBy(owner: string): RawBuilder<boolean> {
  return sql`(owner = ${owner} or exists (
    select 1 from job_owners where job_owners."jobId" = jobs.id and job_owners.owner = ${owner}))`;
}

/** The statements that insert and read jobs, the same on both engines. */
export class JobTable {
  readonly #database: Database;
  readonly #clock: DatabaseClock;
  // Kinds are literals in statements; see `ACTIVE`. Every poll reads and every acceptance counts.
  readonly #inserts: Readonly<Record<JobKind, (rows: readonly NewJobRow[]) => Script<unknown>>>;
  readonly #views: Readonly<Record<JobKind, ReturnType<typeof createView>>>;
  readonly #counts: Readonly<Record<JobKind, CompiledQuery<{ active: number }>>>;

  constructor(database: Database, clock: DatabaseClock) {
    const { queries } = database;
    this.#database = database;
    this.#clock = clock;
    this.#inserts = forEachKind((kind) =>
      createRowInsertScript({ queries, table: 'jobs', alike: { kind, ...NEW_JOB } }),
    );
    this.#views = forEachKind((kind) => createView(queries, kind, clock));
    this.#counts = forEachKind((kind) =>
      queries
        .selectFrom('jobs')
        .select(({ fn }) => fn.countAll<number>().as('active'))
        .where('kind', '=', sql.lit(kind))
        .where(ACTIVE)
        .compile(),
    );
  }

  /** Locks the acceptance of this kind until the transaction ends. SQLite has one writer anyway. */
  *lockKind(kind: JobKind): Script<void> {
    if (this.#database.engine === 'sqlite') return;
    yield lockNamed(`mediagate jobs ${kind}`);
  }

  *countActive(kind: JobKind): Script<number> {
    const [row] = yield* rowsOf(this.#counts[kind]);
    return (row as { active: number }).active;
  }

  async countByState(queries: Queries): Promise<Record<JobKind, JobCounts>> {
    const rows = await queries
      .selectFrom('jobs')
      .select(({ fn }) => [
        'kind',
        'state',
        fn.countAll<number>().as('count'),
        sql<number>`${this.#clock.now} - min("createdAt")`.as('oldest_ms'),
      ])
      .where(ACTIVE)
      .groupBy(['kind', 'state'])
      .execute();
    const counts = forEachKind((): JobCounts => ({ queued: 0, running: 0, oldestQueuedMs: 0 }));
    for (const { kind, state, count, oldest_ms } of rows) {
      if (state === 'queued' || state === 'running') counts[kind][state] = count;
      if (state === 'queued') counts[kind].oldestQueuedMs = Math.max(0, oldest_ms);
    }
    return counts;
  }

  /** Jobs by id, of any owner. */
  *findAny(ids: readonly string[]): Script<Map<string, JobViewRow>> {
    if (ids.length === 0) return new Map();
    const rows = yield* rowsOf(
      this.#database.queries.selectFrom('jobs').select(VIEW_COLUMNS).where('id', 'in', ids).compile(),
    );
    return new Map(rows.map((row) => [row.id, row]));
  }

  /** Active jobs by dedupe hash. */
  *findJoinable(kind: JobKind, hashes: readonly string[]): Script<Map<string, JobViewRow>> {
    if (hashes.length === 0) return new Map();
    const rows = yield* rowsOf(
      this.#database.queries
        .selectFrom('jobs')
        .select([...VIEW_COLUMNS, 'dedupeHash'])
        .where('kind', '=', kind)
        .where('dedupeHash', 'in', hashes)
        .where(JOINABLE)
        .where(ACTIVE)
        .compile(),
    );
    return new Map(rows.map((row) => [row.dedupeHash, row]));
  }

  /** Inserts new jobs of one kind. */
  insert(kind: JobKind, rows: readonly NewJobRow[]): Script<unknown> {
    return this.#inserts[kind](rows);
  }

  *addOwners(rows: readonly JobOwnersTable[]): Script<void> {
    if (rows.length === 0) return;
    yield this.#database.queries
      .insertInto('job_owners')
      .values(rows)
      .onConflict((conflict) => conflict.doNothing())
      .compile();
  }

  /**
   * Removes an owner from a job that others joined; if the owner is the first one, the next one takes its role. False
   * if there is no other owner. Run it in a transaction that holds {@link lockKind}.
   */
  async leave(queries: Queries, id: string, owner: string): Promise<boolean> {
    const joined = queries.selectFrom('job_owners').select('owner').where('jobId', '=', id);
    const heir = await joined.where('owner', '<>', owner).orderBy('owner').limit(1).executeTakeFirst();
    const own = queries.selectFrom('jobs').select('id').where('id', '=', id).where('owner', '=', owner);
    const isOwn = (await own.executeTakeFirst()) !== undefined;
    if (isOwn && !heir) return false;
    const gone = isOwn && heir ? [owner, heir.owner] : [owner];
    if (isOwn && heir) await queries.updateTable('jobs').set(heir).where('id', '=', id).execute();
    await queries.deleteFrom('job_owners').where('jobId', '=', id).where('owner', 'in', gone).execute();
    return true;
  }

  async find(queries: Queries, id: string, owner: string): Promise<JobViewRow | undefined> {
    const kind = kindOfJob(id);
    return kind && (await runScript(queries, this.#views[kind]({ id, owner })))[0];
  }

  /** Newest first. Jobs whose retention is over are omitted, although the sweep may not have deleted them. */
  async latest(queries: Queries, owner: string, limit: number, filter: JobFilter): Promise<ListedRow[]> {
    const { kind, state, after, results = false } = filter;
    const kinds = kind === undefined ? jobKinds() : [kind];
    const mark = after === undefined ? undefined : await findMark(queries, after, owner);
    const own = queries
      .selectFrom('jobs')
      .select('id')
      .where('owner', '=', owner)
      .where('kind', 'in', kinds)
      .$if(state !== undefined, (query) => query.where('state', '=', state as JobState))
      .$if(mark !== undefined, (query) =>
        query.where(sql<boolean>`("createdAt", id) < (${mark?.createdAt}, ${mark?.id})`),
      );
    const isRetained = kinds.map(
      (each) => sql`(kind = ${each} and "finishedAt" > ${this.#clock.now} - ${retentionMs(each)})`,
    );
    const ended = own
      .where('finishedAt', 'is not', null)
      .where(sql<boolean>`(${sql.join(isRetained, sql` or `)})`)
      .orderBy('createdAt', 'desc')
      .orderBy('id', 'desc')
      .limit(limit);
    const listed = own.where(ACTIVE).unionAll(queries.selectFrom(ended.as('ended')).select('id'));
    return queries
      .selectFrom('jobs')
      .select(VIEW_COLUMNS.filter((column) => results || column !== 'jobs.result'))
      .where('id', 'in', listed)
      .orderBy('createdAt', 'desc')
      .orderBy('id', 'desc')
      .limit(limit)
      .execute();
  }

  /** The jobs that have ended or no longer exist. */
  async findEnded(ids: readonly string[]): Promise<string[]> {
    const stillOpen = new Set<string>();
    for (let from = 0; from < ids.length; from += MAX_IDS) {
      const some = ids.slice(from, from + MAX_IDS);
      const open = await this.#database.run((queries) =>
        queries.selectFrom('jobs').select('id').where('id', 'in', some).where(ACTIVE).execute(),
      );
      for (const { id } of open) stillOpen.add(id);
    }
    return ids.filter((id) => !stillOpen.has(id));
  }

  async countBefore(queries: Queries, id: string): Promise<number | undefined> {
    const job = await queries
      .selectFrom('jobs')
      .select(['kind', 'priority', 'createdAt'])
      .where('id', '=', id)
      .where(QUEUED)
      .executeTakeFirst();
    if (!job) return undefined;
    const { before } = await queries
      .selectFrom(({ selectFrom }) =>
        selectFrom('jobs')
          .select('id')
          .where('kind', '=', job.kind)
          .where(ACTIVE)
          .where(QUEUED)
          .where(sql<boolean>`(priority, "createdAt", id) < (${job.priority}, ${job.createdAt}, ${id})`)
          .limit(MAX_COUNTED)
          .as('in_front'),
      )
      .select(({ fn }) => fn.countAll<number>().as('before'))
      .executeTakeFirstOrThrow();
    return before;
  }

  /**
   * Deletes jobs of a kind after their retention, with their owners. Returns how many.
   * @param at The current time. PostgreSQL uses no index for a comparison with a running clock.
   */
  async deleteExpired(queries: Queries, kind: JobKind, at: number, limit: number): Promise<number> {
    const { numDeletedRows } = await queries
      .deleteFrom('jobs')
      .where('id', 'in', (old) =>
        old
          .selectFrom('jobs')
          .select('id')
          .where('finishedAt', '<=', at - retentionMs(kind))
          .where('kind', '=', kind)
          .limit(limit),
      )
      .executeTakeFirstOrThrow();
    return Number(numDeletedRows);
  }
}

function createView(queries: Queries, kind: JobKind, clock: DatabaseClock) {
  const isRetained = sql<boolean>`("finishedAt" is null
    or "finishedAt" > ${clock.compiledNow} - ${sql.lit(retentionMs(kind))})`;
  return createStatement(({ id, owner }: { id: string; owner: string }) =>
    queries
      .selectFrom('jobs')
      .select(VIEW_COLUMNS)
      .where('id', '=', id)
      .where(ownedBy(owner))
      .where(isRetained)
      .compile(),
  );
}

/** A job of a list; its result may be omitted. */
type ListedRow = Omit<JobViewRow, 'result'> & Partial<Pick<JobViewRow, 'result'>>;

async function findMark(queries: Queries, id: string, owner: string): Promise<Pick<JobRow, 'id' | 'createdAt'>> {
  const own = queries.selectFrom('jobs').select(['id', 'createdAt']).where('id', '=', id).where('owner', '=', owner);
  const mark = kindOfJob(id) && (await own.executeTakeFirst());
  if (mark) return mark;
  throw new GatewayError('job_not_found', 'There is no job with the id after which the list continues.');
}

export type JobRow = Selectable<JobsTable>;

/** The columns that a read of a job needs: not the input, which may be large. */
export const VIEW_COLUMNS = [
  'jobs.id',
  'jobs.kind',
  'jobs.state',
  'jobs.summary',
  'jobs.attempts',
  'jobs.createdAt',
  'jobs.startedAt',
  'jobs.finishedAt',
  'jobs.result',
  'jobs.error',
] as const;

export type JobViewRow = Pick<
  JobRow,
  'id' | 'kind' | 'state' | 'summary' | 'attempts' | 'createdAt' | 'startedAt' | 'finishedAt' | 'result' | 'error'
>;

export function toJobRecord(row: JobViewRow): JobRecord {
  return {
    id: row.id,
    kind: row.kind,
    state: row.state,
    summary: parse(row.summary),
    attempts: row.attempts,
    createdAt: row.createdAt,
    startedAt: row.startedAt,
    finishedAt: row.finishedAt,
    expiresAt: row.finishedAt === null ? null : row.finishedAt + retentionMs(row.kind),
    result: parse(row.result),
    error: parse(row.error) as JobFailure | null,
  };
}

export function toJobRun(row: JobRow): JobRun {
  return { ...toJobRecord(row), input: JSON.parse(row.input) };
}

function parse(json: string | null): unknown {
  return json === null ? null : JSON.parse(json);
}

/**
 * Encodes a value as JSON; `undefined` becomes `null`. U+0000 and lone surrogates, which PostgreSQL cannot store, are
 * escaped and are restored when parsed.
 * @throws TypeError if the value has no JSON form (a cycle, a bigint).
 */
export function toJson(value: unknown): string {
  return JSON.stringify(value) ?? 'null';
}

export function hashText(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** What clients may read of a job. */
export function toFailure(error: unknown): JobFailure {
  if (!isGatewayError(error)) {
    return { code: 'internal_error', message: 'The gateway failed while running this job.', retryable: false };
  }
  const { code, message, param, reason, retryable, retryAfterSeconds, platform, attempts }: GatewayError = error;
  return { code, message, param, reason, retryable, retryAfterSeconds, platform, attempts };
}
