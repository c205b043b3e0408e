import type { BudgetState } from './budgets.js';

/** What is free of each limit that a budget has; members without a limit are absent. */
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

/** In words: `37 requests`, `29,999,000 tokens`. */
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

/** With a comma between thousands. */
export function grouped(value: number): string {
  return value.toLocaleString('en-US', { maximumFractionDigits: 1 });
}
