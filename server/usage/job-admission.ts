/*
 * The cost of a job to its account: one request of the key's rate limit, one image of the account's daily quota, the
 * largest possible cost in its budgets of money, and later the usage of its run. These hooks write all of it in the
 * transactions that accept and end the job, so a job is never accepted without its cost or ended twice. What budgets
 * hold is stored with the job and names no process, so it outlives every process until the job ends; then the real cost
 * replaces it. A job that fails or is cancelled without a charge gets the held money and the quota back, but not the
 * request of the rate limit; one whose vendor may bill is charged. A request with a known idempotency key returns the
 * earlier job at no cost.
 */

import type { Clock, Usage } from '../../core/contracts/index.js';
import {
  createRowInsertScript,
  type Engine,
  type Kysely,
  type Script,
  type Tables,
} from '../../core/database/index.js';
import { isImageCharge } from '../../core/images/index.js';
import {
  type AdmissionCandidate,
  type AdmissionContext,
  type AdmissionDecision,
  type AdmissionHooks,
  type Charge,
  type EndedJob,
  type JobKind,
  type OpenAdmissions,
  queueFull,
  toJson,
  tooManyOpenJobs,
} from '../../core/jobs/index.js';
import { GatewayError, isGatewayError } from '../../core/runtime/index.js';
import { type AlertTable, BudgetTable, type LockedBudgets } from '../budgets/index.js';
import { dayOf } from '../format/index.js';
import {
  createIdempotencyKeys,
  hashKey,
  type Idempotency,
  type IdempotencyKeys,
  type JobKeyRow,
  type KeyHash,
  keyReused,
  type Remembered,
} from '../idempotency/index.js';
import {
  type ConsumeRequest,
  countUse,
  type DailyQuota,
  type OpenWindows,
  openWindows,
  type RateLimitTable,
  readUsed,
} from '../limits/index.js';
import type { Prices } from '../prices/index.js';
import { FREE, type Held, idsOf, type JobBudgets, type MoneyPayment, payMoney, settleHeld } from './held-money.js';
import { statusOfCode } from './log-codes.js';
import type { JobChargesTable, UsageEntriesTable } from './tables.js';
import { costOfUsage, countsOf, pricedPartsOf, Totals, toEntryRow } from './usage-log.js';
import { createUsageTable, type UsageTable } from './usage-table.js';

/** The admission input of a job request. */
export interface JobRequestTerms {
  /** Default: the key has no rate limit. */
  rateLimit?: ConsumeRequest;
  /** Default: every request is new. */
  idempotency?: Idempotency;
  /** Default: the account has no quota. */
  quota?: DailyQuota;
  /** Budgets of the key that may limit money. Default: none. */
  budgets?: JobBudgets;
}

/** The same as the admission hooks receive it: `terms` of an acceptance. */
export interface JobTerms {
  rateLimit?: ConsumeRequest;
  keyHash?: KeyHash;
  quota?: DailyQuota;
  budgets?: JobBudgets;
}

/** Computes hashes outside of the transaction. Undefined if there is nothing to check. */
export function toJobTerms({ rateLimit, idempotency, quota, budgets }: JobRequestTerms): JobTerms | undefined {
  if (!rateLimit && !idempotency && !quota && !budgets) return undefined;
  return {
    ...(rateLimit && { rateLimit }),
    ...(idempotency && { keyHash: hashKey(idempotency) }),
    ...(quota && { quota }),
    ...(budgets && { budgets }),
  };
}

/** Stored with a job until its end. */
interface StoredAdmission {
  /** The day of the quota it used: `2026-06-15`. */
  quotaDay?: string;
  held?: Held;
}

export interface JobAdmissionOptions {
  engine: Engine;
  /** Only compiles queries. */
  queries: Kysely<Tables>;
  /** Clock of budget periods. Default: the database's clock. */
  clock?: Clock;
  kind: JobKind;
  /** The table of the rate limits, so that both count the same requests. */
  rateLimitTable: RateLimitTable;
  /** Default: none, and no cost is known. */
  prices?: Prices;
  /** Default: no alerts of budgets are written. */
  alertTable?: AlertTable;
}

/** The route name in the usage log, for all jobs of a kind. */
const ROUTES: Readonly<Record<JobKind, string>> = {
  batch: '/v1/extract/batches',
  extraction: '/v1/extract',
  image: '/v1/images/jobs',
  transcript: '/v1/extract',
};
const NO_TERMS: JobTerms = {};
const OK = 200;

/** The admission hooks of one kind of jobs. */
export class JobAdmission implements AdmissionHooks {
  readonly #options: JobAdmissionOptions;
  readonly #budgetTable: BudgetTable;
  readonly #idempotencyKeys: IdempotencyKeys;
  readonly #usageTable: UsageTable;
  readonly #insertCharges: (rows: readonly JobChargesTable[]) => Script<unknown>;

  constructor(options: JobAdmissionOptions) {
    this.#options = options;
    const { engine, queries, clock, alertTable } = options;
    this.#budgetTable = new BudgetTable({ engine, queries, clock, alertTable });
    this.#idempotencyKeys = createIdempotencyKeys(queries);
    this.#usageTable = createUsageTable(queries);
    this.#insertCharges = createRowInsertScript({ queries, table: 'job_charges' });
  }

  *open(candidates: readonly AdmissionCandidate[], at: number): Script<OpenAdmissions> {
    const { queries, kind, rateLimitTable, prices } = this.#options;
    const day = dayOf(at);
    const terms = candidates.map(termsOf);
    const hashes = terms.flatMap(({ keyHash }) => (keyHash?.replay ? [keyHash.hash] : []));
    const remembered = yield* this.#idempotencyKeys.find(hashes, at);
    const budgetIds = terms.flatMap(({ budgets }) => (budgets ? idsOf(budgets) : []));
    const budgets = budgetIds.length > 0 ? yield* this.#budgetTable.lock(budgetIds) : undefined;
    const limited = candidates.flatMap((candidate) => (termsOf(candidate).quota ? [candidate.owner] : []));
    const used = yield* readUsed(queries, kind, day, limited);
    const fresh = terms.filter((each) => !findRemembered(remembered, each));
    const rateLimits = yield* openWindows(
      rateLimitTable,
      fresh.map(({ rateLimit }) => rateLimit),
    );
    const idempotencyKeys = this.#idempotencyKeys;
    return new OpenJobAdmissions({
      ...{ queries, kind, prices, at, day },
      ...{ idempotencyKeys, remembered, budgets, used, rateLimits },
    });
  }

  *jobsEnded(jobs: readonly EndedJob[]): Script<void> {
    const { queries, prices } = this.#options;
    const charged = jobs.filter(({ charge }) => charge !== undefined);
    const costs = new Map(charged.map((job) => [job, costOfJob(prices, job)]));
    yield* this.#insertCharges(charged.map((job) => ({ ...toChargeRow(job), cost: costs.get(job) ?? null })));
    // A job ends once, so it is counted once. The links of extractions and batches are counted by themselves.
    const counted = jobs.filter(({ kind, charge, outcome }) => charge || (kind === 'image' && outcome === 'failed'));
    const entries = counted.map((job) => toEntry(job, costs.get(job) ?? null));
    const totals = new Totals();
    for (const entry of entries) totals.addEntry(entry);
    yield* this.#usageTable.insertMissing(entries);
    yield* this.#usageTable.addTotals(totals);
    yield* countUse(queries, jobs.flatMap(quotaToGiveBack), -1);
    yield* settleHeld(
      this.#budgetTable,
      jobs.flatMap((job) => {
        const held = heldOf(job.admission);
        // Without a known price it costs what was held.
        if (!held) return [];
        const occasion = { reference: job.id, note: job.charge?.model ?? job.kind };
        return [{ held, costUsed: job.charge ? (costs.get(job) ?? held.cost) : 0, occasion }];
      }),
    );
  }
}

function termsOf({ terms }: AdmissionCandidate): JobTerms {
  return (terms ?? NO_TERMS) as JobTerms;
}

function findRemembered(remembered: ReadonlyMap<string, Remembered>, { keyHash }: JobTerms): Remembered | undefined {
  return keyHash?.replay ? remembered.get(keyHash.hash) : undefined;
}

interface OpenJobAdmissionsOptions extends Pick<JobAdmissionOptions, 'queries' | 'kind' | 'prices'> {
  at: number;
  /** The day of the quota. */
  day: string;
  idempotencyKeys: IdempotencyKeys;
  /** By hash of the idempotency key; later candidates see those of earlier ones. */
  remembered: Map<string, Remembered>;
  budgets: LockedBudgets | undefined;
  /** Used quota by account. */
  used: Map<string, number>;
  rateLimits: OpenWindows;
}

/** The admissions of one group of jobs, in one transaction. */
class OpenJobAdmissions implements OpenAdmissions {
  readonly #options: OpenJobAdmissionsOptions;
  readonly #keys = new Map<string, JobKeyRow>();
  readonly #counted: { accountId: string; kind: JobKind; day: string }[] = [];

  constructor(options: OpenJobAdmissionsOptions) {
    this.#options = options;
  }

  replayOf(candidate: AdmissionCandidate): string | undefined {
    return findRemembered(this.#options.remembered, termsOf(candidate))?.jobId;
  }

  judge(candidate: AdmissionCandidate, context: AdmissionContext): AdmissionDecision {
    const { prices, remembered, budgets, used, rateLimits } = this.#options;
    const { joined, full, reachedBound } = context;
    const terms = termsOf(candidate);
    const { rateLimit, quota, keyHash, budgets: wanted } = terms;
    const known = findRemembered(remembered, terms);
    if (known) {
      if (known.fingerprint !== keyHash?.fingerprint) return { outcome: 'refuse', error: keyReused() };
      return { outcome: 'replay', jobId: known.jobId };
    }
    const isUsedUp = !joined && quota && (used.get(candidate.owner) ?? 0) >= quota.limit;
    const refusal = isUsedUp ? quotaUsedUp(quota.limit) : undefined;
    const payment =
      !joined && budgets && wanted
        ? payMoney(budgets, wanted, { uses: wanted.uses, at: budgets.at, prices, refusal })
        : FREE;
    const { cost } = payment;
    if (isGatewayError(cost) && cost !== refusal) return { outcome: 'refuse', error: cost };
    const window = rateLimit && rateLimits.of(rateLimit);
    if (rateLimit && window && !window.has(rateLimit)) {
      return { outcome: 'rateLimited', answer: () => window.peek(rateLimit) };
    }
    if (refusal && !payment.byBalance) return { outcome: 'refuse', error: refusal };
    if (reachedBound !== undefined) return { outcome: 'refuse', error: tooManyOpenJobs(reachedBound) };
    if (full) return { outcome: 'refuse', error: queueFull() };
    if (!candidate.take) return { outcome: 'accept', answer: rateLimit && window?.foresee(rateLimit) };
    const answer = rateLimit && window?.consume(rateLimit);
    const stored = this.#consume(candidate, context, payment);
    const isEmpty = Object.keys(stored).length === 0;
    return { outcome: 'accept', answer, ...(!isEmpty && { admission: toJson(stored) }) };
  }

  *save(): Script<void> {
    const { queries, idempotencyKeys, budgets, rateLimits } = this.#options;
    yield* rateLimits.save();
    yield* idempotencyKeys.remember([...this.#keys.values()]);
    yield* countUse(queries, this.#counted, 1);
    if (budgets) yield* budgets.save();
  }

  #consume(
    candidate: AdmissionCandidate,
    { jobId, joined }: AdmissionContext,
    { cost, rows, byBalance }: MoneyPayment,
  ): StoredAdmission {
    const { kind, at, day, remembered, budgets, used } = this.#options;
    const { quota, keyHash } = termsOf(candidate);
    if (keyHash) {
      const { hash, fingerprint, retentionMs } = keyHash;
      this.#keys.set(hash, { hash, fingerprint, jobId, expiresAt: at + retentionMs });
      remembered.set(hash, { fingerprint, jobId });
    }
    const stored: StoredAdmission = {};
    if (budgets && typeof cost === 'number' && cost > 0 && rows.length > 0) {
      for (const row of rows) budgets.change({ ...row, costReserved: row.costReserved + cost });
      stored.held = { cost, periods: Object.fromEntries(rows.map(({ id, period }) => [id, period])) };
    }
    // The quota is the plan's: what the balance pays is not counted in it.
    if (!joined && quota && !byBalance) {
      used.set(candidate.owner, (used.get(candidate.owner) ?? 0) + 1);
      this.#counted.push({ accountId: candidate.owner, kind, day });
      stored.quotaDay = day;
    }
    return stored;
  }
}

function heldOf(admission: string | null): StoredAdmission['held'] {
  return admission === null ? undefined : (JSON.parse(admission) as StoredAdmission).held;
}

/** The quota day that is stored with the job. */
export function quotaDayOf(admission: string | null): string | null {
  return admission === null ? null : ((JSON.parse(admission) as StoredAdmission).quotaDay ?? null);
}

/** A job that nothing is charged for is refunded to the quota. */
function quotaToGiveBack({ owner, kind, outcome, charge, admission }: EndedJob) {
  const day = outcome === 'completed' || charge ? null : quotaDayOf(admission);
  return day === null ? [] : [{ accountId: owner, kind, day }];
}

function quotaUsedUp(limit: number): GatewayError {
  return new GatewayError('daily_image_limit_reached', `This account may make ${limit} images a day (UTC).`);
}

/** Clocks of nodes may differ so much. */
const SKEW_MS = 60_000;

/** Where prices were changed since a job was accepted, it costs at most what was reserved for it then. */
function costOfJob(prices: Prices | undefined, { charge, admission, createdAt }: EndedJob): number | null {
  const cost = costOfCharge(prices, charge);
  const held = heldOf(admission);
  const isChanged = prices?.changedAt !== undefined && createdAt < prices.changedAt + SKEW_MS;
  return cost !== null && held && isChanged ? Math.min(cost, held.cost) : cost;
}

/** Millionths of the currency; null without a known price. */
function costOfCharge(prices: Prices | undefined, charge: Charge | undefined): number | null {
  if (!prices || !charge) return null;
  const { model, usage } = charge;
  if (!isImageCharge(charge)) return costOfUsage(prices, model, usage);
  const { width, height, quality } = charge.image;
  if (width !== undefined && height !== undefined) return costOfImage(prices, model, { width, height, quality, usage });
  // Of an image that was not seen, the size may be any.
  const { outputTokens } = countsOf(usage);
  const highest = { model, inputTokens: 0, image: quality === undefined ? {} : { quality } };
  return prices.highestCostOf({ ...highest, ...(outputTokens !== null && { outputTokens }) });
}

/** Likewise, of an image. */
export function costOfImage(
  prices: Prices,
  model: string,
  { width, height, quality, usage }: { width: number; height: number; quality?: string; usage?: Usage },
): number | null {
  const image = { size: `${width}x${height}`, ...(quality !== undefined && { quality }) };
  return prices.costOf({ model, ...countsOf(usage), ...pricedPartsOf(usage), image });
}

function toChargeRow({ id, kind, owner, keyId, finishedAt, charge }: EndedJob): Omit<JobChargesTable, 'cost'> {
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

/** Its row in the usage log, by the name of the job. */
function toEntry(job: EndedJob, cost: number | null): UsageEntriesTable {
  const { id, kind, keyId, owner, createdAt, finishedAt, charge, outcome, errorCode } = job;
  const { model = '', units = 0, usage } = charge ?? {};
  const code = outcome === 'completed' ? undefined : (errorCode ?? outcome);
  const entry = toEntryRow({
    ...{ requestId: id, keyId, accountId: owner, route: ROUTES[kind], model, cost, at: finishedAt },
    status: code === undefined ? OK : statusOfCode(code),
    ...(code !== undefined && { errorCode: code }),
    ...(usage && { usage }),
    latencyMs: Math.max(0, finishedAt - createdAt),
  });
  return { ...entry, images: kind === 'image' ? units : 0 };
}
