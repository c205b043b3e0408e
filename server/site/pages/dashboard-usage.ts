import { count, counted, shortCount } from '../formats.js';
import { type Html, html } from '../html.js';
import { emptyState } from '../pieces.js';

/** Of one day by UTC. */
export interface UsageDay {
  /** `2026-06-15`. */
  day: string;
  requests: number;
  failed: number;
  /** In and out. */
  tokens: number;
  images: number;
}

/** Units of the drawing for one day, of which the bar takes most. */
const STEP = 10;
const BAR = 7;
const HEIGHT = 100;
/** What few requests beside many are drawn as, so that they are seen. */
const MIN_BAR = 2;

const DAY = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' });

export function renderUsage(days: readonly UsageDay[]): Html {
  const total = days.reduce((sum, { requests }) => sum + requests, 0);
  return html`<section class="card stack" aria-labelledby="usage">
<div class="row row-apart"><h2 id="usage">Usage</h2><span class="small muted">Model requests, ${days.length} days</span></div>
${
  total === 0
    ? emptyState('No usage yet', 'Model requests appear here a few seconds after they are answered.')
    : html`${renderChart(days)}${renderTable(days)}`
}</section>`;
}

function renderChart(days: readonly UsageDay[]): Html {
  const most = Math.max(...days.map(({ requests }) => requests));
  const tokens = days.reduce((sum, one) => sum + one.tokens, 0);
  const total = days.reduce((sum, { requests }) => sum + requests, 0);
  const failed = days.reduce((sum, one) => sum + one.failed, 0);
  const words = `${counted(total, 'request')} in ${days.length} days, at most ${count(most)} on one day.`;
  return html`<dl class="totals">
<div><dt>Requests</dt><dd>${count(total)}</dd></div>
<div><dt>Failed</dt><dd>${count(failed)}</dd></div>
<div><dt>Tokens</dt><dd>${shortCount(tokens)}</dd></div>
</dl>
<figure class="chart">
<span class="chart-most small muted figures" aria-hidden="true">${shortCount(most)}</span>
<svg viewBox="0 0 ${days.length * STEP} ${HEIGHT}" preserveAspectRatio="none" role="img" aria-label="${words}">
${days.map((one, index) => renderBar(one, index, most))}
</svg>
<figcaption class="row row-apart small muted" aria-hidden="true"><span>${shortDay(days.at(0))}</span><span>${shortDay(days.at(-1))}</span></figcaption>
</figure>`;
}

function renderBar({ day, requests, failed }: UsageDay, index: number, most: number): Html {
  const x = index * STEP + (STEP - BAR) / 2;
  const scaled = (value: number) => (value === 0 ? 0 : Math.max(MIN_BAR, (value / most) * HEIGHT));
  const [whole, bad] = [scaled(requests), scaled(failed)];
  return html`<g><title>${shortDay({ day })}: ${counted(requests, 'request')}${failed > 0 && `, ${failed} failed`}</title>
<rect class="chart-day" x="${index * STEP}" width="${STEP}" height="${HEIGHT}"/>
${requests > 0 && html`<rect class="chart-all" x="${x}" y="${rounded(HEIGHT - whole)}" width="${BAR}" height="${rounded(whole)}"/>`}
${failed > 0 && html`<rect class="chart-failed" x="${x}" y="${rounded(HEIGHT - bad)}" width="${BAR}" height="${rounded(bad)}"/>`}</g>`;
}

function renderTable(days: readonly UsageDay[]): Html {
  const used = days.filter(({ requests }) => requests > 0).reverse();
  return html`<details><summary>As a table</summary>
<div class="table" tabindex="0" role="region" aria-label="Usage by day"><table>
<thead><tr><th scope="col">Day</th><th scope="col" class="number">Requests</th><th scope="col" class="number">Failed</th><th scope="col" class="number">Tokens</th><th scope="col" class="number">Images</th></tr></thead>
<tbody>${used.map(
    ({
      day,
      requests,
      failed,
      tokens,
      images,
    }) => html`<tr><th scope="row">${day}</th><td class="number">${count(requests)}</td>
<td class="number">${count(failed)}</td><td class="number">${count(tokens)}</td><td class="number">${count(images)}</td></tr>`,
  )}</tbody></table></div></details>`;
}

function shortDay(one: Pick<UsageDay, 'day'> | undefined): string {
  return one ? DAY.format(Date.parse(one.day)) : '';
}

function rounded(value: number): number {
  return Math.round(value * 10) / 10;
}
