import type { Database, JobClock, Tables } from '../database/index.js';
import {
  type CompiledQuery,
  filled,
  type Kysely,
  rowsOf,
  type Script,
  sql,
  type Transaction,
} from '../database/index.js';
import type { EndedJob } from './admission.js';
import { type JobRow, SHOWN, type ShownRow } from './job-rows.js';
import type { RunKey } from './job-run-table.js';
import { ACTIVE, QUEUED, RUNNING } from './job-turns.js';
import type { Charge, JobKind } from './jobs.js';

export const RETURNED = ['id', 'kind', 'account_id', 'key_id', 'admission', 'created_at', 'finished_at'] as const;

/** Nobody runs the job any more, so nobody needs what may be large, or somebody's portrait. Whoever is to be told is told at once. */
export const ENDED = {
  runner: sql.lit(null),
  input: sql.lit('null'),
  webhook_due_at: sql.raw<number | null>('case when webhook_url is null then null else 0 end'),
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
  clock: JobClock,
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
        finished_at: clock.now,
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
        .set({ state: 'cancelled', error, ...ENDED, finished_at: clock.now })
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
        .where('created_at', '<=', sql<number>`${clock.now} - ${sql.lit(maxQueuedMs)}`)
        .limit(limit);
      return queries
        .updateTable('jobs')
        .set({ state: 'failed', error, ...ENDED, finished_at: clock.now })
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
    owner: row.account_id,
    keyId: row.key_id,
    admission: row.admission,
    outcome,
    ...(charge && { charge }),
    createdAt: row.created_at,
    finishedAt: row.finished_at as number,
  };
}
