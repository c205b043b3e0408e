/*
 * How budgets are counted, as pure functions on a row. A budget limits requests, tokens, tokens of a day and money, in millionths of its currency. Before a request is sent, its
 * input and the longest output are reserved, at the highest price of the models that may answer. The request is refused
 * if used + reserved + its least need > limit; its least need is its counted input and the shortest output. An output
 * that does not fit is shortened to what is left. All budgets of a request must have room. A row has the usage of one
 * period (a month or day in UTC) and one day, each with its name; the first access in a later one resets it. Reserved
 * amounts belong to no period: they are held until they are settled, and the used amount counts in the period of that
 * moment. A clock that is set back does not reopen an earlier period.
 */

import { GatewayError } from '../../core/runtime/index.js';
import type { ReservedTokens, TokenDemand } from '../../core/text/index.js';
import { dayOf } from '../format/index.js';
import type { HighestUse, Prices } from '../prices/index.js';
import { type BudgetAmount, type BudgetPeriod, renderMoney } from './amounts.js';
import type { Budget, BudgetRow, BudgetScope, BudgetState } from './tables.js';

/** UTC month or day; empty if the period never ends. */
function periodOf(resets: BudgetPeriod, at: number): string {
  if (resets === 'never') return '';
  return resets === 'day' ? dayOf(at) : dayOf(at).slice(0, 7);
}

/** The row at that time, after a reset if one is due. */
export function atTime(row: BudgetRow, at: number): BudgetRow {
  const [period, day] = [periodOf(row.resets, at), dayOf(at)];
  const sameDay = day <= row.day;
  if (sameDay && period <= row.period) return row;
  return {
    ...row,
    ...(period > row.period && { period, tokensUsed: 0, requestsUsed: 0, costUsed: 0 }),
    ...(!sameDay && { day, tokensUsedToday: 0 }),
  };
}

/** What a request needs of budgets. */
export interface BudgetWants {
  /** Tokens that must be free if they were not counted. */
  tokens: number;
  /** Counts its tokens, for a budget that limits them or money. Default: `tokens`. */
  demand?: () => Promise<TokenDemand>;
  /** The most that it uses beside counted tokens, for a budget of money. Default: `tokens` of input. */
  uses?: Omit<HighestUse, 'model'>;
  /** Ids of models that may answer in its place. Default: none. */
  fallbacks?: readonly string[] | undefined;
}

/** {@link BudgetWants} after its tokens were counted. */
export interface CountedWants extends Omit<BudgetWants, 'demand'> {
  /** Public model id. */
  model: string;
  demand?: TokenDemand;
  /** Whether its tokens can be counted. Default false. */
  canCount?: boolean;
}

/** What budgets have for a request. */
export interface BudgetGrant {
  /** Tokens to be reserved. */
  tokens: number;
  /** Money to be reserved, in micro units; 0 if no budget limits it. */
  cost: number;
  /** What is charged if the process dies: the input, and all of what is no token. */
  input: { tokens: number; cost: number };
  /** Whether a budget limits tokens or money, so that its tokens must be counted. */
  isLimited: boolean;
  /** What the request may use, if its tokens were counted. */
  reserved?: ReservedTokens;
}

/** A limit of a budget, and what is free of it. */
interface Limit {
  row: BudgetRow;
  unit: 'tokens' | 'money';
  allowed: number;
  left: number;
  per: BudgetPeriod;
}

export interface GrantOptions {
  /** In milliseconds since 1970. */
  at: number;
  /** Default: no price is known, and a budget of money refuses every request. */
  prices?: Prices;
}

/**
 * Grants a request its input, and the output that it wants or that is left in all of its budgets. An uncounted but
 * countable request is refused only when nothing is left.
 * @returns The refusal of the first budget that has no room for it.
 */
export function grantOf(
  rows: readonly BudgetRow[],
  wanted: CountedWants,
  { at, prices }: GrantOptions,
): BudgetGrant | GatewayError {
  for (const row of rows) {
    const refusal = closedBudget(row, at);
    if (refusal) return refusal;
  }
  const { model, tokens, canCount = false, uses } = wanted;
  const limits = rows.flatMap(limitsOf);
  const isLimited = limits.length > 0;
  const inMoney = limits.find(({ unit }) => unit === 'money');
  const counted = isLimited ? wanted.demand : undefined;
  const least = counted ? counted.input + counted.minOutput : canCount ? 1 : tokens;
  const highestCost = (use: Omit<HighestUse, 'model'>) =>
    inMoney && prices?.currency === inMoney.row.currency ? prices.highestCostOf({ ...use, model }) : null;
  const costOf = (inputTokens: number, outputTokens: number) => highestCost({ ...uses, inputTokens, outputTokens });
  const leastUse = counted
    ? { ...uses, inputTokens: counted.input, outputTokens: counted.minOutput }
    : uncountedUse(wanted, least);
  const leastCost = inMoney ? highestCost(leastUse) : 0;
  if (inMoney && leastCost === null) {
    const lacks = prices?.missingFor({ ...(uses && !canCount ? uses : { inputTokens: least }), model });
    return noPrice(inMoney.row, uses?.links ? `links of ${model}` : model, lacks);
  }
  const neededCost = leastCost ?? 0;
  const tooSmall = limits.find(({ unit, left }) => (unit === 'money' ? neededCost : least) > left);
  if (tooSmall) return tooFew(tooSmall, tooSmall.unit === 'money' ? neededCost : least, at);
  // What cannot be counted is known by its input alone.
  const whole = { tokens: canCount ? 0 : tokens, cost: canCount ? 0 : neededCost };
  if (!counted) return { tokens, cost: neededCost, isLimited, input: whole };
  const { input, hiddenInput, choices } = counted;
  const room = leftOfAll(limits, 'tokens') - input;
  const money = leftOfAll(limits, 'money');
  const payable = inMoney ? prices?.outputTokensWithin(money, { ...uses, model, inputTokens: input }) : null;
  const wantedOutput = Math.min(counted.output, room, payable ?? Number.MAX_SAFE_INTEGER);
  const output = Math.floor(wantedOutput / choices) * choices;
  let hidden = Math.min(hiddenInput, room - output);
  if (inMoney && hidden > 0) hidden = mostWithin(hidden, (more) => (costOf(input + more, output) ?? 0) <= money);
  const reserved = { input: input + hidden, output };
  const cost = inMoney ? (costOf(reserved.input, output) ?? 0) : 0;
  const ofInput = { tokens: reserved.input, cost: inMoney ? (costOf(reserved.input, 0) ?? 0) : 0 };
  return { tokens: input + output + hidden, cost, isLimited, reserved, input: ofInput };
}

/** Uncounted, a request is judged by the least that it could need. */
function uncountedUse({ canCount = false, uses }: CountedWants, least: number): Omit<HighestUse, 'model'> {
  if (!uses) return { inputTokens: least, outputTokens: 0 };
  return canCount ? { inputTokens: least, ...uses } : uses;
}

/** Grants work that is no request to a model. Only budgets of money count it. */
export function grantOfMoney(
  rows: readonly BudgetRow[],
  wanted: CountedWants,
  options: GrantOptions,
): BudgetGrant | GatewayError {
  const ofMoney = rows.filter(({ costLimit }) => costLimit !== null);
  // Requests and tokens of the same budget are those of model requests.
  const limited = ofMoney.map((row) => ({ ...row, requestLimit: null, tokenLimit: null, dailyTokenLimit: null }));
  return grantOf(limited, wanted, options);
}

/** The largest whole number up to `max` that fits; 0 if none does. */
function mostWithin(max: number, fits: (value: number) => boolean): number {
  let [low, high] = [0, max + 1];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (fits(middle)) low = middle;
    else high = middle;
  }
  return low;
}

function leftOfAll(limits: readonly Limit[], of: Limit['unit']): number {
  return Math.min(...limits.filter(({ unit }) => unit === of).map(({ left }) => left), Number.MAX_SAFE_INTEGER);
}

function limitsOf(row: BudgetRow): Limit[] {
  const { tokenLimit: total, dailyTokenLimit: daily, costLimit: money, tokensReserved: held, resets: per } = row;
  return [
    ...limit(total, { row, unit: 'tokens', used: row.tokensUsed + held, per }),
    ...limit(daily, { row, unit: 'tokens', used: row.tokensUsedToday + held, per: 'day' }),
    ...limit(money, { row, unit: 'money', used: row.costUsed + row.costReserved, per }),
  ];
}

function limit(allowed: number | null, { used, ...of }: Omit<Limit, 'allowed' | 'left'> & { used: number }): Limit[] {
  return allowed === null ? [] : [{ ...of, allowed, left: allowed - used }];
}

/** Why a budget takes no request. */
function closedBudget(row: BudgetRow, at: number): GatewayError | undefined {
  // A hold lasts until it is ended, also if the clock is set back.
  const isHeld = row.scope === 'balance' && row.expiresAt !== null;
  if (isHeld || (row.expiresAt !== null && row.expiresAt <= at)) {
    return usedUp(`${nameOf(row)} ${isHeld ? 'is on hold: ask the operator' : 'has ended'}.`);
  }
  const { requestLimit: requests } = row;
  if (requests === null || row.requestsUsed < requests) return undefined;
  const allowed = `${requests} requests${PER[row.resets]}`;
  return usedUp(`${nameOf(row)} allows ${allowed}, and all are used.${renewal(row, at)}`);
}

/** @param lacks The prices that are missing. */
function noPrice(row: BudgetRow, subject: string, lacks = 'a price'): GatewayError {
  const { currency } = row;
  const why = `${nameOf(row)} is in ${currency}, and no price in ${currency} is known for ${subject}, so its cost has no limit.`;
  return usedUp(`${why} The operator sets ${lacks} in PRICES_FILE, or uses a budget of tokens or requests.`);
}

/**
 * Counts an accepted request and reserves what it was granted.
 * @param requests 0 if it is no request to a model.
 */
export function reserve(
  row: BudgetRow,
  { tokens, cost }: Pick<BudgetGrant, 'tokens' | 'cost'>,
  requests: 0 | 1 = 1,
): BudgetRow {
  if (row.scope === 'balance') return { ...row, costReserved: row.costReserved + cost };
  return {
    ...row,
    requestsUsed: row.requestsUsed + requests,
    tokensReserved: row.tokensReserved + tokens,
    costReserved: row.costReserved + cost,
  };
}

export interface Release {
  /** What was reserved, and the period in which the request was counted; null if it was not. */
  reserved: { tokens: number; cost: number; period: string | null };
  tokensUsed: number;
  /** In micro units. */
  costUsed: number;
  /** Whether the request is refunded, too. */
  givesBack: boolean;
}

/** Ends a reservation: the used amount replaces the reserved one. */
export function release(row: BudgetRow, { reserved, tokensUsed, costUsed, givesBack }: Release): BudgetRow {
  const counted = givesBack && reserved.period === row.period;
  return {
    ...row,
    tokensReserved: row.tokensReserved - reserved.tokens,
    tokensUsed: row.tokensUsed + tokensUsed,
    tokensUsedToday: row.tokensUsedToday + tokensUsed,
    costReserved: row.costReserved - reserved.cost,
    costUsed: row.costUsed + costUsed,
    requestsUsed: row.requestsUsed - (counted ? 1 : 0),
  };
}

export interface Correction {
  /** Used tokens beyond the counted ones; negative if it was fewer. */
  more: number;
  /** The same in money, in micro units. */
  moreCost: number;
  /** The part of it that a balance pays: it never pays more than it was charged first. Default: all of it, if it is less. */
  morePaid?: number;
  /** When they were counted, in milliseconds since 1970. */
  countedAt: number;
}

/**
 * Replaces an estimate by the real usage. A difference is refunded only to the period and day in which it was counted.
 */
export function correct(row: BudgetRow, { more, moreCost, countedAt }: Correction): BudgetRow {
  const isSamePeriod = periodOf(row.resets, countedAt) >= row.period;
  const ofPeriod = more > 0 || isSamePeriod;
  const ofDay = more > 0 || dayOf(countedAt) >= row.day;
  return {
    ...row,
    tokensUsed: Math.max(0, row.tokensUsed + (ofPeriod ? more : 0)),
    tokensUsedToday: Math.max(0, row.tokensUsedToday + (ofDay ? more : 0)),
    costUsed: Math.max(0, row.costUsed + (moreCost > 0 || isSamePeriod ? moreCost : 0)),
  };
}

export function toBudgetRow(budget: Budget): BudgetRow {
  return {
    scope: 'plan',
    subject: '',
    costLimit: null,
    currency: null,
    lowBelow: null,
    ...budget,
    period: periodOf(budget.resets, budget.createdAt),
    tokensUsed: 0,
    tokensReserved: 0,
    requestsUsed: 0,
    day: dayOf(budget.createdAt),
    tokensUsedToday: 0,
    costUsed: 0,
    costReserved: 0,
  };
}

/** The amount of a budget that is not a plan's; undefined if it has several limits, or none. */
export function amountOf(budget: BudgetState): BudgetAmount | undefined {
  const { requestLimit, tokenLimit, dailyTokenLimit, costLimit, currency, resets } = budget;
  const amounts = [
    ...(requestLimit === null ? [] : [{ unit: 'requests', amount: requestLimit, currency: null, resets } as const]),
    ...(tokenLimit === null ? [] : [{ unit: 'tokens', amount: tokenLimit, currency: null, resets } as const]),
    ...(costLimit === null ? [] : [{ unit: 'money', amount: costLimit, currency, resets } as const]),
  ];
  return amounts.length === 1 && dailyTokenLimit === null ? amounts[0] : undefined;
}

export function toBudgetState({ period: _period, day: _day, lowBelow: _low, ...state }: BudgetRow): BudgetState {
  return state;
}

const PER: Readonly<Record<BudgetPeriod, string>> = { never: '', month: ' a month', day: ' a day (UTC)' };

function tooFew({ row, unit, allowed, left, per }: Limit, wanted: number, at: number): GatewayError {
  const free = Math.max(0, left);
  const [all, rest, need] =
    unit === 'tokens'
      ? [`${allowed} tokens`, `${free} are free`, `use ${wanted}`]
      : [allowed, free, wanted].map((micros) => renderMoney(micros, row.currency));
  const what =
    unit === 'tokens' ? `${rest} and this request may ${need}` : `${rest} is free and this request may cost ${need}`;
  if (row.scope === 'balance') return usedUp(`${nameOf(row)} is ${all}, of which ${what}. Top it up.`);
  const message = `${nameOf(row)} allows ${all}${PER[per]}, of which ${what}.`;
  return usedUp(`${message}${renewal({ scope: row.scope, resets: per }, at)}`);
}

const NAMES: Readonly<Record<BudgetScope, string>> = {
  plan: 'The plan of this API key',
  key: 'The budget of this API key',
  account: 'The budget of the account of this API key',
  group: 'The budget of the group',
  balance: 'The prepaid balance of this account',
};

function nameOf({ scope, subject }: Pick<BudgetRow, 'scope' | 'subject'>): string {
  return scope === 'group' ? `${NAMES.group} ${subject}` : NAMES[scope];
}

/** When the period after this one begins, or what helps if none does, as a sentence. */
function renewal({ scope, resets }: Pick<BudgetRow, 'scope' | 'resets'>, at: number): string {
  const next = nextPeriodAt(resets, at);
  if (next !== null) return ` It starts again at ${new Date(next).toISOString()}.`;
  return scope === 'plan'
    ? ' Choose another plan on the page Plans, or ask the operator for one.'
    : ' The operator can raise it.';
}

/** When the usage is reset next, in milliseconds since 1970; null is never. */
export function nextPeriodAt(resets: BudgetPeriod, at: number): number | null {
  if (resets === 'never') return null;
  const now = new Date(at);
  const [year, month, day] = [now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate()];
  return resets === 'day' ? Date.UTC(year, month, day + 1) : Date.UTC(year, month + 1, 1);
}

function usedUp(message: string): GatewayError {
  return new GatewayError('insufficient_quota', message);
}
