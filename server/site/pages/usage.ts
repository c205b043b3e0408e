/*
 * The page of usage: what an account did in a range of days, as sums, as a chart for each measure, and as a table by
 * key, model, platform, route or day, without figures that are 0. Each count of failures and refusals leads to those requests. A range of more than
 * 45 days is drawn by weeks, so that the page stays light.
 */

import {
  type DayRange,
  restOf,
  USAGE_DIMENSIONS,
  type UsageCounts,
  type UsageDimension,
  type UsageFilter,
  type UsageGroup,
  type UsagePart,
} from '../../usage/index.js';
import { barChart, CHART_COLOURS, type ChartBar, chartLegend, swatch } from '../components/chart.js';
import { accountPages, type Choice, filterCard, linkRow, linkTo, spanLinks } from '../components/filters.js';
import { dataTable } from '../components/table.js';
import type { Locale } from '../language/index.js';
import { emptyPage, type Html, html, type Page } from '../page.js';
import { costOf, spentOf } from '../views.js';

export interface UsageView {
  range: DayRange;
  /** Today, by UTC. */
  today: string;
  filter: UsageFilter;
  by: UsageDimension;
  /** Whether the address limits nothing. */
  isUnlimited: boolean;
  /** Days until today in which there is usage, where these have none. Default: they are not known. */
  usedDays?: number | undefined;
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
  /** The days of the largest groups, and of the rest. Empty for sums by day. */
  parts: readonly UsagePart[];
}

/** Groups whose parts of the charts have a colour; the rest has one together. */
export const DRAWN_GROUPS = CHART_COLOURS - 1;

const PATH = '/usage';
/** Days that are drawn one by one. */
const MAX_DAYS = 45;
const DAY_MS = 24 * 60 * 60 * 1000;
const LONGER = [90, 365] as const;

export function usagePage(view: UsageView, locale: Locale): Omit<Page, 'viewer'> {
  const { total } = view;
  const t = locale.texts.usage;
  const isEmpty = total.requests === 0 && total.refused === 0;
  return {
    title: t.title,
    current: '/dashboard',
    scripts: ['chart.js', 'calendar.js'],
    styles: ['tables.css', 'activity.css'],
    content: html`<div class="frame stack">
<div class="page-head"><h1>${t.title}</h1>${accountPages(PATH, locale)}</div>
${isEmpty && view.isUnlimited ? html`<section class="filter-spans" aria-label="${locale.texts.words.filters}">${spanLinks({ path: PATH, days: { range: view.range, today: view.today, longer: LONGER }, hidden: { by: view.by } }, locale)}</section>` : renderFilters(view, locale)}
${
  isEmpty
    ? emptyPage('bars', {
        title: t.none,
        words: view.usedDays === undefined ? t.noneWords : lastDaysLink(view.usedDays, view, locale),
        steps: html`<a class="button" href="/playground">${t.list.try}</a><a class="button button-quiet" href="/setup">${t.list.useKey}</a>`,
      })
    : html`${renderTotals(view, locale)}${renderDivision(view, locale)}${renderCharts(view, locale)}${renderGroups(view, locale)}`
}
</div>`,
  };
}

/** Where there is usage that these days lack. */
function lastDaysLink(days: number, view: UsageView, { texts }: Locale): Html {
  const from = new Date(Date.parse(view.today) - (days - 1) * DAY_MS).toISOString().slice(0, 10);
  return texts.usage.usedEarlier(linkTo(PATH, { ...queryOf(view), from, to: view.today }), texts.words.days(days));
}

/** The query of a link with this range and these filters. */
function queryOf({ range, filter, by }: UsageView): Record<string, string | undefined> {
  return { ...range, key: filter.key, model: filter.model, route: filter.route, by };
}

function renderFilters(view: UsageView, locale: Locale): Html {
  const t = locale.texts.usage;
  const { range, filter, keys, models, routes, today, by } = view;
  const fields = [
    { kind: 'choice', name: 'key', label: t.key, value: filter.key, all: t.allKeys, choices: keys },
    {
      kind: 'choice',
      name: 'model',
      label: t.modelOrPlatform,
      value: filter.model,
      all: t.all,
      choices: choicesOf(models),
    },
    {
      kind: 'choice',
      name: 'route',
      label: t.route,
      value: filter.route,
      all: t.allRoutes,
      choices: choicesOf(routes),
    },
  ] as const;
  const days = { range, today, longer: LONGER };
  return filterCard({ path: PATH, label: t.title, days, fields, hidden: { by }, reset: linkTo(PATH, { by }) }, locale);
}

function choicesOf(names: readonly string[]): Choice[] {
  return names.map((name) => ({ value: name, label: name }));
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
function leading(
  value: number,
  { href, what }: { href: string; what: keyof Locale['texts']['usage']['leading'] },
  { count, texts }: Locale,
): Html | string {
  if (value === 0) return count(value);
  return html`<a href="${href}"${what === 'failed' && html` class="bad"`}>${count(value)}<span class="visually-hidden"> ${texts.usage.leading[what]}</span></a>`;
}

function renderTotals(view: UsageView, locale: Locale): Html {
  const { count, shortCount, dataSize } = locale;
  const t = locale.texts.usage;
  const percent = (share: number) => `${count(Math.max(0.1, Math.round(share * 1_000) / 10))}%`;
  const counted = (value: number, outcome: 'failed' | 'refused' | undefined) =>
    leading(value, { href: requestsOf(view, outcome), what: outcome ?? 'requests' }, locale);
  const { total, currency } = view;
  const { requests, failed, refused, inputTokens, outputTokens, images, bytes } = total;
  const spent = spentOf(total, currency, locale);
  return html`<dl class="card totals totals-card">
${spent !== undefined && html`<div><dt>${t.spent}</dt><dd>${spent}</dd></div>`}
<div><dt>${t.requests}</dt><dd>${counted(requests, undefined)}</dd></div>
<div><dt>${t.failed}</dt><dd>${counted(failed, 'failed')}</dd>${failed > 0 && html`<dd class="small muted">${percent(failed / requests)}</dd>`}</div>
${refused > 0 && html`<div><dt>${t.refused}</dt><dd>${counted(refused, 'refused')}</dd></div>`}
${inputTokens + outputTokens > 0 && html`<div><dt>${t.tokens}</dt><dd>${shortCount(inputTokens + outputTokens)}</dd><dd class="small muted">${inTwo(t.inAndOut(shortCount(inputTokens), shortCount(outputTokens)))}</dd></div>`}
${images > 0 && html`<div><dt>${t.images}</dt><dd>${count(images)}</dd></div>`}
${bytes > 0 && html`<div><dt>${t.downloads}</dt><dd>${dataSize(bytes)}</dd></div>`}
</dl>`;
}

/** Breaks between its two parts alone. */
function inTwo(words: string): string {
  return words.replaceAll(/(?<!,) /g, '\u00a0');
}

/** The parts that charts show: one alone is the whole. */
function drawnParts({ parts }: UsageView): readonly UsagePart[] {
  return parts.length > 1 ? parts : [];
}

/** What the charts and the table are divided by, with the colours. */
function renderDivision(view: UsageView, locale: Locale): Html {
  const { by } = view;
  const t = locale.texts.usage;
  const links = USAGE_DIMENSIONS.map((each) => ({
    label: t.by[each],
    href: linkTo(PATH, { ...queryOf(view), by: each }),
    isCurrent: each === by,
  }));
  const parts = drawnParts(view);
  const names = parts.map(({ name }) => (name === undefined ? t.others : labelOf(view, name, locale)));
  return html`<div class="row row-apart chart-division">${linkRow(t.sumsBy, links)}${parts.length > 0 && chartLegend(names)}</div>`;
}

/** A day, or a week. */
interface Span {
  label: string;
  counts: readonly UsageCounts[];
}

function spansOf(days: readonly UsageGroup[], { shortDay, texts }: Locale): Span[] {
  const write = (day: string) => shortDay(Date.parse(day));
  const length = days.length > MAX_DAYS ? 7 : 1;
  const spans: Span[] = [];
  // The last span is whole.
  for (let end = days.length; end > 0; end -= length) {
    const ofSpan = days.slice(Math.max(0, end - length), end);
    const [first, last] = [ofSpan[0]?.name ?? '', ofSpan.at(-1)?.name ?? ''];
    const label = first === last ? write(first) : texts.usage.span(write(first), write(last));
    spans.unshift({ label, counts: ofSpan.map(({ counts }) => counts) });
  }
  return spans;
}

interface Measure {
  title: string;
  /** Whether it counts only what went wrong, which is red where it is not drawn by parts. Default false. */
  isBad?: boolean;
  amountOf(counts: UsageCounts): number;
  badOf?(counts: UsageCounts): number;
  describe(bar: ChartBar): string;
  short(value: number): string;
}

function measuresOf({ currency, total }: UsageView, { texts, shortCount, dataSize, cost }: Locale): Measure[] {
  const { usage: t, words } = texts;
  const measures: Measure[] = [
    {
      title: t.requests,
      amountOf: ({ requests }) => requests,
      badOf: ({ failed }) => failed,
      describe: ({ value, bad = 0 }) => t.bar(value, bad),
      short: shortCount,
    },
    {
      title: t.failedOrRefused,
      isBad: true,
      amountOf: ({ failed, refused }) => failed + refused,
      describe: ({ value, bad = value }) => t.countFailedOrRefused(bad),
      short: shortCount,
    },
    {
      title: t.tokens,
      amountOf: ({ inputTokens, outputTokens }) => inputTokens + outputTokens,
      describe: ({ value }) => words.tokens(value),
      short: shortCount,
    },
  ];
  if (total.bytes > 0) {
    const describe = ({ value }: ChartBar) => dataSize(value);
    measures.push({ title: t.downloads, amountOf: ({ bytes }) => bytes, describe, short: dataSize });
  }
  if (currency !== undefined && total.priced > 0) {
    const describe = ({ value }: ChartBar) => `${cost(value, 4)} ${currency}`;
    const short = (value: number) => cost(value, 4);
    measures.unshift({ title: t.cost(currency), amountOf: (counts) => counts.cost, describe, short });
  }
  return measures;
}

function renderCharts(view: UsageView, locale: Locale): Html {
  const spans = spansOf(view.days, locale);
  const parts = drawnParts(view).map(({ days }) => spansOf(days, locale));
  const now = view.range.to === view.today ? locale.texts.words.spans.today : undefined;
  const measures = measuresOf(view, locale);
  const charts = measures.map((measure) => renderMeasure(measure, { spans, parts, now }, locale));
  return html`<div class="charts">${measureSwitch(measures, locale)}${charts}</div>`;
}

/** On a phone one chart at a time, without scripts. */
function measureSwitch(measures: readonly Measure[], { texts: { usage: t } }: Locale): Html {
  return html`<div class="chart-switch sideways" role="radiogroup" aria-label="${t.measure}">${measures.map(
    ({ title }, index) =>
      html`<label><input type="radio" name="measure" value="${index + 1}"${index === 0 && html` checked`}><span>${title}</span></label>`,
  )}</div>`;
}

function renderMeasure(
  { title, isBad, amountOf, badOf = isBad ? amountOf : undefined, describe, short }: Measure,
  { spans, parts, now }: { spans: readonly Span[]; parts: readonly (readonly Span[])[]; now: string | undefined },
  { texts: { usage: t } }: Locale,
): Html {
  const sum = (counts: readonly UsageCounts[], of: (counts: UsageCounts) => number) =>
    counts.reduce((all, each) => all + of(each), 0);
  const isStacked = parts.length > 0;
  const bars = spans.map(({ label, counts }, index) => ({
    label,
    value: isBad && !isStacked ? 0 : sum(counts, amountOf),
    // Failures have a chart of their own.
    ...(isStacked
      ? { parts: parts.map((one) => sum(one[index]?.counts ?? [], amountOf)) }
      : badOf && { bad: sum(counts, badOf) }),
  }));
  const highest = bars.reduce((one, other) => (heightOf(other) > heightOf(one) ? other : one));
  const words = heightOf(highest) === 0 ? t.chartNone(title) : t.chartMost(title, describe(highest), highest.label);
  return html`<section class="card stack-small"><h2>${title}</h2>${barChart({ bars, now, words, describe, short })}</section>`;
}

function heightOf({ value, bad = 0 }: ChartBar): number {
  return Math.max(value, bad);
}

function renderGroups(view: UsageView, locale: Locale): Html {
  const { count, shortCount, dataSize } = locale;
  const t = locale.texts.usage;
  const shown = (value: number, write: (value: number) => string) => value > 0 && write(value);
  const { groups, by, currency, total } = view;
  const csv = linkTo('/usage.csv', queryOf(view));
  return html`<section class="card stack" aria-labelledby="by">
<div class="row row-apart"><h2 id="by">${t.byTitles[by]}</h2><a class="button button-quiet button-small" href="${csv}" download>${t.csv}</a></div>
${dataTable({
  label: t.groups(t.byTitles[by]),
  isStacked: true,
  hasFigures: true,
  rows: [...groups, ...restOf(groups, total)],
  empty: { title: t.noGroups(t.byTitles[by]), words: t.noGroupsWords },
  columns: [
    { head: t.by[by], cell: ({ name }) => html`${swatchOf(view, name)}${labelOf(view, name, locale)}` },
    { head: t.requests, isNumber: true, cell: (group) => leadingOf(view, { group, outcome: undefined }, locale) },
    {
      head: t.tokensInAll,
      isNumber: true,
      inCard: 'only',
      cell: ({ counts }) => shown(counts.inputTokens + counts.outputTokens, shortCount),
    },
    { head: t.failed, isNumber: true, cell: (group) => leadingOf(view, { group, outcome: 'failed' }, locale) },
    { head: t.refused, isNumber: true, cell: (group) => leadingOf(view, { group, outcome: 'refused' }, locale) },
    { head: t.tokensIn, isNumber: true, inCard: 'none', cell: ({ counts }) => shown(counts.inputTokens, count) },
    { head: t.tokensOut, isNumber: true, inCard: 'none', cell: ({ counts }) => shown(counts.outputTokens, count) },
    ...(total.bytes > 0
      ? [{ head: t.downloaded, isNumber: true, cell: ({ counts }: UsageGroup) => shown(counts.bytes, dataSize) }]
      : []),
    ...(currency === undefined || total.priced === 0
      ? []
      : [
          {
            head: t.costAlone,
            isNumber: true,
            inCard: 'end' as const,
            cell: ({ counts }: UsageGroup) =>
              costOf(counts, { cost: (...amount) => locale.smallMoney(amount[0], currency, ...amount.slice(1)) }),
          },
        ]),
  ],
})}
</section>`;
}

function swatchOf(view: UsageView, name: string): Html | false {
  const parts = drawnParts(view);
  const at = parts.findIndex((part) => part.name === name);
  return parts.length > 0 && swatch(at === -1 ? parts.length - 1 : at);
}

function labelOf({ by, keys }: UsageView, name: string, { texts }: Locale): Html | string {
  if (name === '') return texts.usage.others;
  if (by === 'key') return html`<bdi>${keys.find(({ value }) => value === name)?.label ?? name}</bdi>`;
  return by === 'day' ? name : html`<code>${name}</code>`;
}

function leadingOf(
  view: UsageView,
  { group: { name, counts }, outcome }: { group: UsageGroup; outcome: 'failed' | 'refused' | undefined },
  locale: Locale,
): Html | string | false {
  const what = outcome ?? 'requests';
  if (counts[what] === 0) return false;
  if (name === '') return locale.count(counts[what]);
  const more = view.by === 'day' ? { from: name, to: name } : { [view.by === 'platform' ? 'model' : view.by]: name };
  return leading(counts[what], { href: requestsOf(view, outcome, more), what }, locale);
}
