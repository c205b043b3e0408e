import {
  type CompiledQuery,
  type Database,
  type DatabaseClock,
  filled,
  type Kysely,
  lockNamed,
  rowsOf,
  type Script,
  sql,
  type Tables,
  type Transaction,
} from '../database/index.js';
import { ACTIVE, type JobRow, ONE, QUEUED, RUNNING, SHOWN, type ShownRow } from './job-statements.js';
import type { Charge, EndedJob, JobKind } from './jobs.js';

type Queries = Kysely<Tables>;

/** One run of a job, known by its number. */
export interface RunKey {
  id: string;
  attempts: number;
}

/** A run as others see it. */
export interface RunSeen extends RunKey {
  /** Id of its process. */
  processId: string;
  crashCount: number;
  /** Of the request that accepted the job. */
  requestId: string | null;
}

export interface ClaimInput {
  kind: JobKind;
  processId: string;
  /** Only jobs that were cut off less often. Default: any. */
  crashCountBelow?: number;
  /** Runs of one key at the same time. Default: any number. */
  maxPerKey?: number;
}

export type JobRunTable = ReturnType<typeof createJobRunTable>;

/** The statements of runs: claimed, looked at, given back, cut off. */
export function createJobRunTable(
  { engine, queries: compiler }: Pick<Database, 'engine' | 'queries'>,
  clock: DatabaseClock,
) {
  const postgres = engine === 'postgres';
  const claims = new Map<string, CompiledQuery<JobRow>>();
  const anyQueued = { extraction: compileAnyQueued('extraction'), image: compileAnyQueued('image') };
  const holders = { extraction: compileHolders('extraction'), image: compileHolders('image') };

  function compileAnyQueued(kind: JobKind): CompiledQuery<{ priority: number }> {
    return compiler
      .selectFrom('jobs')
      .select('priority')
      .where('kind', '=', sql.lit(kind))
      .where(ACTIVE)
      .where(QUEUED)
      .limit(ONE)
      .compile();
  }

  function compileHolders(kind: JobKind): CompiledQuery<{ processId: string | null }> {
    return compiler
      .selectFrom('jobs')
      .select('processId')
      .distinct()
      .where('kind', '=', sql.lit(kind))
      .where(RUNNING)
      .compile();
  }

  /** Each form once; see statements.ts. */
  function compileClaim({ kind, processId, crashCountBelow, maxPerKey }: ClaimInput): CompiledQuery<JobRow> {
    const form = `${kind} ${crashCountBelow === undefined} ${maxPerKey === undefined}`;
    const known = claims.get(form);
    if (known) return known;
    const next = compiler
      .selectFrom('jobs')
      .select('id')
      .where('kind', '=', sql.lit(kind))
      .where(ACTIVE)
      .where(QUEUED)
      .$if(crashCountBelow !== undefined, (query) => query.where('crashCount', '<', crashCountBelow as number))
      .$if(maxPerKey !== undefined, (query) =>
        query.where('keyId', 'not in', (busy) =>
          busy
            .selectFrom('jobs as other')
            .select('other.keyId')
            .where('other.kind', '=', sql.lit(kind))
            .where(sql<boolean>`other.state = 'running'`)
            .groupBy('other.keyId')
            .having(({ fn, eb }) => eb(fn.countAll<number>(), '>=', maxPerKey as number)),
        ),
      )
      .orderBy('priority')
      .orderBy('createdAt')
      .orderBy('id')
      .limit(ONE);
    const claim = compiler
      .updateTable('jobs')
      .set({
        state: 'running',
        processId,
        startedAt: clock.now,
        attempts: sql<number>`attempts + 1`,
      })
      // Not `for update`: that would pass over a job which somebody joins at this moment.
      .where('id', '=', postgres ? next.forNoKeyUpdate().skipLocked() : next)
      .where(QUEUED)
      .returningAll()
      .compile();
    claims.set(form, claim);
    return claim;
  }

  /**
   * Whether there may be a job to claim. A job wakes the workers of all nodes, most of which come too late for it: they are
   * not to stand in line for the lock of those who claim.
   */
  function* mayClaim(kind: JobKind): Script<boolean> {
    return (yield* rowsOf(anyQueued[kind])).length > 0;
  }

  return {
    mayClaim,

    /** Until the transaction ends, nobody else claims jobs of this kind: two who count runs would not see each other's. */
    *lockClaims(kind: JobKind): Script<void> {
      if (!postgres) return;
      yield lockNamed(`mediagate claims ${kind}`);
    },

    /** The job whose turn it is, which now runs. */
    *claim(wish: ClaimInput): Script<JobRow | undefined> {
      // Where no round trip is saved, looking costs a fraction of an update that finds nothing.
      if (!postgres && !(yield* mayClaim(wish.kind))) return undefined;
      const { processId, crashCountBelow, maxPerKey } = wish;
      const bounds = [crashCountBelow, maxPerKey].filter((bound) => bound !== undefined);
      const parameters = ['running', processId, ...clock.parameters(), ...bounds];
      const [row] = yield* rowsOf(filled(compileClaim(wish), parameters));
      return row;
    },

    /** Those of the jobs that were cancelled. */
    async cancelled(queries: Queries, ids: readonly string[]): Promise<string[]> {
      const rows = await queries
        .selectFrom('jobs')
        .select('id')
        .where('id', 'in', ids)
        .where(sql<boolean>`state = 'cancelled'`)
        .execute();
      return rows.map(({ id }) => id);
    },

    /** The processes that run jobs of the kind. */
    *holders(kind: JobKind): Script<readonly string[]> {
      return (yield* rowsOf(holders[kind])).map(({ processId }) => processId as string);
    },

    /** What this process runs of the kind. */
    async runsOf(queries: Queries, kind: JobKind, processId: string): Promise<RunSeen[]> {
      const rows = await queries
        .selectFrom('jobs')
        .select(['id', 'attempts', 'crashCount', 'requestId'])
        .where('kind', '=', kind)
        .where(RUNNING)
        .where('processId', '=', processId)
        .execute();
      return rows.map(({ crashCount, ...run }) => ({ ...run, processId, crashCount }));
    },

    /** Back to its old place, as if the run had not been. False where it was no longer the job's. */
    async giveBack(
      queries: Queries,
      { id, attempts, processId }: RunKey & Pick<JobRow, 'processId'>,
    ): Promise<boolean> {
      const { numUpdatedRows } = await queries
        .updateTable('jobs')
        .set({ state: 'queued', processId: null })
        .where('id', '=', id)
        .where('attempts', '=', attempts)
        .where('processId', '=', processId)
        .where(RUNNING)
        .executeTakeFirstOrThrow();
      return numUpdatedRows > 0n;
    },

    /** Ends a run whose process is gone: back to its old place, or failed with `error`. Undefined where it has ended before. */
    cutOff(
      queries: Queries,
      { id, attempts, processId }: RunSeen,
      error?: string,
    ): Promise<(Ended & ShownRow) | undefined> {
      return queries
        .updateTable('jobs')
        .set(({ eb }) => ({
          ...(error === undefined
            ? { state: 'queued', processId: null }
            : { state: 'failed', error, ...ENDED, finishedAt: clock.now }),
          crashCount: eb('crashCount', '+', 1),
        }))
        .where('id', '=', id)
        .where('attempts', '=', attempts)
        .where('processId', '=', processId)
        .where(RUNNING)
        .returning([...RETURNED, ...SHOWN])
        .executeTakeFirst();
    },
  };
}

export const RETURNED = ['id', 'kind', 'owner', 'keyId', 'admission', 'createdAt', 'finishedAt'] as const;

/** Nobody runs the job any more, so nobody needs what may be large, or somebody's portrait. Whoever is to be told is told at once. */
export const ENDED = {
  processId: sql.lit(null),
  input: sql.lit('null'),
  webhookDueAt: sql.raw<number | null>('case when "webhookUrl" is null then null else 0 end'),
} as const;

/** Of a job that has just ended, what the admission hooks receive. */
export type Ended = Pick<JobRow, (typeof RETURNED)[number]>;

/** How a run ended; JSON. */
export type Outcome = { result: string; charge?: Charge } | { error: string };

/** Queued for too long. */
export interface Expiry {
  kind: JobKind;
  /** Whole milliseconds in the queue. */
  maxQueuedMs: number;
  /** JSON. */
  error: string;
  limit: number;
}

export interface Cancellation {
  id: string;
  /** JSON. */
  error: string;
}

export type JobEndTable = ReturnType<typeof createJobEndTable>;

/** The statements that end jobs. Each ends a job that has not ended, so whatever goes with that happens once. */
export function createJobEndTable(
  { engine, queries: compiler }: Pick<Database, 'engine' | 'queries'>,
  clock: DatabaseClock,
) {
  const complete = compileFinish('result');
  const fail = compileFinish('error');

  /** Each run ends by one of these. */
  function compileFinish(outcome: 'result' | 'error'): CompiledQuery<Ended> {
    return compiler
      .updateTable('jobs')
      .set({
        [outcome]: '',
        state: sql.lit(outcome === 'result' ? 'completed' : 'failed'),
        ...ENDED,
        finishedAt: clock.now,
      })
      .where('id', '=', '')
      .where('attempts', '=', 0)
      .where(RUNNING)
      .returning(RETURNED)
      .compile();
  }

  return {
    /** Undefined where the run was no longer the job's. */
    *finish({ id, attempts }: RunKey, outcome: Outcome): Script<Ended | undefined> {
      const [statement, json] = 'result' in outcome ? [complete, outcome.result] : [fail, outcome.error];
      const [ended] = yield* rowsOf(filled(statement, [json, ...clock.parameters(), id, attempts]));
      return ended;
    },

    /** Until the transaction ends, nobody else changes the job. */
    lock(transaction: Transaction<Tables>, id: string): Promise<ShownRow | undefined> {
      const job = transaction.selectFrom('jobs').select(SHOWN).where('id', '=', id);
      return (engine === 'postgres' ? job.forNoKeyUpdate() : job).executeTakeFirst();
    },

    cancel(queries: Kysely<Tables>, { id, error }: Cancellation): Promise<(Ended & ShownRow) | undefined> {
      return queries
        .updateTable('jobs')
        .set({ state: 'cancelled', error, ...ENDED, finishedAt: clock.now })
        .where('id', '=', id)
        .where(ACTIVE)
        .returning([...RETURNED, ...SHOWN])
        .executeTakeFirst();
    },

    /** Fails jobs that have waited too long for their first run. */
    expire(queries: Kysely<Tables>, { kind, maxQueuedMs, error, limit }: Expiry): Promise<(Ended & ShownRow)[]> {
      const late = queries
        .selectFrom('jobs')
        .select('id')
        .where('kind', '=', kind)
        .where(ACTIVE)
        .where(QUEUED)
        .where('attempts', '=', 0)
        .where('createdAt', '<=', sql<number>`${clock.now} - ${sql.lit(maxQueuedMs)}`)
        .limit(limit);
      return queries
        .updateTable('jobs')
        .set({ state: 'failed', error, ...ENDED, finishedAt: clock.now })
        .where('id', 'in', engine === 'postgres' ? late.forNoKeyUpdate().skipLocked() : late)
        .where(QUEUED)
        .returning([...RETURNED, ...SHOWN])
        .execute();
    },
  };
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
    createdAt: row.createdAt,
    finishedAt: row.finishedAt as number,
  };
}
