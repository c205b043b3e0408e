import { dayOf } from '../limits/index.js';
import type { UsageEntriesTable, UsageTotalsTable } from './tables.js';
import { COUNTS, NO_COUNTS } from './usage-rows.js';

/** What totals add up. */
export const TOTAL_COUNTS = ['requests', 'failed', 'estimated', ...COUNTS, 'latency_ms_sum'] as const;

export const NO_TOTAL_COUNTS = { requests: 0, failed: 0, estimated: 0, ...NO_COUNTS, latency_ms_sum: 0 };

type TotalName = Pick<UsageTotalsTable, 'key_id' | 'day' | 'account_id' | 'route' | 'model'>;

/** Adds up rows of the same key, day, route and model. */
export function createTotals() {
  const totals = new Map<string, UsageTotalsTable>();

  function open({ key_id, day, account_id, route, model }: TotalName): UsageTotalsTable {
    const name = `${key_id}\n${day}\n${account_id}\n${route}\n${model}`;
    const known = totals.get(name);
    if (known) return known;
    const made = { key_id, day, account_id, route, model, ...NO_TOTAL_COUNTS };
    totals.set(name, made);
    return made;
  }

  return {
    addEntry(entry: UsageEntriesTable): void {
      const total = open({ ...entry, day: dayOf(entry.at) });
      total.requests += 1;
      total.failed += entry.status >= 400 ? 1 : 0;
      total.estimated += entry.estimated;
      for (const count of COUNTS) total[count] += entry[count] ?? 0;
      total.latency_ms_sum += entry.latency_ms;
    },
    /** Of an entry that was added before, what it says now beyond what it said then. */
    addDifference(before: UsageEntriesTable, now: UsageEntriesTable): void {
      const total = open({ ...now, day: dayOf(now.at) });
      total.estimated += now.estimated - before.estimated;
      for (const count of COUNTS) total[count] += (now[count] ?? 0) - (before[count] ?? 0);
    },
    addTotal(row: UsageTotalsTable): void {
      const total = open(row);
      for (const count of TOTAL_COUNTS) total[count] += row[count];
    },
    /** In one order, so that two transactions that add to the same do not wait for each other in a ring. */
    rows(): UsageTotalsTable[] {
      return [...totals].sort(([left], [right]) => (left < right ? -1 : 1)).map(([, total]) => total);
    },
  };
}

export type Totals = ReturnType<typeof createTotals>;
