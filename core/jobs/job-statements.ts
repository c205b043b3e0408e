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

const JOINABLE = sql<boolean>`"dedupeHash" <> ''`;

/** What every job begins as. */
export const NEW_JOB = {
  state: 'queued',
  attempts: 0,
  crashCount: 0,
  processId: null,
  startedAt: null,
  finishedAt: null,
  result: null,
  error: null,
  webhookDueAt: null,
  webhookTries: 0,
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
  return sql`(owner = ${owner} or exists (
    select 1 from job_owners where job_owners."jobId" = jobs.id and job_owners.owner = ${owner}))`;
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
      .where(sql<boolean>`("finishedAt" is null or "finishedAt" > ${clock.now} - ${sql.lit(keptMs(kind))})`)
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
          sql<number>`${clock.now} - min("createdAt")`.as('oldest_ms'),
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
          .select([...SHOWN, 'dedupeHash'])
          .where('kind', '=', kind)
          .where('dedupeHash', 'in', hashes)
          .where(JOINABLE)
          .where(ACTIVE)
          .compile(),
      );
      return new Map(rows.map((row) => [row.dedupeHash, row]));
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
      const joined = queries.selectFrom('job_owners').select('owner').where('jobId', '=', id);
      const heir = await joined.where('owner', '<>', owner).orderBy('owner').limit(1).executeTakeFirst();
      const own = queries.selectFrom('jobs').select('id').where('id', '=', id).where('owner', '=', owner);
      const isOwn = (await own.executeTakeFirst()) !== undefined;
      if (isOwn && !heir) return false;
      const gone = isOwn && heir ? [owner, heir.owner] : [owner];
      if (isOwn && heir) await queries.updateTable('jobs').set(heir).where('id', '=', id).execute();
      await queries.deleteFrom('job_owners').where('jobId', '=', id).where('owner', 'in', gone).execute();
      return true;
    },

    async find(queries: Queries, id: string, owner: string): Promise<ShownRow | undefined> {
      const parameters = [id, owner, owner, ...clock.parameters()];
      const { rows } = await queries.executeQuery(filled(looks[kindOfJob(id) ?? 'extraction'], parameters));
      return rows[0];
    },

    /** Newest first, without what they brought, which may be large. */
    latest(queries: Queries, owner: string, limit: number): Promise<Omit<ShownRow, 'result'>[]> {
      const own = queries.selectFrom('jobs').select('id').where('owner', '=', owner);
      const active = own.where('kind', 'in', JOB_KINDS).where(ACTIVE);
      const ended = own.where('finishedAt', 'is not', null).orderBy('createdAt', 'desc').orderBy('id').limit(limit);
      return queries
        .selectFrom('jobs')
        .select(SHOWN.filter((column) => column !== 'jobs.result'))
        .where('id', 'in', active.unionAll(queries.selectFrom(ended.as('ended')).select('id')))
        .orderBy('createdAt', 'desc')
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
            .where('finishedAt', '<=', at - keptMs(kind))
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
  dedupeHash: '',
  priority: 0,
  summary: '',
  input: '',
  keyId: '',
  owner: '',
  admission: '',
  createdAt: 0,
  requestId: '',
  traceparent: '',
  webhookUrl: '',
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
  'jobs.createdAt',
  'jobs.startedAt',
  'jobs.finishedAt',
  'jobs.result',
  'jobs.error',
] as const;

export type ShownRow = Pick<
  JobRow,
  'id' | 'kind' | 'state' | 'summary' | 'attempts' | 'createdAt' | 'startedAt' | 'finishedAt' | 'result' | 'error'
>;

export function toJobRecord(row: ShownRow): JobRecord {
  return {
    id: row.id,
    kind: row.kind,
    state: row.state,
    summary: parse(row.summary),
    attempts: row.attempts,
    createdAt: row.createdAt,
    startedAt: row.startedAt,
    finishedAt: row.finishedAt,
    expiresAt: row.finishedAt === null ? null : row.finishedAt + keptMs(row.kind),
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
