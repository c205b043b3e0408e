/*
 * Parses and renders the amounts of budgets, such as `50 USD/month`, `2M tokens/day` or `1000 requests`. Money is
 * counted in whole millionths of its currency, so that sums are exact. What the renderer writes, the parser accepts.
 */

import { groupedDecimal, isCurrency } from '../format/index.js';

/** Money is counted in whole micro units of its currency: sums of them are exact. */
export const MICROS = 1_000_000;
const MAX_MICROS = 1e15;

/** When the usage of a budget is reset (UTC). */
export type BudgetPeriod = 'never' | 'month' | 'day';

/** What a budget allows in a period: one amount of money, tokens or requests. */
export interface BudgetAmount {
  unit: 'money' | 'tokens' | 'requests';
  /** Tokens or requests; money in micro units of the currency. */
  amount: number;
  /** ISO 4217; null for tokens and requests. */
  currency: string | null;
  resets: BudgetPeriod;
}

const PERIODS: Readonly<Record<string, BudgetPeriod>> = { day: 'day', month: 'month', lifetime: 'never' };
const AMOUNT = /^(\d{1,13}(?:[_,]\d{3})*(?:\.\d{1,6})?)\s*([kM]?)\s+([A-Za-z]{3,8})\s*(?:\/\s*([a-z]{3,8}))?$/;
const FACTORS: Readonly<Record<string, number>> = { '': 1, k: 1e3, M: 1e6 };

/** What {@link parseBudget} accepts, for messages. */
export const BUDGET_FORM = 'an amount such as "50 USD/month", "2M tokens/day" or "1000 requests" (for its lifetime)';

/**
 * Reads `50 USD/month`, `2M tokens/day` or `1000 requests`, which never resets.
 * @returns Undefined if it is no budget.
 */
export function parseBudget(text: string): BudgetAmount | undefined {
  const [, digits = '', factor = '', word = '', period = 'lifetime'] = AMOUNT.exec(text.trim()) ?? [];
  const resets = Object.hasOwn(PERIODS, period) ? PERIODS[period] : undefined;
  const amount = Number(digits.replaceAll(/[_,]/g, '')) * (FACTORS[factor] ?? Number.NaN);
  if (digits === '' || resets === undefined) return undefined;
  const unit = /^tokens?$/.test(word) ? 'tokens' : /^requests?$/.test(word) ? 'requests' : 'money';
  if (unit !== 'money') {
    return Number.isSafeInteger(amount) && amount <= MAX_MICROS ? { unit, amount, currency: null, resets } : undefined;
  }
  const micros = Math.round(amount * MICROS);
  if (!isCurrency(word) || micros > MAX_MICROS) return undefined;
  return { unit, amount: micros, currency: word, resets };
}

/** As {@link parseBudget} reads it. */
export function renderBudget({ unit, amount, currency, resets }: BudgetAmount): string {
  const period = resets === 'never' ? '' : `/${resets}`;
  return `${unit === 'money' ? renderMoney(amount, currency) : `${groupedDecimal(`${amount}`)} ${unit}`}${period}`;
}

/** The limits of a budget of that amount. */
export function limitsOfAmount({ unit, amount, currency, resets }: BudgetAmount) {
  return {
    tokenLimit: unit === 'tokens' ? amount : null,
    dailyTokenLimit: null,
    requestLimit: unit === 'requests' ? amount : null,
    costLimit: unit === 'money' ? amount : null,
    currency,
    resets,
  };
}

/** Money as people write it: `1,012.5 USD`. @param micros In micro units. */
export function renderMoney(micros: number, currency: string | null): string {
  const sign = micros < 0 ? '-' : '';
  const whole = Math.floor(Math.abs(micros) / MICROS);
  const rest = String(Math.abs(micros) % MICROS)
    .padStart(6, '0')
    .replace(/0+$/, '');
  return `${sign}${groupedDecimal(`${whole}`)}${rest === '' ? '' : `.${rest}`} ${currency ?? ''}`.trimEnd();
}
