/*
 * The page of usage: what an account did in a range of days, as sums, as a chart for each measure, and as a table by
 * key, model, platform, route or day. Each count of failures and refusals leads to those requests. A range of more than
 * 45 days is drawn by weeks, so that the page stays light.
 */

import {
  type DayRange,
  renderCost,
  USAGE_DIMENSIONS,
  type UsageCounts,
  type UsageDimension,
  type UsageFilter,
  type UsageGroup,
} from '../../usage/index.js';
import { barChart, type ChartBar } from '../components/chart.js';
import { accountPages, type Choice, filterForm, linkRow, linkTo } from '../components/filters.js';
import { dataTable } from '../components/table.js';
import { emptyState, type Html, html, type Page } from '../page.js';
import { count, counted, dataSize, shortCount } from '../views.js';

export interface UsageView {
  range: DayRange;
  /** Today, by UTC. */
  today: string;
  filter: UsageFilter;
  by: UsageDimension;
  /** Keys of the account by id. */
  keys: readonly Choice[];
  /** Models and platforms that were used in the range. */
  models: readonly string[];
  /** Routes that were used in the range. */
  routes: readonly string[];
  /** ISO 4217; undefined without prices, and no costs are shown. */
  currency: string | undefined;
  total: UsageCounts;
  /** Oldest first. */
  days: readonly UsageGroup[];
  groups: readonly UsageGroup[];
}

const PATH = '/usage';
const DAY_MS = 24 * 60 * 60 * 1000;
/** Days that are drawn one by one. */
const MAX_DAYS = 45;
const RANGES = [7, 30, 90, 365] as const;

export function usagePage(view: UsageView): Omit<Page, 'viewer'> {
  const { total } = view;
  const isEmpty = total.requests === 0 && total.refused === 0;
  return {
    title: 'Usage',
    current: '/dashboard',
    content: html`<div class="frame stack">
<div class="page-head"><h1>Usage</h1>${accountPages(PATH)}</div>
${renderFilters(view)}
${
  isEmpty
    ? emptyState(
        'No usage in these days',
        html`Requests appear here a few seconds after they are answered. <a href="/setup">The setup page</a> has a first request.`,
      )
    : html`${renderTotals(view)}${renderCharts(view)}${renderGroups(view)}`
}
</div>`,
  };
}

/** The query of a link with this range and these filters. */
function queryOf({ range, filter, by }: UsageView): Record<string, string | undefined> {
  return { ...range, key: filter.key, model: filter.model, route: filter.route, by };
}

function renderFilters(view: UsageView): Html {
  const { range, filter, keys, models, routes, today, by } = view;
  const daysTo = (days: number) => ({ from: dayBefore(today, days - 1), to: today });
  const fields = [
    { kind: 'day', name: 'from', label: 'From', value: range.from, max: today },
    { kind: 'day', name: 'to', label: 'To', value: range.to, max: today },
    { kind: 'choice', name: 'key', label: 'Key', value: filter.key, all: 'All keys', choices: keys },
    {
      kind: 'choice',
      name: 'model',
      label: 'Model or platform',
      value: filter.model,
      all: 'All',
      choices: choicesOf(models),
    },
    {
      kind: 'choice',
      name: 'route',
      label: 'Route',
      value: filter.route,
      all: 'All routes',
      choices: choicesOf(routes),
    },
  ] as const;
  return html`<section class="card stack" aria-label="Filters">
${linkRow(
  'Days',
  RANGES.map((days) => {
    const span = daysTo(days);
    const isCurrent = span.from === range.from && span.to === range.to;
    return { label: `${days} days`, href: linkTo(PATH, { ...queryOf(view), ...span }), isCurrent };
  }),
)}
${filterForm({ path: PATH, label: 'Usage', fields, hidden: { by }, reset: linkTo(PATH, { by }) })}</section>`;
}

function choicesOf(names: readonly string[]): Choice[] {
  return names.map((name) => ({ value: name, label: name }));
}

function dayBefore(day: string, days: number): string {
  return new Date(Date.parse(day) - days * DAY_MS).toISOString().slice(0, 10);
}

/** Address of the requests behind a count. */
function requestsOf(
  { range, filter }: UsageView,
  outcome: 'failed' | 'refused' | undefined,
  more: object = {},
): string {
  return linkTo('/requests', { ...range, key: filter.key, model: filter.model, route: filter.route, outcome, ...more });
}

/** A number that leads to its requests, if there are any. */
function leading(value: number, href: string, what: string): Html | string {
  if (value === 0) return count(value);
  return html`<a href="${href}">${count(value)}<span class="visually-hidden"> ${what}: show the requests</span></a>`;
}

function renderTotals(view: UsageView): Html {
  const { total, currency } = view;
  const { requests, failed, refused, inputTokens, outputTokens, images, bytes } = total;
  return html`<dl class="totals">
<div><dt>Requests</dt><dd>${leading(requests, requestsOf(view, undefined), 'requests')}</dd></div>
<div><dt>Failed</dt><dd>${leading(failed, requestsOf(view, 'failed'), 'failed')}</dd></div>
<div><dt>Refused</dt><dd>${leading(refused, requestsOf(view, 'refused'), 'refused')}</dd></div>
<div><dt>Tokens in</dt><dd>${shortCount(inputTokens)}</dd></div>
<div><dt>Tokens out</dt><dd>${shortCount(outputTokens)}</dd></div>
${images > 0 && html`<div><dt>Images</dt><dd>${count(images)}</dd></div>`}
${bytes > 0 && html`<div><dt>Downloaded through the gateway</dt><dd>${dataSize(bytes)}</dd></div>`}
${currency !== undefined && html`<div><dt>Cost (${currency})</dt><dd>${renderCost(total)}</dd></div>`}
</dl>`;
}

/** A day, or a week. */
interface Span {
  label: string;
  counts: readonly UsageCounts[];
}

/** Made at the first page, since it takes long. */
let dayFormat: Intl.DateTimeFormat | undefined;

function shortDay(day: string): string {
  dayFormat ??= new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' });
  return dayFormat.format(Date.parse(day));
}

function spansOf(days: readonly UsageGroup[]): Span[] {
  const length = days.length > MAX_DAYS ? 7 : 1;
  const spans: Span[] = [];
  // The last span is whole.
  for (let end = days.length; end > 0; end -= length) {
    const ofSpan = days.slice(Math.max(0, end - length), end);
    const [first, last] = [ofSpan[0]?.name ?? '', ofSpan.at(-1)?.name ?? ''];
    const label = first === last ? shortDay(first) : `${shortDay(first)} to ${shortDay(last)}`;
    spans.unshift({ label, counts: ofSpan.map(({ counts }) => counts) });
  }
  return spans;
}

interface Measure {
  title: string;
  amountOf(counts: UsageCounts): number;
  badOf?(counts: UsageCounts): number;
  describe(bar: ChartBar): string;
  short(value: number): string;
}

const MEASURES: readonly Measure[] = [
  {
    title: 'Requests',
    amountOf: ({ requests }) => requests,
    badOf: ({ failed }) => failed,
    describe: ({ value, bad = 0 }) => `${counted(value, 'request')}${bad > 0 ? `, ${count(bad)} failed` : ''}`,
    short: shortCount,
  },
  {
    title: 'Failed and refused',
    amountOf: () => 0,
    badOf: ({ failed, refused }) => failed + refused,
    describe: ({ bad = 0 }) => counted(bad, 'failed or refused request'),
    short: shortCount,
  },
  {
    title: 'Tokens',
    amountOf: ({ inputTokens, outputTokens }) => inputTokens + outputTokens,
    describe: ({ value }) => counted(value, 'token'),
    short: shortCount,
  },
];

/** Of media links. */
const DOWNLOADS: Measure = {
  title: 'Downloaded through the gateway',
  amountOf: ({ bytes }) => bytes,
  describe: ({ value }) => dataSize(value),
  short: dataSize,
};

function renderCharts({ days, currency, total }: UsageView): Html {
  const spans = spansOf(days);
  const money = (value: number) => `${moneyOf(value)} ${currency}`;
  const cost: Measure = {
    title: `Cost (${currency})`,
    amountOf: (counts) => counts.cost,
    describe: ({ value }) => money(value),
    short: moneyOf,
  };
  const measures = [...MEASURES, ...(total.bytes > 0 ? [DOWNLOADS] : []), ...(currency === undefined ? [] : [cost])];
  return html`<div class="charts">${measures.map((measure) => renderMeasure(measure, spans))}</div>`;
}

function moneyOf(micros: number): string {
  return (micros / 1_000_000).toLocaleString('en-US', { minimumFractionDigits: 2, maximumFractionDigits: 4 });
}

function renderMeasure({ title, amountOf, badOf, describe, short }: Measure, spans: readonly Span[]): Html {
  const sum = (counts: readonly UsageCounts[], of: (counts: UsageCounts) => number) =>
    counts.reduce((all, each) => all + of(each), 0);
  const bars = spans.map(({ label, counts }) => ({
    label,
    value: sum(counts, amountOf),
    ...(badOf && { bad: sum(counts, badOf) }),
  }));
  const highest = bars.reduce((one, other) => (heightOf(other) > heightOf(one) ? other : one));
  const words =
    heightOf(highest) === 0 ? `${title}: none.` : `${title}. The most, ${describe(highest)}, on ${highest.label}.`;
  return html`<section class="card stack-small"><h2>${title}</h2>${barChart({ bars, words, describe, short })}</section>`;
}

function heightOf({ value, bad = 0 }: ChartBar): number {
  return Math.max(value, bad);
}

const BY: Readonly<Record<UsageDimension, string>> = {
  key: 'Key',
  model: 'Model',
  platform: 'Platform',
  route: 'Route',
  day: 'Day',
};

function renderGroups(view: UsageView): Html {
  const { groups, by, currency, total } = view;
  const csv = linkTo('/usage.csv', queryOf(view));
  return html`<section class="card stack" aria-labelledby="by">
<div class="row row-apart"><h2 id="by">By ${BY[by].toLowerCase()}</h2><a class="button button-quiet button-small" href="${csv}" download>Download CSV</a></div>
${linkRow(
  'Sums by',
  USAGE_DIMENSIONS.map((each) => ({
    label: BY[each],
    href: linkTo(PATH, { ...queryOf(view), by: each }),
    isCurrent: each === by,
  })),
)}
${dataTable({
  label: `Usage by ${BY[by].toLowerCase()}`,
  isStacked: true,
  rows: groups,
  empty: { title: `No usage by ${BY[by].toLowerCase()}`, words: 'Choose another division above.' },
  columns: [
    { head: BY[by], cell: ({ name }) => labelOf(view, name) },
    { head: 'Requests', isNumber: true, cell: (group) => leadingOf(view, group, undefined) },
    { head: 'Failed', isNumber: true, cell: (group) => leadingOf(view, group, 'failed') },
    { head: 'Refused', isNumber: true, cell: (group) => leadingOf(view, group, 'refused') },
    { head: 'Tokens in', isNumber: true, cell: ({ counts }) => count(counts.inputTokens) },
    { head: 'Tokens out', isNumber: true, cell: ({ counts }) => count(counts.outputTokens) },
    ...(total.bytes > 0
      ? [{ head: 'Downloaded', isNumber: true, cell: ({ counts }: UsageGroup) => dataSize(counts.bytes) }]
      : []),
    ...(currency === undefined
      ? []
      : [{ head: `Cost (${currency})`, isNumber: true, cell: ({ counts }: UsageGroup) => renderCost(counts) }]),
  ],
})}
</section>`;
}

function labelOf({ by, keys }: UsageView, name: string): Html | string {
  if (by === 'key') return html`<bdi>${keys.find(({ value }) => value === name)?.label ?? name}</bdi>`;
  return by === 'day' ? name : html`<code>${name}</code>`;
}

function leadingOf(
  view: UsageView,
  { name, counts }: UsageGroup,
  outcome: 'failed' | 'refused' | undefined,
): Html | string {
  const value = counts[outcome ?? 'requests'];
  const more = view.by === 'day' ? { from: name, to: name } : { [view.by === 'platform' ? 'model' : view.by]: name };
  return leading(value, requestsOf(view, outcome, more), outcome ?? 'requests');
}
