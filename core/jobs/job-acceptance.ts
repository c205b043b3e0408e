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
import type { JobOwnersTable } from './job-rows.js';
import {
  ACTIVE,
  hashText,
  type JobTable,
  NEW_JOB,
  type NewJobRow,
  NOT_JOINED,
  ONE,
  QUEUED,
  type ShownRow,
  toJobRecord,
  toJson,
} from './job-statements.js';
import {
  type Acceptance,
  type Accepted,
  type AdmissionCandidate,
  type AdmissionHooks,
  type JobKind,
  type NewJob,
  newJobId,
} from './jobs.js';

/** An acceptance as it is stored. */
export interface Candidate extends AdmissionCandidate {
  job: NewJob;
  /** JSON. */
  summary: string;
  input: string;
  /** Of the span that accepts. */
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
  turnStatements: TurnStatements;
  hooks: AdmissionHooks;
  clock: DatabaseClock;
}

/**
 * Has candidates of one kind judged one after the other; reads what all of them need first and writes what all of them change
 * last. Nothing is written of those that are refused.
 */
export function* acceptGroup(
  candidates: readonly Candidate[],
  { kind, table, turnStatements, hooks, clock }: AcceptanceOptions,
): Script<(Accepted | GatewayError)[]> {
  yield* table.lockKind(kind);
  const at = yield* clock.look();
  let active = yield* table.countActive(kind);
  const admissions = yield* hooks.open(candidates, at);
  const replays = candidates.map((candidate) => admissions.replayOf(candidate));
  const known = yield* table.findAny(replays.filter((id) => id !== undefined));
  const dedupeHashes = candidates.flatMap(({ dedupeHash }) => (dedupeHash === undefined ? [] : [dedupeHash]));
  const joinable = yield* table.findJoinable(kind, dedupeHashes);
  const fresh = candidates.filter((_candidate, index) => replays[index] === undefined);
  const turns = yield* openTurns(
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
    const verdict = admissions.judge(candidate, { jobId, joined: joined !== undefined, full });
    if (verdict.outcome === 'refuse') return verdict.error;
    if (verdict.outcome === 'replay') {
      const row = known.get(verdict.jobId);
      return row ? { job: toJobRecord(row), replayed: true, active } : jobGone();
    }
    if (verdict.outcome === 'rateLimited') {
      return { answer: yield* verdict.answer(), rateLimited: true, replayed: false, active };
    }
    const answer = verdict.answer === undefined ? {} : { answer: verdict.answer };
    if (!take) return { ...answer, replayed: false, active };

    const row: ShownRow = joined ?? write(candidate, jobId, verdict.admission ?? null);
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
      priority: turns.next(keyId),
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
 * How keys take turns. Queued jobs run in the order of their places, those of one place by age. The jobs of one key have
 * places one after the other; a key that had none queued begins where the queue has come to. So the first of each key come
 * before the second of any: a key with one job waits for one job of each other key at most, however many they have. (It is
 * start-time fair queueing, with each job counted as one.) Places are given at acceptance, under the lock of the kind, and
 * kept over restarts.
 */

/** Gives places to jobs of one kind, within the transaction that accepts them. */
export interface Turns {
  /** @param keyId One of those that were named. */
  next(keyId: string): number;
}

export type TurnStatements = ReturnType<typeof compileTurnStatements>;

/** Run for each group of jobs that is accepted, so built once; see statements.ts. */
export function compileTurnStatements(queries: Kysely<Tables>, kind: JobKind) {
  const active = () => queries.selectFrom('jobs').select('priority').where('kind', '=', sql.lit(kind)).where(ACTIVE);
  return {
    firstQueued: active().where(QUEUED).orderBy('priority').limit(ONE).compile(),
    lastActive: active().orderBy('priority', 'desc').limit(ONE).compile(),
    // Key by key at the end of the index: a key may have many jobs.
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

/** Reads where the queue stands, and these keys in it. */
export function* openTurns(statements: TurnStatements, keyIds: readonly string[]): Script<Turns> {
  function* readPriority(query: CompiledQuery<{ priority: number }>): Script<number | undefined> {
    return (yield* rowsOf(query))[0]?.priority;
  }

  // The place of the next job to run; where none waits, of the youngest that runs.
  const front = (yield* readPriority(statements.firstQueued)) ?? (yield* readPriority(statements.lastActive)) ?? 1;
  const rows = yield* statements.lastOfKeys([...new Set(keyIds)].map((keyId) => [keyId]));
  const last = new Map(rows.map(({ keyId, priority }) => [keyId, priority ?? 0]));
  return {
    next(keyId) {
      const priority = Math.max(front, (last.get(keyId) ?? 0) + 1);
      last.set(keyId, priority);
      return priority;
    },
  };
}
