/*
 * Accepts jobs in commit groups, in one transaction for each kind. It locks the kind, reads what all candidates need,
 * judges them one after the other (admission hooks, queue limit, share of the queue group, join of an equal job), and
 * writes everything at the end. A refused candidate writes nothing. A commit group costs a few statements, however many
 * jobs it has. The second half is the fair queue: it gives each new job its priority number under the same lock, so the
 * order survives restarts and needs no scheduler. A queue group is what shares one turn in the queue: the jobs of one
 * API key, unless the caller names a larger group.
 */

import type { JobPriority, QueueShare } from '../contracts/index.js';
import {
  type CompiledQuery,
  createListScript,
  type DatabaseClock,
  type Kysely,
  rowsOf,
  type Script,
  sql,
  type Tables,
} from '../database/index.js';
import { GatewayError } from '../runtime/index.js';
import type { Acceptance, Accepted, AdmissionCandidate, AdmissionHooks, NewJob, OpenAdmissions } from './jobs.js';
import { type JobKind, newJobId } from './kinds.js';
import {
  ACTIVE,
  hashText,
  type JobRow,
  type JobTable,
  type JobViewRow,
  NEW_JOB,
  type NewJobRow,
  NOT_JOINED,
  ONE,
  QUEUED,
  RUNNING,
  toJobRecord,
  toJson,
} from './statements.js';
import type { JobOwnersTable } from './tables.js';

/** A candidate as it is stored. */
export interface Candidate extends AdmissionCandidate {
  job: NewJob;
  /** JSON. */
  summary: string;
  input: string;
  /** Trace context of the span that accepts the job. */
  traceparent?: string;
  dedupeHash?: string;
}

export function toCandidate({ terms, job }: Acceptance, take: boolean, traceparent?: string): Candidate {
  return {
    ...{ owner: job.owner, terms, job, take, traceparent },
    summary: toJson(job.summary),
    input: toJson(job.input),
    dedupeHash: job.dedupeKey === undefined ? undefined : hashText(job.dedupeKey),
  };
}

export interface AcceptanceOptions {
  kind: JobKind;
  table: JobTable;
  turnStatements: FairQueueStatements;
  hooks: AdmissionHooks;
  clock: DatabaseClock;
}

/**
 * Judges candidates of one kind one after the other. It first reads what all of them need, and writes all changes at
 * the end. Nothing is written for refused candidates.
 */
export function* acceptGroup(
  candidates: readonly Candidate[],
  options: AcceptanceOptions,
): Script<(Accepted | GatewayError)[]> {
  const group = yield* openGroup(candidates, options);
  const answers: (Accepted | GatewayError)[] = [];
  for (const candidate of candidates) answers.push(yield* judge(candidate, group));
  yield* group.fairQueue.assign();
  yield* options.table.insert(options.kind, group.rows);
  yield* options.table.addOwners(group.owners);
  yield* group.admissions.save();
  return answers;
}

/** What the candidates of one group share; each sees what those before it changed. */
interface Group {
  kind: JobKind;
  at: number;
  admissions: OpenAdmissions;
  fairQueue: FairQueue;
  /** Queued and running jobs of the kind. */
  active: number;
  /** Open jobs by group of the fair queue. */
  openOf: Map<string, number>;
  /** Jobs of earlier requests, by id. */
  known: Map<string, JobViewRow>;
  /** Active jobs by dedupe hash. */
  joinable: Map<string, JobViewRow>;
  /** To be inserted. */
  rows: NewJobRow[];
  owners: JobOwnersTable[];
}

function* openGroup(
  candidates: readonly Candidate[],
  { kind, table, turnStatements, hooks, clock }: AcceptanceOptions,
): Script<Group> {
  yield* table.lockKind(kind);
  const at = yield* clock.readScript();
  const active = yield* table.countActive(kind);
  const admissions = yield* hooks.open(candidates, at);
  const replays = candidates.map((candidate) => admissions.replayOf(candidate));
  const known = yield* table.findAny(replays.filter((id) => id !== undefined));
  const dedupeHashes = candidates.flatMap(({ dedupeHash }) => (dedupeHash === undefined ? [] : [dedupeHash]));
  const joinable = yield* table.findJoinable(kind, dedupeHashes);
  const fresh = candidates.filter((_candidate, index) => replays[index] === undefined);
  const fairQueue = yield* openFairQueue(
    turnStatements,
    fresh.map(({ job }) => turnOf(job)),
  );
  const bounded = fresh.filter(({ job }) => job.groupShare !== undefined).map(({ job }) => turnOf(job).queueGroup);
  const counted = yield* turnStatements.countOpen(Array.from(new Set(bounded), (queueGroup) => ({ queueGroup })));
  const openOf = new Map(counted.map(({ queueGroup, open }) => [queueGroup, open]));
  return { kind, at, admissions, fairQueue, active, openOf, known, joinable, rows: [], owners: [] };
}

function* judge(candidate: Candidate, group: Group): Script<Accepted | GatewayError> {
  const { take, job, dedupeHash } = candidate;
  const { kind, at, admissions, active } = group;
  const joined = dedupeHash === undefined ? undefined : group.joinable.get(dedupeHash);
  const jobId = joined?.id ?? newJobId(kind, at);
  const full = !joined && active >= job.maxActive;
  const open = group.openOf.get(turnOf(job).queueGroup) ?? 0;
  const bound = joined ? undefined : boundOf(job);
  const reachedBound = bound !== undefined && open >= bound ? { reachedBound: bound } : {};
  const decision = admissions.judge(candidate, { jobId, joined: joined !== undefined, full, ...reachedBound });
  if (decision.outcome === 'refuse') return decision.error;
  if (decision.outcome === 'replay') {
    const row = group.known.get(decision.jobId);
    return row ? { job: toJobRecord(row), replayed: true, active } : jobGone();
  }
  if (decision.outcome === 'rateLimited') {
    return { answer: yield* decision.answer(), rateLimited: true, replayed: false, active };
  }
  const answer = decision.answer === undefined ? {} : { answer: decision.answer };
  if (!take) return { ...answer, replayed: false, active };
  const row = joined ?? addJob(candidate, { id: jobId, admission: decision.admission ?? null }, group);
  if (joined) group.owners.push({ jobId: row.id, owner: job.owner });
  if (dedupeHash !== undefined) group.joinable.set(dedupeHash, row);
  group.known.set(jobId, row);
  return { ...answer, job: toJobRecord(row), replayed: false, active: group.active };
}

function addJob(
  { job, summary, input, dedupeHash, traceparent }: Candidate,
  { id, admission }: Pick<JobRow, 'id' | 'admission'>,
  group: Group,
): NewJobRow {
  const turn = turnOf(job);
  const row: NewJobRow = {
    ...NEW_JOB,
    id,
    kind: group.kind,
    dedupeHash: dedupeHash ?? NOT_JOINED,
    priority: 0,
    rank: RANKS[job.priority ?? 'normal'],
    summary,
    input,
    ...turn,
    owner: job.owner,
    admission,
    createdAt: group.at,
    requestId: job.requestId ?? null,
    traceparent: traceparent ?? null,
    webhookUrl: job.webhookUrl ?? null,
  };
  group.rows.push(row);
  group.fairQueue.add(row);
  group.active += 1;
  group.openOf.set(turn.queueGroup, (group.openOf.get(turn.queueGroup) ?? 0) + 1);
  return row;
}

function jobGone(): GatewayError {
  return new GatewayError('job_not_found', 'The job of the earlier request no longer exists.');
}

/*
 * Fair queue. Queued jobs run in the order of their priority numbers, and by age within one number. The jobs of one
 * group get consecutive numbers; a group without open jobs starts at the number of the job that runs now. So the first
 * job of a group runs before the next job of any other: it waits until one running job has ended. (This is start-time
 * fair queueing, with each job counted as one.)
 *
 * The numbers of a group go to its jobs of the highest rank first. Within a rank the keys of the group take turns: job n
 * of a key comes before job n+1 of any other key. The jobs behind a new one each get the number of the next. So a rank orders one group and moves no other.
 * Numbers are assigned at acceptance, under the lock of the kind, and survive restarts.
 */

/** A job in the queue. */
type QueuedJob = Pick<JobRow, 'id' | 'keyId' | 'queueGroup' | 'priority' | 'rank'>;

/** Assigns priority numbers to jobs of one kind, within the transaction that accepts them. */
export interface FairQueue {
  /** Group and key are among those that were passed to {@link openFairQueue}. */
  add(job: QueuedJob): void;
  /** Sets `priority` of the added jobs, and writes those of other jobs that changed. */
  assign(): Script<void>;
}

/** The group of a job, and its key within it. */
type Turn = Pick<QueuedJob, 'queueGroup' | 'keyId'>;

function turnOf({ keyId = '', group = keyId }: QueueShare): Turn {
  return { queueGroup: group, keyId };
}

const RANKS: Readonly<Record<JobPriority, number>> = { low: -1, normal: 0, high: 1 };

/** Maximum number of open jobs of the group. */
function boundOf({ groupShare, maxActive }: NewJob): number | undefined {
  return groupShare === undefined ? undefined : Math.max(1, Math.floor(groupShare * maxActive));
}

/** Beyond this, numbers of groups that no longer matter are removed. */
const MAX_LATEST = 10_000;

export type FairQueueStatements = ReturnType<typeof compileFairQueueStatements>;

/** Run for each group of accepted jobs, so they are compiled once. */
export function compileFairQueueStatements(queries: Kysely<Tables>, kind: JobKind) {
  const ofKind = () => queries.selectFrom('jobs').where('kind', '=', sql.lit(kind));
  const ofGroup = sql`from jobs where kind = ${sql.lit(kind)} and ${ACTIVE} and jobs."queueGroup" = wanted."queueGroup"`;
  return {
    /**
     * The latest number of each group: a group that submits its next job when the last one has ended must not start
     * at the running job each time, or two of them would hold up a third. Other processes do not know it, so there it
     * starts there once.
     */
    latest: new Map<string, number>(),
    firstQueued: ofKind().select('priority').where(ACTIVE).where(QUEUED).orderBy('priority').limit(ONE).compile(),
    lastRunning: ofKind().select('priority').where(RUNNING).orderBy('priority', 'desc').limit(ONE).compile(),
    // Lookups at the ends of index ranges, since a key may have many jobs.
    lastOfKeys: createListScript((turns: readonly Turn[]) => {
      const wanted = sql.join(turns.map(({ queueGroup, keyId }) => sql`(${queueGroup}, ${keyId})`));
      return sql<Pick<QueuedJob, 'queueGroup'> & { priority: number | null; others: number }>`
        with wanted ("queueGroup", "keyId") as (values ${wanted})
        select "queueGroup",
          (select priority ${ofGroup} and jobs."keyId" = wanted."keyId" order by priority desc limit ${ONE}) as priority,
          case when exists (select 1 ${ofGroup} and jobs."keyId" < wanted."keyId")
            or exists (select 1 ${ofGroup} and jobs."keyId" > wanted."keyId") then 1 else 0 end as others
        from wanted`.compile(queries);
    }),
    /** Open jobs of groups that are used by several keys. */
    *openJobs(groups: readonly string[]): Script<readonly (QueuedJob & Pick<JobRow, 'state'>)[]> {
      if (groups.length === 0) return [];
      return yield* rowsOf(
        ofKind()
          .select(['id', 'keyId', 'queueGroup', 'priority', 'rank', 'state'])
          .where(ACTIVE)
          .where('queueGroup', 'in', groups)
          .orderBy('priority')
          .orderBy('createdAt')
          .orderBy('id')
          .compile(),
      );
    },
    countOpen: createListScript((groups: readonly Pick<QueuedJob, 'queueGroup'>[]) => {
      const wanted = sql.join(groups.map(({ queueGroup }) => sql`(${queueGroup})`));
      return sql<Pick<QueuedJob, 'queueGroup'> & { open: number }>`with wanted ("queueGroup") as (values ${wanted})
        select "queueGroup", (select count(*) ${ofGroup}) as open from wanted`.compile(queries);
    }),
    move: createListScript((jobs: readonly Pick<QueuedJob, 'id' | 'priority'>[]) => {
      const moved = sql.join(jobs.map(({ id, priority }) => sql`(${id}, cast(${priority} as bigint))`));
      return sql`with moved (id, priority) as (values ${moved})
        update jobs set priority = moved.priority from moved where jobs.id = moved.id and ${QUEUED}`.compile(queries);
    }),
  };
}

/** Reads the head of the queue, and what is queued of these groups and keys. */
export function* openFairQueue(statements: FairQueueStatements, wanted: readonly Turn[]): Script<FairQueue> {
  function* readPriority(query: CompiledQuery<{ priority: number }>): Script<number> {
    return (yield* rowsOf(query))[0]?.priority ?? Number.POSITIVE_INFINITY;
  }

  const { latest } = statements;
  // Running jobs may be ahead of a queued one that is held up.
  const first = Math.min(yield* readPriority(statements.firstQueued), yield* readPriority(statements.lastRunning));
  const head = Number.isFinite(first) ? first : 1;
  if (latest.size > MAX_LATEST) for (const [group, number] of latest) if (number < head) latest.delete(group);

  const turns = new Map(wanted.map((turn) => [JSON.stringify([turn.queueGroup, turn.keyId]), turn]));
  const rows = yield* statements.lastOfKeys([...turns.values()]);
  const last = new Map<string, number>();
  const shared = new Set<string>();
  for (const { queueGroup, priority, others } of rows) {
    if (others === 1) shared.add(queueGroup);
    // A group without open jobs that has used this number; its cancelled jobs had later ones.
    const used = (latest.get(queueGroup) ?? 0) >= head ? head : 0;
    last.set(queueGroup, Math.max(priority ?? used, last.get(queueGroup) ?? 0));
  }
  const queued = new Map<string, QueuedJob[]>();
  const listOf = (group: string) => {
    const known = queued.get(group) ?? [];
    queued.set(group, known);
    return known;
  };
  for (const job of yield* statements.openJobs([...shared])) {
    last.set(job.queueGroup, Math.max(job.priority, last.get(job.queueGroup) ?? 0));
    if (job.state === 'queued') listOf(job.queueGroup).push(job);
  }
  const before = new Map([...queued.values()].flat().map((job) => [job.id, job.priority]));
  const numbers = new Map([...queued].map(([group, jobs]) => [group, jobs.map(({ priority }) => priority)]));

  return {
    add(job) {
      const { queueGroup, keyId, rank } = job;
      const jobs = listOf(queueGroup);
      const number = Math.max(head, (last.get(queueGroup) ?? 0) + 1);
      last.set(queueGroup, number);
      latest.set(queueGroup, number);
      numbers.set(queueGroup, [...(numbers.get(queueGroup) ?? []), number]);
      const own = jobs.filter((other) => other.keyId === keyId && other.rank === rank).length;
      const counts = new Map<string, number>();
      const index = jobs.findIndex((other) => {
        if (other.rank !== rank) return other.rank < rank;
        const ofOther = counts.get(other.keyId) ?? 0;
        counts.set(other.keyId, ofOther + 1);
        return ofOther > own;
      });
      jobs.splice(index < 0 ? jobs.length : index, 0, job);
    },
    *assign() {
      const moved: QueuedJob[] = [];
      for (const [group, jobs] of queued) {
        for (const [index, job] of jobs.entries()) {
          job.priority = numbers.get(group)?.[index] ?? job.priority;
          if (before.has(job.id) && before.get(job.id) !== job.priority) moved.push(job);
        }
      }
      yield* statements.move(moved);
    },
  };
}
