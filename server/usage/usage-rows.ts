import type { Usage } from '../../core/contracts/index.js';
import { dayOf } from '../limits/index.js';
import type { Settlement } from './admissions.js';
import type { UsageEntriesTable, UsageTotal } from './tables.js';
import type { UsageEntry } from './usage-log.js';

export function toEntryRow(settlement: Settlement): UsageEntriesTable {
  const { keyId, at, requestId, accountId, route, model, status, latencyMs, usage } = settlement;
  return {
    keyId,
    at: Math.floor(at),
    requestId,
    accountId,
    route,
    model,
    status,
    latencyMs: wholeNumber(latencyMs) ?? 0,
    ...countsOf(usage),
    estimated: usage?.estimated ? 1 : 0,
  };
}

export function toUsageEntry(row: UsageEntriesTable): UsageEntry {
  return { ...row, estimated: row.estimated === 1 };
}

/** Maximum plausible value from an upstream; sums stay far below 2^53. */
const MAX_COUNT = 1e12;

/** Columns that entries and totals share. */
export const COUNTS = [
  'inputTokens',
  'cachedTokens',
  'outputTokens',
  'reasoningTokens',
  'characters',
  'seconds',
  'images',
] as const;

/** Null: not known, or not applicable. */
type Counts = Pick<UsageEntriesTable, (typeof COUNTS)[number]>;
/** Unknown values as 0. */
export type KnownCounts = Record<keyof Counts, number>;

export const NO_COUNTS: KnownCounts = {
  inputTokens: 0,
  cachedTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
  characters: 0,
  seconds: 0,
  images: 0,
};

/** Input and output tokens together. */
export function tokensOf(usage: Usage | undefined): number {
  return (
    wholeNumber(usage?.totalTokens) ?? (wholeNumber(usage?.inputTokens) ?? 0) + (wholeNumber(usage?.outputTokens) ?? 0)
  );
}

/** For entries, where unknown is not zero. */
export function countsOf(usage: Usage = {}): Counts {
  const input = wholeNumber(usage.inputTokens);
  const total = wholeNumber(usage.totalTokens);
  return {
    inputTokens: input,
    cachedTokens: wholeNumber(usage.cachedTokens),
    // If only the sum is known, it is kept.
    outputTokens: wholeNumber(usage.outputTokens) ?? (total === null ? null : Math.max(0, total - (input ?? 0))),
    reasoningTokens: wholeNumber(usage.reasoningTokens),
    characters: wholeNumber(usage.characters),
    seconds: positive(usage.seconds),
    images: null,
  };
}

/** For totals, where unknown adds nothing. */
export function knownCounts(usage: Usage | undefined): KnownCounts {
  const counts = countsOf(usage);
  return Object.fromEntries(COUNTS.map((count) => [count, counts[count] ?? 0])) as KnownCounts;
}

/** Null if it is no plausible number. */
function positive(value: number | undefined): number | null {
  return value !== undefined && value >= 0 ? Math.min(value, MAX_COUNT) : null;
}

/** As {@link positive}, rounded. */
export function wholeNumber(value: number | undefined): number | null {
  const count = positive(value);
  return count === null ? null : Math.round(count);
}

/** The columns that totals sum up. */
export const TOTAL_COUNTS = ['requests', 'failed', 'estimated', ...COUNTS, 'latencyMsSum'] as const;

export const NO_TOTAL_COUNTS = { requests: 0, failed: 0, estimated: 0, ...NO_COUNTS, latencyMsSum: 0 };

type TotalName = Pick<UsageTotal, 'keyId' | 'day' | 'accountId' | 'route' | 'model'>;

/** Sums up rows of the same key, day, route and model. */
export function createTotals() {
  const totals = new Map<string, UsageTotal>();

  function open({ keyId, day, accountId, route, model }: TotalName): UsageTotal {
    const name = `${keyId}\n${day}\n${accountId}\n${route}\n${model}`;
    const known = totals.get(name);
    if (known) return known;
    const made = { keyId, day, accountId, route, model, ...NO_TOTAL_COUNTS };
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
      total.latencyMsSum += entry.latencyMs;
    },
    /** The difference between the new and the old values of an existing entry. */
    addDifference(before: UsageEntriesTable, now: UsageEntriesTable): void {
      const total = open({ ...now, day: dayOf(now.at) });
      total.estimated += now.estimated - before.estimated;
      for (const count of COUNTS) total[count] += (now[count] ?? 0) - (before[count] ?? 0);
    },
    addTotal(row: UsageTotal): void {
      const total = open(row);
      for (const count of TOTAL_COUNTS) total[count] += row[count];
    },
    /** A fixed order, so that two transactions do not deadlock. */
    rows(): UsageTotal[] {
      return [...totals].sort(([left], [right]) => (left < right ? -1 : 1)).map(([, total]) => total);
    },
  };
}

export type Totals = ReturnType<typeof createTotals>;
