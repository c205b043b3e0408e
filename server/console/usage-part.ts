/*
 * Usage as pages of the console show it: totals whose numbers lead to their requests, and the last seven days as charts.
 * Costs have as many digits as one reads at a look; the exact ones are on the pages of requests.
 */

import { dayOf } from '../format/index.js';
import { barChart, costOf, type Html, html, type Locale, linkTo } from '../site/index.js';
import { addUp, type UsageCounts, type UsageGroup } from '../usage/index.js';

const DAY_MS = 24 * 60 * 60 * 1000;
const DAYS = 7;

interface UsageOf {
  /** ISO 4217. Undefined without prices. */
  currency: string | undefined;
  /** Filters of the page of requests to which numbers lead. */
  of: Readonly<Record<string, string>>;
}

export function usageTotals(counts: UsageCounts, { currency, of }: UsageOf, locale: Locale): Html {
  const { texts, shortCount } = locale;
  const { usage } = texts;
  const leading = (value: number, outcome?: 'failed' | 'refused') =>
    value === 0
      ? '0'
      : html`<a${outcome === 'failed' && html` class="bad-count"`} href="${linkTo('/admin/requests', { ...of, outcome })}">${shortCount(value)}<span class="visually-hidden"> ${usage.leading[outcome ?? 'requests']}</span></a>`;
  return html`<dl class="totals">
<div><dt>${usage.requests}</dt><dd>${leading(counts.requests)}</dd></div>
<div><dt>${usage.failed}</dt><dd>${leading(counts.failed, 'failed')}</dd></div>
<div><dt>${usage.refused}</dt><dd>${leading(counts.refused, 'refused')}</dd></div>
<div><dt>${usage.tokensIn}</dt><dd>${shortCount(counts.inputTokens)}</dd></div>
<div><dt>${usage.tokensOut}</dt><dd>${shortCount(counts.outputTokens)}</dd></div>
${counts.images > 0 && html`<div><dt>${usage.images}</dt><dd>${shortCount(counts.images)}</dd></div>`}
${currency !== undefined && html`<div><dt>${texts.console.overview.cost}</dt><dd>${roughCost(counts, currency, locale)}</dd></div>`}
</dl>`;
}

/** The days that {@link daysChart} shows, as days by UTC. */
export function shownDays(at: number): { from: string; to: string } {
  return { from: dayOf(at - (DAYS - 1) * DAY_MS), to: dayOf(at) };
}

/** Totals and charts of a model or an account. */
export function usageOfDays(
  days: readonly UsageGroup[],
  { at, currency, of }: UsageOf & { at: number },
  locale: Locale,
): Html {
  if (days.length === 0) return html`<p class="muted">${locale.texts.console.model.noUsage}</p>`;
  const counts = addUp(days.map((one) => one.counts));
  return html`${usageTotals(counts, { currency, of: { ...of, ...shownDays(at) } }, locale)}
${daysChart({ days, at, currency }, locale)}`;
}

/** Bars of the last seven days, also of those without requests. */
export function daysChart(
  { days, at, currency }: { days: readonly UsageGroup[]; at: number; currency: string | undefined },
  { texts, shortCount, shortDay, smallMoney }: Locale,
): Html {
  const { console: t, usage } = texts;
  const shown = Array.from({ length: DAYS }, (_, index) => {
    const name = dayOf(at - (DAYS - 1 - index) * DAY_MS);
    return { label: shortDay(Date.parse(name)), counts: days.find((one) => one.name === name)?.counts };
  });
  const requests = shown.map(({ label, counts }) => ({
    label,
    value: counts?.requests ?? 0,
    bad: counts?.failed ?? 0,
  }));
  const costs = shown.map(({ label, counts }) => ({ label, value: counts?.cost ?? 0 }));
  const hasCosts = currency !== undefined && costs.some(({ value }) => value > 0);
  return html`<div class="charts"><div class="stack-small"><h3>${t.overview.requestsOfDays}</h3>${barChart({ bars: requests, now: texts.words.spans.today, words: t.overview.requestsOfDays, describe: ({ value, bad = 0 }) => usage.bar(value, bad), short: shortCount })}</div>
${hasCosts && html`<div class="stack-small"><h3>${t.overview.costOfDays}</h3>${barChart({ bars: costs, now: texts.words.spans.today, words: t.overview.costOfDays, describe: ({ value }) => smallMoney(value, currency, 4), short: (value) => smallMoney(value, currency, digitsOf(value)) })}</div>`}</div>`;
}

/** So many that small costs are told apart, and large ones have no parts of a cent. */
function digitsOf(micros: number): number {
  return micros === 0 ? 2 : Math.min(6, Math.max(2, 1 - Math.floor(Math.log10(micros / 1e6))));
}

/** Costs with as many digits as one reads at a look. */
export function roughCost(counts: UsageCounts, currency: string, { smallMoney }: Locale): string {
  return costOf(counts, { cost: (micros) => smallMoney(micros, currency, digitsOf(micros)) });
}

/** How many requests failed. False if none did. */
export function renderFailed({ failed }: UsageCounts, { shortCount }: Locale): Html | false {
  return failed > 0 && html`<span class="bad-count">${shortCount(failed)}</span>`;
}
