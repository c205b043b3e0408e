import type { BackgroundCorrection } from '../../core/contracts/index.js';
import {
  createRowInsertScript,
  filled,
  isStorable,
  type Kysely,
  rowsOf,
  type Script,
  type Tables,
} from '../../core/database/index.js';
import type { Settlement } from './admissions.js';
import type { Correction } from './budgets.js';
import type { BackgroundResponsesTable, UsageEntriesTable } from './tables.js';
import { COUNTS, countsOf, NO_COUNTS, type Totals, toEntryRow } from './usage-rows.js';

/** A longer name is invalid, and exceeds the size of an index entry. */
const MAX_ID = 512;

/** The change of a budget by a correction. */
export interface BudgetCorrection extends Correction {
  budgetId: string;
}

/** The statements that store which log entries are estimates of background work, and correct them. */
export function createBackgroundTable(queries: Kysely<Tables>) {
  const insert = createRowInsertScript({
    queries,
    table: 'background_responses',
    sample: ROW,
    finish: (rows) => rows.onConflict((conflict) => conflict.doNothing()),
  });

  // With a lock: of two corrections of the same entry, the second sees the result of the first.
  const touch = queries
    .updateTable('background_responses')
    .set(({ ref }) => ({ waitMs: ref('waitMs') }))
    .where('id', '=', '')
    .where('accountId', '=', '')
    .where('upstream', '=', '')
    .returningAll()
    .compile();

  const remove = queries
    .deleteFrom('background_responses')
    .where('id', '=', '')
    .where('accountId', '=', '')
    .where('upstream', '=', '')
    .returningAll()
    .compile();

  const select = queries
    .selectFrom('usage_entries')
    .selectAll()
    .where('keyId', '=', '')
    .where('at', '=', 0)
    .where('requestId', '=', '')
    .compile();

  const update = queries
    .updateTable('usage_entries')
    .set({ ...NO_COUNTS, estimated: 0 })
    .where('keyId', '=', '')
    .where('at', '=', 0)
    .where('requestId', '=', '')
    .compile();

  return {
    /** @param settlements Settlements with entries that are written in the same transaction. */
    *open(settlements: readonly Settlement[]): Script<void> {
      yield* insert(settlements.flatMap(toRow));
    },

    /**
     * The transaction that deletes the row makes the final correction. The difference is added to the totals of the
     * entry's day.
     */
    *correct(correction: BackgroundCorrection, totals: Totals): Script<BudgetCorrection | undefined> {
      const { responseId, owner, upstream, usage } = correction;
      const isReported = usage !== undefined && !usage.estimated;
      const take = correction.final || isReported ? remove : touch;
      const [row] = yield* rowsOf(filled(take, [responseId, owner, upstream]));
      if (!row || !usage) return undefined;
      const name = [row.keyId, row.at, row.requestId];
      const [entry] = yield* rowsOf(filled(select, name));
      if (!entry) return undefined;
      const counts = isReported ? countsOf(usage) : raised(entry, countsOf(usage));
      const estimated = isReported ? 0 : 1;
      const corrected = { ...entry, ...counts, estimated };
      yield* rowsOf(filled(update, [...COUNTS.map((count) => counts[count]), estimated, ...name]));
      totals.addDifference(entry, corrected);
      const more = tokensOfEntry(corrected) - tokensOfEntry(entry);
      return row.budgetId === null ? undefined : { budgetId: row.budgetId, more, countedAt: row.at };
    },
  };
}

export type BackgroundTable = ReturnType<typeof createBackgroundTable>;

type Counts = ReturnType<typeof countsOf>;

/** An estimate is a lower bound: the larger of two is more accurate. */
function raised(entry: UsageEntriesTable, counts: Counts): Counts {
  const larger = (count: keyof Counts) => {
    const values = [entry[count], counts[count]].filter((value) => value !== null);
    return values.length === 0 ? null : Math.max(...values);
  };
  return Object.fromEntries(COUNTS.map((count) => [count, larger(count)])) as Counts;
}

function tokensOfEntry({ inputTokens: input, outputTokens: output }: UsageEntriesTable): number {
  return (input ?? 0) + (output ?? 0);
}

function toRow(settlement: Settlement): BackgroundResponsesTable[] {
  const { background, accountId, model } = settlement;
  if (!background) return [];
  const { responseId: id, upstream, budgetId } = background;
  if (id === '' || id.length > MAX_ID || !isStorable(id) || !id.isWellFormed()) return [];
  const { keyId, at, requestId } = toEntryRow(settlement);
  const names = { id, accountId, model, upstream, keyId, at, requestId, budgetId };
  return [{ ...names, dueAt: at, waitMs: 0 }];
}

const ROW: BackgroundResponsesTable = {
  id: '',
  accountId: '',
  model: '',
  upstream: '',
  keyId: '',
  at: 0,
  requestId: '',
  budgetId: '',
  dueAt: 0,
  waitMs: 0,
};
