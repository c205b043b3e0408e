import type { Database } from '../database/index.js';
import {
  type CompiledQuery,
  createRowInsertScript,
  filled,
  type Kysely,
  rowsOf,
  type Script,
  sql,
  type Transaction,
} from '../database/index.js';
import { countUse, dayOf } from '../state/limits/daily-quotas.js';
import type { LedgerTable, Tables, UsageTotalsTable } from '../state/schema.js';
import { knownCounts } from '../state/usage/usage-counts.js';
import type { UsageTable } from '../state/usage/usage-table.js';
import { createTotals } from '../state/usage/usage-totals.js';
import type { JobClock } from './job-clock.js';
import { routeOfJobs } from './job-kinds.js';
import { type JobRow, SHOWN, type ShownRow, toJson } from './job-rows.js';
import type { RunKey } from './job-run-table.js';
import { ACTIVE, QUEUED, RUNNING } from './job-turns.js';
import type { Charge, JobKind } from './jobs.js';

export const RETURNED = ['id', 'kind', 'account_id', 'key_id', 'quota_day', 'created_at', 'finished_at'] as const;

/** Nobody runs the job any more, so nobody needs what may be large, or somebody's portrait. Whoever is to be told is told at once. */
export const ENDED = {
  runner: sql.lit(null),
  input: sql.lit('null'),
  webhook_due_at: sql.raw<number | null>('case when webhook_url is null then null else 0 end'),
} as const;

/** Of a job that has just ended, what its account is told by. */
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
  usageTable: UsageTable,
) {
  const insertCharges = createRowInsertScript({ queries: compiler, table: 'ledger', sample: CHARGE });
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

    /** In the transaction that ended them with no result. */
    *giveQuotaBack(ended: readonly Ended[]): Script<void> {
      const taken = ended.flatMap(({ account_id, kind, quota_day }) =>
        quota_day === null ? [] : [{ account_id, kind, day: quota_day }],
      );
      yield* countUse(compiler, taken, -1);
    },

    /** In the transaction that completed them. The table has one row for each job, so totals count each once as well. */
    *writeCharges(charges: readonly (readonly [Ended, Charge])[]): Script<void> {
      if (charges.length === 0) return;
      yield* insertCharges(charges.map(toLedgerRow));
      const totals = createTotals();
      for (const charge of charges) totals.addTotal(toTotalsRow(charge));
      yield* usageTable.addTotals(totals);
    },
  };
}

const CHARGE: LedgerTable = {
  job_id: '',
  kind: 'image',
  account_id: '',
  key_id: '',
  model: '',
  units: 0,
  usage: null,
  at: 0,
};

function toLedgerRow([{ id, kind, account_id, key_id, finished_at }, charge]: readonly [Ended, Charge]): LedgerTable {
  const { model, units, usage } = charge;
  return {
    job_id: id,
    kind,
    account_id,
    key_id,
    model,
    units,
    usage: usage === undefined ? null : toJson(usage),
    at: finished_at as number,
  };
}

function toTotalsRow([ended, { model, units, usage }]: readonly [Ended, Charge]): UsageTotalsTable {
  const { kind, key_id, account_id, created_at, finished_at } = ended;
  const at = finished_at as number;
  return {
    key_id,
    day: dayOf(at),
    account_id,
    route: routeOfJobs(kind),
    model,
    requests: 1,
    failed: 0,
    estimated: usage?.estimated ? 1 : 0,
    ...knownCounts(usage),
    images: kind === 'image' ? units : 0,
    latency_ms_sum: Math.max(0, at - created_at),
  };
}
