import { dayOf, isDay } from '../format/index.js';
import type { UsageTotal } from './usage-log.js';

const DAY_MS = 24 * 60 * 60 * 1000;

/** Days that are looked at unless others are asked for. */
const DEFAULT_DAYS = 30;
/** Days that are looked at at once. */
const MAX_DAYS = 366;

/** First and last day by UTC, both included: `2026-06-15`. */
export interface DayRange {
  from: string;
  to: string;
}

/** What is wrong with a range, in words that follow the name of the member. */
export interface DayRangeProblem {
  member: keyof DayRange;
  problem: string;
}

/** A range as it was asked for; the last 30 days where nothing was. */
export function readDayRange(asked: Partial<DayRange>, now: number): DayRange | DayRangeProblem {
  const today = dayOf(now);
  for (const [member, day] of Object.entries(asked)) {
    if (day !== undefined && !isDay(day)) return { member: member as keyof DayRange, problem: NO_DAY };
  }
  const { to = asked.from !== undefined && asked.from > today ? asked.from : today } = asked;
  const { from = dayOf(Date.parse(to) - (DEFAULT_DAYS - 1) * DAY_MS) } = asked;
  if (from > to) return badStart(`must not be after ${to}`);
  const days = (Date.parse(to) - Date.parse(from)) / DAY_MS + 1;
  if (days > MAX_DAYS) return badStart(`must be less than ${MAX_DAYS} days before ${to}`);
  return { from, to };
}

const NO_DAY = 'must be a day such as 2026-06-15';

function badStart(problem: string): DayRangeProblem {
  return { member: 'from', problem };
}

/** What totals of any sort have in common. */
export type UsageCounts = Omit<UsageTotal, 'day' | 'keyId' | 'accountId' | 'route' | 'model'>;

const COUNTS = [
  'requests',
  'failed',
  'estimated',
  'inputTokens',
  'cachedTokens',
  'outputTokens',
  'reasoningTokens',
  'characters',
  'seconds',
  'images',
  'latencyMsSum',
] as const satisfies readonly (keyof UsageCounts)[];

export function addUp(totals: readonly UsageCounts[]): UsageCounts {
  const sum = Object.fromEntries(COUNTS.map((count) => [count, 0])) as unknown as UsageCounts;
  for (const total of totals) for (const count of COUNTS) sum[count] += total[count];
  return sum;
}
