import { isoTime } from '../format/index.js';
import type { ApiKeyRecord, KeyWindows } from '../keys/index.js';
import { isGood, keyState } from '../keys/index.js';
import type { Catalogue } from '../plans/index.js';
import type { BudgetState } from '../usage/index.js';
import { addUp, leftOf, type UsageCounts } from '../usage/index.js';
import { encodeAccountKey } from './account-key.js';
import type { AccountOverview, OverviewKey } from './account-overview.js';
import type { AccountPlan } from './accounts.js';
import type { UserRecord } from './users.js';

/** What an answer is made with besides what it tells of. */
export interface AccountAnswer {
  catalogue: Catalogue;
  /** Milliseconds since 1970. */
  now: number;
}

/** Everything of an account that its user may see. */
export function encodeOverview(overview: AccountOverview, { catalogue, now }: AccountAnswer) {
  const { user, account, budget, images, keys, range, totals } = overview;
  const newest = keys.find(({ record }) => keyState(record, now) === 'active');
  return {
    user: { ...encodeUser(user), createdAt: isoTime(user.createdAt) },
    account: { id: account.id, createdAt: isoTime(account.createdAt) },
    plan: account.plan && encodeAccountPlan(account.plan, { catalogue, now }),
    budget: budget ? encodeBudget(budget) : null,
    imagesToday: images ? { ...images, left: Math.max(0, images.limit - images.used) } : null,
    key: newest ? encodeKey(newest, now) : null,
    keys: keys.map((key) => encodeKey(key, now)),
    usage: {
      ...range,
      total: encodeCounts(addUp(totals)),
      days: Array.from(
        Map.groupBy(totals, ({ day }) => day),
        ([day, ofDay]) => ({
          day,
          ...encodeCounts(addUp(ofDay)),
          models: ofDay.map((total) => {
            const { keyId, route, model } = total;
            return { keyId, route, model, ...encodeCounts(total) };
          }),
        }),
      ),
    },
  };
}

export function encodeUser({ id, email, name }: UserRecord) {
  return { id, email, name };
}

export function encodeAccountPlan(plan: AccountPlan, { catalogue, now }: AccountAnswer) {
  const { planId, expiresAt } = plan;
  const known = [...catalogue.plans, catalogue.freeTier].find(({ id }) => id === planId);
  return {
    id: planId,
    // A plan that is sold no longer goes on under its id.
    name: known?.name ?? planId,
    state: expiresAt !== null && expiresAt <= now ? 'ended' : 'active',
    grants: plan.grants,
    models: plan.models,
    rpm: plan.rpm,
    imageDailyLimit: plan.imageDailyLimit,
    grantedAt: isoTime(plan.grantedAt),
    expiresAt: isoTime(expiresAt),
  };
}

/** Keys that can be used. */
export function countGoodKeys(keys: readonly ApiKeyRecord[], now: number): number {
  return keys.filter((record) => isGood(record, now)).length;
}

function encodeKey({ record, windows }: OverviewKey, now: number) {
  return { ...encodeAccountKey(record, now), windows: windows ? encodeWindows(windows) : null };
}

function encodeWindows(windows: KeyWindows) {
  return Object.entries(windows).map(([family, { limit, remaining, resetMs }]) => ({
    family,
    limit,
    remaining,
    resetSeconds: Math.ceil(resetMs / 1_000),
  }));
}

function encodeBudget(budget: BudgetState) {
  const { requests = null, tokens = null, tokensToday = null } = leftOf(budget);
  return {
    resets: budget.resets,
    expiresAt: isoTime(budget.expiresAt),
    requests: { limit: budget.requestLimit, used: budget.requestsUsed, left: requests },
    tokens: { limit: budget.tokenLimit, used: budget.tokensUsed, reserved: budget.tokensReserved, left: tokens },
    tokensToday: { limit: budget.dailyTokenLimit, used: budget.tokensUsedToday, left: tokensToday },
  };
}

function encodeCounts(counts: UsageCounts) {
  const { requests, failed, estimated, inputTokens, cachedTokens, outputTokens, reasoningTokens } = counts;
  const { characters, seconds, images } = counts;
  const tokens = { inputTokens, cachedTokens, outputTokens, reasoningTokens };
  return { requests, failed, estimated, ...tokens, characters, seconds, images };
}
