/** Users, plans and orders for tests of accounts. */

import { randomBytes, randomUUID } from 'node:crypto';
import type { UserRecord } from '../../../server/accounts/tables.js';
import type { NewKeyRecord } from '../../../server/keys/key-rows.js';
import type { BankTransaction, NewOrder, OrderRecord } from '../../../server/payments/order-records.js';
import type { PlanTerms } from '../../../server/plans/plan-terms.js';
import type { State } from '../../../server/state.js';

export const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;

/** Somebody nobody has seen before. */
export function signUp(state: State, { name = 'Ann' }: { name?: string } = {}): Promise<UserRecord> {
  const subject = randomUUID();
  return state.users.signIn({ issuer: 'https://id.example', subject, email: `${subject}@mail.example`, name });
}

export const FREE: PlanTerms = {
  planId: 'free',
  grants: ['text'],
  rpm: 30,
  models: ['m-5.5'],
  imageDailyLimit: null,
  durationMs: null,
  budget: { tokenLimit: null, dailyTokenLimit: null, requestLimit: 50, resets: 'never' },
};

export const TOKENS: PlanTerms = {
  planId: 'token_30m',
  grants: ['text', 'audio'],
  rpm: 30,
  models: null,
  imageDailyLimit: null,
  durationMs: null,
  budget: { tokenLimit: 30_000_000, dailyTokenLimit: null, requestLimit: null, resets: 'never' },
};

export const IMAGES: PlanTerms = {
  planId: 'images_30d',
  grants: ['images'],
  rpm: 15,
  models: null,
  imageDailyLimit: 100,
  durationMs: 30 * DAY_MS,
  budget: null,
};

export function newKey(): NewKeyRecord {
  return { id: randomBytes(4).toString('hex'), name: 'laptop', hash: 'ab'.repeat(32), pepperVersion: 1 };
}

export async function order(state: State, accountId: string, change: Partial<NewOrder> = {}): Promise<OrderRecord> {
  const wanted = { accountId, terms: TOKENS, amount: 1_000, currency: 'EUR', actor: 'user:test', lifetimeMs: DAY_MS };
  return (await state.orders.create({ ...wanted, ...change })).order;
}

export function transfer(text: string, change: Partial<BankTransaction> = {}): BankTransaction {
  return { provider: 'bank', id: randomUUID(), amount: 1_000, currency: 'EUR', text, at: 1_000, ...change };
}

/** How often the plan of this order was granted, by all that a grant leaves behind. */
export async function grantsOf(state: State, { code, accountId }: OrderRecord) {
  const account = await state.accounts.find(accountId);
  const budget = account?.plan?.budgetId ? await state.budgets.find(account.plan.budgetId) : undefined;
  const audit = await state.audit.list({ subject: accountId, limit: 1_000 });
  const granted = audit.filter(({ action, note }) => action === 'plan.granted' && note === code).length;
  return { granted, tokens: budget?.tokenLimit ?? 0 };
}

/** An order of 10 EUR for the balance. */
export function topUpOrder(state: State, accountId: string): Promise<OrderRecord> {
  const paid = { currency: 'EUR', lowBelow: null, grants: ['text'], rpm: 30, models: null } as const;
  return order(state, accountId, { terms: { planId: 'topup_10', credit: 10_000_000, ...paid } });
}
