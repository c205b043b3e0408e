/*
 * `GET /v1/usage`: what the key used, by day and model, and what its rate limits and budgets have left. The same
 * functions count and encode for the site and the CLI. A range has at most 366 days; the default is the last 30 days by
 * UTC. The budget is read before the totals, which are written in one transaction, so the totals are never behind the
 * budget. Costs are present only if the gateway has prices, with the number of requests whose price is not known.
 */

import { field, optional, Type } from '../../core/contracts/index.js';
import { GatewayError } from '../../core/runtime/index.js';
import {
  type BudgetState,
  type Budgets,
  encodeSharedBudget,
  MICROS,
  renderMoney,
  SharedBudget,
} from '../budgets/index.js';
import { dayOf, isDay, isoTime } from '../format/index.js';
import { Count, defineRoute, Nullable, OneOf, type Route, type ServerContext, Text } from '../http/index.js';
import { type ApiKeyRecord, pollingKeyOf, readRateLimits } from '../keys/index.js';
import type { RateLimitResult, RateLimits } from '../limits/index.js';
import { decimalOf, type Prices } from '../prices/index.js';
import type { UsageTotal } from './tables.js';
import { TOTAL_COUNTS } from './tables.js';
import { NO_TOTAL_COUNTS, type UsageLog, type UsageQuery } from './usage-log.js';

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

export function addUp(totals: readonly UsageCounts[]): UsageCounts {
  const sum = { ...NO_TOTAL_COUNTS };
  for (const total of totals) for (const count of TOTAL_COUNTS) sum[count] += total[count];
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
  /** Its own budgets, and those of its account and group. */
  budgets: readonly BudgetState[];
  range: DayRange;
  /** Newest day first. */
  totals: readonly UsageTotal[];
  /** Of the costs. Undefined if there are no prices, and no costs are shown. */
  currency?: string;
}

export function encodeKeyUsage({ key, rateLimits, budget, budgets, range, totals, currency }: KeyUsage, now: number) {
  const days = Map.groupBy(totals, ({ day }) => day);
  const encode = (counts: UsageCounts) => encodeCounts(counts, currency !== undefined);
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
    ...(budgets.length > 0 && { budgets: budgets.map((each) => encodeSharedBudget(each, now)) }),
    from: range.from,
    to: range.to,
    ...(currency !== undefined && { currency }),
    total: encode(addUp(totals)),
    days: Array.from(days, ([day, ofDay]) => ({
      day,
      ...encode(addUp(ofDay)),
      models: ofDay.map((total) => ({ model: total.model, route: total.route, ...encode(total) })),
    })),
  };
}

/** @param withCosts Whether there are prices. Default false. */
export function encodeCounts(counts: UsageCounts, withCosts = false) {
  const { requests, failed, estimated, latencyMsSum } = counts;
  return {
    requests,
    failed,
    estimated,
    input_tokens: counts.inputTokens,
    cached_tokens: counts.cachedTokens,
    cache_write_tokens: counts.cacheWriteTokens,
    output_tokens: counts.outputTokens,
    reasoning_tokens: counts.reasoningTokens,
    characters: counts.characters,
    seconds: counts.seconds,
    images: counts.images,
    bytes: counts.bytes,
    refused: counts.refused,
    latency_ms_mean: requests === 0 ? 0 : Math.round(latencyMsSum / requests),
    ...(withCosts && encodeCost(counts)),
  };
}

/** In the currency: null if no price is known for any of the requests. */
export function encodeCost({ requests, priced, cost }: UsageCounts): { cost: number | null; unpriced: number } {
  return { cost: requests > 0 && priced === 0 ? null : Number(decimalOf(cost)), unpriced: requests - priced };
}

/** As text, without trailing zeros beyond cents: `12.34`, `0.001234`; `-` without a known price. */
export function renderCost({ requests, priced, cost }: UsageCounts): string {
  if (requests > 0 && priced === 0) return '-';
  return (cost / 1_000_000).toLocaleString('en-US', { minimumFractionDigits: 2, maximumFractionDigits: 6 });
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

export function encodeBudget(budget: BudgetState) {
  const { requests = null, tokens = null, tokensToday = null, cost: left } = leftOf(budget);
  const { costLimit, currency } = budget;
  return {
    resets: budget.resets,
    expires_at: isoTime(budget.expiresAt),
    requests: { limit: budget.requestLimit, used: budget.requestsUsed, left: requests },
    tokens: { limit: budget.tokenLimit, used: budget.tokensUsed, reserved: budget.tokensReserved, left: tokens },
    tokens_today: { limit: budget.dailyTokenLimit, used: budget.tokensUsedToday, left: tokensToday },
    ...(costLimit !== null &&
      currency !== null &&
      left !== undefined && {
        cost: {
          currency,
          limit: costLimit / MICROS,
          used: budget.costUsed / MICROS,
          reserved: budget.costReserved / MICROS,
          left,
        },
      }),
  };
}

/** Fields of {@link encodeCounts}. */
export const USAGE_COUNTS = {
  requests: field(Count, 'Requests.'),
  failed: field(Count, 'Requests that failed, broken streams included.'),
  estimated: field(Count, 'Requests whose tokens were estimated, because the model reported none.'),
  input_tokens: field(Count, 'Input tokens.'),
  cached_tokens: field(Count, 'Input tokens that the model vendor had cached.'),
  cache_write_tokens: field(Count, 'Input tokens that the model vendor wrote to its cache.'),
  output_tokens: field(Count, 'Output tokens.'),
  reasoning_tokens: field(Count, 'Output tokens of the reasoning.'),
  characters: field(Count, 'Characters of speech.'),
  seconds: field(Type.Number(), 'Seconds of audio.'),
  images: field(Count, 'Images.'),
  bytes: field(Count, 'Bytes that media links sent.'),
  refused: field(Count, 'Requests that were refused before any work, such as by a rate limit; not among `requests`.'),
  latency_ms_mean: field(Count, 'Mean duration of a request in milliseconds.'),
  cost: optional(
    Nullable(Type.Number()),
    'Cost in `currency`, with at most six digits after the point. Null if no request has a known price. Only if the gateway has prices.',
    0.001234,
  ),
  unpriced: optional(Count, 'Requests without a known price, which `cost` leaves out. Only if the gateway has prices.'),
};
const Key = Type.Object({
  id: field(Text, 'Id of the key.'),
  name: field(Text, 'Name of the key.'),
  plan: field(Nullable(Text), 'Id of its plan. Null without a plan.'),
  grants: field(Type.Array(Text), 'Groups of routes that it may use.', ['text', 'images']),
  models: field(Nullable(Type.Array(Text)), 'Ids of the models that it may use. Null if all.'),
  expires_at: field(Nullable(Text), 'When the key expires (RFC 3339). Null if never.'),
});
const Window = Type.Object({
  limit: field(Nullable(Count), 'Requests that the key may send in the window.'),
  seconds: field(Count, 'Length of the rolling window in seconds.', 60),
  families: field(
    Type.Record(
      Type.String(),
      Type.Object({
        remaining: field(Count, 'Requests that may be sent now.'),
        reset_seconds: field(Count, 'Seconds until the limit is fully free again.'),
      }),
    ),
    'State of the limit for each family of routes, by name.',
  ),
});
const limited = (what: string) => ({
  limit: field(Nullable(Count), `Allowed ${what}. Null if unlimited.`),
  used: field(Count, `Used ${what}.`),
  left: field(Nullable(Count), `Remaining ${what}. Null if unlimited.`),
});
/** Schema of {@link encodeBudget}. */
export const PlanBudget = Type.Object({
  resets: field(OneOf('never', 'month', 'day'), 'When the usage is reset (UTC).'),
  expires_at: field(Nullable(Text), 'When the budget ends (RFC 3339). Null if never.'),
  requests: field(Type.Object(limited('requests')), 'Model requests.'),
  tokens: field(
    Type.Object({ ...limited('tokens'), reserved: field(Count, 'Tokens reserved for running requests.') }),
    'Input and output tokens.',
  ),
  tokens_today: field(Type.Object(limited('tokens of this day (UTC)')), 'Tokens of this day (UTC).'),
  cost: Type.Optional(
    field(
      Type.Object({
        currency: field(Text, 'Currency (ISO 4217).', 'USD'),
        limit: field(Type.Number(), 'Allowed money.'),
        used: field(Type.Number(), 'Used money.'),
        reserved: field(Type.Number(), 'Money reserved for running requests.'),
        left: field(Type.Number(), 'Remaining money.'),
      }),
      'Money. Absent if the plan does not limit it.',
    ),
  ),
});
const ModelCounts = Type.Object({
  model: field(Text, 'Id of the model; for link data the platform.'),
  route: field(Text, 'Path of the route.'),
  ...USAGE_COUNTS,
});
const Day = Type.Object({
  day: field(Text, 'Day by UTC.', '2026-06-15'),
  ...USAGE_COUNTS,
  models: field(Type.Array(ModelCounts), 'The same by model and route.'),
});

const Usage = Type.Object(
  {
    object: field(Type.Literal('usage'), 'Always `usage`.'),
    key: field(Key, 'The API key of the request.'),
    window: field(Nullable(Window), 'Its rate limit. Null if it has none.'),
    budget: field(Nullable(PlanBudget), 'Its budget of requests and tokens. Null if it has none.'),
    budgets: Type.Optional(
      field(Type.Array(SharedBudget), 'Budgets of the key itself, its account and its group. Absent if it has none.'),
    ),
    from: field(Text, 'First day, by UTC.', '2026-06-01'),
    to: field(Text, 'Last day, by UTC.', '2026-06-30'),
    currency: optional(Text, 'Currency of the costs (ISO 4217). Only if the gateway has prices.', 'USD'),
    total: field(Type.Object(USAGE_COUNTS), 'Usage of all days together.'),
    days: field(Type.Array(Day), 'Usage of each day, newest first. Days without requests are left out.'),
  },
  { description: 'What an API key used, and what it has left.' },
);

export interface UsageRouteServices extends Pick<ServerContext, 'polls' | 'clock'> {
  rateLimits: RateLimits;
  budgets: Pick<Budgets, 'find' | 'ofKey'>;
  usageLog: UsageLog;
  /** Default: none. */
  prices?: Prices;
}

/** Usage and remaining budget of the key itself. Not rate limited. */
export function keyUsageRoutes({ rateLimits, budgets, usageLog, polls, clock, prices }: UsageRouteServices): Route[] {
  const DayText = Type.String({ pattern: '^\\d{4}-\\d\\d-\\d\\d$' });
  return [
    defineRoute({
      method: 'GET',
      path: '/v1/usage',
      grant: 'any',
      apiKeyHeader: true,
      endpoint: 'usage',
      tag: 'Account',
      summary: 'Usage of the API key',
      description:
        'Returns what the API key used, by day and model, and what it has left. `?from=&to=` select the days.',
      query: {
        from: { schema: DayText, description: 'First day by UTC, e.g. 2026-06-15. Default: 30 days.' },
        to: { schema: DayText, description: 'Last day by UTC. Default: today.' },
      },
      answers: { 200: { description: 'By day and model.', name: 'Usage', schema: Usage } },
      errors: ['invalid_value', 'rate_limit_exceeded'],
      async handler(context) {
        const key = pollingKeyOf(context, polls);
        const range = readRangeQuery(context.query, clock.now());
        const [results, { budget, totals }, ofKey] = await Promise.all([
          readRateLimits(rateLimits, key),
          getUsage({ budgets, usageLog }, key.budgetId, { keyId: key.id, ...range }),
          budgets.ofKey(key),
        ]);
        context.res.setHeader('Cache-Control', 'no-store');
        const { currency } = prices ?? {};
        const found = { key, rateLimits: results, budget, budgets: ofKey, range, totals, currency };
        context.body = encodeKeyUsage(found, clock.now());
      },
    }),
  ];
}

/** The remaining amount of each limit of a budget; fields without a limit are absent. */
export interface BudgetLeft {
  requests?: number;
  tokens?: number;
  tokensToday?: number;
  /** In the currency of the budget. */
  cost?: number;
}

export function leftOf(budget: BudgetState): BudgetLeft {
  const { costLimit, costUsed, costReserved } = budget;
  const { requestLimit, requestsUsed, tokenLimit, tokensUsed, dailyTokenLimit, tokensUsedToday, tokensReserved } =
    budget;
  return {
    ...(requestLimit !== null && { requests: Math.max(0, requestLimit - requestsUsed) }),
    ...(tokenLimit !== null && { tokens: Math.max(0, tokenLimit - tokensUsed - tokensReserved) }),
    ...(dailyTokenLimit !== null && { tokensToday: Math.max(0, dailyTokenLimit - tokensUsedToday - tokensReserved) }),
    ...(costLimit !== null && { cost: Math.max(0, costLimit - costUsed - costReserved) / MICROS }),
  };
}

/** As text: `37 requests`, `29,999,000 tokens`. */
export function renderLeft(budget: BudgetState | undefined, now: number): string {
  if (!budget) return 'unlimited';
  if (budget.expiresAt !== null && budget.expiresAt <= now) return 'ended';
  const { requests, tokens, tokensToday, cost } = leftOf(budget);
  const parts = [
    ...(requests === undefined ? [] : [`${grouped(requests)} requests`]),
    ...(tokens === undefined ? [] : [`${grouped(tokens)} tokens`]),
    ...(tokensToday === undefined ? [] : [`${grouped(tokensToday)} tokens today`]),
    ...(cost === undefined ? [] : [renderMoney(cost * MICROS, budget.currency)]),
  ];
  return parts.join(', ') || 'unlimited';
}

/** With thousands separators. */
export function grouped(value: number): string {
  return value.toLocaleString('en-US', { maximumFractionDigits: 1 });
}
