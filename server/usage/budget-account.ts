import type { Selectable } from '../../core/database/index.js';
import { GatewayError } from '../../core/runtime/index.js';
import { dayOf } from '../limits/index.js';
import type { Budget, BudgetState } from './budgets.js';
import type { BudgetsTable } from './tables.js';

/*
 * How a budget is counted. Its row holds what was used of one period and of one day, each by its name; the first look in a
 * later one forgets what came before. Reserved tokens belong to no period: they are held until they are settled, and
 * what was used then counts in the period of that moment. A clock that is set back opens no earlier period again.
 */

export type BudgetRow = Selectable<BudgetsTable>;

/** Empty where it never ends, else a month or a day by UTC. */
function periodOf(resets: Budget['resets'], at: number): string {
  if (resets === 'never') return '';
  return resets === 'day' ? dayOf(at) : dayOf(at).slice(0, 7);
}

/** The row as it stands at that time. */
export function atTime(row: BudgetRow, at: number): BudgetRow {
  const [period, day] = [periodOf(row.resets, at), dayOf(at)];
  const sameDay = day <= row.day;
  if (sameDay && period <= row.period) return row;
  return {
    ...row,
    ...(period > row.period && { period, tokens_used: 0, requests_used: 0 }),
    ...(!sameDay && { day, tokens_used_today: 0 }),
  };
}

/** Why a request that may use so many tokens is refused; undefined where there is room for it. */
export function refusalOf(row: BudgetRow, tokens: number, at: number): GatewayError | undefined {
  if (row.expires_at !== null && row.expires_at <= at) return usedUp('The plan of this API key has ended.');
  const { request_limit: requests, token_limit: total, daily_token_limit: daily } = row;
  if (requests !== null && row.requests_used >= requests) {
    return usedUp(`The plan of this API key allows ${requests} requests${PER[row.resets]}, and all are used.`);
  }
  if (total !== null) {
    const left = total - row.tokens_used - row.tokens_reserved;
    if (tokens > left) return tooFew(`${total} tokens${PER[row.resets]}`, left, tokens);
  }
  if (daily !== null) {
    const left = daily - row.tokens_used_today - row.tokens_reserved;
    if (tokens > left) return tooFew(`${daily} tokens a day (UTC)`, left, tokens);
  }
  return undefined;
}

/** Counts an accepted request and holds its tokens. */
export function reserve(row: BudgetRow, tokens: number): BudgetRow {
  return { ...row, requests_used: row.requests_used + 1, tokens_reserved: row.tokens_reserved + tokens };
}

export interface Release {
  /** What was held, and the period whose requests it was counted among. */
  reserved: { tokens: number; period: string };
  tokensUsed: number;
  /** Whether the request is not counted either. */
  givesBack: boolean;
}

/** Ends a reservation: what was used takes the place of what was held. */
export function release(row: BudgetRow, { reserved, tokensUsed, givesBack }: Release): BudgetRow {
  const counted = givesBack && reserved.period === row.period;
  return {
    ...row,
    tokens_reserved: row.tokens_reserved - reserved.tokens,
    tokens_used: row.tokens_used + tokensUsed,
    tokens_used_today: row.tokens_used_today + tokensUsed,
    requests_used: row.requests_used - (counted ? 1 : 0),
  };
}

export interface Correction {
  /** Tokens used beyond those that were counted; less than 0 where it was fewer. */
  more: number;
  /** Milliseconds since 1970, when they were counted. */
  countedAt: number;
}

/** Counts what was really used in the place of an estimate. What is over is given back to the period and day that it was counted in alone. */
export function correct(row: BudgetRow, { more, countedAt }: Correction): BudgetRow {
  const ofPeriod = more > 0 || periodOf(row.resets, countedAt) >= row.period;
  const ofDay = more > 0 || dayOf(countedAt) >= row.day;
  return {
    ...row,
    tokens_used: Math.max(0, row.tokens_used + (ofPeriod ? more : 0)),
    tokens_used_today: Math.max(0, row.tokens_used_today + (ofDay ? more : 0)),
  };
}

export function toBudgetRow(budget: Budget): BudgetRow {
  return {
    id: budget.id,
    account_id: budget.accountId,
    plan_id: budget.planId,
    token_limit: budget.tokenLimit,
    daily_token_limit: budget.dailyTokenLimit,
    request_limit: budget.requestLimit,
    resets: budget.resets,
    expires_at: budget.expiresAt,
    created_at: budget.createdAt,
    period: periodOf(budget.resets, budget.createdAt),
    tokens_used: 0,
    tokens_reserved: 0,
    requests_used: 0,
    day: dayOf(budget.createdAt),
    tokens_used_today: 0,
  };
}

export function toBudgetState(row: BudgetRow): BudgetState {
  return {
    id: row.id,
    accountId: row.account_id,
    planId: row.plan_id,
    tokenLimit: row.token_limit,
    dailyTokenLimit: row.daily_token_limit,
    requestLimit: row.request_limit,
    resets: row.resets,
    expiresAt: row.expires_at,
    createdAt: row.created_at,
    tokensUsed: row.tokens_used,
    tokensReserved: row.tokens_reserved,
    requestsUsed: row.requests_used,
    tokensUsedToday: row.tokens_used_today,
  };
}

const PER: Readonly<Record<Budget['resets'], string>> = { never: '', month: ' a month', day: ' a day (UTC)' };

function tooFew(allowed: string, left: number, wanted: number): GatewayError {
  const rest = `${Math.max(0, left)} are free and this request may use ${wanted}`;
  return usedUp(`The plan of this API key allows ${allowed}, of which ${rest}.`);
}

function usedUp(message: string): GatewayError {
  return new GatewayError('insufficient_quota', message);
}
