/*
 * The first page of the console: is it well, what waits for an operator, who uses what, what does it cost, what failed,
 * and what runs. Each number leads to its rows. It is read from the sums that the admin API shows too, and says when they
 * were added up.
 */

import { type Overview, type Queue, type RecentUsage, readOverview } from '../admin/index.js';
import { dayOf } from '../format/index.js';
import type { Route } from '../http/index.js';
import { badge, copyableId, dataTable, type Html, html, type Locale, linkTo, openFirst } from '../site/index.js';
import { shownRequestId, type UsageEntry, type UsageGroup } from '../usage/index.js';
import { alertRow } from './alerts.js';
import { type ConsolePage, type ConsoleServices, consolePage } from './console-route.js';
import { differenceOf } from './money/index.js';
import { type Owners, ownerLink, ownersOf, section } from './parts.js';
import { daysChart, renderFailed, roughCost, usageTotals } from './usage-part.js';

/** Different failures that are listed. */
const FAILURES = 5;

/** @param recent Shared with other pages. */
export function overviewPages(services: ConsoleServices, recent: RecentUsage): Route[] {
  return [
    consolePage(services, {
      path: '',
      summary: 'Console',
      description: 'First page of the console for operators: health, usage, costs, failures, and what waits.',
      async show({ locale }) {
        const overview = await readOverview(services, recent);
        const accounts = [
          ...overview.accounts.map(({ name }) => name),
          ...overview.waiting.orders.map((one) => one.accountId),
        ];
        const owners = await ownersOf(services, accounts);
        return overviewPage({ overview, owners, currency: services.prices?.currency }, locale);
      },
    }),
  ];
}

export interface OverviewView {
  overview: Overview;
  owners: Owners;
  /** ISO 4217. Undefined without prices. */
  currency: string | undefined;
}

export function overviewPage(view: OverviewView, locale: Locale): ConsolePage {
  const { overview } = view;
  const t = locale.texts.console.overview;
  return {
    title: t.title,
    current: '',
    scripts: ['chart.js'],
    lead: html`${t.asOf} ${locale.second(overview.summedAt)} UTC`,
    content: html`${renderHealth(overview, locale)}
${renderWaiting(view, locale)}
${renderToday(view, locale)}
<div class="halves">${renderSums({ id: 'accounts', title: t.accounts, groups: overview.accounts, cell: (name) => ownerLink(name, view.owners) }, view, locale)}
${renderSums({ id: 'models', title: t.models, groups: overview.models, cell: (name) => html`<code>${name}</code>` }, view, locale)}</div>
${renderFailures(overview, locale)}
${renderQueues(overview.queues.filter(isInUse), locale)}`,
  };
}

/** Transfers that do not belong to an order that waits: its money is part of its review. */
function otherTransfers({ orders, transfers }: Overview['waiting']): Overview['waiting']['transfers'] {
  return transfers.filter(({ orderCode }) => !orders.some(({ code }) => code === orderCode));
}

/** Well is only what waits for no person. */
function renderHealth({ problems, waiting }: Overview, { texts }: Locale): Html {
  const t = texts.console.overview;
  const { orders, incidents, alertCount, hasMore } = waiting;
  const waits = alertCount + orders.length + otherTransfers(waiting).length + incidents.length;
  if (problems.length === 0 && waits > 0)
    return html`<p class="notice notice-warn"><strong>${t.waits(waits, hasMore)}</strong> ${t.wellWords}</p>`;
  if (problems.length === 0) return html`<p class="notice notice-good"><strong>${t.well}</strong> ${t.wellWords}</p>`;
  return html`<div class="notice notice-warn"><strong>${t.notWell(problems.length)}</strong>
<ul class="stack-small" lang="en">${problems.map((problem) => html`<li class="small">${problem}</li>`)}</ul>
<p class="small"><a href="/admin/models">${t.seeModels}</a></p></div>`;
}

function renderWaiting({ overview: { waiting, at }, owners }: OverviewView, locale: Locale): Html {
  const { texts, money, minute } = locale;
  const t = texts.console.overview;
  const { orders, incidents, alerts, alertCount } = waiting;
  const transfers = otherTransfers(waiting);
  const rows = [
    ...alerts.map((alert) => alertRow(alert, locale)),
    ...orders.map(
      (
        order,
      ) => html`<li><div><a href="/admin/orders/${order.code}">${differenceOf(order, locale) || t.order}</a><span class="small muted"><code>${order.code}</code> · ${ownerLink(order.accountId, owners)}</span></div>
<div class="rows-end"><span class="figures">${money(order.paidAmount, order.currency)} / ${money(order.amount, order.currency)}</span>${badge(texts.words.orderStates[order.state], 'warn')}</div></li>`,
    ),
    ...transfers.map(
      (
        transfer,
      ) => html`<li><div><a href="/admin/transfers">${t.transfer}</a><bdi class="small muted">${transfer.text}</bdi></div>
<div class="rows-end"><span class="figures">${money(transfer.amount, transfer.currency)}</span>${badge(texts.console.reviews[transfer.review ?? 'unmatched'], 'warn')}</div></li>`,
    ),
    ...openFirst(incidents, at).map(
      (incident) =>
        html`<li><div><a href="/admin/incidents"><bdi>${incident.title}</bdi></a><span class="small muted">${incident.startedAt > at ? t.planned : t.incident}</span></div><div class="rows-end"><span class="small muted">${minute(incident.startedAt)}</span></div></li>`,
    ),
  ];
  return section(
    'waiting',
    t.waiting,
    rows.length === 0 ? html`<p class="muted">${t.nothingWaits}</p>` : html`<ul class="rows">${rows}</ul>`,
    alertCount > 0 && html`<a class="small" href="/admin/alerts">${t.alerts(alertCount)}</a>`,
  );
}

function renderToday({ overview, currency }: OverviewView, locale: Locale): Html {
  const t = locale.texts.console;
  const { today, at } = overview;
  const day = dayOf(at);
  const of = { from: day, to: day };
  return section(
    'today',
    t.overview.today,
    html`${usageTotals(today, { currency, of }, locale)}
${daysChart({ days: overview.days, at, currency }, locale)}`,
  );
}

interface SumsView {
  id: string;
  title: string;
  groups: readonly UsageGroup[];
  cell(name: string): Html;
}

function renderSums({ id, title, groups, cell }: SumsView, { currency }: OverviewView, locale: Locale): Html {
  const { texts, shortCount } = locale;
  const { console: t, usage } = texts;
  return section(
    id,
    title,
    dataTable<UsageGroup>({
      label: title,
      isStacked: true,
      rows: groups,
      empty: { title: t.overview.noUsage, words: t.overview.noUsageWords },
      columns: [
        { head: t.overview.name, cell: ({ name }) => cell(name) },
        { head: usage.requests, isNumber: true, cell: ({ counts }) => shortCount(counts.requests) },
        { head: usage.failed, isNumber: true, cell: ({ counts }) => renderFailed(counts, locale) },
        {
          head: usage.tokens,
          isNumber: true,
          inCard: 'none',
          cell: ({ counts }) => shortCount(counts.inputTokens + counts.outputTokens),
        },
        ...(currency === undefined
          ? []
          : [
              {
                head: t.overview.cost,
                isNumber: true,
                inCard: 'end' as const,
                cell: ({ counts }: UsageGroup) => roughCost(counts, currency, locale),
              },
            ]),
      ],
    }),
  );
}

/** The same failure again is one row, with the latest request. */
function renderFailures({ failures }: Overview, locale: Locale): Html {
  const { texts, second, count } = locale;
  const { console: t, usage } = texts;
  const same = ({ errorCode, status, route, model }: UsageEntry) => [errorCode ?? status, route, model].join(' ');
  const groups = [...Map.groupBy(failures, same).values()].slice(0, FAILURES);
  const rows = groups.flatMap(([latest, ...others]) => (latest ? [{ latest, times: others.length + 1 }] : []));
  return section(
    'failures',
    t.overview.failures,
    dataTable<(typeof rows)[number]>({
      label: t.overview.failures,
      isStacked: true,
      rows,
      empty: { title: t.overview.noFailures, words: t.overview.noFailuresWords },
      columns: [
        {
          head: usage.list.errorCode,
          cell: ({ latest: { errorCode, status }, times }) =>
            html`<a href="${linkTo('/admin/requests', { code: errorCode ?? undefined, outcome: 'failed' })}"><code>${errorCode ?? status}</code></a>${times > 1 && html` <span class="small muted">${t.overview.times(count(times))}</span>`}<span class="detail small muted meaning">${texts.errors.meaningOf(errorCode ?? '')}</span>`,
        },
        {
          head: usage.route,
          inCard: 'line',
          cell: ({ latest: { route, model } }) =>
            html`<code>${route}</code>${model !== '' && html`<bdi class="detail small muted">${model}</bdi>`}`,
        },
        {
          head: t.overview.latest,
          inCard: 'none',
          cell: ({ latest }) => {
            const id = shownRequestId(latest);
            return copyableId(id, usage.list.requestId, locale, linkTo('/admin/requests', { request_id: id }));
          },
        },
        { head: usage.list.time, isNumber: true, inCard: 'end', cell: ({ latest }) => second(latest.at) },
      ],
    }),
    failures.length > 0 && html`<a class="small" href="/admin/requests?outcome=failed">${t.overview.allFailures}</a>`,
  );
}

/** Whether jobs of the kind wait, run, ended within the last hour, or are paused. */
function isInUse({ queued, running, completed, failed, cancelled, pausedAt }: Queue): boolean {
  return queued + running + completed + failed + cancelled > 0 || pausedAt !== null;
}

function renderQueues(queues: readonly Queue[], locale: Locale): Html {
  const { texts, count } = locale;
  const { console: t, words } = texts;
  const leading = (value: number, kind: string, state: string) =>
    value === 0
      ? '–'
      : html`<a${state === 'failed' && html` class="bad-count"`} href="${linkTo('/admin/jobs', { kind, state })}">${count(value)}<span class="visually-hidden"> ${t.jobs.show}</span></a>`;
  return section(
    'queues',
    t.jobs.queues,
    html`<div class="compact">${dataTable<Queue>({
      label: t.jobs.queues,
      isStacked: true,
      rows: queues,
      empty: { title: t.jobs.noQueues, words: '' },
      columns: [
        { head: t.jobs.kind, cell: ({ kind }) => words.jobs[kind] },
        { head: words.jobStates.queued, isNumber: true, cell: ({ queued, kind }) => leading(queued, kind, 'queued') },
        {
          head: words.jobStates.running,
          isNumber: true,
          cell: ({ running, kind }) => leading(running, kind, 'running'),
        },
        {
          head: t.jobs.oldest,
          isNumber: true,
          cell: ({ queued, oldestQueuedMs }) => (queued === 0 ? '–' : t.span(oldestQueuedMs)),
        },
        {
          head: words.jobStates.completed,
          cardHead: '',
          isNumber: true,
          cell: ({ completed, kind }) => leading(completed, kind, 'completed'),
        },
        { head: words.jobStates.failed, isNumber: true, cell: ({ failed, kind }) => leading(failed, kind, 'failed') },
      ],
    })}</div>`,
    html`<span class="small muted">${t.jobs.lastHour}</span>`,
  );
}
