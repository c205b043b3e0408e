import type {
  AccountState,
  ApiKeyRecord,
  ApiKeys,
  BudgetState,
  Budgets,
  Clock,
  Jobs,
  UsageLedger,
  UserRecord,
  WindowFamily,
  Windows,
} from 'mediagate';
import { leftOf } from '../budget-text.js';
import type { Catalogue } from '../catalogue.js';
import { slotRequest } from '../limits.js';
import { readDayRange } from '../usage-days.js';
import type { AllowanceView, DashboardView, WindowView } from './pages/dashboard.js';
import type { KeyView } from './pages/dashboard-keys.js';
import type { UsageDay } from './pages/dashboard-usage.js';

const DAY_MS = 24 * 60 * 60 * 1000;
const SHOWN_JOBS = 8;
const SHOWN_ORDERS = 6;

export interface DashboardSources {
  state: Pick<AccountState, 'accounts' | 'orders'> & { keys: ApiKeys; jobs: Jobs };
  windows: Windows;
  budgets: Budgets;
  ledger: UsageLedger;
  catalogue: Catalogue;
  clock: Clock;
}

const FAMILIES: readonly (readonly [family: WindowFamily, label: string, grants: readonly string[]])[] = [
  ['link_data', 'Link data', ['extract']],
  ['image', 'Images', ['images']],
  ['model', 'Text and sound', ['text', 'audio']],
];

/** Everything that the dashboard of a user shows. @throws GatewayError `upstream_unavailable`. */
export async function lookAtAccount(sources: DashboardSources, user: UserRecord): Promise<DashboardView> {
  const { state, budgets, ledger, catalogue, clock } = sources;
  const { accountId } = user;
  const now = clock.now();
  const days = readDayRange({}, now);
  if ('problem' in days) throw new Error(days.problem);
  const [account, keys, totals, jobs, orders] = await Promise.all([
    state.accounts.find(accountId),
    state.keys.listOf(accountId),
    ledger.totals({ accountId, ...days }),
    state.jobs.latest(accountId, SHOWN_JOBS),
    state.orders.list({ accountId, limit: SHOWN_ORDERS }),
  ]);
  const plan = account?.plan ?? null;
  const budget = plan?.budgetId ? await budgets.find(plan.budgetId) : undefined;
  const newest = keys.filter((key) => stateOf(key, now) === 'good').at(-1);
  const planName = (id: string) => catalogue.plans.find((one) => one.id === id)?.name ?? id;
  return {
    label: labelOf(user),
    keys: keys.toReversed().map((key) => toKeyView(key, now)),
    plan: plan && {
      name: plan.planId === catalogue.freeTier.id ? catalogue.freeTier.name : planName(plan.planId),
      isFree: plan.planId === catalogue.freeTier.id,
      expiresAt: plan.expiresAt,
      allowances: budget ? allowancesOf(budget) : [],
    },
    windows: newest ? await lookAtWindows(sources.windows, newest) : null,
    usage: eachDay(days.from, days.to, totals),
    jobs,
    orders: orders.map((order) => ({ ...order, planName: planName(order.planId) })),
  };
}

/** How pages name a user. */
export function labelOf({ name, email }: Pick<UserRecord, 'name' | 'email'>): string {
  return name ?? email ?? 'your account';
}

function toKeyView(key: ApiKeyRecord, now: number): KeyView {
  const { id, name, createdAt, lastUsedAt, expiresAt } = key;
  return { id, name, state: stateOf(key, now), createdAt, lastUsedAt, expiresAt };
}

function stateOf({ revokedAt, expiresAt, replacedBy }: ApiKeyRecord, now: number): KeyView['state'] {
  if (revokedAt !== null) return 'revoked';
  if (expiresAt !== null && expiresAt <= now) return 'ended';
  return replacedBy === null ? 'good' : 'replaced';
}

function allowancesOf(budget: BudgetState): AllowanceView[] {
  const { requests, tokens, tokensToday } = leftOf(budget);
  const { requestLimit, tokenLimit, dailyTokenLimit } = budget;
  const every = budget.resets === 'never' ? '' : ` this ${budget.resets}`;
  return [
    allowance(`Requests${every}`, requests, requestLimit),
    allowance(`Tokens${every}`, tokens, tokenLimit),
    allowance('Tokens today', tokensToday, dailyTokenLimit),
  ].filter((one) => one !== undefined);
}

function allowance(label: string, left: number | undefined, limit: number | null): AllowanceView | undefined {
  return left === undefined || limit === null ? undefined : { label, left, limit };
}

async function lookAtWindows(windows: Windows, key: ApiKeyRecord): Promise<DashboardView['windows']> {
  const families = FAMILIES.filter(([, , grants]) => key.grants.some((grant) => grants.includes(grant)));
  const looked = await Promise.all(
    families.map(async ([family, label]): Promise<WindowView | undefined> => {
      const request = slotRequest({ key, family });
      if (!request) return undefined;
      const { remaining, limit, resetMs } = await windows.peek(request);
      return { label, remaining, limit, resetMs };
    }),
  );
  const limited = looked.filter((one) => one !== undefined);
  return limited.length > 0 ? { keyName: key.name, families: limited } : null;
}

type Totals = Awaited<ReturnType<UsageLedger['totals']>>;

function eachDay(from: string, to: string, totals: Totals): UsageDay[] {
  const days = new Map<string, UsageDay>();
  for (let at = Date.parse(from); at <= Date.parse(to); at += DAY_MS) {
    const day = new Date(at).toISOString().slice(0, 10);
    days.set(day, { day, requests: 0, failed: 0, tokens: 0, images: 0 });
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
