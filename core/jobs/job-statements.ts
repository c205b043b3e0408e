import { createHash } from 'node:crypto';
import type { JobFailure } from '../contracts/index.js';
import {
  type CompiledQuery,
  createRowInsertScript,
  type Database,
  type DatabaseClock,
  filled,
  type Kysely,
  lockNamed,
  type RawBuilder,
  rowsOf,
  type Script,
  type Selectable,
  sql,
  type Tables,
} from '../database/index.js';
import { type GatewayError, isGatewayError } from '../runtime/index.js';
import type { JobOwnersTable, JobsTable } from './job-rows.js';
import { JOB_KINDS, type JobCounts, type JobKind, type JobRecord, type JobRun, keptMs, kindOfJob } from './jobs.js';

/** Queued jobs that are counted in front of another. */
const MAX_COUNTED = 999;
/** Jobs that one statement looks at. */
const MAX_IDS = 500;

/** Dedupe hash of a job that nobody is to join. */
export const NOT_JOINED = '';
/** As the index of those that may be joined has it; neither engine takes the index for a parameter. */
/*
 * Written out, as kinds and limits are in statements that run often: where a table has partial indexes, SQLite plans a
 * statement anew each time that it compares a column with a parameter, unless the parameter stands in a list.
 */
export const ACTIVE = sql<boolean>`state in ('queued', 'running')`;
export const QUEUED = sql<boolean>`state = 'queued'`;
export const RUNNING = sql<boolean>`state = 'running'`;
export const ONE = sql.lit(1);

const JOINABLE = sql<boolean>`dedupe_hash <> ''`;

/** What every job begins as. */
export const NEW_JOB = {
  state: 'queued',
  attempts: 0,
  cut_offs: 0,
  runner: null,
  started_at: null,
  finished_at: null,
  result: null,
  error: null,
  webhook_due_at: null,
  webhook_tries: 0,
} as const satisfies Partial<JobRow>;

export type NewJobRow = JobRow & typeof NEW_JOB;

/** Queries of a transaction or on their own. */
type Queries = Kysely<Tables>;

/** Kinds are written out in statements; see `ACTIVE`. */
function forEachKind<Made>(make: (kind: JobKind) => Made): Readonly<Record<JobKind, Made>> {
  return { extraction: make('extraction'), image: make('image') };
}

/** Whether a row of `jobs` belongs to the owner. */
export function ownedBy(owner: string): RawBuilder<boolean> {
  return sql`(account_id = ${owner} or exists (
    select 1 from job_owners where job_owners.job_id = jobs.id and job_owners.account_id = ${owner}))`;
}

export type JobTable = ReturnType<typeof createJobTable>;

/** The statements that write jobs down and look at them, alike on both engines. */
export function createJobTable({ engine, queries: compiler, run }: Database, clock: DatabaseClock) {
  const inserts = forEachKind(compileInsert);
  // Each poll looks and each acceptance counts.
  const looks = forEachKind(compileLook);
  const counts = forEachKind(compileCount);

  function compileInsert(kind: JobKind) {
    return createRowInsertScript({ queries: compiler, table: 'jobs', sample: SAMPLE, alike: { kind, ...NEW_JOB } });
  }

  function compileCount(kind: JobKind): CompiledQuery<{ active: number }> {
    return compiler
      .selectFrom('jobs')
      .select(({ fn }) => fn.countAll<number>().as('active'))
      .where('kind', '=', sql.lit(kind))
      .where(ACTIVE)
      .compile();
  }

  function compileLook(kind: JobKind): CompiledQuery<ShownRow> {
    return compiler
      .selectFrom('jobs')
      .select(SHOWN)
      .where('id', '=', '')
      .where(ownedBy(''))
      .where(sql<boolean>`(finished_at is null or finished_at > ${clock.now} - ${sql.lit(keptMs(kind))})`)
      .compile();
  }

  return {
    /** Until the transaction ends, nobody else accepts jobs of this kind. SQLite has one writer anyway. */
    *lockKind(kind: JobKind): Script<void> {
      if (engine === 'sqlite') return;
      yield lockNamed(`mediagate jobs ${kind}`);
    },

    *countActive(kind: JobKind): Script<number> {
      const [row] = yield* rowsOf(counts[kind]);
      return (row as { active: number }).active;
    },

    async countByState(queries: Queries): Promise<Record<JobKind, JobCounts>> {
      const rows = await queries
        .selectFrom('jobs')
        .select(({ fn }) => [
          'kind',
          'state',
          fn.countAll<number>().as('count'),
          sql<number>`${clock.now} - min(created_at)`.as('oldest_ms'),
        ])
        .where(ACTIVE)
        .groupBy(['kind', 'state'])
        .execute();
      const none = { queued: 0, running: 0, oldestQueuedMs: 0 };
      const counts = { extraction: { ...none }, image: { ...none } };
      for (const { kind, state, count, oldest_ms } of rows) {
        if (state === 'queued' || state === 'running') counts[kind][state] = count;
        if (state === 'queued') counts[kind].oldestQueuedMs = Math.max(0, oldest_ms);
      }
      return counts;
    },

    /** These jobs, whoever owns them, by their ids. */
    *findAny(ids: readonly string[]): Script<Map<string, ShownRow>> {
      if (ids.length === 0) return new Map();
      const rows = yield* rowsOf(compiler.selectFrom('jobs').select(SHOWN).where('id', 'in', ids).compile());
      return new Map(rows.map((row) => [row.id, row]));
    },

    /** Active jobs of these dedupe hashes, by them. */
    *findJoinable(kind: JobKind, hashes: readonly string[]): Script<Map<string, ShownRow>> {
      if (hashes.length === 0) return new Map();
      const rows = yield* rowsOf(
        compiler
          .selectFrom('jobs')
          .select([...SHOWN, 'dedupe_hash'])
          .where('kind', '=', kind)
          .where('dedupe_hash', 'in', hashes)
          .where(JOINABLE)
          .where(ACTIVE)
          .compile(),
      );
      return new Map(rows.map((row) => [row.dedupe_hash, row]));
    },

    /** New jobs of one kind. */
    insert: (kind: JobKind, rows: readonly NewJobRow[]): Script<unknown> => inserts[kind](rows),

    *addOwners(rows: readonly JobOwnersTable[]): Script<void> {
      if (rows.length === 0) return;
      yield compiler
        .insertInto('job_owners')
        .values(rows)
        .onConflict((conflict) => conflict.doNothing())
        .compile();
    },

    /**
     * Takes an owner off a job that others asked for as well, the first of whom takes its place where the job is its own. False
     * where nobody else did. To be asked in a transaction that has {@link lockKind}.
     */
    async leave(queries: Queries, id: string, owner: string): Promise<boolean> {
      const joined = queries.selectFrom('job_owners').select('account_id').where('job_id', '=', id);
      const heir = await joined.where('account_id', '<>', owner).orderBy('account_id').limit(1).executeTakeFirst();
      const own = queries.selectFrom('jobs').select('id').where('id', '=', id).where('account_id', '=', owner);
      const isOwn = (await own.executeTakeFirst()) !== undefined;
      if (isOwn && !heir) return false;
      const gone = isOwn && heir ? [owner, heir.account_id] : [owner];
      if (isOwn && heir) await queries.updateTable('jobs').set(heir).where('id', '=', id).execute();
      await queries.deleteFrom('job_owners').where('job_id', '=', id).where('account_id', 'in', gone).execute();
      return true;
    },

    async find(queries: Queries, id: string, owner: string): Promise<ShownRow | undefined> {
      const parameters = [id, owner, owner, ...clock.parameters()];
      const { rows } = await queries.executeQuery(filled(looks[kindOfJob(id) ?? 'extraction'], parameters));
      return rows[0];
    },

    /** Newest first, without what they brought, which may be large. */
    latest(queries: Queries, owner: string, limit: number): Promise<Omit<ShownRow, 'result'>[]> {
      const own = queries.selectFrom('jobs').select('id').where('account_id', '=', owner);
      const active = own.where('kind', 'in', JOB_KINDS).where(ACTIVE);
      const ended = own.where('finished_at', 'is not', null).orderBy('created_at', 'desc').orderBy('id').limit(limit);
      return queries
        .selectFrom('jobs')
        .select(SHOWN.filter((column) => column !== 'jobs.result'))
        .where('id', 'in', active.unionAll(queries.selectFrom(ended.as('ended')).select('id')))
        .orderBy('created_at', 'desc')
        .orderBy('id')
        .limit(limit)
        .execute();
    },

    /** Which of the jobs have ended, or are gone. */
    async findEnded(ids: readonly string[]): Promise<string[]> {
      const stillOpen = new Set<string>();
      for (let from = 0; from < ids.length; from += MAX_IDS) {
        const some = ids.slice(from, from + MAX_IDS);
        const open = await run((queries) =>
          queries.selectFrom('jobs').select('id').where('id', 'in', some).where(ACTIVE).execute(),
        );
        for (const { id } of open) stillOpen.add(id);
      }
      return ids.filter((id) => !stillOpen.has(id));
    },

    async countBefore(queries: Queries, id: string): Promise<number | undefined> {
      const job = await queries
        .selectFrom('jobs')
        .select(['kind', 'place', 'created_at'])
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
            .where(sql<boolean>`(place, created_at, id) < (${job.place}, ${job.created_at}, ${id})`)
            .limit(MAX_COUNTED)
            .as('in_front'),
        )
        .select(({ fn }) => fn.countAll<number>().as('before'))
        .executeTakeFirstOrThrow();
      return before;
    },

    /**
     * Deletes jobs of a kind that have been finished for long enough, with their owners; how many.
     * @param at The time now. PostgreSQL takes no index for what is compared with a clock that goes on.
     */
    async deleteKept(queries: Queries, kind: JobKind, at: number, limit: number): Promise<number> {
      const { numDeletedRows } = await queries
        .deleteFrom('jobs')
        .where('id', 'in', (old) =>
          old
            .selectFrom('jobs')
            .select('id')
            .where('finished_at', '<=', at - keptMs(kind))
            .where('kind', '=', kind)
            .limit(limit),
        )
        .executeTakeFirstOrThrow();
      return Number(numDeletedRows);
    },
  };
}

const SAMPLE: Required<JobRow> = {
  id: '',
  kind: 'image',
  dedupe_hash: '',
  place: 0,
  summary: '',
  input: '',
  key_id: '',
  account_id: '',
  admission: '',
  created_at: 0,
  request_id: '',
  traceparent: '',
  webhook_url: '',
  ...NEW_JOB,
};

export type JobRow = Selectable<JobsTable>;

/** What looking at a job reads: not the input, which may be large. */
export const SHOWN = [
  'jobs.id',
  'jobs.kind',
  'jobs.state',
  'jobs.summary',
  'jobs.attempts',
  'jobs.created_at',
  'jobs.started_at',
  'jobs.finished_at',
  'jobs.result',
  'jobs.error',
] as const;

export type ShownRow = Pick<
  JobRow,
  'id' | 'kind' | 'state' | 'summary' | 'attempts' | 'created_at' | 'started_at' | 'finished_at' | 'result' | 'error'
>;

export function toJobRecord(row: ShownRow): JobRecord {
  return {
    id: row.id,
    kind: row.kind,
    state: row.state,
    summary: parse(row.summary),
    attempts: row.attempts,
    createdAt: row.created_at,
    startedAt: row.started_at,
    finishedAt: row.finished_at,
    expiresAt: row.finished_at === null ? null : row.finished_at + keptMs(row.kind),
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
 * JSON of anything that is JSON; `undefined` becomes `null`. U+0000 and lone surrogates, which PostgreSQL cannot store, are
 * escaped in it and come back as they were.
 * @throws TypeError where it is none (a cycle, a bigint).
 */
export function toJson(value: unknown): string {
  return JSON.stringify(value) ?? 'null';
}

export function hashText(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** What a client may know of it. */
export function toFailure(error: unknown): JobFailure {
  if (!isGatewayError(error)) {
    return { code: 'internal_error', message: 'The gateway failed at this job.', retryable: false };
  }
  const { code, message, param, reason, retryable, retryAfterSeconds, platform, attempts }: GatewayError = error;
  return { code, message, param, reason, retryable, retryAfterSeconds, platform, attempts };
}
