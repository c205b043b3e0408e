/*
 * SQL for runs (claim, give back, crash) and for ends. A run is identified by the job and its attempt number, and
 * every write names both, so a run that lost its job changes nothing. On PostgreSQL a claim skips locked rows; on
 * SQLite it reads first, since a read costs a fraction of an update without effect. An end clears the input, unless the
 * job may be retried (retries.ts), and makes the webhook due. Frequent statements are compiled once and only get new parameters.
 */

import type { JobFailure, JobState } from '../contracts/index.js';
import {
  type CompiledQuery,
  createStatement,
  type Database,
  type DatabaseClock,
  type Kysely,
  lockNamed,
  rowsOf,
  type Script,
  sql,
  type Tables,
  type Transaction,
} from '../database/index.js';
import type { JobsOfOwner } from './administration.js';
import type { Charge, EndedJob } from './jobs.js';
import { forEachKind, type JobKind } from './kinds.js';
import { keepsInput } from './retries.js';
import { ACTIVE, type JobRow, type JobViewRow, ONE, ownedBy, QUEUED, RUNNING, VIEW_COLUMNS } from './statements.js';

type Queries = Kysely<Tables>;

/** One run of a job, identified by its number. */
export interface RunKey {
  id: string;
  attempts: number;
}

/** A run as other processes see it. */
export interface RunSeen extends RunKey {
  /** Id of its process. */
  processId: string;
  crashCount: number;
  /** Id of the request that accepted the job. */
  requestId: string | null;
}

export interface ClaimInput {
  kind: JobKind;
  processId: string;
  /** Only jobs that crashed less often. Default: any. */
  crashCountBelow?: number;
  /** Maximum concurrent runs of one key. Default: no limit. */
  maxPerKey?: number;
}

/** The statements of runs: claim, read, give back, crash. */
export class JobRunTable {
  readonly #isPostgres: boolean;
  readonly #queries: Queries;
  readonly #clock: DatabaseClock;
  readonly #claims = new Map<string, ReturnType<typeof createClaim>>();
  readonly #anyQueued: Readonly<Record<JobKind, CompiledQuery<{ priority: number }>>>;
  readonly #holders: Readonly<Record<JobKind, CompiledQuery<{ processId: string | null }>>>;

  constructor({ engine, queries }: Pick<Database, 'engine' | 'queries'>, clock: DatabaseClock) {
    this.#isPostgres = engine === 'postgres';
    this.#queries = queries;
    this.#clock = clock;
    const ofKind = (kind: JobKind) => queries.selectFrom('jobs').where('kind', '=', sql.lit(kind));
    this.#anyQueued = forEachKind((kind) =>
      ofKind(kind).select('priority').where(ACTIVE).where(QUEUED).where(isServed(kind)).limit(ONE).compile(),
    );
    this.#holders = forEachKind((kind) => ofKind(kind).select('processId').distinct().where(RUNNING).compile());
  }

  /**
   * Whether there may be a job to claim. A new job wakes the workers of all nodes, and most are too late: they should
   * not queue for the lock of the claims.
   */
  *mayClaim(kind: JobKind): Script<boolean> {
    return (yield* rowsOf(this.#anyQueued[kind])).length > 0;
  }

  /**
   * Locks the claims of this kind until the transaction ends: two claims would not see each other's runs in their
   * counts.
   */
  *lockClaims(kind: JobKind): Script<void> {
    if (!this.#isPostgres) return;
    yield lockNamed(`mediagate claims ${kind}`);
  }

  /** The next job of the queue, which is now running. */
  *claim(input: ClaimInput): Script<JobRow | undefined> {
    // If it saves no round trip, a read costs a fraction of an update that changes nothing.
    if (!this.#isPostgres && !(yield* this.mayClaim(input.kind))) return undefined;
    const { processId, crashCountBelow = 0, maxPerKey = 0 } = input;
    const [row] = yield* this.#claimLike(input)({ processId, crashCountBelow, maxPerKey });
    return row;
  }

  /** The runs of cancelled jobs. */
  async cancelled(queries: Queries, ids: readonly string[]): Promise<string[]> {
    const rows = await queries
      .selectFrom('jobs')
      .select('id')
      .where('id', 'in', ids)
      .where(sql<boolean>`state = 'cancelled'`)
      .execute();
    return rows.map(({ id }) => id);
  }

  /** The processes that run jobs of the kind. */
  *holders(kind: JobKind): Script<readonly string[]> {
    return (yield* rowsOf(this.#holders[kind])).map(({ processId }) => processId as string);
  }

  /** The runs of this process of the kind. */
  async runsOf(queries: Queries, kind: JobKind, processId: string): Promise<RunSeen[]> {
    const rows = await queries
      .selectFrom('jobs')
      .select(['id', 'attempts', 'crashCount', 'requestId'])
      .where('kind', '=', kind)
      .where(RUNNING)
      .where('processId', '=', processId)
      .execute();
    return rows.map(({ crashCount, ...run }) => ({ ...run, processId, crashCount }));
  }

  /**
   * Queues the job again at its old priority, as if the run had not started. False if the run no longer owned the
   * job.
   */
  async giveBack(queries: Queries, { id, attempts, processId }: RunKey & Pick<JobRow, 'processId'>): Promise<boolean> {
    const { numUpdatedRows } = await queries
      .updateTable('jobs')
      .set({ state: 'queued', processId: null })
      .where('id', '=', id)
      .where('attempts', '=', attempts)
      .where('processId', '=', processId)
      .where(RUNNING)
      .executeTakeFirstOrThrow();
    return numUpdatedRows > 0n;
  }

  /** Stores the charge of a run that asks a vendor now. False if the run no longer owns the job. */
  async ask(queries: Queries, { id, attempts }: RunKey, charge: string): Promise<boolean> {
    const { numUpdatedRows } = await queries
      .updateTable('jobs')
      .set({ asked: charge })
      .where('id', '=', id)
      .where('attempts', '=', attempts)
      .where(RUNNING)
      .executeTakeFirstOrThrow();
    return numUpdatedRows > 0n;
  }

  /**
   * Ends a run of a dead process: the job is queued again at its old priority, or fails with `error`. Undefined if it
   * has ended before.
   */
  cutOff(
    queries: Queries,
    { id, attempts, processId }: RunSeen,
    error?: string,
  ): Promise<(Ended & JobViewRow) | undefined> {
    return queries
      .updateTable('jobs')
      .set(({ eb }) => ({
        ...(error === undefined
          ? { state: 'queued', processId: null }
          : { state: 'failed', error, ...ENDED, input: failedInput(), finishedAt: this.#clock.now }),
        crashCount: eb('crashCount', '+', 1),
      }))
      .where('id', '=', id)
      .where('attempts', '=', attempts)
      .where('processId', '=', processId)
      .where(RUNNING)
      .returning([...RETURNED, ...VIEW_COLUMNS])
      .executeTakeFirst();
  }

  /** The statement for claims with the same bounds. */
  #claimLike(input: ClaimInput): ReturnType<typeof createClaim> {
    const form = `${input.kind} ${input.crashCountBelow === undefined} ${input.maxPerKey === undefined}`;
    const known = this.#claims.get(form);
    if (known) return known;
    const made = createClaim(input, { queries: this.#queries, isPostgres: this.#isPostgres, clock: this.#clock });
    this.#claims.set(form, made);
    return made;
  }
}

/** Whether the kind is not paused: a table of at most one row for each kind. */
function isServed(kind: JobKind) {
  return sql<boolean>`not exists (select 1 from job_pauses where job_pauses.kind = ${sql.lit(kind)})`;
}

function createClaim(
  { kind, crashCountBelow, maxPerKey }: ClaimInput,
  { queries, isPostgres, clock }: { queries: Queries; isPostgres: boolean; clock: DatabaseClock },
) {
  return createStatement((parameters: Omit<Required<ClaimInput>, 'kind'>): CompiledQuery<JobRow> => {
    const next = queries
      .selectFrom('jobs')
      .select('id')
      .where('kind', '=', sql.lit(kind))
      .where(ACTIVE)
      .where(QUEUED)
      .where(isServed(kind))
      .$if(crashCountBelow !== undefined, (query) => query.where('crashCount', '<', parameters.crashCountBelow))
      .$if(maxPerKey !== undefined, (query) =>
        query.where('keyId', 'not in', (busy) =>
          busy
            .selectFrom('jobs as other')
            .select('other.keyId')
            .where('other.kind', '=', sql.lit(kind))
            .where(sql<boolean>`other.state = 'running'`)
            .groupBy('other.keyId')
            .having(({ fn, eb }) => eb(fn.countAll<number>(), '>=', parameters.maxPerKey)),
        ),
      )
      .orderBy('priority')
      .orderBy('createdAt')
      .orderBy('id')
      .limit(ONE);
    return (
      queries
        .updateTable('jobs')
        .set({
          state: 'running',
          processId: parameters.processId,
          startedAt: clock.compiledNow,
          attempts: sql<number>`attempts + 1`,
        })
        // Not `for update`: it would skip a job that is being joined at this moment.
        .where('id', '=', isPostgres ? next.forNoKeyUpdate().skipLocked() : next)
        .where(QUEUED)
        .returningAll()
        .compile()
    );
  });
}

export const RETURNED = [
  'id',
  'kind',
  'owner',
  'keyId',
  'admission',
  'asked',
  'error',
  'createdAt',
  'finishedAt',
] as const;

/** The input may be large or private and is no longer needed, so it is cleared. The webhook is due at once. */
export const ENDED = {
  processId: sql.lit(null),
  input: sql.lit('null'),
  webhookDueAt: sql.raw<number | null>('case when "webhookUrl" is null then null else 0 end'),
} as const;

/** The input of a job that failed, which a retry needs. */
function failedInput() {
  return sql<string>`case when ${keepsInput()} then input else 'null' end`;
}

/** The columns of an ended job that the admission hooks receive. */
export type Ended = Pick<JobRow, (typeof RETURNED)[number]>;

/** The result of a run; JSON. */
export type Outcome =
  | { result: string; charge?: Charge }
  /** @param unanswered Whether a vendor that was asked did not answer in time. */
  | { error: string; unanswered?: boolean };

/** The job waited too long in the queue. */
export interface Expiry {
  kind: JobKind;
  /** Milliseconds in the queue, a whole number. */
  maxQueuedMs: number;
  /** JSON. */
  error: string;
  limit: number;
}

export interface Cancellation {
  ids: readonly string[];
  /** JSON. */
  error: string;
}

/** The statements that end jobs. Each ends only a job that has not ended, so its side effects happen once. */
export class JobEndTable {
  readonly #isPostgres: boolean;
  readonly #clock: DatabaseClock;
  readonly #complete: ReturnType<typeof createFinish>;
  readonly #fail: ReturnType<typeof createFinish>;

  constructor({ engine, queries }: Pick<Database, 'engine' | 'queries'>, clock: DatabaseClock) {
    this.#isPostgres = engine === 'postgres';
    this.#clock = clock;
    this.#complete = createFinish(queries, 'result', clock);
    this.#fail = createFinish(queries, 'error', clock);
  }

  /** Undefined if the run no longer owned the job. */
  *finish({ id, attempts }: RunKey, outcome: Outcome): Script<Ended | undefined> {
    const run = { id, attempts };
    const [ended] = yield* 'result' in outcome
      ? this.#complete({ ...run, json: outcome.result })
      : this.#fail({ ...run, json: outcome.error });
    return ended;
  }

  /** Locks the job until the transaction ends. */
  lock(transaction: Transaction<Tables>, id: string): Promise<JobViewRow | undefined> {
    const job = transaction.selectFrom('jobs').select(VIEW_COLUMNS).where('id', '=', id);
    return (this.#isPostgres ? job.forNoKeyUpdate() : job).executeTakeFirst();
  }

  /** Locks the active jobs, in the order of `finish`. `joined` tells whether other owners have joined it. */
  lockActive(
    transaction: Transaction<Tables>,
    { owner, keyId }: JobsOfOwner,
  ): Promise<{ id: string; joined: number | boolean }[]> {
    const jobs = transaction
      .selectFrom('jobs')
      .select(['id', sql<number | boolean>`exists (select 1 from job_owners where "jobId" = jobs.id)`.as('joined')])
      .where(ACTIVE)
      .where(keyId === undefined ? ownedBy(owner) : sql<boolean>`owner = ${owner} and "keyId" = ${keyId}`)
      .orderBy('id');
    return (this.#isPostgres ? jobs.forNoKeyUpdate() : jobs).execute();
  }

  async cancel(queries: Kysely<Tables>, { ids, error }: Cancellation): Promise<(Ended & JobViewRow)[]> {
    if (ids.length === 0) return [];
    return queries
      .updateTable('jobs')
      .set({ state: 'cancelled', error, ...ENDED, finishedAt: this.#clock.now })
      .where('id', 'in', ids)
      .where(ACTIVE)
      .returning([...RETURNED, ...VIEW_COLUMNS])
      .execute();
  }

  /** Fails jobs that waited too long for their first run. */
  expire(queries: Kysely<Tables>, { kind, maxQueuedMs, error, limit }: Expiry): Promise<(Ended & JobViewRow)[]> {
    const late = queries
      .selectFrom('jobs')
      .select('id')
      .where('kind', '=', kind)
      .where(ACTIVE)
      .where(QUEUED)
      .where('attempts', '=', 0)
      .where('createdAt', '<=', sql<number>`${this.#clock.now} - ${sql.lit(maxQueuedMs)}`)
      .limit(limit);
    return queries
      .updateTable('jobs')
      .set({ state: 'failed', error, ...ENDED, input: failedInput(), finishedAt: this.#clock.now })
      .where('id', 'in', this.#isPostgres ? late.forNoKeyUpdate().skipLocked() : late)
      .where(QUEUED)
      .returning([...RETURNED, ...VIEW_COLUMNS])
      .execute();
  }
}

/** Every run ends by one of these. */
function createFinish(queries: Queries, outcome: 'result' | 'error', clock: DatabaseClock) {
  const state = sql.lit<JobState>(outcome === 'result' ? 'completed' : 'failed');
  const input = outcome === 'result' ? ENDED.input : failedInput();
  return createStatement(({ id, attempts, json }: RunKey & { json: string }) =>
    queries
      .updateTable('jobs')
      .set({ [outcome]: json, state, ...ENDED, input, finishedAt: clock.compiledNow })
      .where('id', '=', id)
      .where('attempts', '=', attempts)
      .where(RUNNING)
      .returning(RETURNED)
      .compile(),
  );
}

/** The charge of a job that ended after a vendor was asked, which did not answer. */
export function askedCharge({ asked }: Pick<Ended, 'asked'>): Charge | undefined {
  return asked === null ? undefined : (JSON.parse(asked) as Charge);
}

export function toEndedJob(row: Ended, outcome: EndedJob['outcome'], charge?: Charge): EndedJob {
  return {
    id: row.id,
    kind: row.kind,
    owner: row.owner,
    keyId: row.keyId,
    admission: row.admission,
    outcome,
    ...(charge && { charge }),
    ...(row.error !== null && { errorCode: (JSON.parse(row.error) as JobFailure).code }),
    createdAt: row.createdAt,
    finishedAt: row.finishedAt as number,
  };
}
