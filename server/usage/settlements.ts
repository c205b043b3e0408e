/*
 * Writes what requests used: a row of the usage log, the totals of the day, and the change of the budgets, in one
 * transaction. Writing the same settlement again has no effect: only the transaction that deletes a reservation settles
 * it, and an entry of the log exists once. The first attempt does not look for entries: if one exists, it fails as a
 * whole, and the next attempt looks. The real usage is charged, also above what was reserved: a budget may end
 * above its limit, and refuses the next request. If the cost of the usage is not known (no price of what was used), the
 * log has the cost null, and a budget of money is charged what was reserved. A request of a dead process is charged
 * with its input; with `ABORT_CHARGE=reserved`, with all that was reserved. Estimates of background work are corrected
 * later by the difference: a higher usage counts in the current period, a lower one is refunded only in the period of
 * the estimate. Rows and corrections are locked in a fixed order, so that two transactions do not deadlock.
 */

import { randomUUID } from 'node:crypto';
import type { BackgroundCorrection } from '../../core/contracts/index.js';
import {
  createRowInsertScript,
  createStatement,
  isStorable,
  type Kysely,
  type Script,
  type Tables,
} from '../../core/database/index.js';
import type { BudgetTable, Correction, Occasion } from '../budgets/index.js';
import type { Prices } from '../prices/index.js';
import {
  type BackgroundResponsesTable,
  COUNTS,
  type Counts,
  type ReservationsTable,
  type UsageEntriesTable,
} from './tables.js';
import {
  type CountedTogether,
  costOfUsage,
  countsOf,
  pricedPartsOf,
  type Settlement,
  Totals,
  toEntryRow,
  tokensOf,
} from './usage-log.js';
import type { UsageTable } from './usage-table.js';

/** HTTP status of requests with a disconnected client. */
const HUNG_UP = 499;
/** HTTP status of requests of a dead process: what the client received is unknown, but it was incomplete. */
const CUT_OFF = 500;

/** The end of a reservation without an entry of its own: its usage is counted elsewhere. */
export interface EndedReservation {
  reservation: string;
  /** Millionths of the currency. */
  costUsed: number;
}

export type Settled = Settlement | EndedReservation | CountedTogether | BackgroundCorrection;

function isCountedTogether(settled: Settled): settled is CountedTogether {
  return 'totals' in settled;
}

function isSettlement(settled: Settled): settled is Settlement {
  return 'route' in settled;
}

function isEndedReservation(settled: Settled): settled is EndedReservation {
  return 'costUsed' in settled;
}

function isCorrection(settled: Settled): settled is BackgroundCorrection {
  return 'responseId' in settled;
}

/**
 * Makes room: aggregates the oldest settlements, except those with a reservation; their number is bounded by that of
 * the requests.
 */
export function countOldestTogether(waiting: readonly Settled[], max: number): Settled[] {
  const before = waiting.find(isCountedTogether);
  const settlements = waiting.filter(isSettlement);
  const together = before ?? { id: randomUUID(), at: settlements[0]?.at ?? 0, totals: new Totals() };
  const rest: Settled[] = waiting.filter((item) => isCorrection(item) || isEndedReservation(item));
  let left = max;
  for (const settlement of settlements) {
    if (left > 0 && settlement.reservation === undefined) {
      together.totals.addEntry(toEntryRow(settlement));
      left -= 1;
    } else rest.push(settlement);
  }
  return [together, ...rest];
}

export interface SettlementTables {
  budgetTable: BudgetTable;
  usageTable: UsageTable;
  backgroundTable: BackgroundTable;
  /** Default: none. */
  prices?: Prices;
  /** Whether a reservation of a dead process is charged as a whole. Default false. */
  chargesReserved?: boolean;
}

/**
 * Writes the usage of requests: their entries, the totals of their day, and their budgets. Rewriting has no effect: the
 * transaction that deletes a reservation settles it, and an entry exists once. A correction follows its entry, also
 * within the list.
 * @param areNew Whether the items are written for the first time. If it fails nevertheless because one exists, repeat it
 *   without.
 */
export function* writeSettlements(
  items: readonly Settled[],
  { budgetTable, usageTable, backgroundTable }: SettlementTables,
  areNew: boolean,
): Script<void> {
  const settlements = items.filter(isSettlement);
  const ended = items.filter(isEndedReservation);
  const ids = [...settlements, ...ended].flatMap(({ reservation }) => (reservation === undefined ? [] : [reservation]));
  const reservations = yield* usageTable.takeReservations(ids);
  const ends: Ended[] = [];
  for (const { reservation, costUsed } of ended) {
    const reserved = reservations.get(reservation);
    if (reserved && reservations.delete(reservation))
      ends.push({ reserved, tokensUsed: 0, costUsed, givesBack: false, occasion: occasionOf(reserved) });
  }
  const entries: UsageEntriesTable[] = [];
  const inBackground = new Map<UsageEntriesTable, OpenedBackground>();
  const add = (item: Settlement, paidCost: number | null = null) => {
    const entry = toEntryRow(item);
    entries.push(entry);
    if (item.background) inBackground.set(entry, { settlement: item, paidCost });
  };
  for (const item of settlements) {
    if (item.reservation === undefined) add(item);
    else {
      const reserved = reservations.get(item.reservation);
      if (!reserved) continue;
      reservations.delete(item.reservation);
      const tokensUsed = item.spendsTokens === false ? 0 : tokensOf(item.usage);
      // Usage without a known price costs what was reserved: a request is never free by mistake.
      const costUsed = item.cost ?? (item.usage ? reserved.cost : 0);
      add(item, Math.min(costUsed, reserved.cost));
      const occasion = { reference: item.requestId, note: item.model };
      ends.push({ reserved, tokensUsed, costUsed, givesBack: givesBack(item), occasion });
    }
  }
  const totals = new Totals();
  const opened: OpenedBackground[] = [];
  for (const entry of yield* usageTable.insertEntries(entries, areNew)) {
    totals.addEntry(entry);
    const item = inBackground.get(entry);
    if (item) opened.push(item);
  }
  yield* backgroundTable.open(opened);
  const corrections: BudgetCorrection[] = [];
  for (const correction of items.filter(isCorrection).sort(byResponse)) {
    const corrected = yield* backgroundTable.correct(correction, totals);
    if (corrected) corrections.push(corrected);
  }
  yield* changeBudgets({ ends, corrections }, budgetTable);
  yield* usageTable.insertSums(items.filter(isCountedTogether), totals);
  yield* usageTable.addTotals(totals);
}

/** Background work whose estimate is written, and the money that a balance was charged for it. */
interface OpenedBackground {
  settlement: Settlement;
  paidCost: number | null;
}

/**
 * A fixed order, so that two transactions that correct the same entries do not deadlock. Corrections of one response
 * keep their order.
 */
function byResponse(left: BackgroundCorrection, right: BackgroundCorrection): number {
  if (left.responseId === right.responseId) return left.owner < right.owner ? -1 : Number(left.owner > right.owner);
  return left.responseId < right.responseId ? -1 : 1;
}

/**
 * Settles reservations of a dead process. What their upstreams wrote is not known and reached no client, so the input is
 * charged alone; with `chargesReserved`, all that was reserved.
 */
export function* writeCutOffs(
  reservations: readonly ReservationsTable[],
  { budgetTable, usageTable, prices, chargesReserved = false }: Omit<SettlementTables, 'backgroundTable'>,
): Script<void> {
  const charges = reservations.map((reserved) => ({ reserved, ...chargeOf(reserved, chargesReserved) }));
  const ends = charges.map(({ reserved, tokens, cost }) => ({
    reserved,
    tokensUsed: tokens,
    costUsed: cost,
    givesBack: false,
    occasion: occasionOf(reserved),
  }));
  yield* changeBudgets({ ends }, budgetTable);
  const totals = new Totals();
  const rows = charges.map((charge) => toCutOffRow(charge, chargesReserved, prices));
  for (const entry of yield* usageTable.insertEntries(rows, false)) totals.addEntry(entry);
  yield* usageTable.addTotals(totals);
}

/** Refunds reservations of admissions that are not known to have succeeded. */
export function* releaseOrphans(
  reservations: readonly ReservationsTable[],
  { budgetTable }: Pick<SettlementTables, 'budgetTable'>,
): Script<void> {
  const ends = reservations.map((reserved) => {
    return { reserved, tokensUsed: 0, costUsed: 0, givesBack: true, occasion: occasionOf(reserved) };
  });
  yield* changeBudgets({ ends }, budgetTable);
}

/** The usage log names the request of a dead process by its reservation. */
function occasionOf({ id, model }: ReservationsTable): Occasion {
  return { reference: id, note: model };
}

interface Ended {
  reserved: ReservationsTable;
  tokensUsed: number;
  costUsed: number;
  givesBack: boolean;
  /** For the ledger, if a balance pays. */
  occasion: Occasion;
}

interface BudgetChanges {
  ends: readonly Ended[];
  /** Default: none. */
  corrections?: readonly BudgetCorrection[];
}

function* changeBudgets({ ends, corrections = [] }: BudgetChanges, budgetTable: BudgetTable): Script<void> {
  const releases = ends.flatMap(({ reserved: { budgets, tokens, cost }, occasion, ...used }) =>
    Object.entries(JSON.parse(budgets) as Record<string, string | null>).map(([id, period]) => {
      return { id, end: { reserved: { tokens, cost, period }, ...used }, occasion };
    }),
  );
  const ids = [...releases.map(({ id }) => id), ...corrections.flatMap(({ budgetIds }) => budgetIds)];
  if (ids.length === 0) return;
  const budgets = yield* budgetTable.lock(ids);
  for (const { id, end, occasion } of releases) budgets.release(id, end, occasion);
  for (const { budgetIds, occasion, ...correction } of corrections) {
    for (const id of budgetIds) budgets.correct(id, correction, occasion);
  }
  yield* budgets.save();
}

/**
 * A failed request without usage does not count. A disconnect does: otherwise a client could send unlimited requests by
 * disconnecting early.
 */
function givesBack({ status, usage }: Settlement): boolean {
  return status >= 400 && status !== HUNG_UP && usage === undefined;
}

interface Charge {
  reserved: ReservationsTable;
  tokens: number;
  /** Money in micro units. */
  cost: number;
}

function chargeOf(
  { tokens, cost, inputTokens, inputCost }: ReservationsTable,
  whole: boolean,
): Omit<Charge, 'reserved'> {
  return whole ? { tokens, cost } : { tokens: inputTokens, cost: inputCost };
}

function toCutOffRow(
  { reserved, tokens, cost }: Charge,
  chargesReserved: boolean,
  prices: Prices | undefined,
): UsageEntriesTable {
  // How much of a whole reservation is input is not known.
  const usage = { ...(chargesReserved ? { outputTokens: tokens } : { inputTokens: tokens }), estimated: true };
  return toEntryRow({
    requestId: reserved.id,
    keyId: reserved.keyId,
    accountId: reserved.accountId,
    route: reserved.route,
    model: reserved.model,
    status: CUT_OFF,
    errorCode: 'process_ended',
    latencyMs: 0,
    usage,
    at: reserved.at,
    // Under a budget of money, as it is charged.
    cost: reserved.cost > 0 ? cost : prices && costOfUsage(prices, reserved.model, usage),
  });
}

/** A longer name is invalid, and exceeds the size of an index entry. */
const MAX_ID = 512;

/** The change of budgets by a correction. */
export interface BudgetCorrection extends Correction {
  budgetIds: readonly string[];
  /** For the ledger, if a balance paid. */
  occasion: Occasion;
}

type ResponseName = Pick<BackgroundCorrection, 'responseId' | 'owner' | 'upstream'>;
type EntryName = Pick<UsageEntriesTable, 'keyId' | 'at' | 'requestId'>;
/** The columns of an entry that a correction changes. */
const CORRECTED = [...COUNTS, 'estimated', 'cost'] as const;

/** The statements that store which log entries are estimates of background work, and correct them. */
export function createBackgroundTable(queries: Kysely<Tables>, prices?: Prices) {
  const insert = createRowInsertScript({
    queries,
    table: 'background_responses',
    finish: (rows) => rows.onConflict((conflict) => conflict.doNothing()),
  });

  // With a lock: of two corrections of the same entry, the second sees the result of the first.
  const touch = createStatement(({ responseId, owner, upstream }: ResponseName) =>
    queries
      .updateTable('background_responses')
      .set(({ ref }) => ({ waitMs: ref('waitMs') }))
      .where('id', '=', responseId)
      .where('accountId', '=', owner)
      .where('upstream', '=', upstream)
      .returningAll()
      .compile(),
  );

  const remove = createStatement(({ responseId, owner, upstream }: ResponseName) =>
    queries
      .deleteFrom('background_responses')
      .where('id', '=', responseId)
      .where('accountId', '=', owner)
      .where('upstream', '=', upstream)
      .returningAll()
      .compile(),
  );

  const select = createStatement(({ keyId, at, requestId }: EntryName) =>
    queries
      .selectFrom('usage_entries')
      .selectAll()
      .where('keyId', '=', keyId)
      .where('at', '=', at)
      .where('requestId', '=', requestId)
      .compile(),
  );

  const update = createStatement((entry: UsageEntriesTable) =>
    queries
      .updateTable('usage_entries')
      .set(Object.fromEntries(CORRECTED.map((column) => [column, entry[column]])))
      .where('keyId', '=', entry.keyId)
      .where('at', '=', entry.at)
      .where('requestId', '=', entry.requestId)
      .compile(),
  );

  return {
    /** @param opened Settlements with entries that are written in the same transaction. */
    *open(opened: readonly OpenedBackground[]): Script<void> {
      yield* insert(opened.flatMap(toRow));
    },

    /**
     * The transaction that deletes the row makes the final correction. The difference is added to the totals of the
     * entry's day.
     */
    *correct(correction: BackgroundCorrection, totals: Totals): Script<BudgetCorrection | undefined> {
      const { usage } = correction;
      const isReported = usage !== undefined && !usage.estimated;
      const take = correction.final || isReported ? remove : touch;
      const [row] = yield* take(correction);
      if (!row || !usage) return undefined;
      const [entry] = yield* select(row);
      if (!entry) return undefined;
      const counts = isReported ? countsOf(usage) : raised(entry, countsOf(usage));
      const estimated = isReported ? 0 : 1;
      const cost = prices ? prices.costOf({ model: entry.model, ...counts, ...pricedPartsOf(usage) }) : entry.cost;
      const corrected = { ...entry, ...counts, estimated, cost };
      yield* update(corrected);
      totals.addDifference(entry, corrected);
      const more = tokensOfEntry(corrected) - tokensOfEntry(entry);
      // Without a known price, what was charged stays.
      const before = cost === null || entry.cost === null ? null : entry.cost;
      const after = before === null ? null : cost;
      const paid = (all: number | null) => Math.min(all ?? 0, row.paidCost ?? all ?? 0);
      const [moreCost, morePaid] = [(after ?? 0) - (before ?? 0), paid(after) - paid(before)];
      const occasion = { reference: row.requestId, note: row.model };
      return {
        budgetIds: JSON.parse(row.budgetIds) as string[],
        more,
        moreCost,
        morePaid,
        countedAt: row.at,
        occasion,
      };
    },
  };
}

export type BackgroundTable = ReturnType<typeof createBackgroundTable>;

/** An estimate is a lower bound: the larger of two is more accurate. */
function raised(entry: UsageEntriesTable, counts: Counts<null>): Counts<null> {
  const larger = (count: keyof Counts) => {
    const values = [entry[count], counts[count]].filter((value) => value !== null);
    return values.length === 0 ? null : Math.max(...values);
  };
  return Object.fromEntries(COUNTS.map((count) => [count, larger(count)])) as Counts<null>;
}

function tokensOfEntry({ inputTokens: input, outputTokens: output }: UsageEntriesTable): number {
  return (input ?? 0) + (output ?? 0);
}

function toRow({ settlement, paidCost }: OpenedBackground): BackgroundResponsesTable[] {
  const { background, accountId, model } = settlement;
  if (!background) return [];
  const { responseId: id, upstream, budgetId, furtherBudgets = [] } = background;
  if (id === '' || id.length > MAX_ID || !isStorable(id) || !id.isWellFormed()) return [];
  const { keyId, at, requestId } = toEntryRow(settlement);
  const budgetIds = JSON.stringify(budgetId === null ? furtherBudgets : [budgetId, ...furtherBudgets]);
  const names = { id, accountId, model, upstream, keyId, at, requestId, budgetIds };
  return [{ ...names, paidCost, dueAt: at, waitMs: 0 }];
}
