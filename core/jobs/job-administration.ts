import type { JobFailure, JobState } from '../contracts/index.js';
import {
  type Database,
  type DatabaseClock,
  describeProcess,
  hasEnded,
  type Kysely,
  type Script,
  type SelectQueryBuilder,
  sql,
  type Tables,
} from '../database/index.js';
import { GatewayError } from '../runtime/index.js';
import { ACTIVE, type JobRow, type JobTable, ownedBy, QUEUED, RUNNING, toJobRecord } from './job-statements.js';
import { JOB_KINDS, type JobKind, type JobRecord, kindOfJob } from './jobs.js';

/** Of all jobs, those that are asked for. */
export interface JobPage {
  /** Default: both. */
  kind?: JobKind;
  /** Default: `queued` and `running`. */
  state?: JobState;
  /** Only what belongs to this owner, also where it joined the job of another. */
  owner?: string;
  /** At most this many. */
  limit: number;
  /** Id of a job: only what comes after it in the list. */
  before?: string;
}

/** What operators see of any job. Times are milliseconds since 1970, by the clock that jobs go by. */
export interface ListedJob {
  id: string;
  kind: JobKind;
  state: JobState;
  /** Runs begun so far. */
  attempts: number;
  /** Runs that ended with their process. */
  crashCount: number;
  /** Whoever asked first. */
  owner: string;
  /** The key that they asked with; null where there was none. */
  keyId: string | null;
  /** Other owners that joined it. */
  joined: number;
  createdAt: number;
  /** Of the latest run. */
  startedAt: number | null;
  finishedAt: number | null;
  /** Who runs it, while it is running. */
  worker: JobWorker | null;
  error: JobFailure | null;
}

export interface JobWorker {
  /** Name of the machine, or of the container. */
  host: string;
  pid: number;
  /** When it last showed life; the start of the run where it has not since. */
  seenAt: number;
  /** Whether its process is known to have ended, which only its own machine can tell. */
  hasEnded: boolean;
}

export interface JobList {
  jobs: readonly ListedJob[];
  /** Now, by the clock of the times above. */
  at: number;
  /** Milliseconds that a worker may show no life before others take its job for theirs. */
  leaseMs: number;
}

export interface JobDetails extends ListedJob {
  /** As in `JobRecord`. */
  summary: unknown;
  expiresAt: number | null;
  /** Owners that joined it. */
  joinedBy: readonly string[];
  /** Of the request that accepted it. */
  requestId: string | null;
  /** Of that request, as W3C Trace Context writes it. */
  traceparent: string | null;
  /** What the admission hooks keep with it. */
  admission: string | null;
  /** Where it stands, 1 being next; null where it is not queued. */
  queuePosition: number | null;
}

/** Jobs of a kind that ended within the last hour; of more than 10,000, the latest. */
export type RecentEnds = Readonly<Record<Exclude<JobState, 'queued' | 'running'>, number>>;

export interface JobCancellation {
  id: string;
  /** Runs in the transaction that ends the job, e.g. to write down who did it. */
  alsoWrite?(change: CancellationChange): Script<void>;
}

export interface CancellationChange {
  id: string;
  from: JobState;
  to: JobState;
  /** Milliseconds since 1970. */
  at: number;
}

export interface CancelledJob {
  job: JobRecord;
  /** False where it was cancelled before. */
  changed: boolean;
}

/** What operators do with the jobs of anybody. All throw GatewayError `upstream_unavailable` where the database does not answer. */
export interface JobAdministration {
  /**
   * Jobs that wait or run, newest first; those of another state by when they ended, latest first.
   * @throws GatewayError `job_not_found` where there is no job `before`.
   */
  list(page: JobPage): Promise<JobList>;
  /** Undefined where there is no such job. It may be one that clients are not shown any more. */
  inspect(id: string): Promise<(JobDetails & Pick<JobList, 'at' | 'leaseMs'>) | undefined>;
  recentEnds(): Promise<Readonly<Record<JobKind, RecentEnds>>>;
  /**
   * As `Jobs.cancel`, whoever it belongs to. Undefined where there is no such job.
   * @throws GatewayError `job_already_terminal` where it has completed or failed.
   */
  cancelAsOperator(cancellation: JobCancellation): Promise<CancelledJob | undefined>;
}

const RECENT_MS = 60 * 60 * 1000;
const MOST_RECENT = 10_000;

/** As the index of ended jobs has it. */
const ENDED = sql<boolean>`"finishedAt" is not null`;
/** When the process that runs it last wrote its heartbeat. */
const BEAT_AT = sql<number | null>`(select "beatAt" from instances where instances.id = jobs."processId")`;
const JOINED = sql<number>`(select count(*) from job_owners where job_owners."jobId" = jobs.id)`;

/** Neither what was asked for nor what came of it, which are their owners' own. */
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

type ListedRow = Pick<JobRow, (typeof LISTED)[number]> & { joined: number; beatAt: number | null };
type Mark = Pick<JobRow, 'id' | 'createdAt' | 'finishedAt'>;

export interface JobAdministrationOptions {
  database: Database;
  table: JobTable;
  clock: DatabaseClock;
  leaseMs: number;
}

/** What operators see of jobs, in SQL. */
export function createJobAdministration({
  database,
  table,
  clock,
  leaseMs,
}: JobAdministrationOptions): Omit<JobAdministration, 'cancelAsOperator'> {
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
        const details = await selectDetails(queries, id, table);
        return details && { ...details, at: await clock.read(queries), leaseMs };
      });
    },

    recentEnds: () =>
      database.run(async (queries) => {
        const since = (await clock.read(queries)) - RECENT_MS;
        return {
          extraction: await countEnds(queries, 'extraction', since),
          image: await countEnds(queries, 'image', since),
        };
      }),
  };
}

async function findMark(queries: Kysely<Tables>, id: string): Promise<Mark> {
  const marks = queries.selectFrom('jobs').select(['id', 'createdAt', 'finishedAt']).where('id', '=', id);
  const mark = kindOfJob(id) && (await marks.executeTakeFirst());
  if (mark) return mark;
  throw new GatewayError('job_not_found', 'There is no job with the id that the list is to go on from.');
}

function selectPage(queries: Kysely<Tables>, page: JobPage, mark: Mark | undefined): Promise<ListedRow[]> {
  const { state, limit } = page;
  if (state === undefined || isActive(state)) return selectActive(queries, page, mark);
  const ids = page.owner === undefined ? endedIds(queries, page, mark) : endedIdsOf(queries, page, mark);
  return queries
    .selectFrom('jobs')
    .select([...LISTED, JOINED.as('joined'), BEAT_AT.as('beatAt')])
    .where('id', 'in', ids)
    .orderBy('finishedAt', 'desc')
    .orderBy('id', 'desc')
    .limit(limit)
    .execute();
}

/** There are never more of them than the queues take. */
function selectActive(
  queries: Kysely<Tables>,
  { kind, state, owner, limit }: JobPage,
  mark: Mark | undefined,
): Promise<ListedRow[]> {
  return queries
    .selectFrom('jobs')
    .select([...LISTED, JOINED.as('joined'), BEAT_AT.as('beatAt')])
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

/** Kind by kind along the index that has them by their ends. */
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

/** Those that the owner asked for first, by their index, and those that it joined, which are few. */
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

/** A mark that has not ended stands where it was accepted. */
function afterMark<Selected>(
  query: SelectQueryBuilder<Tables, 'jobs', Selected>,
  { state, limit }: JobPage,
  mark: Mark | undefined,
) {
  const markedAt = mark?.finishedAt ?? mark?.createdAt;
  return query
    .where(ENDED)
    .where('state', '=', state as JobState)
    .$if(mark !== undefined, (some) =>
      some
        .where('finishedAt', '<=', markedAt as number)
        .where(sql<boolean>`("finishedAt", id) < (${markedAt}, ${mark?.id})`),
    )
    .orderBy('finishedAt', 'desc')
    .orderBy('id', 'desc')
    .limit(limit);
}

async function selectDetails(queries: Kysely<Tables>, id: string, table: JobTable): Promise<JobDetails | undefined> {
  const row = await queries
    .selectFrom('jobs')
    .select([...LISTED, JOINED.as('joined'), BEAT_AT.as('beatAt'), 'summary', 'admission', 'requestId', 'traceparent'])
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
    .limit(MOST_RECENT);
  const rows = await queries
    .selectFrom(ended.as('ended'))
    .select(({ fn }) => ['state', fn.countAll<number>().as('count')])
    .groupBy('state')
    .execute();
  const counts = new Map(rows.map(({ state, count }) => [state, count]));
  const count = (state: JobState) => counts.get(state) ?? 0;
  return { completed: count('completed'), failed: count('failed'), cancelled: count('cancelled') };
}

function isActive(state: JobState): boolean {
  return state === 'queued' || state === 'running';
}

function kindsOf(kind: JobKind | undefined): readonly JobKind[] {
  return kind === undefined ? JOB_KINDS : [kind];
}

function toListed(row: ListedRow): ListedJob {
  const { id, kind, state, attempts, joined, owner, keyId, createdAt, startedAt, finishedAt } = row;
  return {
    id,
    kind,
    state,
    attempts,
    crashCount: row.crashCount,
    owner: owner,
    keyId: keyId === '' ? null : keyId,
    joined,
    createdAt,
    startedAt,
    finishedAt,
    worker: workerOf(row),
    error: row.error === null ? null : JSON.parse(row.error),
  };
}

function workerOf({ processId, startedAt, beatAt }: ListedRow): JobWorker | null {
  if (processId === null) return null;
  // The run may be younger than the last heartbeat of its process.
  const seenAt = Math.max(beatAt ?? 0, startedAt ?? 0);
  return { ...describeProcess(processId), seenAt, hasEnded: hasEnded(processId) };
}
