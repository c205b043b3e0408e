/*
 * The dashboard of an account: plan, keys, rate limits, usage, jobs, orders, sessions and personal data. A key is never
 * shown here with its secret, except once after it was made. Valid keys are always displayed, but only a few of the
 * invalid ones. After a key is revoked, the page announces it and moves the focus there. Names within sentences have a
 * text direction of their own.
 */

import type { JobKind, JobRecord } from '../../../core/jobs/index.js';
import { type ApiKeyRecord, isValidState, type KeyState, maskedKey } from '../../keys/index.js';
import type { OrderRecord } from '../../payments/index.js';
import { barChart } from '../components/chart.js';
import { accountPages, linkTo } from '../components/filters.js';
import type { Locale } from '../language/index.js';
import { badge, bar, copyButton, emptyState, type Html, html, type Page, scriptedButton } from '../page.js';
import { count, counted, dataSize, day, jobBadge, minute, money, orderBadge, shortCount } from '../views.js';

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
  /** Default: there are no prices, and no costs are shown. */
  costs?: CostsView;
  jobs: readonly JobRecord[];
  orders: OrdersView;
  /** Name of a key that was just revoked; otherwise null. */
  revoked: string | null;
}

type OrderView = OrderRecord & { planName: string };

export interface OrdersView {
  /** Unpaid ones first, then the newest. */
  latest: readonly OrderView[];
  /** Newest first. */
  older: readonly OrderView[];
}

export function dashboardPage(view: DashboardView, locale: Locale): Omit<Page, 'viewer'> {
  return {
    title: 'Dashboard',
    current: '/dashboard',
    scripts: ['api-forms.js'],
    content: html`<div class="frame">
<div class="page-head"><h1>Dashboard</h1><p>Signed in as <bdi>${view.label}</bdi></p>${accountPages('/dashboard')}</div>
<div class="columns">
<div class="stack">
${renderKeys(view.keys, view.revoked, locale)}
${renderUsage(view.usage, view.costs)}
${renderJobs(view.jobs)}
</div>
<div class="stack">
${renderPlan(view.plan)}
${renderRateLimits(view.rateLimits)}
${renderOrders(view.orders)}
${SESSIONS}
${PERSONAL_DATA}
</div>
</div>
</div>`,
  };
}

function renderPlan(plan: DashboardView['plan']): Html {
  if (!plan) {
    return html`<section class="card stack" aria-labelledby="plan"><h2 id="plan">Plan</h2>
${emptyState('No plan yet', 'Your first key comes with the free plan. You can order the others.')}
<a class="button button-quiet" href="/plans">See the plans</a></section>`;
  }
  const { name, isFree, isOperator, expiresAt, opened, withheld, allowances } = plan;
  return html`<section class="card stack" aria-labelledby="plan"><h2 id="plan">Plan</h2>
<p class="plan-name">${name}</p>
${isOperator && html`<p class="notice small">You signed in first at the development provider, so you are the operator of this gateway: your keys have every grant and no limits of a plan.</p>`}
<p class="small">Your keys can use ${opened}${withheld !== '' && html`, but not ${withheld}. For those, see the <a href="/plans">other plans</a> or ask <a href="/plans#support">support</a>`}.</p>
${allowances.map(
  ({
    label,
    left,
    limit,
  }) => html`<div class="stack-small"><div class="row row-apart small"><span class="muted">${label}</span>
<span class="figures">${count(left)} of ${count(limit)} left</span></div>${bar(limit === 0 ? 0 : left / limit)}</div>`,
)}
${allowances.length === 0 && html`<p class="small muted">Unlimited.</p>`}
<p class="small muted">${expiresAt === null ? 'Does not expire.' : html`Valid until ${day(expiresAt)}.`}</p>
${!isOperator && html`<a class="button button-quiet" href="/plans">${isFree ? 'Choose a plan' : 'Get more'}</a>`}</section>`;
}

function renderRateLimits(rateLimits: DashboardView['rateLimits']): Html | false {
  if (!rateLimits) return false;
  return html`<section class="card stack" aria-labelledby="window"><h2 id="window">This minute</h2>
${rateLimits.families.map(
  ({
    label,
    remaining,
    limit,
    resetMs,
  }) => html`<div class="stack-small"><div class="row row-apart small"><span class="muted">${label}</span>
<span class="figures">${remaining} of ${limit} free</span></div>${bar(limit === 0 ? 0 : remaining / limit)}
${resetMs > 0 && html`<span class="small muted">One more in ${counted(Math.ceil(resetMs / 1_000), 'second')}</span>`}</div>`,
)}
<p class="small muted">Requests of the key “<bdi>${rateLimits.keyName}</bdi>”. Each counts for 60 seconds.</p></section>`;
}

const JOB_NAMES: Readonly<Record<JobKind, string>> = {
  batch: 'Batch of links',
  extraction: 'Link',
  image: 'Image',
  transcript: 'Transcript',
};

function renderJobs(jobs: readonly JobRecord[]): Html {
  return html`<section class="card stack" aria-labelledby="jobs"><h2 id="jobs">Latest jobs</h2>
${
  jobs.length === 0
    ? emptyState(
        'No jobs in the last days',
        html`Images and shop links run as jobs. <a href="/setup">The setup page</a> has a first request.`,
      )
    : html`<ul class="rows">${jobs.map(
        (job) => html`<li><div><span>${JOB_NAMES[job.kind]}</span>
<span class="small muted"><code>${job.id}</code></span></div>
<div class="rows-end">${jobBadge(job.state)}<span class="small muted">${minute(job.createdAt)}${took(job)}</span></div></li>`,
      )}</ul>`
}</section>`;
}

function took({ startedAt, finishedAt }: JobRecord): Html | false {
  return startedAt !== null && finishedAt !== null && html`, ${count((finishedAt - startedAt) / 1_000)} s`;
}

function renderOrders({ latest, older }: OrdersView): Html {
  return html`<section class="card stack" aria-labelledby="orders"><h2 id="orders">Orders</h2>
${latest.length === 0 ? emptyState('No orders yet', 'Choose a plan to place an order.') : renderOrderRows(latest)}
${older.length > 0 && html`<details><summary>Older orders (${older.length})</summary>${renderOrderRows(older)}</details>`}</section>`;
}

function renderOrderRows(orders: readonly OrderView[]): Html {
  return html`<ul class="rows">${orders.map(
    ({ code, planName, amount, currency, state, createdAt }) => html`<li><div><a href="/pay/${code}">${planName}</a>
<span class="small muted"><code>${code}</code></span></div>
<div class="rows-end">${orderBadge(state)}<span class="small muted figures">${money(amount, currency)}, ${day(createdAt)}</span></div></li>`,
  )}</ul>`;
}

const SESSIONS = html`<section class="card stack" aria-labelledby="sessions"><h2 id="sessions">Sessions</h2>
<p class="small muted">Ends every session of yours, here and on all other devices. Your API keys keep working.</p>
<form method="post" action="/signout/everywhere"><button class="button button-quiet">Sign out everywhere</button></form></section>`;

const PERSONAL_DATA = html`<section class="card stack" aria-labelledby="data"><h2 id="data">Your data</h2>
<p class="small muted">Everything stored about your account, as one JSON file.</p>
<a class="button button-quiet" href="/api/user/export" download>Export your data</a>
<details><summary>Delete my account</summary><div class="stack">
<p class="small"><strong>Deleted for good:</strong> your email, name and identity, sessions, names of keys, jobs with their prompts, images and results, stored answers and responses, single requests, and your webhook secret. Every key stops working, and jobs that wait or run are cancelled.</p>
<p class="small"><strong>Kept without your name, as bookkeeping:</strong> orders, transfers without their text, plans and counts of usage, under a random id. The rest of a plan is lost. Backups of the operator keep older copies until they are deleted.</p>
<form class="needs-script" data-api="DELETE /api/user" data-then="/"
data-confirm="Your account is deleted with everything personal, and every key stops working. Orders and counts of usage stay without your name. This cannot be undone." data-confirm-label="Delete my account" data-confirm-bad data-problem="problem-erase">
${scriptedButton('Delete my account', 'button-quiet')}</form>
<p class="problem" role="alert" id="problem-erase"></p>
<p class="needs-no-script small muted">Deleting the account needs scripts, or the API.</p>
</div></details></section>`;

/** A key as its owner sees it: never the secret. */
export interface KeyView extends Pick<ApiKeyRecord, 'id' | 'name' | 'createdAt' | 'lastUsedAt' | 'expiresAt'> {
  state: KeyState;
}

const MAX_NAME = 100;
/** Number of displayed invalid keys. */
const SHOWN_DEAD = 5;

/** @param revoked Name of the key that was just revoked: the focus moves there. */
export function renderKeys(keys: readonly KeyView[], revoked: string | null, locale: Locale): Html {
  return html`<section class="card stack" aria-labelledby="keys"><h2 id="keys">API keys</h2>
${revoked !== null && html`<p class="notice notice-good" tabindex="-1" autofocus>“<bdi>${revoked}</bdi>” is revoked. Programs that send it are refused.</p>`}
<div class="new-key stack" id="new-key" tabindex="-1" hidden>
<h3>Your new key</h3>
<p>It is shown only this once. Store it now, for example in an environment variable.</p>
<div class="row new-key-row"><code id="new-key-text"></code>${copyButton('new-key-text', 'the new key', locale)}</div>
<div class="row"><a class="button button-small" href="/dashboard">I have stored it</a><a class="button button-quiet button-small" href="/setup">Client setup</a></div>
</div>
${
  keys.length === 0
    ? emptyState('No key yet', 'Your programs send a key with each request. The first one comes with the free plan.')
    : renderKeyRows(keys)
}
<form class="form-row needs-script" data-api="POST /api/user/keys" data-show="new-key-text" data-key="apiKey" data-problem="problem-new">
<div class="field"><label for="key-name">Name of the new key</label>
<input class="input" id="key-name" name="name" required maxlength="${MAX_NAME}" placeholder="What is it for?" autocomplete="off"></div>
${scriptedButton('Create a key')}
<p class="problem" role="alert" id="problem-new"></p>
</form>
<p class="needs-no-script small muted">Creating, rotating and revoking keys needs scripts, or the API.</p>
</section>`;
}

/** Valid keys are always displayed. */
function renderKeyRows(keys: readonly KeyView[]): Html {
  const dead = keys.filter(({ state }) => !isValidState(state));
  const older = dead.slice(SHOWN_DEAD);
  const visible = keys.filter((key) => !older.includes(key));
  return html`<ul class="rows">${visible.map(renderKey)}</ul>
${older.length > 0 && html`<details><summary>Older keys (${older.length})</summary><ul class="rows">${older.map(renderKey)}</ul></details>`}`;
}

function renderKey({ id, name, state, createdAt, lastUsedAt, expiresAt }: KeyView): Html {
  return html`<li class="key"><div><span class="key-name"><bdi>${name}</bdi> ${BADGES[state]}</span>
<span class="small"><code>${maskedKey(id)}</code></span>
<span class="small muted">Created ${day(createdAt)} · ${lastUsedAt === null ? 'Not used yet' : html`Last used ${day(lastUsedAt)}`}${
    state !== 'revoked' &&
    expiresAt !== null &&
    html` · ${state === 'expired' ? 'Expired' : 'Expires'} ${day(expiresAt)}`
  }</span></div>
${isValidState(state) && renderActions({ id, name, state })}</li>`;
}

/** A name within a sentence, with its own text direction. */
function isolated(name: string): string {
  return `\u2068${name}\u2069`;
}

function renderActions({ id, name, state }: Pick<KeyView, 'id' | 'name' | 'state'>): Html {
  return html`<div class="rows-end row needs-script">
${
  state === 'active' &&
  html`<form data-api="POST /api/user/rotate" data-show="new-key-text" data-key="apiKey"
data-confirm="A new key replaces “${isolated(name)}”. The old one keeps working for 24 hours." data-confirm-label="Rotate" data-problem="problem-${id}">
<input type="hidden" name="keyId" value="${id}">
${scriptedButton(html`Rotate<span class="visually-hidden"> ${name}</span>`, 'button-quiet button-small')}</form>`
}
<form data-api="POST /api/user/keys/${id}/revoke" data-then="/dashboard?revoked={key.id}"
data-confirm="Programs that use “${isolated(name)}” are refused within seconds, and its queued jobs are cancelled. This cannot be undone." data-confirm-label="Revoke" data-confirm-bad data-choice="jobs=keep" data-choice-label="Keep its queued jobs" data-problem="problem-${id}">
${scriptedButton(html`Revoke<span class="visually-hidden"> ${name}</span>`, 'button-quiet button-small')}</form>
</div>
<p class="problem" role="alert" id="problem-${id}"></p>`;
}

const BADGES: Readonly<Record<KeyState, Html | false>> = {
  active: false,
  rotated: badge('Rotated', 'warn'),
  suspended: badge('Suspended', 'bad'),
  expired: badge('Expired'),
  revoked: badge('Revoked'),
};

/** Of one UTC day. */
export interface UsageDay {
  /** `2026-06-15`. */
  day: string;
  requests: number;
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

/** Made at the first page, since it takes long. */
let dayFormat: Intl.DateTimeFormat | undefined;

export function renderUsage(days: readonly UsageDay[], costs?: CostsView): Html {
  const total = days.reduce((sum, { requests }) => sum + requests, 0);
  return html`<section class="card stack" aria-labelledby="usage">
<div class="row row-apart"><h2 id="usage">Usage</h2><span class="small muted">Requests, ${days.length} days. <a href="/usage">All usage</a></span></div>
${
  total === 0
    ? emptyState('No usage yet', 'Requests appear here a few seconds after they are answered.')
    : html`${renderChart(days, costs)}${renderTable(days, costs)}`
}</section>`;
}

function renderChart(days: readonly UsageDay[], costs: CostsView | undefined): Html {
  const max = Math.max(...days.map(({ requests }) => requests));
  const tokens = days.reduce((sum, one) => sum + one.tokens, 0);
  const total = days.reduce((sum, { requests }) => sum + requests, 0);
  const failed = days.reduce((sum, one) => sum + one.failed, 0);
  const bytes = days.reduce((sum, one) => sum + one.bytes, 0);
  const words = `${counted(total, 'request')} in ${days.length} days, at most ${count(max)} on one day.`;
  return html`<dl class="totals">
<div><dt>Requests</dt><dd>${count(total)}</dd></div>
<div><dt>Failed</dt><dd>${failed === 0 ? count(failed) : html`<a href="${failedOf(days)}">${count(failed)}<span class="visually-hidden"> failed: show the requests</span></a>`}</dd></div>
<div><dt>Tokens</dt><dd>${shortCount(tokens)}</dd></div>
${
  bytes > 0 &&
  html`<div><dt>Downloaded through the gateway</dt><dd>${dataSize(bytes)}</dd></div>
`
}${
  costs &&
  html`<div><dt>Cost (${costs.currency})</dt><dd>${costs.total}</dd></div>
`
}</dl>
${barChart({
  bars: days.map((one) => ({ label: shortDay(one), value: one.requests, bad: one.failed })),
  words,
  describe: ({ value, bad = 0 }) => `${counted(value, 'request')}${bad > 0 ? `, ${count(bad)} failed` : ''}`,
  short: shortCount,
})}`;
}

/** Address of the requests that failed in these days. */
function failedOf(days: readonly UsageDay[]): string {
  return linkTo('/requests', { from: days.at(0)?.day, to: days.at(-1)?.day, outcome: 'failed' });
}

function renderTable(days: readonly UsageDay[], costs: CostsView | undefined): Html {
  const used = days.filter(({ requests }) => requests > 0).reverse();
  return html`<details><summary>As a table</summary>
<div class="table" tabindex="0" role="region" aria-label="Usage by day"><table>
<thead><tr><th scope="col">Day</th><th scope="col" class="number">Requests</th><th scope="col" class="number">Failed</th><th scope="col" class="number">Tokens</th><th scope="col" class="number">Images</th>${costs && html`<th scope="col" class="number">Cost (${costs.currency})</th>`}</tr></thead>
<tbody>${used.map(
    ({
      day,
      requests,
      failed,
      tokens,
      images,
    }) => html`<tr><th scope="row">${day}</th><td class="number">${count(requests)}</td>
<td class="number">${count(failed)}</td><td class="number">${count(tokens)}</td><td class="number">${count(images)}</td>${costs && html`<td class="number">${costs.days.get(day) ?? '-'}</td>`}</tr>`,
  )}</tbody></table></div></details>`;
}

function shortDay(one: Pick<UsageDay, 'day'> | undefined): string {
  dayFormat ??= new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' });
  return one ? dayFormat.format(Date.parse(one.day)) : '';
}
