/*
 * The dashboard of an account: plan, keys, rate limits, usage, jobs, orders, connected agents, sessions and personal data. A key is never
 * shown here with its secret, except once after it was made. Of the keys it displays the newest valid ones; their page
 * has the rest. Sessions and personal data are folded: people rarely come for them.
 * A fresh account has first steps in place of usage, keys, jobs and orders.
 */

import type { BalanceState } from '../../accounts/index.js';
import type { ConnectionRecord } from '../../identity/index.js';
import { isValidState } from '../../keys/index.js';
import type { OrderRecord } from '../../payments/index.js';
import { barChart, chartLegend } from '../components/chart.js';
import { accountPages, linkTo } from '../components/filters.js';
import { type KeyView, renderKeyCreation, renderKeyHead, renderNewKey } from '../components/keys.js';
import type { Locale } from '../language/index.js';
import { bar, emptyState, type Html, html, type Page, scriptedButton } from '../page.js';
import { orderBadge } from '../views.js';
import { renderConnections } from './agents.js';
import { type JobView, renderJobs } from './dashboard-jobs.js';
import { type NextSteps, renderFirstRun, renderNextSteps } from './next-steps.js';

/** The remaining amount of one limit of a plan. */
export interface AllowanceView {
  label: string;
  left: number;
  limit: number;
}

export interface RateLimitView {
  label: string;
  remaining: number;
  limit: number;
  /** Milliseconds until one more is free; 0 if all are. */
  resetMs: number;
}

export interface DashboardView {
  label: string;
  /** Newest first. */
  keys: readonly KeyView[];
  plan: {
    name: string;
    isFree: boolean;
    isOperator: boolean;
    expiresAt: number | null;
    /** Allowed and forbidden uses of keys, as text: `images or link data`; empty if there is none. */
    opened: string;
    withheld: string;
    allowances: readonly AllowanceView[];
  } | null;
  /** Of the newest valid key; null if there is none, or it has no limit. */
  rateLimits: { keyName: string; families: readonly RateLimitView[] } | null;
  /** Oldest first, one for each day. */
  usage: readonly UsageDay[];
  /** Names of the keys that its days are divided by, with the rest last. Empty if there is one alone. */
  usedKeys: readonly string[];
  /** Default: there are no prices, and no costs are shown. */
  costs?: CostsView | undefined;
  /** Newest first. */
  jobs: readonly JobView[];
  orders: OrdersView;
  /** Undefined if the account has none. */
  balance: BalanceState | undefined;
  /** Only for the operator. */
  nextSteps?: NextSteps | undefined;
  /** Connected agents. Default: none. */
  agents?: readonly ConnectionRecord[];
  /** Whether users of this site sign in with passkeys. Default false. */
  hasPasskeys?: boolean;
}

type OrderView = OrderRecord & { planName: string };

export interface OrdersView {
  /** Unpaid ones first, then the newest. */
  latest: readonly OrderView[];
  /** Newest first. */
  older: readonly OrderView[];
}

export function dashboardPage(view: DashboardView, locale: Locale): Omit<Page, 'viewer'> {
  const t = locale.texts.dashboard;
  const isFresh = isUnused(view);
  return {
    title: t.title,
    current: '/dashboard',
    scripts: ['api-forms.js', 'chart.js'],
    styles: ['tables.css', 'activity.css'],
    content: html`<div class="frame">
<div class="page-head"><h1>${t.title}</h1><p>${t.signedInAs(html`<bdi>${view.label}</bdi>`)}</p>${accountPages('/dashboard', locale)}</div>
<div class="columns dashboard">
<div class="stack">
${
  isFresh
    ? renderFirstRun({ steps: view.nextSteps, keyForm: keyForm(locale, true) }, locale)
    : html`${renderUsage(view.usage, locale, view.costs, view.usedKeys)}
${view.nextSteps && renderNextSteps(view.nextSteps, locale)}
${renderKeys(view.keys, locale)}`
}
${!(isFresh && view.jobs.length === 0) && renderJobs(view.jobs, locale)}
</div>
<div class="stack">
${renderPlan(view.plan, locale)}
${view.balance && renderBalance(view.balance, locale)}
${renderRateLimits(view.rateLimits, locale)}
${!(isFresh && view.orders.latest.length === 0) && renderOrders(view.orders, locale)}
${view.agents && view.agents.length > 0 && renderConnections(view.agents, locale)}
<div class="card"><details class="card-fold"><summary><h2>${t.account}</h2></summary><div class="stack">${renderSessions(view, locale)}
${renderPersonalData(locale)}</div></details></div>
</div>
</div>
</div>`,
  };
}

function isUnused({ keys, usage }: DashboardView): boolean {
  return keys.length === 0 && usage.every(({ requests }) => requests === 0);
}

function renderPlan(plan: DashboardView['plan'], locale: Locale): Html {
  const { texts, day } = locale;
  const t = texts.dashboard.plan;
  if (!plan) {
    return html`<section class="card stack" aria-labelledby="plan"><h2 id="plan">${t.title}</h2>
${emptyState(t.none, t.noneWords)}
<a class="button button-quiet" href="/plans">${t.seePlans}</a></section>`;
  }
  const { name, isFree, isOperator, expiresAt, opened, withheld, allowances } = plan;
  return html`<section class="card stack" aria-labelledby="plan"><h2 id="plan">${t.title}</h2>
<p class="plan-name">${name}</p>
<p class="small">${isOperator ? t.operator : withheld === '' ? t.opened(opened) : t.openedExcept(opened, withheld)}</p>
${allowances.map((one) => allowance(one, locale))}
${allowances.length === 0 && !isOperator && html`<p class="small muted">${t.unlimited}</p>`}
${!(isOperator && expiresAt === null) && html`<p class="small muted">${expiresAt === null ? t.doesNotExpire : t.validUntil(day(expiresAt))}</p>`}
${!isOperator && html`<a class="button button-quiet" href="/plans">${isFree ? t.choose : t.more}</a>`}</section>`;
}

/** How much of a limit is used, in words and as a bar. */
function allowance({ label, left, limit }: AllowanceView, { texts, count }: Locale): Html {
  return html`<div class="stack-small"><div class="row row-apart small"><span class="muted">${label}</span>
<span class="figures">${texts.dashboard.plan.used(count(limit - left), count(limit))}</span></div>${bar(limit === 0 ? 0 : left / limit)}</div>`;
}

function renderBalance({ amount, reserved, currency, heldAt }: BalanceState, locale: Locale): Html {
  const { texts, smallMoney } = locale;
  const { balance: t, dashboard } = texts;
  return html`<section class="card stack" aria-labelledby="balance"><div class="row row-apart"><h2 id="balance">${t.title}</h2><a class="small" href="/orders">${dashboard.orders.all}</a></div>
<p class="plan-name figures">${smallMoney(amount, currency)}</p>
${reserved > 0 && html`<p class="small muted">${t.reserved(smallMoney(reserved, currency))}</p>`}
${heldAt !== null && html`<p class="notice notice-warn">${t.onHold}</p>`}
<p class="small">${t.lead}</p></section>`;
}

function renderRateLimits(rateLimits: DashboardView['rateLimits'], locale: Locale): Html | false {
  if (!rateLimits) return false;
  const t = locale.texts.dashboard.rates;
  return html`<section class="card stack" aria-labelledby="window"><h2 id="window">${t.title}</h2>
${rateLimits.families.map(
  ({ label, remaining, limit, resetMs }) => html`${allowance({ label, left: remaining, limit }, locale)}
${remaining === 0 && resetMs > 0 && html`<p class="small muted">${t.oneMore(Math.ceil(resetMs / 1_000))}</p>`}`,
)}
<p class="small muted">${t.ofKey(html`<bdi>${rateLimits.keyName}</bdi>`)}</p></section>`;
}

function renderOrders({ latest, older }: OrdersView, locale: Locale): Html {
  const t = locale.texts.dashboard.orders;
  return html`<section class="card stack" aria-labelledby="orders"><div class="row row-apart"><h2 id="orders">${t.title}</h2>${latest.length > 0 && html`<a class="small" href="/orders">${t.all}</a>`}</div>
${latest.length === 0 ? emptyState(t.none, t.noneWords) : renderOrderRows(latest, locale)}
${older.length > 0 && html`<details><summary>${t.older(older.length)}</summary>${renderOrderRows(older, locale)}</details>`}</section>`;
}

function renderOrderRows(orders: readonly OrderView[], locale: Locale): Html {
  const { money, day } = locale;
  return html`<ul class="rows rows-tight">${orders.map(
    ({ code, planName, amount, currency, state, createdAt }) => html`<li><div><a href="/pay/${code}">${planName}</a>
<span class="small muted"><code>${code}</code></span></div>
<div class="rows-end">${orderBadge(state, locale)}<span class="small muted figures">${money(amount, currency)}, ${day(createdAt)}</span></div></li>`,
  )}</ul>`;
}

function renderSessions({ hasPasskeys }: DashboardView, { texts }: Locale): Html {
  const t = texts.dashboard.sessions;
  return html`<section class="stack" aria-labelledby="sessions"><h3 id="sessions">${t.title}</h3>
<p class="small muted">${t.words}</p>
<div class="row"><form method="post" action="/signout/everywhere"><button class="button button-quiet">${t.end}</button></form>
${hasPasskeys && html`<a class="button button-quiet" href="/passkeys">${texts.passkeys.title}</a>`}</div></section>`;
}

function renderPersonalData({ texts }: Locale): Html {
  const t = texts.dashboard.data;
  return html`<section class="stack card-part" aria-labelledby="data"><h3 id="data">${t.title}</h3>
<p class="small muted">${t.words}</p>
<a class="button button-quiet" href="/api/user/export" download>${t.export}</a>
<details><summary>${t.delete}</summary><div class="stack">
<p class="small">${t.deleted}</p>
<p class="small">${t.stays}</p>
<form class="needs-script" data-api="DELETE /api/user" data-then="/"
data-confirm="${t.confirm}" data-confirm-label="${t.delete}" data-confirm-bad data-problem="problem-erase">
${scriptedButton(t.delete, 'button-quiet')}</form>
<p class="problem" role="alert" id="problem-erase"></p>
<p class="needs-no-script small muted">${t.needsScripts}</p>
</div></details></section>`;
}

/** Number of keys that the dashboard displays. */
const SHOWN_KEYS = 3;

/** @param isQuiet Whether another button of the page comes first. */
function keyForm(locale: Locale, isQuiet: boolean): Html {
  return html`${renderNewKey('/dashboard', locale)}${renderKeyCreation(locale, undefined, isQuiet)}`;
}

/** Valid keys, replaced ones last; the page of keys has the others, and everything that can be done with them. */
function renderKeys(keys: readonly KeyView[], locale: Locale): Html {
  const t = locale.texts.keys;
  const valid = keys.filter(({ state }) => isValidState(state));
  const active = (of: boolean) => valid.filter(({ state }) => (state === 'active') === of);
  const shown = [...active(true), ...active(false)].slice(0, SHOWN_KEYS);
  return html`<section class="card stack" aria-labelledby="keys">
<div class="row row-apart"><h2 id="keys">${t.title}</h2>${keys.length > 0 && html`<a class="small" href="/keys">${t.manage}</a>`}</div>
${
  keys.length === 0
    ? emptyState(t.none, t.noneWords)
    : html`<ul class="rows">${shown.map((key) => html`<li class="key">${renderKeyHead(key, locale, `/keys#key-${key.id}`)}</li>`)}</ul>`
}
${keyForm(locale, false)}
</section>`;
}

/** Of one UTC day. */
export interface UsageDay {
  /** `2026-06-15`. */
  day: string;
  requests: number;
  /** By the keys that days are divided by. Default: they are not divided. */
  parts?: readonly number[];
  failed: number;
  /** Input and output. */
  tokens: number;
  images: number;
  /** That media links sent. */
  bytes: number;
}

/** Costs as text. */
export interface CostsView {
  /** ISO 4217. */
  currency: string;
  total: string;
  /** By day: `2026-06-15`. Days without requests are left out. */
  days: ReadonlyMap<string, string>;
}

export function renderUsage(
  days: readonly UsageDay[],
  locale: Locale,
  costs?: CostsView,
  usedKeys: readonly string[] = [],
): Html {
  const t = locale.texts.dashboard.usage;
  const total = days.reduce((sum, { requests }) => sum + requests, 0);
  return html`<section class="card stack" aria-labelledby="usage">
<div class="row row-apart"><h2 id="usage">${t.title}</h2><span class="small muted">${t.lastDays(days.length)} <a href="/usage">${t.all}</a></span></div>
${
  total === 0
    ? emptyState(t.none, t.noneWords)
    : html`${renderChart(days, locale, costs)}${usedKeys.length > 0 && chartLegend(usedKeys.map((name) => html`<bdi>${name}</bdi>`))}${renderTable(days, locale, costs)}`
}</section>`;
}

function renderChart(days: readonly UsageDay[], locale: Locale, costs: CostsView | undefined): Html {
  const { texts, count, shortCount, dataSize, shortDay } = locale;
  const { usage: w } = texts;
  const t = texts.dashboard.usage;
  const max = Math.max(...days.map(({ requests }) => requests));
  const tokens = days.reduce((sum, one) => sum + one.tokens, 0);
  const total = days.reduce((sum, { requests }) => sum + requests, 0);
  const failed = days.reduce((sum, one) => sum + one.failed, 0);
  const bytes = days.reduce((sum, one) => sum + one.bytes, 0);
  return html`<dl class="totals">
${costs && html`<div><dt>${w.spent}</dt><dd>${costs.total}</dd></div>`}
<div><dt>${w.requests}</dt><dd>${count(total)}</dd></div>
<div><dt>${w.failed}</dt><dd>${failed === 0 ? count(failed) : html`<a class="bad" href="${failedOf(days)}">${count(failed)}<span class="visually-hidden"> ${t.showFailed}</span></a>`}</dd></div>
<div><dt>${w.tokens}</dt><dd>${shortCount(tokens)}</dd></div>
${
  bytes > 0 &&
  html`<div><dt>${w.downloads}</dt><dd>${dataSize(bytes)}</dd></div>
`
}</dl>
${barChart({
  bars: days.map(({ day, requests, failed, parts }) => ({
    label: shortDay(Date.parse(day)),
    value: requests,
    ...(parts ? { parts } : { bad: failed }),
  })),
  now: texts.words.spans.today,
  words: t.chart(total, days.length, max),
  describe: ({ value, bad = 0 }) => w.bar(value, bad),
  short: shortCount,
})}`;
}

/** Address of the requests that failed in these days. */
function failedOf(days: readonly UsageDay[]): string {
  return linkTo('/requests', { from: days.at(0)?.day, to: days.at(-1)?.day, outcome: 'failed' });
}

function renderTable(days: readonly UsageDay[], { texts, count }: Locale, costs: CostsView | undefined): Html {
  const { usage: w } = texts;
  const t = texts.dashboard.usage;
  const used = days.filter(({ requests }) => requests > 0).reverse();
  const heads = [w.requests, w.failed, w.tokens, w.images, ...(costs ? [w.cost(costs.currency)] : [])];
  return html`<details><summary>${t.asTable}</summary>
<div class="table" tabindex="0" role="region" aria-label="${t.byDay}"><table>
<thead><tr><th scope="col">${w.by.day}</th>${heads.map((head) => html`<th scope="col" class="number">${head}</th>`)}</tr></thead>
<tbody>${used.map(
    ({
      day,
      requests,
      failed,
      tokens,
      images,
    }) => html`<tr><th scope="row">${day}</th><td class="number">${count(requests)}</td>
<td class="number">${count(failed)}</td><td class="number">${count(tokens)}</td><td class="number">${count(images)}</td>${costs && html`<td class="number">${costs.days.get(day) ?? '–'}</td>`}</tr>`,
  )}</tbody></table></div></details>`;
}
