import type { Usage } from '../../core/contracts/index.js';
import { dayOf } from '../limits/index.js';
import type { Settlement } from './admissions.js';
import type { UsageEntriesTable, UsageTotalsTable } from './tables.js';
import type { UsageEntry, UsageTotal } from './usage-log.js';

export function toEntryRow(settlement: Settlement): UsageEntriesTable {
  const { keyId, at, requestId, accountId, route, model, status, latencyMs, usage } = settlement;
  return {
    key_id: keyId,
    at: Math.floor(at),
    request_id: requestId,
    account_id: accountId,
    route,
    model,
    status,
    latency_ms: wholeNumber(latencyMs) ?? 0,
    ...countsOf(usage),
    estimated: usage?.estimated ? 1 : 0,
  };
}

export function toUsageTotal(row: UsageTotalsTable): UsageTotal {
  return {
    day: row.day,
    keyId: row.key_id,
    accountId: row.account_id,
    route: row.route,
    model: row.model,
    requests: row.requests,
    failed: row.failed,
    estimated: row.estimated,
    inputTokens: row.input_tokens,
    cachedTokens: row.cached_tokens,
    outputTokens: row.output_tokens,
    reasoningTokens: row.reasoning_tokens,
    characters: row.characters,
    seconds: row.seconds,
    images: row.images,
    latencyMsSum: row.latency_ms_sum,
  };
}

export function toUsageEntry(row: UsageEntriesTable): UsageEntry {
  return {
    requestId: row.request_id,
    keyId: row.key_id,
    accountId: row.account_id,
    route: row.route,
    model: row.model,
    status: row.status,
    latencyMs: row.latency_ms,
    inputTokens: row.input_tokens,
    cachedTokens: row.cached_tokens,
    outputTokens: row.output_tokens,
    reasoningTokens: row.reasoning_tokens,
    characters: row.characters,
    seconds: row.seconds,
    images: row.images,
    estimated: row.estimated === 1,
    at: row.at,
  };
}

/** An upstream that reports more than this miscounts; sums stay far below 2^53. */
const MAX_COUNT = 1e12;

/** What the entries and the totals count alike. */
export const COUNTS = [
  'input_tokens',
  'cached_tokens',
  'output_tokens',
  'reasoning_tokens',
  'characters',
  'seconds',
  'images',
] as const;

/** Null: not known, or not of this kind of work. */
type Counts = Pick<UsageEntriesTable, (typeof COUNTS)[number]>;
/** Unknown ones as 0. */
export type KnownCounts = Record<keyof Counts, number>;

export const NO_COUNTS: KnownCounts = {
  input_tokens: 0,
  cached_tokens: 0,
  output_tokens: 0,
  reasoning_tokens: 0,
  characters: 0,
  seconds: 0,
  images: 0,
};

/** Tokens in and out together. */
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
    input_tokens: input,
    cached_tokens: wholeNumber(usage.cachedTokens),
    // Where only the sum is known it is not lost.
    output_tokens: wholeNumber(usage.outputTokens) ?? (total === null ? null : Math.max(0, total - (input ?? 0))),
    reasoning_tokens: wholeNumber(usage.reasoningTokens),
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

/** Null where it is no number that could be meant. */
function positive(value: number | undefined): number | null {
  return value !== undefined && value >= 0 ? Math.min(value, MAX_COUNT) : null;
}

/** As {@link positive}, rounded. */
export function wholeNumber(value: number | undefined): number | null {
  const count = positive(value);
  return count === null ? null : Math.round(count);
}

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
