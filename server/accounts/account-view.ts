/*
 * What a user may see of the own account: plan, keys, rate limits, budget and usage, in the form of the dashboard and
 * of `GET /api/user`. It reads only, consumes no rate limit, and never contains the secret of a key. The budget is read
 * before the totals of usage, so the totals are never behind it. Rate limits are read for valid keys alone, with one
 * query for each key and family.
 */

import type { Clock } from '../../core/runtime/index.js';
import { type BudgetState, type Budgets, encodeSharedBudget } from '../budgets/index.js';
import { isoTime } from '../format/index.js';
import {
  type ApiKeyRecord,
  type ApiKeys,
  encodeKey,
  isValidKey,
  type KeyRateLimits,
  keyState,
  readRateLimits,
} from '../keys/index.js';
import type { RateLimits } from '../limits/index.js';
import { type Catalogue, OPERATOR_PLAN } from '../plans/index.js';
import {
  addUp,
  type DayRange,
  encodeCost,
  getUsage,
  type JobCosts,
  leftOf,
  type UsageCounts,
  type UsageLog,
  type UsageTotal,
} from '../usage/index.js';
import type { AccountPlan, AccountRecord } from './account-plans.js';
import type { Accounts } from './accounts.js';
import type { UserRecord } from './tables.js';

/** What an answer needs besides its subject. */
export interface AccountAnswer {
  catalogue: Catalogue;
  /** Milliseconds since 1970. */
  now: number;
}

/** Everything of an account that its user may see. */
export function encodeOverview(overview: AccountOverview, { catalogue, now }: AccountAnswer) {
  const { user, account, budget, images, keys, range, totals, currency } = overview;
  const newest = keys.find(({ record }) => keyState(record, now) === 'active');
  return {
    user: { ...encodeUser(user), createdAt: isoTime(user.createdAt) },
    account: { id: account.id, createdAt: isoTime(account.createdAt) },
    plan: account.plan && encodeAccountPlan(account.plan, { catalogue, now }),
    budget: budget ? encodeBudget(budget) : null,
    imagesToday: images ? { ...images, left: Math.max(0, images.limit - images.used) } : null,
    key: newest ? encodeOverviewKey(newest, now) : null,
    keys: keys.map((key) => encodeOverviewKey(key, now)),
    usage: {
      ...range,
      ...(currency !== undefined && { currency }),
      total: encodeCounts(addUp(totals), currency),
      days: Array.from(
        Map.groupBy(totals, ({ day }) => day),
        ([day, ofDay]) => ({
          day,
          ...encodeCounts(addUp(ofDay), currency),
          models: ofDay.map((total) => {
            const { keyId, route, model } = total;
            return { keyId, route, model, ...encodeCounts(total, currency) };
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
  const known = [...catalogue.plans, catalogue.freeTier, OPERATOR_PLAN].find(({ id }) => id === planId);
  return {
    id: planId,
    // A plan that is no longer sold keeps its id as name.
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

/** Valid keys. */
export function countValidKeys(keys: readonly ApiKeyRecord[], now: number): number {
  return keys.filter((record) => isValidKey(record, now)).length;
}

function encodeOverviewKey({ record, budgets, rateLimits }: OverviewKey, now: number) {
  const windows = rateLimits ? encodeRateLimits(rateLimits) : null;
  return { ...encodeOwnedKey({ record, budgets }, now), windows };
}

/** A key with its budgets beside that of the plan. */
export function encodeOwnedKey({ record, budgets }: Pick<OverviewKey, 'record' | 'budgets'>, now: number) {
  const encoded = budgets.map((budget) => {
    const { resets_at: resetsAt, ...rest } = encodeSharedBudget(budget, now);
    return { ...rest, resetsAt };
  });
  return { ...encodeKey(record, now), budgets: encoded };
}

function encodeRateLimits(rateLimits: KeyRateLimits) {
  return Object.entries(rateLimits).map(([family, { limit, remaining, resetMs }]) => ({
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

function encodeCounts(counts: UsageCounts, currency: string | undefined) {
  const { requests, failed, estimated, inputTokens, cachedTokens, cacheWriteTokens } = counts;
  const { outputTokens, reasoningTokens, characters, seconds, images, bytes } = counts;
  const tokens = { inputTokens, cachedTokens, cacheWriteTokens, outputTokens, reasoningTokens };
  return {
    requests,
    failed,
    estimated,
    ...tokens,
    characters,
    seconds,
    images,
    bytes,
    ...(currency !== undefined && encodeCost(counts)),
  };
}

/** A key of an account, without its secret. */
export interface OverviewKey {
  record: ApiKeyRecord;
  /** Its own budgets, and those of its account. */
  budgets: readonly BudgetState[];
  /** Undefined if it is invalid, or has no limit. */
  rateLimits: KeyRateLimits | undefined;
}

/** The state of an account. */
export interface AccountOverview {
  user: UserRecord;
  account: AccountRecord;
  /** Budget of the model requests of all its keys; undefined if unlimited. */
  budget: BudgetState | undefined;
  /** Images of today (UTC); undefined if unlimited. */
  images: { limit: number; used: number } | undefined;
  /** Newest first, including some that are no longer valid. */
  keys: readonly OverviewKey[];
  range: DayRange;
  /** Usage of its keys in the range, by day, key, route and model; newest day first. */
  totals: readonly UsageTotal[];
  /** Of the costs (ISO 4217); undefined if there are no prices. */
  currency?: string;
}

export interface AccountViewOptions {
  accounts: Pick<Accounts, 'find'>;
  keys: Pick<ApiKeys, 'listOf'>;
  budgets: Pick<Budgets, 'find' | 'list'>;
  usageLog: Pick<UsageLog, 'totals'>;
  rateLimits: RateLimits;
  jobs: Pick<JobCosts, 'usedToday'>;
  /** Images per day if the plan states none. Default: unlimited. */
  imageDailyLimit?: number;
  /** Currency of the costs. Default: there are none. */
  currency?: string;
  clock: Clock;
}

/** Reads accounts. Not rate limited; changes nothing. */
export class AccountView {
  readonly #options: AccountViewOptions;

  constructor(options: AccountViewOptions) {
    this.#options = options;
  }

  async account({ accountId }: UserRecord): Promise<AccountRecord> {
    const found = await this.#options.accounts.find(accountId);
    if (!found) throw new Error('a user has no account');
    return found;
  }

  /** What the plan of an account counts. Undefined without a plan, or if it counts nothing. */
  async planBudget({ plan }: AccountRecord): Promise<BudgetState | undefined> {
    const budgetId = plan?.budgetId ?? null;
    return budgetId === null ? undefined : this.#options.budgets.find(budgetId);
  }

  /** Newest first. */
  async keys({ accountId }: UserRecord): Promise<readonly ApiKeyRecord[]> {
    return [...(await this.#options.keys.listOf(accountId))].reverse();
  }

  async overview(user: UserRecord, range: DayRange): Promise<AccountOverview> {
    const { budgets, usageLog, currency } = this.#options;
    const { accountId } = user;
    const [account, records] = await Promise.all([this.account(user), this.keys(user)]);
    const budgetId = account.plan?.budgetId ?? null;
    const [{ budget, totals }, images, keys, further] = await Promise.all([
      getUsage({ budgets, usageLog }, budgetId, { accountId, ...range }),
      this.#imagesOf(account),
      Promise.all(records.map((record) => this.#withRateLimits(record))),
      budgets.list(records.flatMap(({ furtherBudgets = [] }) => furtherBudgets)),
    ]);
    const ofCosts = currency === undefined ? {} : { currency };
    const withBudgets = keys.map((key) => {
      return { ...key, budgets: further.filter(({ id }) => key.record.furtherBudgets?.includes(id)) };
    });
    return { user, account, budget, images, keys: withBudgets, range, totals, ...ofCosts };
  }

  async #imagesOf({ id, plan }: AccountRecord): Promise<AccountOverview['images']> {
    const { jobs, imageDailyLimit } = this.#options;
    const limit = plan?.imageDailyLimit ?? imageDailyLimit;
    if (limit === undefined || !plan?.grants.includes('images')) return undefined;
    return { limit, used: await jobs.usedToday('image', id) };
  }

  async #withRateLimits(record: ApiKeyRecord): Promise<Omit<OverviewKey, 'budgets'>> {
    const { rateLimits, clock } = this.#options;
    const isValid = isValidKey(record, clock.now());
    return { record, rateLimits: isValid ? await readRateLimits(rateLimits, record) : undefined };
  }
}
