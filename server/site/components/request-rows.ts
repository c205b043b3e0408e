/*
 * Cells of tables of single requests, for the user's page and the console: when and which request, how it ended and what
 * its code means, route and model, duration, tokens and cost.
 */

import {
  outcomeOf,
  REQUEST_OUTCOMES,
  type RequestOutcome,
  shownRequestId,
  type UsageEntry,
} from '../../usage/index.js';
import type { Locale } from '../language/index.js';
import { badge, type Html, html, type Tone } from '../page.js';
import { type Choice, linkTo } from './filters.js';
import type { Column } from './table.js';

/** Characters of an input that are shown at once. */
const SHORT_INPUT = 120;

const TONES: Readonly<Record<RequestOutcome, Tone>> = { succeeded: 'good', failed: 'bad', refused: 'warn' };

export interface RequestRowsView {
  /** Path of the page. An error code leads to it, with the other filters as they are. */
  path: string;
  /** Filters of the address, by the names of its query. */
  query: Readonly<Record<string, string | undefined>>;
  /** Of the costs; undefined without prices, and there is no such column. */
  currency: string | undefined;
  /** Whose request it was. */
  owner: Column<UsageEntry>;
  /** Whether what it asked has a column. Only its own account sees that. Default false. */
  hasInputs?: boolean;
}

/** Outcomes to choose from in a filter. */
export function outcomeChoices({ texts }: Locale): Choice[] {
  return REQUEST_OUTCOMES.map((value) => ({ value, label: texts.words.outcomes[value] }));
}

export function requestColumns(view: RequestRowsView, locale: Locale): readonly Column<UsageEntry>[] {
  const { usage: t } = locale.texts;
  const { currency, owner, hasInputs = false } = view;
  return [
    {
      head: t.list.time,
      cell: (row) => html`${locale.second(row.at)}<br><code class="small muted whole-id">${shownRequestId(row)}</code>`,
    },
    { head: t.list.result, inCard: 'end', cell: (row) => renderResult(row, view, locale) },
    {
      head: t.list.routeAndModel,
      inCard: 'line',
      cell: ({ route, model }) =>
        html`<code>${route}</code>${model !== '' && html`<br><bdi class="small muted">${model}</bdi>`}`,
    },
    ...(hasInputs
      ? [{ head: t.inputs.column, inCard: 'line' as const, cell: (row: UsageEntry) => renderInput(row, locale) }]
      : []),
    owner,
    { head: t.list.duration, isNumber: true, cell: ({ latencyMs }) => duration(latencyMs, locale) },
    { head: t.list.tokens, isNumber: true, cell: (row) => tokensOf(row, locale) },
    ...(currency === undefined
      ? []
      : [
          {
            head: t.cost(currency),
            isNumber: true,
            cell: ({ cost }: UsageEntry) => (cost === null ? '–' : locale.cost(cost)),
          },
        ]),
  ];
}

function renderResult(row: UsageEntry, { path, query }: RequestRowsView, { texts }: Locale): Html {
  const { status, errorCode } = row;
  const outcome = outcomeOf(row);
  const { meaningOf } = texts.errors;
  const isFailed = errorCode === null && status >= 400;
  const code =
    errorCode !== null &&
    html`<span class="detail small"><a href="${linkTo(path, { ...query, code: errorCode })}"><code>${errorCode}</code></a> <span class="muted">${meaningOf(errorCode)}</span></span>`;
  const result =
    errorCode === 'cancelled' ? badge(texts.words.cancelled) : badge(texts.words.outcomes[outcome], TONES[outcome]);
  return html`<span class="figures">${result} ${status}</span>${code}${isFailed && html`<span class="detail small muted">${meaningOf('')}</span>`}`;
}

/** A long one is folded. Its direction is its own. */
function renderInput({ input }: UsageEntry, { texts: { usage: t } }: Locale): Html | string {
  if (input === undefined || input === null) return '–';
  if (input.length <= SHORT_INPUT) return html`<p class="asked small" dir="auto">${input}</p>`;
  return html`<details class="asked small"><summary dir="auto" title="${t.inputs.whole}">${`${input.slice(0, SHORT_INPUT).toWellFormed()}…`}</summary><p dir="auto">${input}</p></details>`;
}

function duration(ms: number, { texts, count }: Locale): string {
  const t = texts.usage.list;
  return ms < 1_000 ? t.milliseconds(count(ms)) : t.seconds(count(ms / 1_000));
}

function tokensOf({ inputTokens, outputTokens }: UsageEntry, { count }: Locale): string {
  if (inputTokens === null && outputTokens === null) return '–';
  return `${count(inputTokens ?? 0)} / ${count(outputTokens ?? 0)}`;
}
