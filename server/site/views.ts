/*
 * Prepares the data that pages display: the dashboard with 30 days of usage, and the plans.
 * An order that is not paid yet is always displayed, others only up to a limit. Rate limits are those of the newest
 * valid key. Prices are omitted unless the catalogue makes them public. Texts are those of the locale.
 */

import type { AccountOverview, AccountView, OverviewKey, PlanPreview, UserRecord } from '../accounts/index.js';
import { type BudgetState, MICROS } from '../budgets/index.js';
import { dayOf, minorDigits } from '../format/index.js';
import { type ApiKeyRecord, GRANTS, type Grant, INTERNAL_NAME, type KeyGrant, keyState } from '../keys/index.js';
import { isOpen, type OrderRecord, type OrderState, type Orders, type PaymentService } from '../payments/index.js';
import { type Catalogue, DEFAULT_CATALOGUE, isOffered, OPERATOR_PLAN, type Plan, planGrants } from '../plans/index.js';
import {
  addUp,
  type DayRange,
  dearestFirst,
  groupUsage,
  leftOf,
  partsOf,
  type UsageCounts,
  type UsageTotal,
} from '../usage/index.js';
import { CHART_COLOURS } from './components/chart.js';
import type { KeyView } from './components/keys.js';
import type { Locale } from './language/index.js';
import { badge, type Html, html, type Tone } from './page.js';
import type {
  AllowanceView,
  CostsView,
  DashboardView,
  OrdersView,
  RateLimitView,
  UsageDay,
} from './pages/dashboard.js';

const DAY_MS = 24 * 60 * 60 * 1000;
const SHOWN_DAYS = 30;
const SHOWN_ORDERS = 6;
const LISTED_ORDERS = 100;

export interface DashboardSources {
  view: AccountView;
  orders: Pick<Orders, 'list'>;
  payments: Pick<PaymentService, 'balanceOf'>;
  catalogue: Catalogue;
  /** Milliseconds since 1970. */
  now: number;
}

/** Data of a user's dashboard, without the jobs. @throws GatewayError `upstream_unavailable`. */
export async function loadDashboard(
  sources: DashboardSources,
  user: UserRecord,
  locale: Locale,
): Promise<Omit<DashboardView, 'jobs'>> {
  const { view, catalogue, now } = sources;
  const { accountId } = user;
  const range = { from: dayOf(now - (SHOWN_DAYS - 1) * DAY_MS), to: dayOf(now) };
  const [{ account, budget, keys, totals, currency }, orders, balance] = await Promise.all([
    view.overview(user, range),
    sources.orders.list({ accountId, limit: LISTED_ORDERS }),
    sources.payments.balanceOf(user),
  ]);
  return {
    label: labelOf(user, locale),
    keys: keys.map(({ record }) => describeKey(record, now)),
    plan: describePlan(account, budget, { catalogue, locale }),
    rateLimits: describeRateLimits(keys, locale),
    ...divideByKey({ keys, totals, range }, locale),
    costs: describeCosts(totals, currency, locale),
    balance,
    orders: describeOrders(orders, { catalogue, locale }),
  };
}

/** A user's displayed name. */
export function labelOf({ name, email }: Pick<UserRecord, 'name' | 'email'>, { texts }: Locale): string {
  return name ?? email ?? texts.words.yourAccount;
}

/** What the plans of the catalogue are described with. */
export interface PlanWords {
  catalogue: Catalogue;
  locale: Locale;
}

/** Unpaid orders are always displayed. */
function describeOrders(orders: readonly OrderRecord[], words: PlanWords): OrdersView {
  const named = orders.map((order) => ({ ...order, planName: planName(words, order.planId) }));
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
  words: PlanWords,
): DashboardView['plan'] {
  if (!plan) return null;
  const { planId, expiresAt, grants } = plan;
  const isFree = planId === words.catalogue.freeTier.id;
  return {
    name: planName(words, planId),
    isFree,
    isOperator: planId === OPERATOR_PLAN.id,
    expiresAt,
    ...describeGrants(grants, words),
    allowances: budget ? allowancesOf(budget, words.locale) : [],
  };
}

export function allowancesOf(budget: BudgetState, { texts }: Locale): AllowanceView[] {
  const t = texts.dashboard.allowances;
  const { requests, tokens, tokensToday, cost } = leftOf(budget);
  const { requestLimit, tokenLimit, dailyTokenLimit, costLimit, currency, resets } = budget;
  return [
    allowance(t.requests[resets], requests, requestLimit),
    allowance(t.tokens[resets], tokens, tokenLimit),
    allowance(t.tokens.day, tokensToday, dailyTokenLimit),
    allowance(t.cost[resets](currency ?? ''), cost, costLimit === null ? null : costLimit / MICROS),
  ].filter((one) => one !== undefined);
}

function allowance(label: string, left: number | undefined, limit: number | null): AllowanceView | undefined {
  return left === undefined || limit === null ? undefined : { label, left, limit };
}

/** Of the newest valid key. */
function describeRateLimits(keys: readonly OverviewKey[], { texts }: Locale): DashboardView['rateLimits'] {
  const newest = keys.find(({ record, rateLimits }) => rateLimits !== undefined && record.replacedBy === null);
  if (!newest?.rateLimits) return null;
  const families = Object.entries(newest.rateLimits).map(
    ([family, { remaining, limit, resetMs }]): RateLimitView => ({
      label: texts.words.families[family] ?? family,
      remaining,
      limit,
      resetMs,
    }),
  );
  return families.length > 0 ? { keyName: newest.record.name, families } : null;
}

/** Costs as text, below each other; `–` where no request had a price. */
export function costOf({ requests, priced, cost }: UsageCounts, locale: Pick<Locale, 'cost'>): string {
  return requests > 0 && priced === 0 ? '–' : locale.cost(cost, cost > 0 && cost < 100 ? 6 : 4, 4);
}

/** What was spent as text: `€3.87`; undefined where no request had a price, since 0 would be wrong. */
export function spentOf(
  { requests, priced, cost }: UsageCounts,
  currency: string | undefined,
  { smallMoney }: Pick<Locale, 'smallMoney'>,
): string | undefined {
  if (currency === undefined || (requests > 0 && priced === 0)) return undefined;
  return smallMoney(cost, currency, Math.abs(cost) < MICROS / 100 ? 4 : 2);
}

/** By day, and of all days. */
function describeCosts(
  totals: readonly UsageTotal[],
  currency: string | undefined,
  locale: Locale,
): CostsView | undefined {
  const total = spentOf(addUp(totals), currency, locale);
  if (total === undefined || currency === undefined) return undefined;
  const days = Map.groupBy(totals, ({ day }) => day);
  return {
    currency,
    total,
    days: new Map(Array.from(days, ([day, ofDay]) => [day, costOf(addUp(ofDay), locale)])),
  };
}

/** The days, divided by the dearest keys, as *Usage* divides them: a key has one colour. Not if there is one key alone. */
function divideByKey(
  { keys, totals, range }: Pick<AccountOverview, 'keys' | 'totals' | 'range'>,
  { texts: { usage: t } }: Locale,
): Pick<DashboardView, 'usage' | 'usedKeys'> {
  const days = eachDay(range, totals);
  const groups = dearestFirst(groupUsage(totals, 'key', new Set()));
  const names = groups.slice(0, CHART_COLOURS - 1).map(({ name }) => name);
  const parts = partsOf(totals, { range, dimension: 'key', names }, new Set());
  if (parts.length < 2) return { usage: days, usedKeys: [] };
  // Of the keys that were used, lists of keys omit the internal one alone.
  const nameOf = (id: string) => keys.find(({ record }) => record.id === id)?.record.name ?? INTERNAL_NAME;
  return {
    usage: days.map((day, at) => ({ ...day, parts: parts.map((part) => part.days[at]?.counts.requests ?? 0) })),
    usedKeys: parts.map(({ name }) => (name === undefined ? t.others : nameOf(name))),
  };
}

function eachDay({ from, to }: DayRange, totals: readonly UsageTotal[]): UsageDay[] {
  const days = new Map<string, UsageDay>();
  for (let at = Date.parse(from); at <= Date.parse(to); at += DAY_MS) {
    days.set(dayOf(at), { day: dayOf(at), requests: 0, failed: 0, tokens: 0, images: 0, bytes: 0 });
  }
  for (const total of totals) {
    const day = days.get(total.day);
    if (!day) continue;
    day.requests += total.requests;
    day.failed += total.failed;
    day.tokens += total.inputTokens + total.outputTokens;
    day.images += total.images;
    day.bytes += total.bytes;
  }
  return [...days.values()];
}

export interface PlanPoint {
  words: string;
  isMissing: boolean;
}

/** A plan as pages display it. */
export interface PlanView {
  id: string;
  name: string;
  /** What it includes, and what only others do: in the same order in every plan, one line each. */
  points: readonly PlanPoint[];
  note: string | null;
  /** `€12.00`; null if prices are not public. */
  price: string | null;
  /** What the price is for: `for 30 days`, or `once`. Default: nothing is paid. */
  period?: string;
  /** `€0.63 for a million tokens`. Default: there is no public price, or no amount of tokens. */
  rate?: string;
  /** Whether a token costs less than in every other plan with a rate. Default false. */
  isCheapest?: boolean;
  isFree: boolean;
  /** False: contact the support. */
  canBeOrdered: boolean;
  /** The caller's plan if this one is paid now; undefined if unknown. */
  outcome?: Html;
}

/**
 * The free tier, then the plans in the order of the catalogue.
 * @param currentId Plan of the visitor. The free tier is left out for those who have another one.
 */
export function planViews(catalogue: Catalogue, locale: Locale, currentId?: string): readonly PlanView[] {
  const isFree = currentId === undefined || currentId === catalogue.freeTier.id;
  const cheapest = cheapestOf(catalogue);
  return [
    ...(isFree ? [freeView({ catalogue, locale })] : []),
    ...catalogue.plans.map((plan) => ({
      ...planView(plan, { catalogue, locale }),
      isCheapest: plan.id === cheapest,
    })),
  ];
}

/** Minor units for a million tokens. Undefined without a public price, or an amount of tokens. */
function rateOf({ id, tokenLimit }: Plan, { prices, publicPriceTablesVisible }: Catalogue) {
  const price = publicPriceTablesVisible ? prices.find(({ planId }) => planId === id) : undefined;
  if (!price || tokenLimit === null) return undefined;
  return { rate: (price.amount * 1_000_000) / tokenLimit, currency: price.currency };
}

/** A plan with its price: `€12.00`. */
export type PlanOffer = Pick<PlanView, 'id' | 'name'> & { price: string };

const OFFERS = 2;

/** The plans with the lowest prices; none if prices are not public, or not in one currency. */
export function planOffers({ catalogue, locale }: PlanWords): readonly PlanOffer[] {
  const { plans, prices, publicPriceTablesVisible } = catalogue;
  const sold = prices.filter(({ planId }) => plans.some(({ id }) => id === planId));
  if (!publicPriceTablesVisible || sold.some(({ currency }) => currency !== sold[0]?.currency)) return [];
  return sold
    .toSorted((one, other) => one.amount - other.amount)
    .slice(0, OFFERS)
    .map(({ planId: id, amount, currency }) => {
      return { id, name: planName({ catalogue, locale }, id), price: locale.money(amount, currency) };
    });
}

/** The plan with the lowest rate; undefined unless there are several to compare, all in one currency. */
function cheapestOf(catalogue: Catalogue): string | undefined {
  const rates = catalogue.plans.flatMap((plan) => {
    const found = rateOf(plan, catalogue);
    return found ? [{ id: plan.id, ...found }] : [];
  });
  const [first, second] = rates.toSorted((one, other) => one.rate - other.rate);
  if (!first || !second || first.rate === second.rate) return undefined;
  return rates.every(({ currency }) => currency === first.currency) ? first.id : undefined;
}

/** The id, if the plan no longer exists. Plans that the operator has not named have a name in each language. */
export function planName({ catalogue: { plans, freeTier, topUps }, locale }: PlanWords, id: string): string {
  const { freePlan, operatorPlan } = locale.texts.words;
  if (id === OPERATOR_PLAN.id) return operatorPlan;
  if (id === freeTier.id) return freeTier.name === DEFAULT_CATALOGUE.freeTier.name ? freePlan : freeTier.name;
  const topUp = topUps?.find(({ terms }) => terms.planId === id);
  if (topUp) return locale.texts.balance.topUpLine(topUp.name);
  return plans.find((plan) => plan.id === id)?.name ?? id;
}

/** End of a plan that is paid now, and the effect on the previous one. */
export function describeOutcome(preview: PlanPreview, words: PlanWords): Html {
  const { expiresAt, creditedDays, replacedPlanId, nextPlanId, endsReplaced } = preview;
  const { texts, day } = words.locale;
  const t = texts.plans.outcome;
  const before = replacedPlanId !== null && planName(words, replacedPlanId);
  return html`${expiresAt === null ? t.neverExpires : t.endsOn(day(expiresAt))}
${before && creditedDays > 0 && ` ${t.credited(creditedDays, before)}`}
${before && endsReplaced && ` ${t.endsReplaced(before)}`}
${nextPlanId !== null && ` ${t.next(planName(words, nextPlanId))}`}`;
}

/**
 * Allowed and forbidden uses of keys with these grants, as text: `images or link data`; empty if there is none. What no
 * plan includes is not named as forbidden.
 */
function describeGrants(grants: readonly KeyGrant[], { catalogue, locale }: PlanWords) {
  const { texts, allOf, anyOf } = locale;
  const namesOf = (some: readonly Grant[]) => some.map((grant) => texts.words.grants[grant]);
  return {
    opened: allOf(namesOf(GRANTS.filter((grant) => grants.includes(grant)))),
    withheld: anyOf(namesOf(GRANTS.filter((grant) => !grants.includes(grant) && isOffered(grant, catalogue)))),
  };
}

/** Why a plan does not allow this, and which one does. */
export function describeWithheld(grant: Grant, planId: string, words: PlanWords): string {
  const { catalogue, locale } = words;
  const { plans, freeTier } = catalogue;
  const t = locale.texts.plans.withheld;
  const named = locale.texts.words.grants[grant];
  const able = [freeTier, ...plans].filter(({ id }) => planGrants(id, catalogue).includes(grant));
  if (able.length === 0) return t.nowhere(named);
  const names = locale.anyOf(able.map(({ id }) => planName(words, id)));
  return `${t.plan(planName(words, planId), named)} ${t.includedIn(names)}`;
}

function freeView(words: PlanWords): PlanView {
  const { catalogue, locale } = words;
  const { freeTier, prices, publicPriceTablesVisible } = catalogue;
  const { id, requestLimit, rpm, modelAccess } = freeTier;
  const { plans: t, words: w } = locale.texts;
  const points = [
    included(w.modelRequests(requestLimit)),
    included(t.points.models(modelAccess.join(', '))),
    ...groupsOf(id, words),
    included(w.aMinute(w.requests(rpm))),
    included(t.points.firstKey),
  ];
  const name = planName(words, id);
  // In the currency of the others; "free" is its name already, or that is the operator's.
  const currency = publicPriceTablesVisible ? prices[0]?.currency : undefined;
  const price = currency === undefined ? t.noCharge : locale.smallMoney(0, currency, 0, 0);
  return { id, name, points, note: null, price, isFree: true, canBeOrdered: false };
}

function included(words: string): PlanPoint {
  return { words, isMissing: false };
}

/** Groups of routes besides text that a plan includes, and those that only other plans do. */
function groupsOf(planId: string, { catalogue, locale }: PlanWords): PlanPoint[] {
  const { allText: text, audio, images, links: extract } = locale.texts.plans.points;
  const words = { text, audio, images, extract };
  const own = planGrants(planId, catalogue);
  return GRANTS.flatMap((grant) => {
    const isMissing = !own.includes(grant);
    if (isMissing ? !isOffered(grant, catalogue) : grant === 'text') return [];
    return { words: words[grant], isMissing };
  });
}

function planView(plan: Plan, words: PlanWords): PlanView {
  const { catalogue, locale } = words;
  const { prices, publicPriceTablesVisible } = catalogue;
  const { id, name, note, tokenLimit, dailyTokenLimit, requestLimit, imageDailyLimit, durationDays } = plan;
  const { plans, words: w } = locale.texts;
  const t = plans.points;
  const amounts = [
    tokenLimit !== null && w.tokens(tokenLimit),
    dailyTokenLimit !== null && w.aDay(w.tokens(dailyTokenLimit)),
    requestLimit !== null && w.modelRequests(requestLimit),
    imageDailyLimit !== null && w.aDay(w.images(imageDailyLimit)),
    !plan.imageOnly && (plan.allModels ? t.allText : t.freeText),
  ].filter((point) => point !== false);
  const points = [
    ...amounts.map(included),
    ...groupsOf(id, words),
    included(w.aMinute(w.requests(plan.includedRpm))),
    included(durationDays === 0 ? t.doesNotExpire : t.validFor(durationDays)),
  ];
  const found = prices.find(({ planId }) => planId === id);
  const price = found && publicPriceTablesVisible ? locale.money(found.amount, found.currency) : null;
  const period = durationDays === 0 ? plans.once : plans.perDays(durationDays);
  const known = rateOf(plan, catalogue);
  const micros = known && (known.rate * MICROS) / 10 ** minorDigits(known.currency);
  return {
    ...{ id, name, points, note, price, period, isFree: false, canBeOrdered: found !== undefined },
    ...(known && micros !== undefined && { rate: plans.rate(locale.smallMoney(micros, known.currency, 2)) }),
  };
}

const ORDER_TONES: Readonly<Record<OrderState, Tone>> = {
  pending: 'warn',
  underpaid: 'warn',
  paid: 'good',
  expired: 'plain',
  cancelled: 'plain',
  refunded: 'plain',
  needs_review: 'warn',
};

export function orderBadge(state: OrderState, { texts }: Locale): Html {
  return badge(texts.words.orderStates[state], ORDER_TONES[state]);
}

/** Remaining time as `23:59:08`. @param ms Milliseconds; a negative value counts as zero. */
export function timeLeft(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1_000));
  const parts = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60, seconds % 60];
  return parts.map((part) => String(part).padStart(2, '0')).join(':');
}
