import type { Usage } from '../../core/contracts/index.js';
import type { DatabaseClock } from '../../core/database/index.js';
import { type Database, play, type Selectable } from '../../core/database/index.js';
import type { CancelledJob, JobAdministration, JobDetails, JobKind, JobList, Jobs } from '../../core/jobs/index.js';
import { compileAudit } from '../audit/index.js';
import { dayOf, readUsed } from '../limits/index.js';
import { quotaDayOf } from './job-admission.js';
import type { UsageLogTable } from './tables.js';

/** What a completed job cost. */
export interface JobCharge {
  model: string;
  units: number;
  usage: Usage | null;
  at: number;
}

/** A job as operators see it, with what it cost and what it is remembered by. */
export interface CostedJob extends Omit<JobDetails, 'admission'>, Pick<JobList, 'at' | 'leaseMs'> {
  /** The day whose quota it took, e.g. `2026-06-15`; given back where it failed or was cancelled. */
  quotaDay: string | null;
  /** Of each idempotency key that answers with this job, until when. */
  idempotentUntil: readonly number[];
  charge: JobCharge | null;
}

export interface OperatorCancellation {
  id: string;
  /** As the audit names them. */
  actor: string;
  note?: string;
}

/** What accounts and operators see of the costs of jobs. All throw GatewayError `upstream_unavailable` where the database does not answer. */
export interface JobCosts {
  /** What an account has taken of today's quota (UTC): what was given back is not counted. */
  usedToday(kind: JobKind, accountId: string): Promise<number>;
  /** Undefined where there is no such job. It may be one that clients are not shown any more. */
  inspect(id: string): Promise<CostedJob | undefined>;
  /**
   * As `Jobs.cancel`, whoever it belongs to; writes the audit row `job.cancelled`. Undefined where there is no such job.
   * @throws GatewayError `job_already_terminal` where it has completed or failed.
   */
  cancelAsOperator(cancellation: OperatorCancellation): Promise<CancelledJob | undefined>;
}

/** The jobs of core, and what the product knows of them besides. */
export type ProductJobs = Jobs & Omit<JobAdministration, 'inspect' | 'cancelAsOperator'> & JobCosts;

export interface JobCostsOptions {
  database: Database;
  times: DatabaseClock;
  jobs: JobAdministration;
}

export function createJobCosts({ database, times, jobs }: JobCostsOptions): JobCosts {
  return {
    usedToday: (kind, accountId) =>
      database.run(async (queries) => {
        const day = dayOf(await times.read(queries));
        const used = await play(queries, readUsed(queries, kind, day, [accountId]));
        return used.get(accountId) ?? 0;
      }),

    async inspect(id) {
      const job = await jobs.inspect(id);
      if (!job) return undefined;
      const { admission, ...details } = job;
      return database.run(async (queries) => {
        // No index leads there: it would cost each submission something, and keys are kept for a day.
        const keys = queries.selectFrom('idempotency_keys').select('expires_at').where('job_id', '=', id);
        const charges = queries.selectFrom('ledger').selectAll().where('job_id', '=', id);
        return {
          ...details,
          quotaDay: quotaDayOf(admission),
          idempotentUntil: (await keys.orderBy('expires_at').execute()).map(({ expires_at }) => expires_at),
          charge: toCharge(await charges.executeTakeFirst()),
        };
      });
    },

    cancelAsOperator: ({ id, actor, note }) =>
      jobs.cancelAsOperator({
        id,
        *alsoWrite({ from, to, at }) {
          yield compileAudit(database.queries, { subject: id, at, actor, action: 'job.cancelled', from, to, note });
        },
      }),
  };
}

function toCharge(row: Selectable<UsageLogTable> | undefined): JobCharge | null {
  if (!row) return null;
  const { model, units, usage, at } = row;
  return { model, units, usage: usage === null ? null : (JSON.parse(usage) as Usage), at };
}
