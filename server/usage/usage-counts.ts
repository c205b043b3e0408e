import type { Usage } from '../../core/contracts/index.js';
import type { UsageEntriesTable } from './tables.js';

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
