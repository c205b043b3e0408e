/*
 * What operators see of the jobs of every owner: lists, details and the counts of the last hour. Lists read along the
 * indexes of active and of ended jobs, so their cost depends on the page and not on the size of the table. Inputs and
 * results are never selected, because they belong to the owners. Whether a running job's process is dead comes from
 * its heartbeat and, on its own machine, from its process id. Counts stop at the latest 10,000 ends.
 */

import type { JobFailure, JobState } from '../contracts/index.js';
import {
  type Database,
  type DatabaseClock,
  describeProcess,
  isProcessDead,
  type Kysely,
  type Script,
  type SelectQueryBuilder,
  sql,
  type Tables,
  type Transaction,
} from '../database/index.js';
import { GatewayError } from '../runtime/index.js';
import { forEachKind, type JobKind, jobKinds, kindOfJob } from './kinds.js';
import type { JobRecord } from './records.js';
import { isRetryable, type JobRetry } from './retries.js';
import { ACTIVE, type JobRow, type JobTable, ownedBy, QUEUED, RUNNING, toJobRecord } from './statements.js';

/** Filters and pages the list of jobs. */
export interface JobPage {
  /** Default: all kinds. */
  kind?: JobKind;
  /** Default: `queued` and `running`. `all` is these, and then those that ended. */
  state?: JobState | 'all';
  /** Only jobs of this owner, including those it joined. */
  owner?: string;
  /** Maximum number of jobs. */
  limit: number;
  /** Id of a job; the list starts after it. */
  before?: string;
  /** Whether each has its summary, which may be long. */
  withSummary?: boolean;
}

/** A job as operators see it. Times are milliseconds since 1970, by the clock of the jobs. */
export interface ListedJob {
  id: string;
  kind: JobKind;
  state: JobState;
  /** Runs begun so far. */
  attempts: number;
  /** Runs that ended because their process died. */
  crashCount: number;
  /** The owner that submitted the job first. */
  owner: string;
  /** The key that submitted it; null if there was none. */
  keyId: string | null;
  /** Other owners that joined it. */
  joined: number;
  createdAt: number;
  /** When the latest run began. */
  startedAt: number | null;
  finishedAt: number | null;
  /** The process that runs it, while it is running. */
  worker: JobWorker | null;
  error: JobFailure | null;
  /** The summary given at acceptance; JSON. Of a list, only where it was asked for. */
  summary?: unknown;
}

export interface JobWorker {
  /** Name of the machine or container. */
  host: string;
  pid: number;
  /** Time of the last heartbeat, or the start of the run if there was none since. */
  seenAt: number;
  /** True if its process is known to be dead, which only its own machine can determine. */
  isProcessDead: boolean;
}

export interface JobList {
  jobs: readonly ListedJob[];
  /** The current time, by the clock of the times above. */
  at: number;
  /** Milliseconds without a heartbeat after which other workers take over the job. */
  leaseMs: number;
}

export interface JobDetails extends ListedJob {
  summary: unknown;
  expiresAt: number | null;
  /** Owners that joined it. */
  joinedBy: readonly string[];
  /** Id of the request that accepted it. */
  requestId: string | null;
  /** Trace context of that request, in W3C format. */
  traceparent: string | null;
  /** What the admission hooks stored with it. */
  admission: string | null;
  /** Position in the queue, 1 being next; null if it is not queued. */
  queuePosition: number | null;
  /** The failed job whose work it does again. */
  retryOf: string | null;
  /** The job that does its work again. */
  retriedAs: string | null;
  /** Whether an operator can retry it. */
  isRetryable: boolean;
}

/** Jobs of a kind that ended within the last hour; at most the latest 10,000. */
export type RecentEnds = Readonly<Record<Exclude<JobState, 'queued' | 'running'>, number>>;

export interface JobCancellation {
  id: string;
  /** Runs in the transaction that ends the job, e.g. to write the audit log. */
  alsoWrite?(change: CancellationChange): Script<void>;
}

export interface CancellationChange {
  id: string;
  from: JobState;
  to: JobState;
  /** Milliseconds since 1970. */
  at: number;
}

export interface PauseChange {
  kind: JobKind;
  paused: boolean;
  /** Runs in the transaction of the change. @param at Milliseconds since 1970. */
  alsoWrite?(transaction: Transaction<Tables>, at: number): Promise<void>;
}

export interface CancelledJob {
  job: JobRecord;
  /** False if it was cancelled before. */
  changed: boolean;
}

/** Which queued and running jobs are cancelled together. */
export interface JobsOfOwner {
  owner: string;
  /** Only the jobs that this owner submitted with this key. Default: all of its jobs, also those it joined. */
  keyId?: string;
}

/**
 * Operations for operators, on jobs of every owner. All throw GatewayError `upstream_unavailable` if the database does
 * not answer.
 */
export interface JobAdministration {
  /**
   * Queued and running jobs, newest first; of another state by completion time, latest first; of all states these, then those.
   * @throws GatewayError `job_not_found` if the job `before` does not exist.
   */
  list(page: JobPage): Promise<JobList>;
  /** Undefined if there is no such job. May return a job that is already hidden from clients. */
  inspect(id: string): Promise<(JobDetails & Pick<JobList, 'at' | 'leaseMs'>) | undefined>;
  recentEnds(): Promise<Readonly<Record<JobKind, RecentEnds>>>;
  /** Paused kinds, and since when, in milliseconds since 1970. */
  pauses(): Promise<ReadonlyMap<JobKind, number>>;
  /**
   * Pauses or resumes a kind in all processes: of a paused one no job is claimed, and running jobs go on. Workers see it
   * with their next claim, and a resumed kind with their next poll, within seconds. Jobs that wait too long fail as ever.
   * @returns False if it was so before.
   */
  setPaused(change: PauseChange): Promise<boolean>;
  /**
   * Ends a queued or running job of any owner, for all its owners. Undefined if there is no such job.
   * @throws GatewayError `job_already_terminal` if it has completed or failed.
   */
  cancelAsOperator(cancellation: JobCancellation): Promise<CancelledJob | undefined>;
  /**
   * Does the work of a failed job again as a new job of its owners, at no cost to them; see retries.ts. Undefined if there
   * is no such job.
   * @throws GatewayError `job_not_retryable`.
   */
  retryAsOperator(retry: JobRetry): Promise<JobRecord | undefined>;
  /**
   * Cancels queued and running jobs in the caller's transaction. A job that other owners joined continues for them. Call
   * the result after the commit: it wakes those who wait for these jobs in this process.
   */
  cancelAll(transaction: Transaction<Tables>, jobs: JobsOfOwner): Promise<() => void>;
}

const RECENT_MS = 60 * 60 * 1000;
const MAX_RECENT = 10_000;

/** Repeats the condition of the index of ended jobs word for word, since the index is used only then. */
const ENDED = sql<boolean>`"finishedAt" is not null`;
/** Time of the last heartbeat of its process. */
const BEAT_AT = sql<number | null>`(select "beatAt" from instances where instances.id = jobs."processId")`;
const JOINED = sql<number>`(select count(*) from job_owners where job_owners."jobId" = jobs.id)`;

/** Excludes input and result, which belong to the owners. */
const LISTED = [
  'id',
  'kind',
  'state',
  'attempts',
  'crashCount',
  'owner',
  'keyId',
  'createdAt',
  'startedAt',
  'finishedAt',
  'processId',
  'error',
] as const;

type ListedRow = Pick<JobRow, (typeof LISTED)[number]> &
  Partial<Pick<JobRow, 'summary'>> & { joined: number; beatAt: number | null };
type Mark = Pick<JobRow, 'id' | 'createdAt' | 'finishedAt'>;

export interface JobAdministrationOptions {
  database: Database;
  table: JobTable;
  clock: DatabaseClock;
  leaseMs: number;
}

/** The SQL of the operators' view of jobs. */
export function createJobAdministration({
  database,
  table,
  clock,
  leaseMs,
}: JobAdministrationOptions): Omit<JobAdministration, 'cancelAsOperator' | 'retryAsOperator' | 'cancelAll'> {
  return {
    list: (page) =>
      database.run(async (queries) => {
        const mark = page.before === undefined ? undefined : await findMark(queries, page.before);
        const rows = await selectPage(queries, page, mark);
        return { jobs: rows.map(toListed), at: await clock.read(queries), leaseMs };
      }),

    async inspect(id) {
      if (!kindOfJob(id)) return undefined;
      return database.run(async (queries) => {
        const at = await clock.read(queries);
        const details = await selectDetails(queries, { id, table, at });
        return details && { ...details, at, leaseMs };
      });
    },

    pauses: () =>
      database.run(async (queries) => {
        const rows = await queries.selectFrom('job_pauses').selectAll().execute();
        return new Map(rows.map(({ kind, pausedAt }) => [kind, pausedAt]));
      }),

    setPaused: ({ kind, paused, alsoWrite }) =>
      database.transaction(async (transaction) => {
        const at = await clock.read(transaction);
        const changed = paused
          ? await transaction
              .insertInto('job_pauses')
              .values({ kind, pausedAt: at })
              .onConflict((conflict) => conflict.doNothing())
              .returning('kind')
              .executeTakeFirst()
          : await transaction.deleteFrom('job_pauses').where('kind', '=', kind).returning('kind').executeTakeFirst();
        if (changed) await alsoWrite?.(transaction, at);
        return changed !== undefined;
      }),

    recentEnds: () =>
      database.run(async (queries) => {
        const since = (await clock.read(queries)) - RECENT_MS;
        const counts = forEachKind((): RecentEnds => ({ completed: 0, failed: 0, cancelled: 0 }));
        for (const kind of jobKinds()) counts[kind] = await countEnds(queries, kind, since);
        return counts;
      }),
  };
}

async function findMark(queries: Kysely<Tables>, id: string): Promise<Mark> {
  const marks = queries.selectFrom('jobs').select(['id', 'createdAt', 'finishedAt']).where('id', '=', id);
  const mark = kindOfJob(id) && (await marks.executeTakeFirst());
  if (mark) return mark;
  throw new GatewayError('job_not_found', 'There is no job with the id after which the list continues.');
}

function selectPage(queries: Kysely<Tables>, page: JobPage, mark: Mark | undefined): Promise<ListedRow[]> {
  const { state } = page;
  if (state === 'all') return selectAll(queries, page, mark);
  const isActive = state === undefined || state === 'queued' || state === 'running';
  return (isActive ? selectActive : selectEnded)(queries, page, mark);
}

/** Those that have not ended first: an ended mark is past all of them, and after another all that ended follow. */
async function selectAll(queries: Kysely<Tables>, page: JobPage, mark: Mark | undefined): Promise<ListedRow[]> {
  if (mark?.finishedAt != null) return selectEnded(queries, page, mark);
  const active = await selectActive(queries, page, mark);
  const limit = page.limit - active.length;
  return limit === 0 ? active : [...active, ...(await selectEnded(queries, { ...page, limit }, undefined))];
}

function selectEnded(queries: Kysely<Tables>, page: JobPage, mark: Mark | undefined): Promise<ListedRow[]> {
  const ids = page.owner === undefined ? endedIds(queries, page, mark) : endedIdsOf(queries, page, mark);
  return queries
    .selectFrom('jobs')
    .select([...LISTED, JOINED.as('joined'), BEAT_AT.as('beatAt')])
    .$if(page.withSummary === true, (query) => query.select('summary'))
    .where('id', 'in', ids)
    .orderBy('finishedAt', 'desc')
    .orderBy('id', 'desc')
    .limit(page.limit)
    .execute();
}

/** Never more rows than the queues accept. */
function selectActive(
  queries: Kysely<Tables>,
  { kind, state, owner, limit, withSummary }: JobPage,
  mark: Mark | undefined,
): Promise<ListedRow[]> {
  return queries
    .selectFrom('jobs')
    .select([...LISTED, JOINED.as('joined'), BEAT_AT.as('beatAt')])
    .$if(withSummary === true, (query) => query.select('summary'))
    .where('kind', 'in', kindsOf(kind))
    .where(ACTIVE)
    .$if(state === 'queued', (query) => query.where(QUEUED))
    .$if(state === 'running', (query) => query.where(RUNNING))
    .$if(owner !== undefined, (query) => query.where(ownedBy(owner as string)))
    .$if(mark !== undefined, (query) =>
      query.where(sql<boolean>`("createdAt", id) < (${mark?.createdAt}, ${mark?.id})`),
    )
    .orderBy('createdAt', 'desc')
    .orderBy('id', 'desc')
    .limit(limit)
    .execute();
}

/** One query per kind, along the index of ended jobs. */
function endedIds(queries: Kysely<Tables>, page: JobPage, mark: Mark | undefined) {
  const [ids, ...others] = kindsOf(page.kind).map((kind) => {
    const ended = queries
      .selectFrom('jobs')
      .select(['id', 'finishedAt'])
      .where('kind', '=', sql.lit(kind))
      .$call((query) => afterMark(query, page, mark));
    return queries.selectFrom(ended.as('ended')).select('id');
  });
  return others.reduce((all, more) => all.unionAll(more), ids as NonNullable<typeof ids>);
}

/** Jobs the owner submitted first, by their index, and jobs it joined, which are few. */
function endedIdsOf(queries: Kysely<Tables>, page: JobPage, mark: Mark | undefined) {
  const { kind, owner = '' } = page;
  const asked = queries.selectFrom('jobs').select('id').where('owner', '=', owner).where(ENDED);
  const joined = queries.selectFrom('job_owners').select('jobId as id').where('owner', '=', owner);
  return queries
    .selectFrom('jobs')
    .select('id')
    .where('id', 'in', asked.unionAll(joined))
    .where('kind', 'in', kindsOf(kind))
    .$call((query) => afterMark(query, page, mark));
}

/** A page mark that has not ended is placed by its acceptance time. */
function afterMark<Selected>(
  query: SelectQueryBuilder<Tables, 'jobs', Selected>,
  { state, limit }: JobPage,
  mark: Mark | undefined,
) {
  const markedAt = mark?.finishedAt ?? mark?.createdAt;
  return query
    .where(ENDED)
    .$if(state !== 'all', (some) => some.where('state', '=', state as JobState))
    .$if(mark !== undefined, (some) =>
      some
        .where('finishedAt', '<=', markedAt as number)
        .where(sql<boolean>`("finishedAt", id) < (${markedAt}, ${mark?.id})`),
    )
    .orderBy('finishedAt', 'desc')
    .orderBy('id', 'desc')
    .limit(limit);
}

async function selectDetails(
  queries: Kysely<Tables>,
  { id, table, at }: { id: string; table: JobTable; at: number },
): Promise<JobDetails | undefined> {
  const row = await queries
    .selectFrom('jobs')
    .select([...LISTED, JOINED.as('joined'), BEAT_AT.as('beatAt'), 'summary', 'admission', 'requestId', 'traceparent'])
    .select(['retryOf', 'retriedAs', sql<string>`case when input = 'null' then input else '' end`.as('input')])
    .where('id', '=', id)
    .executeTakeFirst();
  if (!row) return undefined;
  const owners = queries.selectFrom('job_owners').select('owner').where('jobId', '=', id);
  const before = await table.countBefore(queries, id);
  const { summary, expiresAt } = toJobRecord({ ...row, result: null });
  return {
    ...toListed(row),
    summary,
    expiresAt,
    joinedBy: (await owners.orderBy('owner').execute()).map(({ owner }) => owner),
    requestId: row.requestId,
    traceparent: row.traceparent,
    admission: row.admission,
    queuePosition: before === undefined ? null : before + 1,
    retryOf: row.retryOf,
    retriedAs: row.retriedAs,
    isRetryable: isRetryable(row, at),
  };
}

async function countEnds(queries: Kysely<Tables>, kind: JobKind, since: number): Promise<RecentEnds> {
  const ended = queries
    .selectFrom('jobs')
    .select(['state', 'finishedAt'])
    .where('kind', '=', sql.lit(kind))
    .where(ENDED)
    .where('finishedAt', '>', since)
    .orderBy('finishedAt', 'desc')
    .limit(MAX_RECENT);
  const rows = await queries
    .selectFrom(ended.as('ended'))
    .select(({ fn }) => ['state', fn.countAll<number>().as('count')])
    .groupBy('state')
    .execute();
  const counts = new Map(rows.map(({ state, count }) => [state, count]));
  const count = (state: JobState) => counts.get(state) ?? 0;
  return { completed: count('completed'), failed: count('failed'), cancelled: count('cancelled') };
}

function kindsOf(kind: JobKind | undefined): readonly JobKind[] {
  return kind === undefined ? jobKinds() : [kind];
}

function toListed(row: ListedRow): ListedJob {
  const { id, kind, state, attempts, crashCount, joined, owner, createdAt, startedAt, finishedAt, summary } = row;
  return {
    ...{ id, kind, state, attempts, crashCount, owner, joined, createdAt, startedAt, finishedAt },
    keyId: row.keyId === '' ? null : row.keyId,
    ...(summary !== undefined && { summary: JSON.parse(summary) }),
    worker: workerOf(row),
    error: row.error === null ? null : JSON.parse(row.error),
  };
}

function workerOf({ processId, startedAt, beatAt }: ListedRow): JobWorker | null {
  if (processId === null) return null;
  // The run may be younger than the last heartbeat of its process.
  const seenAt = Math.max(beatAt ?? 0, startedAt ?? 0);
  return { ...describeProcess(processId), seenAt, isProcessDead: isProcessDead(processId) };
}
