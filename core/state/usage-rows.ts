import type { Usage } from '../contracts/media.js';
import type { Settlement } from './admissions.js';
import { dayOf } from './daily-quotas.js';
import type { UsageEntriesTable, UsageTotalsTable } from './schema.js';
import type { UsageEntry, UsageTotal } from './usage.js';

/** An upstream that reports more than this miscounts; sums stay far below 2^53. */
const MAX_COUNT = 1e12;

/** What the entries and the totals count alike. */
const COUNTS = [
  'input_tokens',
  'cached_tokens',
  'output_tokens',
  'reasoning_tokens',
  'characters',
  'seconds',
  'images',
] as const;

type Counts = Pick<UsageEntriesTable, (typeof COUNTS)[number]>;

/** Tokens in and out together. */
export function tokensOf(usage: Usage | undefined): number {
  return whole(usage?.totalTokens) ?? (whole(usage?.inputTokens) ?? 0) + (whole(usage?.outputTokens) ?? 0);
}

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
    latency_ms: whole(latencyMs) ?? 0,
    ...countsOf(usage),
    estimated: usage?.estimated ? 1 : 0,
  };
}

function countsOf(usage: Usage | undefined): Counts {
  if (!usage) return NOTHING;
  const input = whole(usage.inputTokens);
  const total = whole(usage.totalTokens);
  return {
    input_tokens: input,
    cached_tokens: whole(usage.cachedTokens),
    // Where only the sum is known it is not lost.
    output_tokens: whole(usage.outputTokens) ?? (total === null ? null : Math.max(0, total - (input ?? 0))),
    reasoning_tokens: whole(usage.reasoningTokens),
    characters: whole(usage.characters),
    seconds: positive(usage.seconds),
    images: null,
  };
}

/** For totals, where unknown adds nothing. */
export function knownCounts(usage: Usage | undefined): Record<keyof Counts, number> {
  const counts = countsOf(usage);
  return Object.fromEntries(COUNTS.map((count) => [count, counts[count] ?? 0])) as Record<keyof Counts, number>;
}

const NOTHING: Counts = {
  input_tokens: null,
  cached_tokens: null,
  output_tokens: null,
  reasoning_tokens: null,
  characters: null,
  seconds: null,
  images: null,
};

/** Adds up rows of the same key, day, route and model. */
export function createTotals() {
  const totals = new Map<string, UsageTotalsTable>();

  function open({ key_id, day, account_id, route, model }: TotalName): UsageTotalsTable {
    const name = `${key_id}\n${day}\n${account_id}\n${route}\n${model}`;
    const known = totals.get(name);
    if (known) return known;
    const made = { key_id, day, account_id, route, model, requests: 0, failed: 0, estimated: 0, ...ZERO };
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

export const TOTAL_COUNTS = ['requests', 'failed', 'estimated', ...COUNTS, 'latency_ms_sum'] as const;

type TotalName = Pick<UsageTotalsTable, 'key_id' | 'day' | 'account_id' | 'route' | 'model'>;

const ZERO = {
  input_tokens: 0,
  cached_tokens: 0,
  output_tokens: 0,
  reasoning_tokens: 0,
  characters: 0,
  seconds: 0,
  images: 0,
  latency_ms_sum: 0,
};

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

/** Null where it is no number that could be meant; unknown is not zero. */
function positive(value: number | undefined): number | null {
  return value !== undefined && value >= 0 ? Math.min(value, MAX_COUNT) : null;
}

function whole(value: number | undefined): number | null {
  const count = positive(value);
  return count === null ? null : Math.round(count);
}
