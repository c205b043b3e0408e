import { type Kysely, type RawBuilder, sql, type Transaction } from 'kysely';
import type { Clock } from '../contracts/services.js';
import type { Engine } from './database.js';
import type { JobRow } from './job-rows.js';
import type { JobKind } from './jobs.js';
import type { Tables } from './schema.js';

/** Finished jobs are kept so long, in milliseconds. */
const KEPT_MS = 24 * 60 * 60 * 1000;
/** Runs that ended with their process, after which a job is suspected of having ended it. */
const SUSPECT_CUT_OFFS = 2;
/** As the indexes have it, to the letter. */
const ACTIVE = sql<boolean>`state in ('queued', 'running')`;
const DATABASE_NOW = sql<number>`floor(extract(epoch from clock_timestamp()) * 1000)::bigint`;

/** Queries of a transaction or on their own. */
type Queries = Kysely<Tables>;

/** One run of a job, known by its number. */
export interface RunKey {
  id: string;
  attempts: number;
}

/** A run as others see it. */
export interface RunSeen extends RunKey {
  beat: number;
  runner: string;
  cutOffs: number;
}

export interface Draft {
  id: string;
  kind: JobKind;
  dedupeHash: string;
  input: string;
}

/** How a run ended; JSON. */
export type Outcome = { result: string } | { error: string };

export interface ClaimWish {
  kind: JobKind;
  runner: string;
  /** Whether a job that may have ended its process is welcome. */
  suspects: boolean;
}

export type JobTable = ReturnType<typeof createJobTable>;

/**
 * The statements of durable jobs, alike on both engines.
 * @param clock What the times of jobs are read from. Default: the database's own clock.
 */
export function createJobTable(engine: Engine, clock?: Clock) {
  const postgres = engine === 'postgres';

  function now(): RawBuilder<number> {
    return clock ? sql<number>`cast(${Math.floor(clock.now())} as bigint)` : DATABASE_NOW;
  }

  return {
    /** Until the transaction ends, nobody else accepts jobs of this kind. SQLite has one writer anyway. */
    async lockKind(transaction: Transaction<Tables>, kind: JobKind): Promise<void> {
      if (postgres) await sql`select pg_advisory_xact_lock(hashtext(${`mediagate jobs ${kind}`}))`.execute(transaction);
    },

    async countActive(queries: Queries, kind: JobKind): Promise<number> {
      const { active } = await queries
        .selectFrom('jobs')
        .select(({ fn }) => fn.countAll<number>().as('active'))
        .where('kind', '=', kind)
        .where(ACTIVE)
        .executeTakeFirstOrThrow();
      return active;
    },

    findActive(queries: Queries, kind: JobKind, dedupeHash: string): Promise<JobRow | undefined> {
      return queries
        .selectFrom('jobs')
        .selectAll()
        .where('kind', '=', kind)
        .where('dedupe_hash', '=', dedupeHash)
        .where(ACTIVE)
        .executeTakeFirst();
    },

    /** At the end of the queue. */
    insert(queries: Queries, { id, kind, dedupeHash, input }: Draft): Promise<JobRow> {
      return queries
        .insertInto('jobs')
        .values(({ selectFrom }) => ({
          id,
          kind,
          dedupe_hash: dedupeHash,
          state: 'queued',
          place: selectFrom('jobs as other')
            .select(sql<number>`coalesce(max(other.place), 0) + 1`.as('place'))
            .where('other.kind', '=', kind)
            .where(sql<boolean>`other.state in ('queued', 'running')`),
          input,
          attempts: 0,
          cut_offs: 0,
          beat: 0,
          created_at: now(),
        }))
        .returningAll()
        .executeTakeFirstOrThrow();
    },

    async addOwner(queries: Queries, id: string, accountId: string): Promise<void> {
      await queries
        .insertInto('job_owners')
        .values({ job_id: id, account_id: accountId })
        .onConflict((conflict) => conflict.doNothing())
        .execute();
    },

    find(queries: Queries, id: string, accountId: string): Promise<JobRow | undefined> {
      return queries
        .selectFrom('jobs')
        .selectAll('jobs')
        .innerJoin('job_owners', 'job_owners.job_id', 'jobs.id')
        .where('jobs.id', '=', id)
        .where('job_owners.account_id', '=', accountId)
        .where(({ or, eb }) =>
          or([eb('finished_at', 'is', null), eb('finished_at', '>', sql<number>`${now()} - ${KEPT}`)]),
        )
        .executeTakeFirst();
    },

    /** The oldest queued job, which now runs. */
    claim(queries: Queries, { kind, runner, suspects }: ClaimWish): Promise<JobRow | undefined> {
      const oldest = queries
        .selectFrom('jobs')
        .select('id')
        .where('kind', '=', kind)
        .where(ACTIVE)
        .where('state', '=', 'queued')
        .$if(!suspects, (query) => query.where('cut_offs', '<', SUSPECT_CUT_OFFS))
        .orderBy('place')
        .orderBy('id')
        .limit(1);
      return (
        queries
          .updateTable('jobs')
          .set(({ eb }) => ({
            state: 'running',
            attempts: eb('attempts', '+', 1),
            runner,
            beat: eb('beat', '+', 1),
            started_at: now(),
          }))
          // Not `for update`: that would pass over a job which somebody joins at this moment.
          .where('id', '=', postgres ? oldest.forNoKeyUpdate().skipLocked() : oldest)
          .where('state', '=', 'queued')
          .returningAll()
          .executeTakeFirst()
      );
    },

    /** Says that these runs are alive. What is not in the answer is no longer this runner's. */
    beat(queries: Queries, runner: string, ids: readonly string[]): Promise<RunKey[]> {
      return queries
        .updateTable('jobs')
        .set(({ eb }) => ({ beat: eb('beat', '+', 1) }))
        .where('id', 'in', ids)
        .where('runner', '=', runner)
        .where('state', '=', 'running')
        .returning(['id', 'attempts'])
        .execute();
    },

    async running(queries: Queries, kind: JobKind): Promise<RunSeen[]> {
      const rows = await queries
        .selectFrom('jobs')
        .select(['id', 'attempts', 'beat', 'runner', 'cut_offs'])
        .where('kind', '=', kind)
        .where(ACTIVE)
        .where('state', '=', 'running')
        .$narrowType<{ runner: string }>()
        .execute();
      return rows.map(({ cut_offs, ...run }) => ({ ...run, cutOffs: cut_offs }));
    },

    /** False where the run was no longer the job's. */
    async finish(queries: Queries, { id, attempts }: RunKey, outcome: Outcome): Promise<boolean> {
      const { numUpdatedRows } = await queries
        .updateTable('jobs')
        .set({
          state: 'result' in outcome ? 'completed' : 'failed',
          ...outcome,
          runner: null,
          finished_at: now(),
        })
        .where('id', '=', id)
        .where('attempts', '=', attempts)
        .where('state', '=', 'running')
        .executeTakeFirstOrThrow();
      return numUpdatedRows > 0n;
    },

    /** Back to its old place, as if the run had not been. False where it was no longer the job's. */
    async giveBack(queries: Queries, { id, attempts }: RunKey): Promise<boolean> {
      const { numUpdatedRows } = await queries
        .updateTable('jobs')
        .set({ state: 'queued', runner: null })
        .where('id', '=', id)
        .where('attempts', '=', attempts)
        .where('state', '=', 'running')
        .executeTakeFirstOrThrow();
      return numUpdatedRows > 0n;
    },

    /** Ends a run whose process is gone: back to its old place, or failed with `error`. False where it shows life. */
    async cutOff(queries: Queries, { id, attempts, beat }: RunSeen, error?: string): Promise<boolean> {
      const { numUpdatedRows } = await queries
        .updateTable('jobs')
        .set(({ eb }) => ({
          ...(error === undefined ? { state: 'queued' } : { state: 'failed', error, finished_at: now() }),
          cut_offs: eb('cut_offs', '+', 1),
          runner: null,
        }))
        .where('id', '=', id)
        .where('attempts', '=', attempts)
        .where('beat', '=', beat)
        .where('state', '=', 'running')
        .executeTakeFirstOrThrow();
      return numUpdatedRows > 0n;
    },

    /** Deletes jobs that have been finished for long enough, with their owners; how many. */
    async deleteKept(queries: Queries, limit: number): Promise<number> {
      const { numDeletedRows } = await queries
        .deleteFrom('jobs')
        .where('id', 'in', (old) =>
          old.selectFrom('jobs').select('id').where('finished_at', '<=', sql<number>`${now()} - ${KEPT}`).limit(limit),
        )
        .executeTakeFirstOrThrow();
      return Number(numDeletedRows);
    },
  };
}

const KEPT = sql.lit(KEPT_MS);

/** Whether a job of these cut-offs is run only beside jobs that are beyond suspicion. */
export function isSuspect(cutOffs: number): boolean {
  return cutOffs >= SUSPECT_CUT_OFFS;
}
