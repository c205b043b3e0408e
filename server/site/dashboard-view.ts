import type { Jobs } from 'mediagate';
import type { AccountOverview, AccountView, OverviewKey, UserRecord } from '../accounts/index.js';
import { dayOf } from '../format/index.js';
import type { ApiKeyRecord } from '../keys/index.js';
import { keyState } from '../keys/index.js';
import type { OrderRecord, Orders } from '../payments/index.js';
import { isOpen } from '../payments/index.js';
import type { Catalogue } from '../plans/index.js';
import type { BudgetState, DayRange, UsageTotal } from '../usage/index.js';
import { leftOf } from '../usage/index.js';
import type { AllowanceView, DashboardView, OrdersView, WindowView } from './pages/dashboard.js';
import type { KeyView } from './pages/dashboard-keys.js';
import type { UsageDay } from './pages/dashboard-usage.js';
import { describeGrants, planName } from './plan-view.js';

const DAY_MS = 24 * 60 * 60 * 1000;
const SHOWN_DAYS = 30;
const SHOWN_JOBS = 8;
const SHOWN_ORDERS = 6;
const LISTED_ORDERS = 100;

export interface DashboardSources {
  view: AccountView;
  jobs: Pick<Jobs, 'latest'>;
  orders: Pick<Orders, 'list'>;
  catalogue: Catalogue;
  /** Milliseconds since 1970. */
  now: number;
  /** Id of the key that whoever looks has just revoked. */
  revokedId?: string;
}

/** Everything that the dashboard of a user shows. @throws GatewayError `upstream_unavailable`. */
export async function lookAtDashboard(sources: DashboardSources, user: UserRecord): Promise<DashboardView> {
  const { view, catalogue, now, revokedId } = sources;
  const { accountId } = user;
  const range = { from: dayOf(now - (SHOWN_DAYS - 1) * DAY_MS), to: dayOf(now) };
  const [{ account, budget, keys, totals }, jobs, orders] = await Promise.all([
    view.overview(user, range),
    sources.jobs.latest(accountId, SHOWN_JOBS),
    sources.orders.list({ accountId, limit: LISTED_ORDERS }),
  ]);
  return {
    label: labelOf(user),
    keys: keys.map(({ record }) => describeKey(record, now)),
    plan: describePlan(account, budget, catalogue),
    windows: describeWindows(keys),
    usage: eachDay(range, totals),
    jobs,
    orders: describeOrders(orders, catalogue),
    revoked: keys.find(({ record: { id, revokedAt } }) => id === revokedId && revokedAt !== null)?.record.name ?? null,
  };
}

/** How pages name a user. */
export function labelOf({ name, email }: Pick<UserRecord, 'name' | 'email'>): string {
  return name ?? email ?? 'your account';
}

/** What waits for money is never among the older ones. */
function describeOrders(orders: readonly OrderRecord[], catalogue: Catalogue): OrdersView {
  const named = orders.map((order) => ({ ...order, planName: planName(catalogue, order.planId) }));
  const sorted = [...named.filter(isOpen), ...named.filter((order) => !isOpen(order))];
  const latest = Math.max(SHOWN_ORDERS, named.filter(isOpen).length);
  return { latest: sorted.slice(0, latest), older: sorted.slice(latest) };
}

function describeKey(record: ApiKeyRecord, now: number): KeyView {
  const { id, name, createdAt, lastUsedAt, expiresAt } = record;
  return { id, name, state: keyState(record, now), createdAt, lastUsedAt, expiresAt };
}

function describePlan(
  { plan }: AccountOverview['account'],
  budget: BudgetState | undefined,
  catalogue: Catalogue,
): DashboardView['plan'] {
  if (!plan) return null;
  const { planId, expiresAt, grants } = plan;
  const isFree = planId === catalogue.freeTier.id;
  return {
    name: planName(catalogue, planId),
    isFree,
    expiresAt,
    ...describeGrants(grants),
    allowances: budget ? allowancesOf(budget) : [],
  };
}

function allowancesOf(budget: BudgetState): AllowanceView[] {
  const { requests, tokens, tokensToday } = leftOf(budget);
  const { requestLimit, tokenLimit, dailyTokenLimit } = budget;
  const period = budget.resets === 'never' ? '' : budget.resets === 'day' ? ' today' : ' this month';
  return [
    allowance(`Requests${period}`, requests, requestLimit),
    allowance(`Tokens${period}`, tokens, tokenLimit),
    allowance('Tokens today', tokensToday, dailyTokenLimit),
  ].filter((one) => one !== undefined);
}

function allowance(label: string, left: number | undefined, limit: number | null): AllowanceView | undefined {
  return left === undefined || limit === null ? undefined : { label, left, limit };
}

const FAMILIES: Readonly<Record<string, string>> = { link_data: 'Link data', image: 'Images', model: 'Text and sound' };

/** Of the newest key that is good. */
function describeWindows(keys: readonly OverviewKey[]): DashboardView['windows'] {
  const newest = keys.find(({ record, windows }) => windows !== undefined && record.replacedBy === null);
  if (!newest?.windows) return null;
  const families = Object.entries(newest.windows).map(
    ([family, { remaining, limit, resetMs }]): WindowView => ({
      label: FAMILIES[family] ?? family,
      remaining,
      limit,
      resetMs,
    }),
  );
  return families.length > 0 ? { keyName: newest.record.name, families } : null;
}

function eachDay({ from, to }: DayRange, totals: readonly UsageTotal[]): UsageDay[] {
  const days = new Map<string, UsageDay>();
  for (let at = Date.parse(from); at <= Date.parse(to); at += DAY_MS) {
    days.set(dayOf(at), { day: dayOf(at), requests: 0, failed: 0, tokens: 0, images: 0 });
  }
  for (const total of totals) {
    const day = days.get(total.day);
    if (!day) continue;
    day.requests += total.requests;
    day.failed += total.failed;
    day.tokens += total.inputTokens + total.outputTokens;
    day.images += total.images;
  }
  return [...days.values()];
}
