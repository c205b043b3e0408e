/*
 * A chart of bars as SVG, one for each span of a time line, drawn on the server: it needs no script, follows the colour
 * scheme, and has its values as words for screen readers and at each bar for a mouse. A part of a bar may be bad, such as
 * failed requests. Few beside many stay visible, since no bar is lower than two hundredths of the highest.
 */

import { type Html, html } from '../page.js';

export interface ChartBar {
  /** The span in words: `15 Jun`. */
  label: string;
  value: number;
  /** Its bad part. Default 0. */
  bad?: number;
}

export interface ChartView {
  /** Oldest first; at least one. */
  bars: readonly ChartBar[];
  /** The whole chart as a sentence, for screen readers. */
  words: string;
  /** A value as text beside its bar: `12 requests, 2 failed`. */
  describe(bar: ChartBar): string;
  /** A value as a short text, for the highest one. */
  short(value: number): string;
}

/** Width of a span in the drawing, of which the bar takes most. */
const STEP = 10;
const BAR = 7;
const HEIGHT = 100;
/** Minimum height of a bar, so that few requests beside many are visible. */
const MIN_BAR = 2;

export function barChart({ bars, words, describe, short }: ChartView): Html {
  const max = Math.max(...bars.map(({ value, bad = 0 }) => Math.max(value, bad)));
  return html`<figure class="chart">
<span class="chart-most small muted figures" aria-hidden="true">${max > 0 && short(max)}</span>
<svg viewBox="0 0 ${bars.length * STEP} ${HEIGHT}" preserveAspectRatio="none" role="img" aria-label="${words}">
${bars.map((bar, index) => renderBar(bar, { index, max, describe }))}
</svg>
<figcaption class="row row-apart small muted" aria-hidden="true"><span>${bars.at(0)?.label}</span><span>${bars.at(-1)?.label}</span></figcaption>
</figure>`;
}

function renderBar(
  bar: ChartBar,
  { index, max, describe }: { index: number; max: number; describe(bar: ChartBar): string },
): Html {
  const { label, value, bad = 0 } = bar;
  const x = index * STEP + (STEP - BAR) / 2;
  const heightOf = (part: number) => (part === 0 ? 0 : Math.max(MIN_BAR, (part / max) * HEIGHT));
  const draw = (kind: string, part: number) =>
    part > 0 &&
    html`<rect class="chart-${kind}" x="${x}" y="${rounded(HEIGHT - heightOf(part))}" width="${BAR}" height="${rounded(heightOf(part))}"/>`;
  return html`<g><title>${label}: ${describe(bar)}</title>
<rect class="chart-day" x="${index * STEP}" width="${STEP}" height="${HEIGHT}"/>
${draw('all', value)}${draw('failed', bad)}</g>`;
}

function rounded(value: number): number {
  return Math.round(value * 10) / 10;
}
