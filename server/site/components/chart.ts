/*
 * A chart of bars as SVG, one for each span of a time line, drawn on the server: it needs no script, and follows the colour
 * scheme. Lines at the top, the middle and the bottom have their numbers. A part of a bar may be bad, such as failed
 * requests; or its parts stand on each other, in the colours of a legend that several charts share. Few beside many stay visible, since no bar is lower than two hundredths of the highest. A span that is not over
 * is paler. The value of a span stands above the chart while a pointer is on it, or after an arrow key; a script adds what
 * its parts are, by the names of the legend. The whole is a sentence for screen readers.
 */

import { type Html, html } from '../page.js';

export interface ChartBar {
  /** The span in words: `15 Jun`. */
  label: string;
  value: number;
  /** Its bad part. Default 0. */
  bad?: number;
  /** What the value consists of, in the order of the legend. Default: it is not divided. */
  parts?: readonly number[];
}

/** Colours that parts of bars may have. */
export const CHART_COLOURS = 5;

export interface ChartView {
  /** Oldest first; at least one. */
  bars: readonly ChartBar[];
  /** Name of the last span if it is not over: `Today`. Default: it is over. */
  now?: string | undefined;
  /** The whole chart as a sentence, for screen readers. */
  words: string;
  /** A value as text above the chart: `12 requests, 2 failed`. */
  describe(bar: ChartBar): string;
  /** A value as a short text, for the scale. */
  short(value: number): string;
}

/** Width of a span in the drawing, of which the bar takes most. */
const STEP = 10;
const BAR = 7;
const HEIGHT = 100;
/** Minimum height of a bar, so that few requests beside many are visible. */
const MIN_BAR = 2;
/** A third label between the first and the last, if they leave room for it. */
const MIDDLE = { fewest: 7, longest: 8 } as const;
/** The scale ends at one of these times a power of ten: its half is a short number too. */
const ENDS = [1, 1.2, 1.6, 2, 2.4, 3, 4, 5, 6, 8, 10] as const;

export function barChart({ bars, now, words, describe, short }: ChartView): Html {
  const end = endOf(Math.max(...bars.map(({ value, bad = 0 }) => Math.max(value, bad))));
  const draw = (kind: 'all' | 'failed', parts: readonly number[]) =>
    parts.map((part, index) => {
      const isOpen = now !== undefined && index === parts.length - 1;
      return part > 0 && { path: barPath(index, part / end), kind: isOpen ? (`${kind} chart-now` as const) : kind };
    });
  const drawn = [
    ...(bars.some(({ parts }) => parts)
      ? stack(bars, end, now !== undefined)
      : draw(
          'all',
          bars.map(({ value }) => value),
        )),
    ...draw(
      'failed',
      bars.map(({ bad = 0 }) => bad),
    ),
  ].filter((one) => one !== false);
  const kinds = Map.groupBy(drawn, ({ kind }) => kind as string);
  return html`<figure class="chart">
<div class="chart-scale muted figures" aria-hidden="true"><span>${short(end)}</span><span>${short(end / 2)}</span><span>0</span></div>
<div class="chart-plot"><svg viewBox="0 0 ${bars.length * STEP} ${HEIGHT}" preserveAspectRatio="none" role="img" aria-label="${words}">
${[...kinds].map(([kind, parts]) => html`<path class="chart-${kind}" d="${parts.map(({ path }) => path).join('')}"/>`)}</svg>
<ol class="chart-values" aria-hidden="true">${bars.map((bar) => html`<li${bar.parts && bar.value > 0 && html` data-parts="${bar.parts.map((part) => (part > 0 ? short(part) : '')).join('|')}"`}><span class="small figures">${bar.label}: ${describe(bar)}</span></li>`)}</ol></div>
<figcaption class="muted" aria-hidden="true"><span>${bars.at(0)?.label}</span><span>${middleLabel(bars)}</span><span>${now ?? bars.at(-1)?.label}</span></figcaption>
</figure>`;
}

/** @param below Share of what is below it. */
function barPath(index: number, share: number, below = 0): string {
  const height = tenths(Math.max(MIN_BAR, share * HEIGHT));
  return `M${index * STEP + (STEP - BAR) / 2} ${tenths((1 - below) * HEIGHT)}v-${height}h${BAR}v${height}z`;
}

function tenths(value: number): number {
  return Math.round(value * 10) / 10;
}

/** The parts of each bar on each other, each in its colour. */
function stack(bars: readonly ChartBar[], end: number, isLastOpen: boolean): { path: string; kind: string }[] {
  return bars.flatMap(({ parts = [] }, index) => {
    const isOpen = isLastOpen && index === bars.length - 1;
    let below = 0;
    return parts.flatMap((part, at) => {
      if (part <= 0) return [];
      const path = barPath(index, part / end, below);
      below += part / end;
      return { path, kind: `part-${at}${isOpen ? ' chart-now' : ''}` };
    });
  });
}

/** The names of the parts of bars, in their order. */
export function chartLegend(names: readonly (Html | string)[]): Html {
  return html`<ul class="chart-legend small">${names.map((name, index) => html`<li>${swatch(index)}${name}</li>`)}</ul>`;
}

/** The colour of a part, before its name. */
export function swatch(index: number): Html {
  return html`<span class="swatch chart-part-${index}"></span>`;
}

/** The end of a scale that has room for this: even, as counts have no halves. */
function endOf(most: number): number {
  if (most <= 2) return 2;
  const power = 10 ** Math.floor(Math.log10(most));
  const ends = ENDS.map((times) => Math.round(times * power));
  return ends.find((end) => end >= most && end % 2 === 0) ?? most;
}

function middleLabel(bars: readonly ChartBar[]): string {
  const { label = '' } = bars[Math.floor(bars.length / 2)] ?? {};
  return bars.length >= MIDDLE.fewest && label.length <= MIDDLE.longest ? label : '';
}
