/*
 * Admits requests of model routes: checks the rate limit and reserves the budget in one transaction, and later settles
 * what was used. Requests that arrive together share one transaction per shard (group commit), so the database does
 * one commit for many. Settlements are queued, written in batches within 100 ms and retried while the database is
 * unavailable. Of more than 100,000, the oldest without a reservation are written as one sum; one with a reservation
 * is never evicted. Reservations name the process that holds them; if it dies, another process settles them. So a
 * finished request whose process dies before its settlement is written is charged with its input alone, or with
 * `ABORT_CHARGE=reserved` with the whole reservation. After an outage of the database, queued settlements count as
 * usual unless another process, which could write its heartbeat again, declared this one dead before. If an admission
 * was refused with 503 but its transaction commits late, a poll finds its reservation and refunds tokens, money and
 * the request of the budget; its request of the rate limit stays counted for 60 s.
 */

import { randomUUID } from 'node:crypto';
import type { BackgroundCorrection, Clock, Logger } from '../../core/contracts/index.js';
import {
  type Database,
  DatabaseClock,
  Doubts,
  type Instances,
  rowsOf,
  runScript,
  type Script,
  Shards,
  WriteBehind,
} from '../../core/database/index.js';
import {
  createThrottledWarning,
  GatewayError,
  isGatewayError,
  type PollLoop,
  startPollLoop,
} from '../../core/runtime/index.js';
import type { ReservedTokens, TokenDemand } from '../../core/text/index.js';
import {
  type AlertTable,
  BudgetTable,
  type BudgetWants,
  type CountedWants,
  choosePayment,
  grantOf,
  grantOfMoney,
  isBalance,
  type LockedBudgets,
  type Payers,
  reserve,
} from '../budgets/index.js';
import {
  type ConsumeRequest,
  openWindows,
  type RateLimitResult,
  type RateLimitTable,
  shardOfWindow,
} from '../limits/index.js';
import { dearestOf, type Prices } from '../prices/index.js';
import {
  countOldestTogether,
  createBackgroundTable,
  releaseOrphans,
  type Settled,
  type SettlementTables,
  writeCutOffs,
  writeSettlements,
} from './settlements.js';
import type { ReservationsTable } from './tables.js';
import { costOfUsage, type Settlement, tokensOf } from './usage-log.js';
import { type LogRetention, UsageSweeper } from './usage-sweep.js';
import { createUsageTable } from './usage-table.js';

/** A request of a model route to be admitted, or of link data if {@link BudgetWants.uses} names links or bytes. */
export interface AdmissionRequest {
  keyId: string;
  accountId: string;
  /** Default: the key has no rate limit. */
  rateLimit?: ConsumeRequest;
  /** Default: the key has no budget. */
  reserve?: BudgetWants & BudgetIds;
  /** Template: `/v1/chat/completions`. */
  route: string;
  model: string;
}

/** The budgets that a request is counted for. */
export interface BudgetIds {
  /** Budget of the plan; it must exist. */
  budgetId: string | null;
  /** Those of the key itself, its account and its group: one that was removed limits nothing. Default: none. */
  furtherBudgets?: readonly string[];
  /** The prepaid balance that pays if the plan cannot. Default: none. */
  balanceId?: string;
}

export interface Admission {
  /** Settle it once. Undefined without a budget; then the request is settled without it. */
  reservation?: string;
  /** The balance that pays in place of the plan. */
  paidBy?: string;
  /** What the request may use; set if its tokens were counted for a budget that limits tokens. */
  reserved?: ReservedTokens;
  /** Set if a rate limit was checked. If it refused, nothing was reserved either. */
  rateLimit?: RateLimitResult;
}

/** Maximum number of settlements that wait for the database. */
const CAPACITY = 100_000;
/** Maximum number of budgets that are known to limit tokens or money. */
const MAX_KNOWN = 10_000;

export interface AdmissionsOptions {
  database: Database;
  instances: Instances;
  /** The table of the rate limits, so that both count the same requests. */
  rateLimitTable: RateLimitTable;
  /** Clock of budget periods and days. Default: the database's clock. */
  clock?: Clock;
  /** Default: none, and no cost is known. */
  prices?: Prices;
  /** Whether a reservation of a dead process is charged as a whole. Default: its input alone. */
  chargesReserved?: boolean;
  /** Default: no alerts of budgets are written. */
  alertTable?: AlertTable;
  /** What is kept of the usage log. Default: 30 days, and 100,000 rows of each key. */
  logRetention?: LogRetention | undefined;
  logger: Logger;
}

/**
 * Admits requests of model routes and writes their usage. Rate limit and budget are checked in one transaction, so that
 * parallel requests cannot overspend. A reservation is held until it is settled, or until the process that admitted it
 * dies; then its input is charged (status 500, estimated), or all of it with
 * `chargesReserved`.
 *
 * Counting tokens takes time, so it runs only if a budget limits tokens or money. A request is first judged without a
 * count if its budgets are not known to need one. It then reserves its input and as much output as it wants, or
 * as is left in all of its budgets. So the usage stays within each budget as long as upstreams keep to the limit that
 * they get.
 */
export class Admissions {
  readonly #options: AdmissionsOptions;
  readonly #tables: SettlementTables;
  readonly #shards: Shards<AdmissionInput, Admission | typeof UNCOUNTED>;
  readonly #writing: WriteBehind<Settled>;
  readonly #polling: PollLoop;
  readonly #doubts = new Doubts(() => this.#undoUnlisted());
  /** Reservations, and the tokens that their upstream was limited to. */
  readonly #held = new Map<string, number | undefined>();
  /** Budgets that are known to limit tokens or money. */
  readonly #limiting = new Set<string>();

  constructor(options: AdmissionsOptions) {
    this.#options = options;
    const { database, instances, rateLimitTable, clock, prices, chargesReserved = false, alertTable, logger } = options;
    const { engine, queries } = database;
    const budgetTable = new BudgetTable({ engine, queries, clock, alertTable });
    const usageTable = createUsageTable(queries);
    const tables = {
      budgetTable,
      usageTable,
      backgroundTable: createBackgroundTable(queries, prices),
      prices,
      chargesReserved,
    };
    this.#tables = tables;
    const hold = (rows: readonly ReservationRow[]) =>
      usageTable.insertReservations(rows.map((row) => ({ ...row, processId: instances.id })));
    this.#shards = new Shards({
      database,
      // A power cut also ends the requests themselves, so losing the last moment is acceptable.
      durability: 'relaxed',
      script: (requests) => admitGroup(requests, { rateLimitTable, budgetTable, prices, hold }),
    });
    this.#writing = new WriteBehind({
      database,
      name: 'settlements of requests',
      capacity: CAPACITY,
      evict: (waiting) => countOldestTogether(waiting, CAPACITY / 10),
      write: (items, areNew) => writeSettlements(items, tables, areNew),
      done: (items) => this.#forget(items),
      logger,
    });
    this.#releaseOfDead();
    const report = createThrottledWarning(logger, 'reservations and old usage wait for the database');
    const sweeper = new UsageSweeper(database, new DatabaseClock(clock), options.logRetention);
    const work = async () => {
      await this.#doubts.settle();
      await sweeper.sweep();
    };
    this.#polling = startPollLoop({ intervalMs: instances.leaseMs / 3, work, report });
  }

  /**
   * Resolves when the consumed request and the reservation survive a crash of this process. On SQLite a power cut may
   * lose those since the last settlement, and it has ended their requests too.
   * @throws GatewayError `insufficient_quota` if the budget is too small, `upstream_unavailable` if the database does
   *   not answer.
   */
  admit(request: AdmissionRequest): Promise<Admission> {
    const { rateLimit, reserve } = request;
    if (reserve) return this.#admitReserving(request, reserve);
    if (!rateLimit) return Promise.resolve({});
    return this.#shards.submit(shardOf(request), { ...request, reserve }) as Promise<Admission>;
  }

  /**
   * Queues a settlement; never throws and never waits. It is written in a batch within 100 ms and retried while the
   * database is unavailable; beyond 100,000, the oldest without a reservation are aggregated.
   */
  settle(settlement: Settlement): void {
    const { prices, logger } = this.#options;
    const { reservation, requestId, keyId, model, usage } = settlement;
    const reserved = reservation === undefined ? undefined : this.#held.get(reservation);
    const used = tokensOf(usage);
    if (reserved !== undefined && used > reserved) {
      logger.warn('an upstream used more tokens than it was limited to', { requestId, keyId, model, count: used });
    }
    this.#writing.push(prices ? { cost: costOfUsage(prices, model, usage), ...settlement } : settlement);
  }

  /**
   * Settles a reservation whose usage is counted elsewhere, as that of links; like `settle`, it never throws and never
   * waits.
   * @param cost Millionths of the currency.
   */
  release(reservation: string, cost: number): void {
    this.#writing.push({ reservation, costUsed: cost });
  }

  /**
   * Corrects the estimate of {@link Settlement.background}; like `settle`, it never throws and never waits. No effect
   * if it was already corrected, or never existed.
   */
  correct(correction: BackgroundCorrection): void {
    if (correction.usage || correction.final) this.#writing.push(correction);
  }

  /** Resolves when everything settled so far is durable. */
  flush(): Promise<void> {
    return this.#writing.flush();
  }

  /** The same, or when the database has been unavailable for 2.4 s. */
  flushInTime(): Promise<void> {
    return this.#writing.flushInTime();
  }

  /** Writes settlements. */
  async close(): Promise<void> {
    await this.#writing.close();
    await this.#polling.stop();
  }

  async #admitReserving(
    request: AdmissionRequest,
    { demand: count, ...wants }: NonNullable<AdmissionRequest['reserve']>,
  ): Promise<Admission> {
    const budgetIds = idsOf(wants);
    const isKnown = budgetIds.some((each) => this.#limiting.has(each));
    const demand = count && isKnown ? await count() : undefined;
    const id = randomUUID();
    // Before the insert: a reservation in the database that this process does not hold is refunded.
    this.#held.set(id, undefined);
    /** Whether a failure leaves open if anything was written. */
    let isOpen = false;
    const submit = (demand: TokenDemand | undefined) => {
      isOpen = true;
      const reserve = { ...wants, id, demand, canCount: Boolean(count) };
      return this.#shards.submit(shardOf(request), { ...request, reserve });
    };
    try {
      await this.#options.instances.enter();
      let admission = await submit(demand);
      if (admission === UNCOUNTED) {
        isOpen = false;
        this.#noteLimiting(budgetIds);
        admission = await submit(await count?.());
        if (admission === UNCOUNTED) throw new Error('a counted request is judged');
      }
      const { reservation, reserved } = admission;
      if (reservation === undefined) this.#held.delete(id);
      else if (reserved) this.#held.set(id, reserved.input + reserved.output);
      return admission;
    } catch (error) {
      this.#held.delete(id);
      if (isOpen && (!isGatewayError(error) || error.code !== 'insufficient_quota')) this.#doubts.add('admission');
      throw error;
    }
  }

  #noteLimiting(budgetIds: readonly string[]): void {
    if (this.#limiting.size >= MAX_KNOWN) this.#limiting.clear();
    for (const each of budgetIds) this.#limiting.add(each);
  }

  #forget(items: readonly Settled[]): void {
    for (const item of items) {
      if ('reservation' in item && item.reservation !== undefined) this.#held.delete(item.reservation);
    }
  }

  /** A reservation in the database that no request holds belongs to a request that was refused. */
  #undoUnlisted(): Promise<void> {
    const { database, instances } = this.#options;
    return database.transaction(async (transaction) => {
      const own = transaction.selectFrom('reservations').select('id').where('processId', '=', instances.id);
      const unlisted = (await own.execute()).flatMap((row) => (this.#held.has(row.id) ? [] : [row.id]));
      if (unlisted.length === 0) return;
      const deleted = transaction.deleteFrom('reservations').where('id', 'in', unlisted).returningAll();
      await runScript(transaction, releaseOrphans(await deleted.execute(), this.#tables));
    });
  }

  #releaseOfDead(): void {
    const { database, instances } = this.#options;
    const { queries } = database;
    instances.onProcessDead({
      *holders() {
        const rows = yield* rowsOf(queries.selectFrom('reservations').select('processId').distinct().compile());
        return rows.map(({ processId }) => processId);
      },
      release: (dead) =>
        database.transaction(async (transaction) => {
          const deleted = transaction.deleteFrom('reservations').where('processId', '=', dead).returningAll();
          await runScript(transaction, writeCutOffs(await deleted.execute(), this.#tables));
        }),
    });
  }
}

export interface AdmissionInput extends Omit<AdmissionRequest, 'reserve'> {
  reserve?: NewReservation;
}

interface NewReservation extends Omit<CountedWants, 'model'>, BudgetIds {
  id: string;
}

/** A budget limits tokens or money, and the request's tokens are not counted yet. Nothing was consumed. */
export const UNCOUNTED = Symbol('uncounted');

export type ReservationRow = Omit<ReservationsTable, 'processId'>;

export interface AdmissionTables {
  rateLimitTable: RateLimitTable;
  budgetTable: BudgetTable;
  /** Default: none. */
  prices?: Prices;
  /** Inserts reservations with the id of this process. */
  hold(rows: readonly ReservationRow[]): Script<void>;
}

/**
 * Judges requests one after the other, each with the consumption of those before it. It first reads what all of them
 * need, and writes all changes at the end. Refused requests consume nothing.
 */
export function* admitGroup(
  requests: readonly AdmissionInput[],
  { rateLimitTable, budgetTable, prices, hold }: AdmissionTables,
): Script<(Admission | typeof UNCOUNTED | GatewayError)[]> {
  const budgetIds = requests.flatMap(({ reserve: wanted }) => (wanted ? idsOf(wanted) : []));
  const budgets = budgetIds.length > 0 ? yield* budgetTable.lock(budgetIds) : undefined;
  const rateLimits = yield* openWindows(
    rateLimitTable,
    requests.map(({ rateLimit }) => rateLimit),
  );
  const reservations: ReservationRow[] = [];

  const pricesFor = ({ fallbacks }: NewReservation) => (prices && fallbacks ? dearestOf(prices, fallbacks) : prices);

  function* judge({
    keyId,
    accountId,
    route,
    model,
    rateLimit,
    reserve: wanted,
  }: AdmissionInput): Script<Admission | typeof UNCOUNTED | GatewayError> {
    // Links and their bytes count in budgets of money alone.
    const isOfLinks = wanted?.uses?.links !== undefined || wanted?.uses?.bytes !== undefined;
    // Checked first, so that a request that can never succeed consumes no rate limit.
    const payment =
      wanted &&
      budgets &&
      choosePayment(
        payersOf(budgets, wanted, isOfLinks),
        { ...wanted, model },
        { at: budgets.at, prices: pricesFor(wanted) },
        isOfLinks ? grantOfMoney : grantOf,
      );
    const { rows, grant } = payment ?? NO_PAYMENT;
    if (isGatewayError(grant)) return grant;
    const window = rateLimit && rateLimits.of(rateLimit);
    if (rateLimit && window && !window.has(rateLimit)) return { rateLimit: yield* window.peek(rateLimit) };
    if (wanted?.canCount && !wanted.demand && grant?.isLimited) return UNCOUNTED;
    const answer = rateLimit && window?.consume(rateLimit);
    if (!wanted || !budgets || !grant || (isOfLinks && rows.length === 0)) return answer ? { rateLimit: answer } : {};
    const { tokens, cost, reserved, input } = grant;
    for (const row of rows) budgets.change(reserve(row, grant, isOfLinks ? 0 : 1));
    const { id } = wanted;
    const periods = JSON.stringify(Object.fromEntries(rows.map((row) => [row.id, isOfLinks ? null : row.period])));
    const charged = { tokens, cost, inputTokens: input.tokens, inputCost: input.cost };
    reservations.push({ id, budgets: periods, keyId, accountId, route, model, ...charged, at: budgets.at });
    const paidBy = rows.find(isBalance)?.id;
    return {
      reservation: id,
      ...(paidBy !== undefined && { paidBy }),
      ...(reserved && { reserved }),
      ...(answer && { rateLimit: answer }),
    };
  }

  const decisions: (Admission | typeof UNCOUNTED | GatewayError)[] = [];
  for (const input of requests) decisions.push(yield* judge(input));
  yield* rateLimits.save();
  if (budgets) yield* budgets.save();
  if (reservations.length > 0) yield* hold(reservations);
  return decisions;
}

function shardOf({ keyId, rateLimit }: AdmissionRequest): string {
  return rateLimit ? shardOfWindow(rateLimit) : keyId;
}

function idsOf({ budgetId, furtherBudgets = [], balanceId }: BudgetIds): readonly string[] {
  const ids = budgetId === null ? furtherBudgets : [budgetId, ...furtherBudgets];
  return balanceId === undefined ? ids : [...ids, balanceId];
}

const NO_PAYMENT = { rows: [], grant: undefined } as const;

function payersOf(budgets: LockedBudgets, { balanceId, ...ids }: BudgetIds, isOfLinks: boolean): Payers {
  const found = idsOf(ids).map((id) => budgets.find(id));
  const rows = found.filter((row) => row !== undefined).filter((row) => !isOfLinks || row.costLimit !== null);
  const isComplete = isOfLinks || ids.budgetId === null || found[0] !== undefined;
  const balance = balanceId === undefined ? undefined : budgets.find(balanceId);
  return { rows, refusal: isComplete ? undefined : noBudget(), balance };
}

function noBudget(): GatewayError {
  return new GatewayError('insufficient_quota', 'The budget of this API key no longer exists.');
}
