/** An account that has used everything that an erasure must find. */

import { randomUUID } from 'node:crypto';
import type { UserRecord } from '../../../server/accounts/tables.js';
import { createKey, hashKey, type Pepper } from '../../../server/keys/keys.js';
import type { OrderRecord } from '../../../server/payments/order-records.js';
import type { PlanTerms } from '../../../server/plans/plan-terms.js';
import type { State } from '../../../server/state.js';

const DAY_MS = 86_400_000;

const TERMS: PlanTerms = {
  planId: 'token_30m',
  grants: ['text', 'audio', 'images', 'extract'],
  rpm: 30,
  models: null,
  imageDailyLimit: null,
  durationMs: null,
  budget: { tokenLimit: 30_000_000, dailyTokenLimit: null, requestLimit: null, resets: 'never' },
};

export interface UsedAccount {
  /** In the order they were made: paid, underpaid, pending. */
  orders: readonly OrderRecord[];
  /** One of its API keys. */
  key: string;
}

/** Gives a user what an account has after a month: keys, an order that was paid and two that were not, requests. */
export async function useAccount(state: State, user: UserRecord, pepper: Pepper): Promise<UsedAccount> {
  const { accountId } = user;
  const orders = [];
  for (const amount of [1_900, 900, 0]) orders.push(await order(state, user, amount));
  const keys = [];
  for (const name of ['laptop', 'nightly import', 'shop website']) {
    const { id, key } = createKey();
    const record = { id, name, hash: hashKey(key, pepper), pepperVersion: pepper.version };
    await state.keys.issue({ accountId, key: record, otherwise: TERMS, maxKeys: 10 });
    keys.push({ id, key });
  }
  const [laptop, nightly, shop] = keys as [MadeKey, MadeKey, MadeKey];
  await state.keys.touch(new Map([[laptop.id, Date.now()]]));
  const { id, key } = createKey();
  const successor = { id, hash: hashKey(key, pepper), pepperVersion: pepper.version };
  await state.keys.rotate({ accountId, id: nightly.id, successor, overlapMs: DAY_MS });
  await spend(state, accountId, laptop.id);
  for (let taken = 0; taken < 7; taken += 1) {
    await state.rateLimits.consume({ keyId: accountId, family: 'model', count: 1, limit: 30 });
  }
  return { orders, key: shop.key };
}

async function order(state: State, { id, accountId }: UserRecord, paid: number): Promise<OrderRecord> {
  const money = { amount: 1_900, currency: 'EUR' };
  const wanted = { accountId, terms: TERMS, ...money, actor: `user:${id}`, lifetimeMs: DAY_MS };
  const { order } = await state.orders.create(wanted);
  if (paid === 0) return order;
  const transfer = { provider: 'bank', id: randomUUID(), currency: 'EUR', text: order.code, at: Date.now() };
  const recorded = await state.orders.record({ ...transfer, amount: paid });
  return recorded.order ?? order;
}

type MadeKey = ReturnType<typeof createKey>;

/** Requests of thirty days: weekends are quiet, and some fail. */
async function spend({ admissions, accounts }: State, accountId: string, keyId: string): Promise<void> {
  const budgetId = (await accounts.find(accountId))?.plan?.budgetId ?? '';
  const today = Date.now();
  for (let back = 29; back >= 0; back -= 1) {
    const at = today - back * DAY_MS;
    const isWeekend = [0, 6].includes(new Date(at).getUTCDay());
    const requests = back === 17 ? 0 : isWeekend ? 2 + (back % 3) : 9 + ((back * 7) % 13);
    for (let index = 0; index < requests; index += 1) {
      const route = '/v1/responses';
      const reserve = { budgetId, tokens: 20_000 };
      const { reservation } = await admissions.admit({ keyId, accountId, reserve, route, model: 'm-5.5' });
      const isFailed = index === 3 && back % 4 === 0;
      admissions.settle({
        requestId: randomUUID(),
        keyId,
        accountId,
        reservation,
        route,
        model: 'm-5.5',
        status: isFailed ? 502 : 200,
        latencyMs: 640 + ((index * 173 + back * 61) % 1_900),
        ...(isFailed && { errorCode: 'upstream_error' }),
        ...(!isFailed && { usage: { inputTokens: 12_400, outputTokens: 3_100, totalTokens: 15_500 } }),
        at,
      });
    }
  }
  await admissions.flush();
}
