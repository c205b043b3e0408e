/*
 * Budgets of keys, accounts and groups, in the forms that clients and operators read. Each has one amount. Budgets of
 * plans may have several limits, and usage-report.ts describes those.
 */

import { field, Type } from '../../core/contracts/index.js';
import { groupedDecimal, isoTime } from '../format/index.js';
import { Nullable, OneOf, Text } from '../http/index.js';
import { type BudgetAmount, MICROS, renderBudget, renderMoney } from './amounts.js';
import { amountOf, nextPeriodAt } from './budgets.js';
import type { BudgetState } from './tables.js';

/** The amount of such a budget, in tokens, requests or micro units. */
interface BudgetUse extends BudgetAmount {
  used: number;
  reserved: number;
  /** At least 0. */
  left: number;
}

function useOf(budget: BudgetState): BudgetUse | undefined {
  const amount = amountOf(budget);
  if (!amount) return undefined;
  const [used, reserved] = {
    tokens: [budget.tokensUsed, budget.tokensReserved],
    requests: [budget.requestsUsed, 0],
    money: [budget.costUsed, budget.costReserved],
  }[amount.unit] as [number, number];
  return { ...amount, used, reserved, left: Math.max(0, amount.amount - used - reserved) };
}

/** The form of one such budget in `GET /v1/usage` and in the `--json` output. Amounts of money are in the currency. */
export function encodeSharedBudget(budget: BudgetState, now: number) {
  const { unit, amount, currency, resets, used, reserved, left } = useOf(budget) ?? NO_USE;
  const shown = (value: number) => (unit === 'money' ? value / MICROS : value);
  return {
    of: budget.scope,
    ...(budget.scope === 'key' ? {} : { name: budget.subject }),
    unit,
    currency,
    limit: shown(amount),
    used: shown(used),
    reserved: shown(reserved),
    left: shown(left),
    resets,
    resets_at: isoTime(nextPeriodAt(resets, now)),
  };
}

const NO_USE: BudgetUse = {
  unit: 'requests',
  amount: 0,
  currency: null,
  resets: 'never',
  used: 0,
  reserved: 0,
  left: 0,
};

/** Schema of {@link encodeSharedBudget}. */
export const SharedBudget = Type.Object({
  of: field(Type.Unsafe<BudgetState['scope']>(OneOf('key', 'account', 'group')), 'What shares the budget.'),
  name: Type.Optional(field(Text, 'Name of the account or of the group.')),
  unit: field(OneOf('money', 'tokens', 'requests'), 'What it limits.'),
  currency: field(Nullable(Text), 'Currency of money (ISO 4217). Null for tokens and requests.', 'USD'),
  limit: field(Type.Number(), 'Allowed in a period.', 50),
  used: field(Type.Number(), 'Used in this period.'),
  reserved: field(Type.Number(), 'Reserved for running requests.'),
  left: field(Type.Number(), 'Remaining in this period.'),
  resets: field(OneOf('never', 'month', 'day'), 'When the usage is reset (UTC).'),
  resets_at: field(Nullable(Text), 'When the next period begins (RFC 3339). Null if never.'),
});

/** What is left of such a budget: `12.5 USD of 50 USD/month of group research`. */
export function renderSharedLeft(budget: BudgetState): string {
  const use = useOf(budget);
  if (!use) return '-';
  const left = use.unit === 'money' ? renderMoney(use.left, use.currency) : groupedDecimal(`${use.left}`);
  const owner = budget.scope === 'key' ? '' : ` of ${budget.scope} ${budget.subject}`;
  return `${left} of ${renderBudget(use)}${owner}`;
}
