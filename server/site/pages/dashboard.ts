import type { JobRecord } from 'mediagate';
import type { OrderRecord } from '../../payments/index.js';
import { count, counted, day, minute, money } from '../formats.js';
import { type Html, html } from '../html.js';
import type { Page } from '../page.js';
import { bar, emptyState } from '../pieces.js';
import { jobBadge, orderBadge } from '../states.js';
import { type KeyView, renderKeys } from './dashboard-keys.js';
import { renderUsage, type UsageDay } from './dashboard-usage.js';

/** What is left of one thing that a plan counts. */
export interface AllowanceView {
  label: string;
  left: number;
  limit: number;
}

export interface WindowView {
  label: string;
  remaining: number;
  limit: number;
  /** Milliseconds until one more is free; 0 where all are. */
  resetMs: number;
}

export interface DashboardView {
  label: string;
  /** Newest first. */
  keys: readonly KeyView[];
  plan: {
    name: string;
    isFree: boolean;
    expiresAt: number | null;
    /** What keys may do, and what they may not: `images or link data`; empty where there is nothing. */
    opened: string;
    withheld: string;
    allowances: readonly AllowanceView[];
  } | null;
  /** Of the newest key that is good; null where there is none, or it has no limit. */
  windows: { keyName: string; families: readonly WindowView[] } | null;
  /** Oldest first, one for each day. */
  usage: readonly UsageDay[];
  jobs: readonly JobRecord[];
  orders: OrdersView;
  /** Name of the key that was revoked just now; null where none was. */
  revoked: string | null;
}

type OrderView = OrderRecord & { planName: string };

export interface OrdersView {
  /** Those that wait for money first, then the newest. */
  latest: readonly OrderView[];
  /** Newest first. */
  older: readonly OrderView[];
}

export function dashboardPage(view: DashboardView): Omit<Page, 'viewer'> {
  return {
    title: 'Dashboard',
    current: '/dashboard',
    scripts: ['api-forms.js'],
    content: html`<div class="frame">
<div class="page-head"><h1>Dashboard</h1><p>Signed in as <bdi>${view.label}</bdi></p></div>
<div class="columns">
<div class="stack">
${renderKeys(view.keys, view.revoked)}
${renderUsage(view.usage)}
${renderJobs(view.jobs)}
</div>
<div class="stack">
${renderPlan(view.plan)}
${renderWindows(view.windows)}
${renderOrders(view.orders)}
${SESSIONS}
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
  const { name, isFree, expiresAt, opened, withheld, allowances } = plan;
  return html`<section class="card stack" aria-labelledby="plan"><h2 id="plan">Plan</h2>
<p class="plan-name">${name}</p>
<p class="small">Your keys can use ${opened}${withheld !== '' && html`, but not ${withheld}. For those, see the <a href="/plans">other plans</a> or ask <a href="/plans#support">support</a>`}.</p>
${allowances.map(
  ({
    label,
    left,
    limit,
  }) => html`<div class="stack-small"><div class="row row-apart small"><span class="muted">${label}</span>
<span class="figures">${count(left)} of ${count(limit)} left</span></div>${bar(limit === 0 ? 0 : left / limit)}</div>`,
)}
${allowances.length === 0 && html`<p class="small muted">Nothing is counted.</p>`}
<p class="small muted">${expiresAt === null ? 'Does not expire.' : html`Valid until ${day(expiresAt)}.`}</p>
<a class="button button-quiet" href="/plans">${isFree ? 'Choose a plan' : 'Get more'}</a></section>`;
}

function renderWindows(windows: DashboardView['windows']): Html | false {
  if (!windows) return false;
  return html`<section class="card stack" aria-labelledby="window"><h2 id="window">This minute</h2>
${windows.families.map(
  ({
    label,
    remaining,
    limit,
    resetMs,
  }) => html`<div class="stack-small"><div class="row row-apart small"><span class="muted">${label}</span>
<span class="figures">${remaining} of ${limit} free</span></div>${bar(limit === 0 ? 0 : remaining / limit)}
${resetMs > 0 && html`<span class="small muted">One more in ${counted(Math.ceil(resetMs / 1_000), 'second')}</span>`}</div>`,
)}
<p class="small muted">Requests of the key “<bdi>${windows.keyName}</bdi>”. Each counts for 60 seconds.</p></section>`;
}

function renderJobs(jobs: readonly JobRecord[]): Html {
  return html`<section class="card stack" aria-labelledby="jobs"><h2 id="jobs">Latest jobs</h2>
${
  jobs.length === 0
    ? emptyState(
        'No jobs in the last days',
        html`Images and shop links run as jobs. <a href="/setup">The setup page</a> has a first request.`,
      )
    : html`<ul class="rows">${jobs.map(
        (job) => html`<li><div><span>${job.kind === 'image' ? 'Image' : 'Shop link'}</span>
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
<p class="small muted">Ends every session of yours, here and on all other devices. Your API keys go on.</p>
<form method="post" action="/signout/everywhere"><button class="button button-quiet">Sign out everywhere</button></form></section>`;
