/*
 * Prepares the data that pages display: the dashboard with 30 days of usage, the plans, and what the playground offers.
 * An order that is not paid yet is always displayed, others only up to a limit. Rate limits are those of the newest
 * valid key. The playground offers models and platforms that are ready, and explains for a group of routes that the plan
 * of the account does not allow which plan includes it. Prices are omitted unless the catalogue makes them public.
 */

import type { Gateway } from 'mediagate';
import type { JobState } from '../../core/contracts/index.js';
import type { Jobs } from '../../core/jobs/index.js';
import type { Clock } from '../../core/runtime/index.js';
import type { AccountOverview, AccountView, OverviewKey, PlanPreview, UserRecord } from '../accounts/index.js';
import { type BudgetState, MICROS } from '../budgets/index.js';
import { dayOf, minorDigits } from '../format/index.js';
import { type ApiKeyRecord, GRANTS, type Grant, type KeyGrant, keyState } from '../keys/index.js';
import { isWritingModel, orderModels } from '../models/index.js';
import { isOpen, type OrderRecord, type OrderState, type Orders } from '../payments/index.js';
import {
  type Catalogue,
  type FreeTier,
  freeTierTerms,
  OPERATOR_PLAN,
  type Plan,
  type PlanTerms,
  type PlanTermsOptions,
  planGrants,
} from '../plans/index.js';
import { addUp, type DayRange, isModelAllowed, leftOf, renderCost, type UsageTotal } from '../usage/index.js';
import { badge, type Html, html, type Tone } from './page.js';
import type {
  AllowanceView,
  CostsView,
  DashboardView,
  KeyView,
  OrdersView,
  RateLimitView,
  UsageDay,
} from './pages/dashboard.js';

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
  /** Id of a key that the user has just revoked. */
  revokedId?: string;
}

/** Data of a user's dashboard. @throws GatewayError `upstream_unavailable`. */
export async function loadDashboard(sources: DashboardSources, user: UserRecord): Promise<DashboardView> {
  const { view, catalogue, now, revokedId } = sources;
  const { accountId } = user;
  const range = { from: dayOf(now - (SHOWN_DAYS - 1) * DAY_MS), to: dayOf(now) };
  const [{ account, budget, keys, totals, currency }, jobs, orders] = await Promise.all([
    view.overview(user, range),
    sources.jobs.latest(accountId, SHOWN_JOBS),
    sources.orders.list({ accountId, limit: LISTED_ORDERS }),
  ]);
  return {
    label: labelOf(user),
    keys: keys.map(({ record }) => describeKey(record, now)),
    plan: describePlan(account, budget, catalogue),
    rateLimits: describeRateLimits(keys),
    usage: eachDay(range, totals),
    ...(currency !== undefined && { costs: describeCosts(totals, currency) }),
    jobs,
    orders: describeOrders(orders, catalogue),
    revoked: keys.find(({ record: { id, revokedAt } }) => id === revokedId && revokedAt !== null)?.record.name ?? null,
  };
}

/** A user's displayed name. */
export function labelOf({ name, email }: Pick<UserRecord, 'name' | 'email'>): string {
  return name ?? email ?? 'your account';
}

/** Unpaid orders are always displayed. */
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
    isOperator: planId === OPERATOR_PLAN.id,
    expiresAt,
    ...describeGrants(grants),
    allowances: budget ? allowancesOf(budget) : [],
  };
}

function allowancesOf(budget: BudgetState): AllowanceView[] {
  const { requests, tokens, tokensToday, cost } = leftOf(budget);
  const { requestLimit, tokenLimit, dailyTokenLimit, costLimit, currency } = budget;
  const period = budget.resets === 'never' ? '' : budget.resets === 'day' ? ' today' : ' this month';
  return [
    allowance(`Requests${period}`, requests, requestLimit),
    allowance(`Tokens${period}`, tokens, tokenLimit),
    allowance('Tokens today', tokensToday, dailyTokenLimit),
    allowance(`${currency}${period}`, cost, costLimit === null ? null : costLimit / MICROS),
  ].filter((one) => one !== undefined);
}

function allowance(label: string, left: number | undefined, limit: number | null): AllowanceView | undefined {
  return left === undefined || limit === null ? undefined : { label, left, limit };
}

const FAMILIES: Readonly<Record<string, string>> = { link_data: 'Link data', image: 'Images', model: 'Text and sound' };

/** Of the newest valid key. */
function describeRateLimits(keys: readonly OverviewKey[]): DashboardView['rateLimits'] {
  const newest = keys.find(({ record, rateLimits }) => rateLimits !== undefined && record.replacedBy === null);
  if (!newest?.rateLimits) return null;
  const families = Object.entries(newest.rateLimits).map(
    ([family, { remaining, limit, resetMs }]): RateLimitView => ({
      label: FAMILIES[family] ?? family,
      remaining,
      limit,
      resetMs,
    }),
  );
  return families.length > 0 ? { keyName: newest.record.name, families } : null;
}

/** By day, and of all days. */
function describeCosts(totals: readonly UsageTotal[], currency: string): CostsView {
  const days = Map.groupBy(totals, ({ day }) => day);
  return {
    currency,
    total: renderCost(addUp(totals)),
    days: new Map(Array.from(days, ([day, ofDay]) => [day, renderCost(addUp(ofDay))])),
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

/** A plan as pages display it. */
export interface PlanView {
  id: string;
  name: string;
  /** Its features, one line each. */
  points: readonly string[];
  note: string | null;
  /** `€12.00`; null if prices are not public. */
  price: string | null;
  isFree: boolean;
  /** False: contact the support. */
  canBeOrdered: boolean;
  /** The caller's plan if this one is paid now; undefined if unknown. */
  outcome?: Html;
}

/** The free tier, then the plans in the order of the catalogue. */
export function planViews(catalogue: Catalogue): readonly PlanView[] {
  return [freeView(catalogue.freeTier, catalogue), ...catalogue.plans.map((plan) => planView(plan, catalogue))];
}

/** The id, if the plan no longer exists. */
export function planName({ plans, freeTier }: Catalogue, id: string): string {
  return [freeTier, OPERATOR_PLAN, ...plans].find((plan) => plan.id === id)?.name ?? id;
}

/** End of a plan that is paid now, and the effect on the previous one. */
export function describeOutcome(preview: PlanPreview, catalogue: Catalogue): Html {
  const { expiresAt, creditedDays, replacedPlanId, nextPlanId, endsReplaced } = preview;
  const before = replacedPlanId !== null && planName(catalogue, replacedPlanId);
  return html`${expiresAt === null ? 'Never expires.' : html`If you pay now, it ends on ${day(expiresAt)}.`}
${before && creditedDays > 0 && ` That includes ${counted(creditedDays, 'day')} for what is left of ${before}.`}
${before && endsReplaced && ` ${before} ends at once; its remaining time is not credited to a plan without an end.`}
${nextPlanId !== null && ` Then ${planName(catalogue, nextPlanId)} continues.`}`;
}

const OPENS: Readonly<Record<Grant, string>> = {
  extract: 'link data',
  images: 'images',
  text: 'text models',
  audio: 'audio models',
};

/** Allowed and forbidden uses of keys with these grants, as text: `images or link data`; empty if there is none. */
export function describeGrants(grants: readonly KeyGrant[]): { opened: string; withheld: string } {
  const words = (has: boolean) => GRANTS.filter((grant) => grants.includes(grant) === has).map((grant) => OPENS[grant]);
  return { opened: formatsOf().all.format(words(true)), withheld: formatsOf().none.format(words(false)) };
}

/** Why a plan does not allow this, and which one does. */
function describeWithheld(grant: Grant, planId: string, catalogue: Catalogue): string {
  const { plans, freeTier } = catalogue;
  const words = OPENS[grant];
  const able = [freeTier, ...plans].filter(({ id }) => planGrants(id, catalogue).includes(grant));
  if (able.length === 0) return `This gateway does not offer ${words}.`;
  const names = formatsOf().none.format(able.map(({ name }) => name));
  return `Your plan, ${planName(catalogue, planId)}, does not include ${words}. Included in ${names}.`;
}

function freeView({ id, name, requestLimit, rpm, modelAccess }: FreeTier, catalogue: Catalogue): PlanView {
  const points = [
    counted(requestLimit, 'model request'),
    `Models: ${modelAccess.join(', ')}`,
    ...pointsOf(planGrants(id, catalogue)),
    `${counted(rpm, 'request')} a minute`,
    'Comes with your first key',
  ];
  return { id, name, points, note: null, price: 'No charge', isFree: true, canBeOrdered: false };
}

/** What a key allows besides text, and what it does not. */
function pointsOf(grants: readonly KeyGrant[]): string[] {
  const { withheld } = describeGrants(grants);
  return [
    grants.includes('audio') && 'Speech, transcripts and sounds',
    grants.includes('images') && 'Images',
    grants.includes('extract') && 'Link data',
    withheld !== '' && `No ${withheld}`,
  ].filter((point) => point !== false);
}

function planView(plan: Plan, catalogue: Catalogue): PlanView {
  const { prices, publicPriceTablesVisible } = catalogue;
  const { id, name, note, tokenLimit, dailyTokenLimit, requestLimit, imageDailyLimit, durationDays } = plan;
  const points = [
    tokenLimit !== null && `${count(tokenLimit)} tokens`,
    dailyTokenLimit !== null && `${count(dailyTokenLimit)} tokens a day`,
    requestLimit !== null && counted(requestLimit, 'model request'),
    imageDailyLimit !== null && `${counted(imageDailyLimit, 'image')} a day`,
    !plan.imageOnly && (plan.allModels ? 'All text models' : 'The free models'),
    ...pointsOf(planGrants(id, catalogue)),
    `${counted(plan.includedRpm, 'request')} a minute`,
    durationDays === 0 ? 'Does not expire' : `Valid for ${counted(durationDays, 'day')}`,
  ].filter((point) => point !== false);
  const found = prices.find(({ planId }) => planId === id);
  const price = found && publicPriceTablesVisible ? money(found.amount, found.currency) : null;
  return { id, name, points, note, price, isFree: false, canBeOrdered: found !== undefined };
}

/** What the playground offers: ready models and platforms, as far as the plan of the account allows. */
export interface PlaygroundView {
  /** Address of the gateway, without a trailing slash. */
  baseUrl: string;
  /** Route groups that the plan does not allow: why, and which plan does. */
  withheld: Readonly<Partial<Record<Grant, string>>>;
  platforms: readonly { key: string; name: string; linkForms: readonly string[] }[];
  /** Ids of models, in the order of the list of models. */
  models: Readonly<Record<'image' | 'text' | 'speak' | 'transcribe', readonly string[]>>;
}

type PlaygroundPlan = Pick<PlanTerms, 'planId' | 'grants' | 'models'>;

export interface PlaygroundSources extends PlanTermsOptions {
  view: Pick<AccountView, 'account'>;
  gateway: Pick<Gateway, 'platforms' | 'models' | 'audioProvider' | 'resolveModel'>;
  clock: Clock;
  baseUrl(): string;
}

/**
 * The plan is that of the internal key, which the first request makes: without one, the free tier.
 * @throws GatewayError `upstream_unavailable`.
 */
export async function loadPlayground(sources: PlaygroundSources, user: UserRecord): Promise<PlaygroundView> {
  const { view, catalogue, gateway, clock, baseUrl } = sources;
  const { plan: own } = await view.account(user);
  const isOver = own !== null && own.expiresAt !== null && own.expiresAt <= clock.now();
  const plan = own && !isOver ? own : freeTierTerms(sources);
  const audio = (operation: 'speak' | 'transcribe') =>
    idsOf(gateway, 'audio', plan).filter((id) => gateway.audioProvider(id, operation));
  return {
    baseUrl: baseUrl(),
    withheld: withheldOf(plan, catalogue),
    platforms: gateway.platforms(),
    models: {
      image: idsOf(gateway, 'image'),
      text: idsOf(gateway, 'text', plan),
      speak: audio('speak'),
      transcribe: audio('transcribe'),
    },
  };
}

function withheldOf({ grants, planId }: PlaygroundPlan, catalogue: Catalogue): PlaygroundView['withheld'] {
  const withheld = GRANTS.filter((grant) => !grants.includes(grant));
  return Object.fromEntries(withheld.map((grant) => [grant, describeWithheld(grant, planId, catalogue)]));
}

/** @param plan Omits the models that it does not allow. Default: none is omitted. */
function idsOf(
  gateway: Pick<Gateway, 'models' | 'resolveModel'>,
  kind: 'image' | 'text' | 'audio',
  plan?: PlaygroundPlan,
): string[] {
  const models = gateway.models().filter((model) => model.kind === kind && (kind !== 'text' || isWritingModel(model)));
  return orderModels(
    models.map(({ id }) => id).filter((id) => !plan || isModelAllowed(plan, id, gateway.resolveModel)),
  );
}

const JOB_STATES: Readonly<Record<JobState, readonly [words: string, tone: Tone]>> = {
  queued: ['Queued', 'plain'],
  running: ['Running', 'warn'],
  completed: ['Completed', 'good'],
  failed: ['Failed', 'bad'],
  cancelled: ['Cancelled', 'plain'],
};

const ORDER_STATES: Readonly<Record<OrderState, readonly [words: string, tone: Tone]>> = {
  pending: ['Awaiting payment', 'warn'],
  underpaid: ['Partly paid', 'warn'],
  paid: ['Paid', 'good'],
  expired: ['Expired', 'plain'],
  cancelled: ['Cancelled', 'plain'],
  refunded: ['Refunded', 'plain'],
  needs_review: ['Under review', 'warn'],
};

export function jobBadge(state: JobState): Html {
  return badge(...JOB_STATES[state]);
}

export function orderWords(state: OrderState): string {
  return ORDER_STATES[state][0];
}

export function orderBadge(state: OrderState): Html {
  return badge(...ORDER_STATES[state]);
}

/** Made at the first page: Intl reads tables for them, which takes 20 ms of a start. */
let formats: ReturnType<typeof createFormats> | undefined;

function formatsOf() {
  formats ??= createFormats();
  return formats;
}

function createFormats() {
  const time = { hour: '2-digit', minute: '2-digit' } as const;
  return {
    all: new Intl.ListFormat('en-GB', { type: 'conjunction' }),
    none: new Intl.ListFormat('en-GB', { type: 'disjunction' }),
    count: new Intl.NumberFormat('en-US', { maximumFractionDigits: 1 }),
    short: new Intl.NumberFormat('en-US', { notation: 'compact', maximumFractionDigits: 1 }),
    day: new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeZone: 'UTC' }),
    minute: new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', ...time, timeZone: 'UTC' }),
    second: new Intl.DateTimeFormat('en-GB', {
      day: 'numeric',
      month: 'short',
      ...time,
      second: '2-digit',
      timeZone: 'UTC',
    }),
  };
}

/** `1,250,000` */
export function count(value: number): string {
  return formatsOf().count.format(value);
}

/** `1.3M` */
export function shortCount(value: number): string {
  return formatsOf().short.format(value);
}

/** `12.3 MB`, `1.5 GB`, in powers of ten as prices are. */
export function dataSize(bytes: number): string {
  return bytes < 1e9 ? `${count(bytes / 1e6)} MB` : `${count(bytes / 1e9)} GB`;
}

/** `1 job`, `2 jobs`. */
export function counted(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}

/** `21 Nov 2026`, by UTC. @param at Milliseconds since 1970. */
export function day(at: number): Html {
  return html`<time datetime="${new Date(at).toISOString()}">${formatsOf().day.format(at)}</time>`;
}

/** `21 Nov, 20:26 UTC`. @param at Milliseconds since 1970. */
export function minute(at: number): Html {
  return html`<time datetime="${new Date(at).toISOString()}">${formatsOf().minute.format(at)} UTC</time>`;
}

/** `21 Nov, 20:26:07`, by UTC. @param at Milliseconds since 1970. */
export function second(at: number): Html {
  return html`<time datetime="${new Date(at).toISOString()}">${formatsOf().second.format(at)}</time>`;
}

/** `€12.34`, `₫299,000`. @param amount Minor units of the currency. @param currency ISO 4217. */
export function money(amount: number, currency: string): string {
  return new Intl.NumberFormat('en-US', { style: 'currency', currency }).format(amount / 10 ** minorDigits(currency));
}

/** Remaining time as `23:59:08`. @param ms Milliseconds; a negative value counts as zero. */
export function timeLeft(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1_000));
  const parts = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60, seconds % 60];
  return parts.map((part) => String(part).padStart(2, '0')).join(':');
}
