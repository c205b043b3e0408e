import { Type } from '../../core/contracts/index.js';
import { GatewayError } from '../../core/runtime/index.js';
import { dayOf, isDay, isoTime } from '../format/index.js';
import { Count, defineRoute, Nullable, type Route, type ServerContext, Text } from '../http/index.js';
import { type ApiKeyRecord, keyOf, readRateLimits } from '../keys/index.js';
import type { RateLimitResult } from '../limits/index.js';
import type { BudgetState, Budgets } from './budgets.js';
import type { UsageTotal } from './tables.js';
import type { UsageLog, UsageQuery } from './usage-log.js';

export interface UsageView {
  /** Undefined if there is none. */
  readonly budget: BudgetState | undefined;
  readonly totals: readonly UsageTotal[];
}

export interface UsageSources {
  budgets: Pick<Budgets, 'find'>;
  usageLog: Pick<UsageLog, 'totals'>;
}

/** Used and remaining amounts. The totals are never behind the budget: everything charged to it is included. */
export async function getUsage(
  { budgets, usageLog }: UsageSources,
  budgetId: string | null,
  query: UsageQuery,
): Promise<UsageView> {
  // Both are written in one transaction. In the other order, a commit in between would show tokens without a request.
  const budget = budgetId === null ? undefined : await budgets.find(budgetId);
  return { budget, totals: await usageLog.totals(query) };
}

const DAY_MS = 24 * 60 * 60 * 1000;

/** Default number of days. */
const DEFAULT_DAYS = 30;
/** Maximum number of days per request. */
const MAX_DAYS = 366;

/** First and last UTC day, both included: `2026-06-15`. */
export interface DayRange {
  from: string;
  to: string;
}

/** The problem of a range, as words that follow the name of the field. */
export interface DayRangeProblem {
  field: keyof DayRange;
  problem: string;
}

/** The requested range; the last 30 days by default. */
export function readDayRange(asked: Partial<DayRange>, now: number): DayRange | DayRangeProblem {
  const today = dayOf(now);
  for (const [field, day] of Object.entries(asked)) {
    if (day !== undefined && !isDay(day)) return { field: field as keyof DayRange, problem: NO_DAY };
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
  return { field: 'from', problem };
}

/** Fields that all totals have. */
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

/**
 * Reads the days from `?from=&to=`; the last 30 by default.
 * @throws GatewayError `invalid_value`.
 */
export function readRangeQuery(query: Readonly<Record<string, string | string[] | undefined>>, now: number): DayRange {
  const { from, to } = query;
  for (const [param, value] of Object.entries({ from, to })) {
    if (Array.isArray(value)) throw new GatewayError('invalid_value', `${param} is given twice.`, { param });
  }
  const range = readDayRange({ from: from as string | undefined, to: to as string | undefined }, now);
  if (!('problem' in range)) return range;
  const { field, problem } = range;
  throw new GatewayError('invalid_value', `${field} ${problem}.`, { param: field });
}

/** What a key may read about itself. */
export interface KeyUsage {
  key: ApiKeyRecord;
  /** By family; undefined if the key has no rate limit. */
  rateLimits: Readonly<Record<string, RateLimitResult>> | undefined;
  budget: BudgetState | undefined;
  range: DayRange;
  /** Newest day first. */
  totals: readonly UsageTotal[];
}

export function encodeKeyUsage({ key, rateLimits, budget, range, totals }: KeyUsage) {
  const days = Map.groupBy(totals, ({ day }) => day);
  return {
    object: 'usage',
    key: {
      id: key.id,
      name: key.name,
      plan: key.planId,
      grants: key.grants,
      models: key.models,
      expires_at: isoTime(key.expiresAt),
    },
    window: rateLimits ? encodeRateLimits(key.rpm, rateLimits) : null,
    budget: budget ? encodeBudget(budget) : null,
    from: range.from,
    to: range.to,
    total: encodeCounts(addUp(totals)),
    days: Array.from(days, ([day, ofDay]) => ({
      day,
      ...encodeCounts(addUp(ofDay)),
      models: ofDay.map((total) => ({ model: total.model, route: total.route, ...encodeCounts(total) })),
    })),
  };
}

export function encodeCounts(counts: UsageCounts) {
  const { requests, failed, estimated, latencyMsSum } = counts;
  return {
    requests,
    failed,
    estimated,
    input_tokens: counts.inputTokens,
    cached_tokens: counts.cachedTokens,
    output_tokens: counts.outputTokens,
    reasoning_tokens: counts.reasoningTokens,
    characters: counts.characters,
    seconds: counts.seconds,
    images: counts.images,
    latency_ms_mean: requests === 0 ? 0 : Math.round(latencyMsSum / requests),
  };
}

function encodeRateLimits(limit: number | null, rateLimits: Readonly<Record<string, RateLimitResult>>) {
  return {
    limit,
    seconds: 60,
    families: Object.fromEntries(
      Object.entries(rateLimits).map(([family, { remaining, resetMs }]) => [
        family,
        { remaining, reset_seconds: Math.ceil(resetMs / 1000) },
      ]),
    ),
  };
}

function encodeBudget(budget: BudgetState) {
  const { requests = null, tokens = null, tokensToday = null } = leftOf(budget);
  return {
    resets: budget.resets,
    expires_at: isoTime(budget.expiresAt),
    requests: { limit: budget.requestLimit, used: budget.requestsUsed, left: requests },
    tokens: { limit: budget.tokenLimit, used: budget.tokensUsed, reserved: budget.tokensReserved, left: tokens },
    tokens_today: { limit: budget.dailyTokenLimit, used: budget.tokensUsedToday, left: tokensToday },
  };
}

const Usage = Type.Object({
  object: Type.Literal('usage'),
  key: Type.Object({ id: Text, name: Text, plan: Nullable(Text), grants: Type.Array(Text) }),
  window: Nullable(Type.Object({ limit: Nullable(Count), seconds: Count, families: Type.Object({}) })),
  budget: Nullable(Type.Object({})),
  from: Text,
  to: Text,
  total: Type.Object({ requests: Count, failed: Count }),
  days: Type.Array(Type.Object({ day: Text, requests: Count })),
});

/** Usage and remaining budget of the key itself. Not rate limited. */
export function usageRoutes({ rateLimits, budgets, usageLog, polls, clock }: ServerContext): Route[] {
  const Day = Type.String({ pattern: '^\\d{4}-\\d\\d-\\d\\d$' });
  return [
    defineRoute({
      method: 'GET',
      path: '/v1/usage',
      grant: 'any',
      apiKeyHeader: true,
      endpoint: 'usage',
      tag: 'Account',
      summary: 'What the key used, and what it has left',
      description: 'What the key itself used, by day and model, and what it has left; `?from=&to=` name days.',
      query: {
        from: { schema: Day, description: 'First day, by UTC.' },
        to: { schema: Day, description: 'Last day.' },
      },
      answers: { 200: { description: 'By day and model.', name: 'Usage', schema: Usage } },
      errors: ['invalid_value', 'rate_limit_exceeded'],
      async handler(context) {
        const key = keyOf(context);
        polls.admit(key.id);
        const range = readRangeQuery(context.query, clock.now());
        const [results, { budget, totals }] = await Promise.all([
          readRateLimits(rateLimits, key),
          getUsage({ budgets, usageLog }, key.budgetId, { keyId: key.id, ...range }),
        ]);
        context.res.setHeader('Cache-Control', 'no-store');
        context.body = encodeKeyUsage({ key, rateLimits: results, budget, range, totals });
      },
    }),
  ];
}

/** The remaining amount of each limit of a budget; fields without a limit are absent. */
export interface BudgetLeft {
  requests?: number;
  tokens?: number;
  tokensToday?: number;
}

export function leftOf(budget: BudgetState): BudgetLeft {
  const { requestLimit, requestsUsed, tokenLimit, tokensUsed, dailyTokenLimit, tokensUsedToday, tokensReserved } =
    budget;
  return {
    ...(requestLimit !== null && { requests: Math.max(0, requestLimit - requestsUsed) }),
    ...(tokenLimit !== null && { tokens: Math.max(0, tokenLimit - tokensUsed - tokensReserved) }),
    ...(dailyTokenLimit !== null && { tokensToday: Math.max(0, dailyTokenLimit - tokensUsedToday - tokensReserved) }),
  };
}

/** As text: `37 requests`, `29,999,000 tokens`. */
export function renderLeft(budget: BudgetState | undefined, now: number): string {
  if (!budget) return 'unlimited';
  if (budget.expiresAt !== null && budget.expiresAt <= now) return 'ended';
  const { requests, tokens, tokensToday } = leftOf(budget);
  const parts = [
    ...(requests === undefined ? [] : [`${grouped(requests)} requests`]),
    ...(tokens === undefined ? [] : [`${grouped(tokens)} tokens`]),
    ...(tokensToday === undefined ? [] : [`${grouped(tokensToday)} tokens today`]),
  ];
  return parts.join(', ') || 'unlimited';
}

/** With thousands separators. */
export function grouped(value: number): string {
  return value.toLocaleString('en-US', { maximumFractionDigits: 1 });
}
