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
import {
  type Acceptance,
  type Accepted,
  type AdmissionCandidate,
  type AdmissionHooks,
  type JobKind,
  type NewJob,
  newJobId,
} from './jobs.js';
import {
  ACTIVE,
  hashText,
  type JobTable,
  type JobViewRow,
  NEW_JOB,
  type NewJobRow,
  NOT_JOINED,
  ONE,
  QUEUED,
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
  { kind, table, turnStatements, hooks, clock }: AcceptanceOptions,
): Script<(Accepted | GatewayError)[]> {
  yield* table.lockKind(kind);
  const at = yield* clock.readScript();
  let active = yield* table.countActive(kind);
  const admissions = yield* hooks.open(candidates, at);
  const replays = candidates.map((candidate) => admissions.replayOf(candidate));
  const known = yield* table.findAny(replays.filter((id) => id !== undefined));
  const dedupeHashes = candidates.flatMap(({ dedupeHash }) => (dedupeHash === undefined ? [] : [dedupeHash]));
  const joinable = yield* table.findJoinable(kind, dedupeHashes);
  const fresh = candidates.filter((_candidate, index) => replays[index] === undefined);
  const fairQueue = yield* openFairQueue(
    turnStatements,
    fresh.map(({ job }) => job.keyId ?? ''),
  );

  const rows: NewJobRow[] = [];
  const owners: JobOwnersTable[] = [];

  function* judge(candidate: Candidate): Script<Accepted | GatewayError> {
    const { take, job, dedupeHash } = candidate;
    const joined = dedupeHash === undefined ? undefined : joinable.get(dedupeHash);
    const jobId = joined?.id ?? newJobId(kind, at);
    const full = !joined && active >= job.maxActive;
    const decision = admissions.judge(candidate, { jobId, joined: joined !== undefined, full });
    if (decision.outcome === 'refuse') return decision.error;
    if (decision.outcome === 'replay') {
      const row = known.get(decision.jobId);
      return row ? { job: toJobRecord(row), replayed: true, active } : jobGone();
    }
    if (decision.outcome === 'rateLimited') {
      return { answer: yield* decision.answer(), rateLimited: true, replayed: false, active };
    }
    const answer = decision.answer === undefined ? {} : { answer: decision.answer };
    if (!take) return { ...answer, replayed: false, active };

    const row: JobViewRow = joined ?? write(candidate, jobId, decision.admission ?? null);
    if (joined) owners.push({ jobId: row.id, owner: job.owner });
    else active += 1;
    if (dedupeHash !== undefined) joinable.set(dedupeHash, row);
    known.set(jobId, row);
    return { ...answer, job: toJobRecord(row), replayed: false, active };
  }

  function write(candidate: Candidate, id: string, admission: string | null): NewJobRow {
    const { job, summary, input, dedupeHash, traceparent } = candidate;
    const keyId = job.keyId ?? '';
    const row: NewJobRow = {
      ...NEW_JOB,
      id,
      kind,
      dedupeHash: dedupeHash ?? NOT_JOINED,
      priority: fairQueue.next(keyId),
      summary,
      input,
      keyId,
      owner: job.owner,
      admission,
      createdAt: at,
      requestId: job.requestId ?? null,
      traceparent: traceparent ?? null,
      webhookUrl: job.webhookUrl ?? null,
    };
    rows.push(row);
    return row;
  }

  const answers: (Accepted | GatewayError)[] = [];
  for (const candidate of candidates) answers.push(yield* judge(candidate));

  yield* table.insert(kind, rows);
  yield* table.addOwners(owners);
  yield* admissions.save();
  return answers;
}

function jobGone(): GatewayError {
  return new GatewayError('job_not_found', 'The job of the earlier request is not there any more.');
}

/*
 * Fair queue. Queued jobs run in the order of their priority numbers (column `place`), and by age within one number.
 * The jobs of one key get consecutive numbers; a key without queued jobs starts at the current head of the queue. So
 * the first job of each key runs before the second job of any key: a key with one job waits for at most one job of each
 * other key. (This is start-time fair queueing, with each job counted as one.) Numbers are assigned at acceptance,
 * under the lock of the kind, and survive restarts.
 */

/** Assigns priority numbers to jobs of one kind, within the transaction that accepts them. */
export interface FairQueue {
  /** @param keyId One of the keys that were passed to {@link openFairQueue}. */
  next(keyId: string): number;
}

export type FairQueueStatements = ReturnType<typeof compileFairQueueStatements>;

/** Runs for each group of accepted jobs, so it is compiled once; see statements.ts. */
export function compileFairQueueStatements(queries: Kysely<Tables>, kind: JobKind) {
  const active = () => queries.selectFrom('jobs').select('priority').where('kind', '=', sql.lit(kind)).where(ACTIVE);
  return {
    firstQueued: active().where(QUEUED).orderBy('priority').limit(ONE).compile(),
    lastActive: active().orderBy('priority', 'desc').limit(ONE).compile(),
    // One lookup per key at the end of the index, since a key may have many jobs.
    lastOfKeys: createListScript((length) => {
      const keys = sql.join(Array.from({ length }, () => sql`(${''})`));
      return sql<{ keyId: string; priority: number | null }>`with wanted ("keyId") as (values ${keys})
        select "keyId", (
          select priority from jobs where kind = ${sql.lit(kind)} and ${ACTIVE} and jobs."keyId" = wanted."keyId"
          order by priority desc limit ${ONE}) as priority
        from wanted`.compile(queries);
    }),
  };
}

/** Reads the head of the queue and the last number of each of these keys. */
export function* openFairQueue(statements: FairQueueStatements, keyIds: readonly string[]): Script<FairQueue> {
  function* readPriority(query: CompiledQuery<{ priority: number }>): Script<number | undefined> {
    return (yield* rowsOf(query))[0]?.priority;
  }

  // The number of the next job to run. If none is queued, the number of the youngest running job.
  const head = (yield* readPriority(statements.firstQueued)) ?? (yield* readPriority(statements.lastActive)) ?? 1;
  const rows = yield* statements.lastOfKeys([...new Set(keyIds)].map((keyId) => [keyId]));
  const last = new Map(rows.map(({ keyId, priority }) => [keyId, priority ?? 0]));
  return {
    next(keyId) {
      const priority = Math.max(head, (last.get(keyId) ?? 0) + 1);
      last.set(keyId, priority);
      return priority;
    },
  };
}
