import type { Usage } from '../../core/contracts/index.js';
import {
  createRowInsertScript,
  type Database,
  type DatabaseClock,
  type Kysely,
  play,
  type Selectable,
  type Tables,
} from '../../core/database/index.js';
import {
  type AdmissionCandidate,
  type AdmissionHooks,
  type CancelledJob,
  type EndedJob,
  type JobAdministration,
  type JobDetails,
  type JobKind,
  type JobList,
  type Jobs,
  queueFull,
  toJson,
} from '../../core/jobs/index.js';
import { GatewayError } from '../../core/runtime/index.js';
import { compileAudit } from '../audit/index.js';
import {
  createIdempotencyKeys,
  hashKey,
  type Idempotency,
  type JobKeyRow,
  type KeyHash,
  keyReused,
} from '../idempotency/index.js';
import {
  countUse,
  type DailyQuota,
  dayOf,
  openWindows,
  readUsed,
  type SlotRequest,
  type SlotTable,
} from '../limits/index.js';
import type { JobChargesTable, UsageTotal } from './tables.js';
import { createUsageTable } from './usage-log.js';
import { createTotals, knownCounts } from './usage-rows.js';

declare module '../http/server-context.js' {
  interface AccountStores {
    readonly jobs: ProductJobs;
  }
}

/*
 * What a job costs its account: a slot of the key's rate limit, one of the account's images of the day, and later what its
 * run used. All of it is written in the transactions that accept and end the job; see core/jobs/jobs.ts. A request with
 * an idempotency key that was used before is answered with the job of that request, at no cost.
 */

/** What a request for a job brings. */
export interface JobRequestTerms {
  /** Default: the key has no rate limit. */
  slot?: SlotRequest;
  /** Default: each request is a new one. */
  idempotency?: Idempotency;
  /** Default: the account has none. */
  quota?: DailyQuota;
}

/** The same as the admission hooks take it: `terms` of an acceptance. */
export interface JobTerms {
  slot?: SlotRequest;
  keyHash?: KeyHash;
  quota?: DailyQuota;
}

/** Hashes outside of the transaction. Undefined where nothing is asked for. */
export function toJobTerms({ slot, idempotency, quota }: JobRequestTerms): JobTerms | undefined {
  if (!slot && !idempotency && !quota) return undefined;
  return {
    ...(slot && { slot }),
    ...(idempotency && { keyHash: hashKey(idempotency) }),
    ...(quota && { quota }),
  };
}

/** What is kept with a job until its end. */
interface KeptAdmission {
  /** The day whose quota it took: `2026-06-15`. */
  quotaDay: string;
}

export interface JobAdmissionOptions {
  /** Only compiles queries. */
  queries: Kysely<Tables>;
  kind: JobKind;
  /** The one of the rate limits: slots that are taken here and there are the same. */
  slots: SlotTable;
}

/** What usage of a kind is counted under, whichever route its job came by. */
const ROUTES: Readonly<Record<JobKind, string>> = { extraction: '/v1/extract', image: '/v1/images/jobs' };
const NO_TERMS: JobTerms = {};

/** The admission hooks of one kind of jobs. */
export function createJobAdmission({ queries, kind, slots }: JobAdmissionOptions): AdmissionHooks {
  const idempotencyKeys = createIdempotencyKeys(queries);
  const usageTable = createUsageTable(queries);
  const insertCharges = createRowInsertScript({ queries, table: 'job_charges', sample: CHARGE });

  return {
    *open(candidates, at) {
      const day = dayOf(at);
      const termsOf = ({ terms }: AdmissionCandidate) => (terms ?? NO_TERMS) as JobTerms;
      const hashes = candidates.flatMap((candidate) => {
        const { keyHash } = termsOf(candidate);
        return keyHash?.replay ? [keyHash.hash] : [];
      });
      const remembered = yield* idempotencyKeys.find(hashes, at);
      const limited = candidates.flatMap((candidate) => (termsOf(candidate).quota ? [candidate.owner] : []));
      const used = yield* readUsed(queries, kind, day, limited);
      const find = ({ keyHash }: JobTerms) => (keyHash?.replay ? remembered.get(keyHash.hash) : undefined);
      const windows = yield* openWindows(
        slots,
        candidates.flatMap((candidate) => {
          const terms = termsOf(candidate);
          return terms.slot && !find(terms) ? [terms.slot] : [];
        }),
      );
      const kept = toJson({ quotaDay: day } satisfies KeptAdmission);
      const keys = new Map<string, JobKeyRow>();
      const counted: { accountId: string; kind: JobKind; day: string }[] = [];

      return {
        replayOf: (candidate) => find(termsOf(candidate))?.jobId,
        judge(candidate, { jobId, joined, full }) {
          const terms = termsOf(candidate);
          const { slot, quota, keyHash } = terms;
          const known = find(terms);
          if (known) {
            if (known.fingerprint !== keyHash?.fingerprint) return { outcome: 'refuse', error: keyReused() };
            return { outcome: 'replay', jobId: known.jobId };
          }
          const window = slot && windows.of(slot);
          if (slot && window && !window.has(slot)) {
            return { outcome: 'rateLimited', answer: () => window.look(slot) };
          }
          const usedToday = used.get(candidate.owner) ?? 0;
          if (!joined && quota && usedToday >= quota.limit) {
            return { outcome: 'refuse', error: quotaUsedUp(quota.limit) };
          }
          if (full) return { outcome: 'refuse', error: queueFull() };
          if (!candidate.take) return { outcome: 'accept', answer: slot && window?.foresee(slot) };

          const answer = slot && window?.take(slot);
          if (keyHash) {
            const { hash, fingerprint, keptMs } = keyHash;
            keys.set(hash, { hash, fingerprint, jobId, expiresAt: at + keptMs });
            remembered.set(hash, { fingerprint, jobId });
          }
          if (joined || !quota) return { outcome: 'accept', answer };
          used.set(candidate.owner, usedToday + 1);
          counted.push({ accountId: candidate.owner, kind, day });
          return { outcome: 'accept', admission: kept, answer };
        },
        *save() {
          yield* windows.save();
          yield* idempotencyKeys.remember([...keys.values()]);
          yield* countUse(queries, counted, 1);
        },
      };
    },

    *jobsEnded(jobs) {
      const charged = jobs.filter(({ charge }) => charge !== undefined);
      if (charged.length > 0) {
        yield* insertCharges(charged.map(toUsageLogRow));
        // The table has one row for each job, so totals count each once as well.
        const totals = createTotals();
        for (const job of charged) totals.addTotal(toTotalsRow(job));
        yield* usageTable.addTotals(totals);
      }
      yield* countUse(queries, jobs.flatMap(quotaToGiveBack), -1);
    },
  };
}

/** The day whose quota a job took, as it is kept with the job. */
export function quotaDayOf(admission: string | null): string | null {
  return admission === null ? null : (JSON.parse(admission) as KeptAdmission).quotaDay;
}

/** A job without a result costs no quota. */
function quotaToGiveBack({ owner, kind, outcome, admission }: EndedJob) {
  const day = outcome === 'completed' ? null : quotaDayOf(admission);
  return day === null ? [] : [{ accountId: owner, kind, day }];
}

function quotaUsedUp(limit: number): GatewayError {
  return new GatewayError('daily_image_limit_reached', `This account may make ${limit} images a day (UTC).`);
}

const CHARGE: JobChargesTable = {
  jobId: '',
  kind: 'image',
  accountId: '',
  keyId: '',
  model: '',
  units: 0,
  usage: null,
  at: 0,
};

function toUsageLogRow({ id, kind, owner, keyId, finishedAt, charge }: EndedJob): JobChargesTable {
  const { model = '', units = 0, usage } = charge ?? {};
  return {
    jobId: id,
    kind,
    accountId: owner,
    keyId,
    model,
    units,
    usage: usage === undefined ? null : toJson(usage),
    at: finishedAt,
  };
}

function toTotalsRow({ kind, keyId, owner, createdAt, finishedAt, charge }: EndedJob): UsageTotal {
  const { model = '', units = 0, usage } = charge ?? {};
  return {
    keyId,
    day: dayOf(finishedAt),
    accountId: owner,
    route: ROUTES[kind],
    model,
    requests: 1,
    failed: 0,
    estimated: usage?.estimated ? 1 : 0,
    ...knownCounts(usage),
    images: kind === 'image' ? units : 0,
    latencyMsSum: Math.max(0, finishedAt - createdAt),
  };
}

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

    cancelAsOperator: ({ id, actor, note }) =>
      jobs.cancelAsOperator({
        id,
        *alsoWrite({ from, to, at }) {
          yield compileAudit(database.queries, { subject: id, at, actor, action: 'job.cancelled', from, to, note });
        },
      }),
  };
}

function toCharge(row: Selectable<JobChargesTable> | undefined): JobCharge | null {
  if (!row) return null;
  const { model, units, usage, at } = row;
  return { model, units, usage: usage === null ? null : (JSON.parse(usage) as Usage), at };
}
