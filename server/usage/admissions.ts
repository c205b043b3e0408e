import { randomUUID } from 'node:crypto';
import type { BackgroundCorrection, Clock, Logger, Usage } from '../../core/contracts/index.js';
import {
  createDatabaseClock,
  createShards,
  createWriteBehind,
  DATABASE_PATIENCE_MS,
  type Database,
  type Instances,
  play,
  rowsOf,
  type Script,
} from '../../core/database/index.js';
import { createThrottledWarning, GatewayError, isGatewayError, startPollLoop } from '../../core/runtime/index.js';
import { openWindows, type SlotAnswer, type SlotRequest, type SlotTable } from '../limits/index.js';
import { createBackgroundTable } from './background-table.js';
import { type BudgetTable, createBudgetTable, refusalOf, reserve } from './budgets.js';
import { countOldestTogether, releaseOrphans, type Settled, writeCutOffs, writeSettlements } from './settlements.js';
import type { ReservationsTable } from './tables.js';
import { createUsageTable } from './usage-log.js';
import { createUsageSweeper } from './usage-sweep.js';

/** One request of a model route that asks to be let in. */
export interface AdmissionRequest {
  keyId: string;
  accountId: string;
  /** Default: the key has no window. */
  slot?: SlotRequest;
  /** Default: the key has no budget. */
  reserve?: { budgetId: string; tokens: number };
  /** Template: `/v1/chat/completions`. */
  route: string;
  model: string;
}

export interface Admission {
  /** To be settled once. Undefined where there is no budget, whose request is then settled without. */
  reservation?: string;
  /** Where a slot was asked for. Not accepted: nothing was reserved either. */
  slot?: SlotAnswer;
}

/** How an admitted request ended: a row of the usage ledger. */
export interface Settlement {
  /**
   * Of the request, and not its caller's choice alone: settlements of the same id, key and time are one, and so are those of
   * the same reservation.
   */
  requestId: string;
  keyId: string;
  accountId: string;
  reservation?: string;
  route: string;
  model: string;
  /**
   * HTTP status of the answer; 499 where the client hung up before there was one. A failure without usage gives its request
   * back to the budget, unless it is 499.
   */
  status: number;
  /** Milliseconds from the request to the end of its answer. */
  latencyMs: number;
  /** Absent: nothing was used, as where the upstream refused. `estimated` travels in it. */
  usage?: Usage;
  /** What the upstream goes on making: `usage` is an estimate until {@link BackgroundResponses} hear more. */
  background?: { responseId: string; upstream: string; budgetId: string | null };
  /** Milliseconds since 1970, when it ended. */
  at: number;
}

/**
 * Lets requests of model routes in and writes down what they used. Window and budget are asked in one transaction, so that
 * parallel requests cannot overspend; what a request reserved is held until it is settled, or until the process that
 * admitted it is gone, and then it is settled as used to the last token (status 500, estimated, its tokens as output).
 */
export interface Admissions {
  /**
   * Resolves when the slot and the reservation survive the end of this process; on SQLite a power cut may forget those since
   * the last settlement was written, whose requests it has ended as well.
   * @throws GatewayError `insufficient_quota` where the budget does not hold that much, `upstream_unavailable` where the
   * database does not answer.
   */
  admit(request: AdmissionRequest): Promise<Admission>;
  /**
   * Takes it down; never throws and never waits. Written with others within 100 ms, again and again while the database is
   * away; beyond 100,000 the oldest without a reservation are counted together.
   */
  settle(settlement: Settlement): void;
  /**
   * Corrects what {@link Settlement.background} was counted by; never throws and never waits, as `settle`. Where it was
   * corrected for good before, or never was such, nothing changes.
   */
  correct(correction: BackgroundCorrection): void;
  /** Resolves when everything settled so far is durable. */
  flush(): Promise<void>;
  /** The same, or when the database has been away for 2.4 s. */
  flushInTime(): Promise<void>;
}

/** Settlements that wait for the database. */
const CAPACITY = 100_000;

export interface AdmissionsOptions {
  database: Database;
  instances: Instances;
  /** The one of the rolling windows: slots that are taken here and there are the same. */
  slots: SlotTable;
  /** What periods and days of budgets go by. Default: the database's own clock. */
  clock?: Clock;
  logger: Logger;
}

export interface ClosableAdmissions extends Admissions {
  /** Writes down what was settled. */
  close(): Promise<void>;
}

/** Admissions in SQL, all that arrive while a transaction runs in the next one; and the ledger of what they used. */
export function createAdmissions({ database, instances, slots, clock, logger }: AdmissionsOptions): ClosableAdmissions {
  const { engine, queries } = database;
  const budgetTable = createBudgetTable({ engine, queries, clock });
  const usageTable = createUsageTable(queries);
  const tables = { budgetTable, usageTable, backgroundTable: createBackgroundTable(queries) };
  const held = new Set<string>();
  const report = createThrottledWarning(logger, 'reservations and old usage wait for the database');

  const sweeper = createUsageSweeper(database, createDatabaseClock(clock));
  /** When an admission last failed that may have been committed all the same. */
  let doubtedAt: number | undefined;

  function* hold(rows: readonly ReservationRow[]): Script<void> {
    yield* usageTable.insertReservations(rows.map((row) => ({ ...row, processId: instances.id })));
  }

  async function look(): Promise<void> {
    if (doubtedAt !== undefined) await endDoubts(doubtedAt);
    await sweeper.sweep();
  }

  /** What is in the database and held by nobody was reserved for a request that was told it could not be. */
  async function endDoubts(since: number): Promise<void> {
    const begun = performance.now();
    await database.transaction(async (transaction) => {
      const own = transaction.selectFrom('reservations').select('id').where('processId', '=', instances.id);
      const unheard = (await own.execute()).flatMap((row) => (held.has(row.id) ? [] : [row.id]));
      if (unheard.length === 0) return;
      const deleted = transaction.deleteFrom('reservations').where('id', 'in', unheard).returningAll();
      await play(transaction, releaseOrphans(await deleted.execute(), tables));
    });
    // By then the database has come to all it was asked.
    if (begun - since > 2 * DATABASE_PATIENCE_MS && doubtedAt === since) doubtedAt = undefined;
  }

  instances.onProcessDead({
    *holders() {
      const rows = yield* rowsOf(queries.selectFrom('reservations').select('processId').distinct().compile());
      return rows.map(({ processId }) => processId);
    },
    release: (dead) =>
      database.transaction(async (transaction) => {
        const deleted = transaction.deleteFrom('reservations').where('processId', '=', dead).returningAll();
        await play(transaction, writeCutOffs(await deleted.execute(), tables));
      }),
  });
  const looking = startPollLoop({ intervalMs: instances.leaseMs / 3, work: look, report });

  const lanes = createShards<AdmissionInput, Admission>({
    database,
    // A power cut ends the requests too, and forgets the slots of the last moment with them.
    survives: 'process-end',
    script: (wishes) => admitGroup(wishes, { slots, budgetTable, hold }),
  });

  const writing = createWriteBehind<Settled>({
    database,
    name: 'settlements of requests',
    capacity: CAPACITY,
    shed: (waiting) => countOldestTogether(waiting, CAPACITY / 10),
    write: (items) => writeSettlements(items, tables),
    done(items) {
      for (const item of items)
        if ('reservation' in item && item.reservation !== undefined) held.delete(item.reservation);
    },
    logger,
  });

  async function admitReserving(
    request: AdmissionRequest,
    reserve: NonNullable<AdmissionRequest['reserve']>,
  ): Promise<Admission> {
    const id = randomUUID();
    // Before the database has it: what is there and not held here is given back.
    held.add(id);
    try {
      await instances.enter();
      const admission = await lanes.submit(request.keyId, { ...request, reserve: { ...reserve, id } });
      if (admission.reservation === undefined) held.delete(id);
      return admission;
    } catch (error) {
      held.delete(id);
      if (!isGatewayError(error) || error.code !== 'insufficient_quota') doubtedAt = performance.now();
      throw error;
    }
  }

  return {
    admit(request) {
      const { keyId, slot, reserve } = request;
      if (reserve) return admitReserving(request, reserve);
      return slot ? lanes.submit(keyId, { ...request, reserve }) : Promise.resolve({});
    },
    settle: (settlement) => writing.push(settlement),
    correct(correction) {
      if (correction.usage || correction.final) writing.push(correction);
    },
    flush: () => writing.flush(),
    flushInTime: () => writing.flushInTime(),
    async close() {
      await writing.close();
      await looking.stop();
    },
  };
}

export interface AdmissionInput extends Omit<AdmissionRequest, 'reserve'> {
  reserve?: NewReservation;
}

interface NewReservation extends NonNullable<AdmissionRequest['reserve']> {
  id: string;
}

export type ReservationRow = Omit<ReservationsTable, 'processId'>;

export interface AdmissionTables {
  slots: SlotTable;
  budgetTable: BudgetTable;
  /** Writes reservations down, with who holds them. */
  hold(rows: readonly ReservationRow[]): Script<void>;
}

/**
 * Judges requests one after the other, each knowing what those before it took; reads what all of them need first and writes
 * what all of them change last. Nothing is taken for those that are refused.
 */
export function* admitGroup(
  wishes: readonly AdmissionInput[],
  { slots, budgetTable, hold }: AdmissionTables,
): Script<(Admission | GatewayError)[]> {
  const budgetIds = wishes.flatMap(({ reserve: wanted }) => (wanted ? [wanted.budgetId] : []));
  const budgets = budgetIds.length > 0 ? yield* budgetTable.lock(budgetIds) : undefined;
  const windows = yield* openWindows(
    slots,
    wishes.map(({ slot }) => slot),
  );
  const reservations: ReservationRow[] = [];

  function* judge({
    keyId,
    accountId,
    route,
    model,
    slot,
    reserve: wanted,
  }: AdmissionInput): Script<Admission | GatewayError> {
    const budget = wanted && budgets?.find(wanted.budgetId);
    if (wanted && budgets) {
      // First, so that a request which no waiting helps costs no slot.
      const refusal = budget ? refusalOf(budget, wanted.tokens, budgets.at) : noBudget();
      if (refusal) return refusal;
    }
    const window = slot && windows.of(slot);
    if (slot && window && !window.has(slot)) return { slot: yield* window.look(slot) };
    const answer = slot && window?.take(slot);
    if (!wanted || !budgets || !budget) return answer ? { slot: answer } : {};
    budgets.change(reserve(budget, wanted.tokens));
    const { id, tokens } = wanted;
    const owner = { budgetId: budget.id, keyId, accountId };
    reservations.push({ id, ...owner, route, model, tokens, period: budget.period, at: budgets.at });
    return { reservation: id, ...(answer && { slot: answer }) };
  }

  const verdicts: (Admission | GatewayError)[] = [];
  for (const wish of wishes) verdicts.push(yield* judge(wish));
  yield* windows.save();
  if (budgets) yield* budgets.save();
  if (reservations.length > 0) yield* hold(reservations);
  return verdicts;
}

function noBudget(): GatewayError {
  return new GatewayError('insufficient_quota', 'The budget of this API key is not there.');
}
