/*
 * Costs and idempotency keys of jobs, for accounts and operators. A cancellation by an operator writes the audit log in
 * the transaction that ends the job, and a retry in the one that accepts the new job.
 */

import type { Usage } from '../../core/contracts/index.js';
import {
  type Database,
  type DatabaseClock,
  rowsOf,
  runScript,
  type Script,
  type Selectable,
} from '../../core/database/index.js';
import type { CancelledJob, JobAdministration, JobDetails, JobKind, JobList, JobRetry } from '../../core/jobs/index.js';
import { GatewayError } from '../../core/runtime/index.js';
import { compileAudit } from '../audit/index.js';
import { dayOf } from '../format/index.js';
import { readUsed } from '../limits/index.js';
import { quotaDayOf } from './job-admission.js';
import type { JobChargesTable } from './tables.js';

/** The cost of a completed job. */
export interface JobCharge {
  model: string;
  units: number;
  usage: Usage | null;
  /** Millionths of the currency; null without a known price. */
  cost: number | null;
  at: number;
}

/** A job as operators see it, with its cost and idempotency keys. */
export interface CostedJob extends Omit<JobDetails, 'admission'>, Pick<JobList, 'at' | 'leaseMs'> {
  /** The day of the quota it used, e.g. `2026-06-15`; refunded if it failed or was cancelled. */
  quotaDay: string | null;
  /** Expiry of each idempotency key that returns this job. */
  idempotentUntil: readonly number[];
  charge: JobCharge | null;
}

export interface OperatorCancellation {
  id: string;
  /** Names for the audit log. */
  actor: string;
  note?: string;
}

export interface JobCostsOptions {
  database: Database;
  times: DatabaseClock;
  jobs: JobAdministration;
}

/**
 * Costs of jobs, for accounts and operators; an object to be spread over the jobs. All methods throw GatewayError
 * `upstream_unavailable` if the database does not answer.
 */
export function createJobCosts({ database, times, jobs }: JobCostsOptions) {
  return {
    /** Used quota of an account today (UTC), without refunds. */
    usedToday: (kind: JobKind, accountId: string): Promise<number> =>
      database.run(async (queries) => {
        const day = dayOf(await times.read(queries));
        const used = await runScript(queries, readUsed(queries, kind, day, [accountId]));
        return used.get(accountId) ?? 0;
      }),

    /**
     * Costs of jobs that were charged, by id, in millionths of the currency; null without a known price.
     * @param ids At most a hundred.
     */
    costsOf: (ids: readonly string[], accountId: string): Promise<ReadonlyMap<string, number | null>> =>
      database.run(async (queries) => {
        const charges = queries.selectFrom('job_charges').select(['jobId', 'cost']).where('jobId', 'in', ids);
        const rows = ids.length === 0 ? [] : await charges.where('accountId', '=', accountId).execute();
        return new Map(rows.map(({ jobId, cost }) => [jobId, cost]));
      }),

    /** Undefined if there is no such job. May return a job that is already hidden from clients. */
    async inspect(id: string): Promise<CostedJob | undefined> {
      const job = await jobs.inspect(id);
      if (!job) return undefined;
      const { admission, ...details } = job;
      return database.run(async (queries) => {
        // Not indexed: an index would cost each submission, and keys are kept for only a day.
        const keys = queries.selectFrom('idempotency_keys').select('expiresAt').where('jobId', '=', id);
        const charges = queries.selectFrom('job_charges').selectAll().where('jobId', '=', id);
        return {
          ...details,
          quotaDay: quotaDayOf(admission),
          idempotentUntil: (await keys.orderBy('expiresAt').execute()).map(({ expiresAt }) => expiresAt),
          charge: toCharge(await charges.executeTakeFirst()),
        };
      });
    },

    /**
     * As `Jobs.cancel`, for any owner; writes the audit row `job.cancelled`. Undefined if there is no such job.
     * @throws GatewayError `job_already_terminal` if it has completed or failed.
     */
    cancelAsOperator: ({ id, actor, note }: OperatorCancellation): Promise<CancelledJob | undefined> =>
      jobs.cancelAsOperator({
        id,
        *alsoWrite({ from, to, at }) {
          yield compileAudit(database.queries, { subject: id, at, actor, action: 'job.cancelled', from, to, note });
        },
      }),

    /**
     * As `Jobs.retryAsOperator`; writes the audit row `job.retried` of the failed job. Undefined if there is no such job.
     * @throws GatewayError `job_not_retryable`, also while its account is suspended.
     */
    retryAsOperator: ({ id, requestId, actor, note }: OperatorCancellation & Pick<JobRetry, 'requestId'>) =>
      jobs.retryAsOperator({
        id,
        ...(requestId !== undefined && { requestId }),
        *alsoWrite({ owner, newId, at }) {
          yield* refuseSuspended(database, owner);
          yield compileAudit(database.queries, { subject: id, at, actor, action: 'job.retried', to: newId, note });
        },
      }),
  };
}

/** The row is locked, so that a suspension at the same time finds the new job and cancels it. */
function* refuseSuspended({ engine, queries }: Database, owner: string): Script<void> {
  const account = queries.selectFrom('accounts').select('suspendedAt').where('id', '=', owner);
  const [found] = yield* rowsOf((engine === 'postgres' ? account.forShare() : account).compile());
  if (!found || found.suspendedAt === null) return;
  const message = 'The account of this job is suspended. End the suspension first.';
  throw new GatewayError('job_not_retryable', message, { param: 'id' });
}

export type JobCosts = ReturnType<typeof createJobCosts>;

function toCharge(row: Selectable<JobChargesTable> | undefined): JobCharge | null {
  if (!row) return null;
  const { model, units, usage, cost, at } = row;
  return { model, units, usage: usage === null ? null : (JSON.parse(usage) as Usage), cost, at };
}
