/*
 * Single requests, for the user's page and the console: tabs by how they ended, rows below the title of their day, and the
 * whole of one request. A row is one line: route, model, key, how it ended, duration, tokens, cost and when it was, and in a
 * second one what it asked, if that is kept; it leads to the whole, which has its id. A list of failures stands below what went
 * wrong and its remedy instead. The whole says first how it ended, and what can be done about a failure.
 */

import { actionOfCode, outcomeOf, type RequestOutcome, shownRequestId, type UsageEntry } from '../../usage/index.js';
import { exampleTabs } from '../docs/example-tabs.js';
import type { ExampleRequest } from '../docs/examples.js';
import type { Locale } from '../language/index.js';
import { badge, copyIcon, type Html, type HtmlValue, html, inline, type Tone } from '../page.js';
import { linkRow, linkTo } from './filters.js';
import { type Column, dataTable, type TableView } from './table.js';

/** Characters of an input that are shown at once. */
const SHORT_INPUT = 160;

const TONES: Readonly<Record<RequestOutcome, Tone>> = { succeeded: 'good', failed: 'bad', refused: 'warn' };

export interface RequestRowsView {
  /** Path of the page. A row leads to it with the id of its request. */
  path: string;
  /** Filters of the address, by the names of its query. */
  query: Readonly<Record<string, string | undefined>>;
  /** Of the costs; undefined without prices, and there is no such column. */
  currency: string | undefined;
  /** Whose request it was. */
  owner: Column<UsageEntry>;
  /** Whether that is a name, which stands beside the model. Default: it has a column. */
  isOwnerShort?: boolean;
  /** Whether it says what it asked. Only its own account sees that. Default false. */
  hasInputs?: boolean;
  /** Where another one like it can be made. Default: nowhere. */
  tryAt?(row: UsageEntry): string | undefined;
  /** Another one like it as a request. Default: it is not shown. */
  repeatOf?(row: Pick<UsageEntry, 'route' | 'model' | 'input'>): ExampleRequest | undefined;
  /** Whether the page has {@link requestTitle}. Default false. */
  isTitled?: boolean;
}

/** Tabs of a list: all, failed and refused requests. @param counts Of each, if they are known. @param kind See {@link linkRow}. */
export function outcomeTabs(
  { path, query }: Pick<RequestRowsView, 'path' | 'query'>,
  locale: Locale,
  counts?: Readonly<Record<'all' | 'failed' | 'refused', number>>,
  kind?: 'long',
): Html {
  const { usage: t, words } = locale.texts;
  const tab = (outcome: RequestOutcome | undefined, label: string) => ({
    label,
    count: counts && outcome !== 'succeeded' ? locale.count(counts[outcome ?? 'all']) : undefined,
    href: linkTo(path, { ...query, outcome }),
    isCurrent: query.outcome === outcome,
  });
  const { succeeded, failed, refused } = words.outcomes;
  const tabs = [
    tab(undefined, t.all),
    ...(query.outcome === 'succeeded' ? [tab('succeeded', succeeded)] : []),
    tab('failed', failed),
    tab('refused', refused),
  ];
  return linkRow(t.list.result, tabs, kind);
}

/** Rows below the titles of their days. */
export function requestTable(
  view: RequestRowsView & Pick<TableView<UsageEntry>, 'label' | 'rows' | 'empty'>,
  locale: Locale,
): Html {
  const { label, rows, empty, query } = view;
  const isByCode = query.outcome === 'failed' || query.outcome === 'refused';
  const groups = isByCode
    ? { groupOf: codeOf, titleOf: (all: readonly [UsageEntry, ...UsageEntry[]]) => renderCodeTitle(all, locale) }
    : { groupOf: ({ at }: UsageEntry) => locale.longDay(at) };
  const columns = requestColumns({ ...view, isByCode }, locale);
  const shown = isByCode ? [...Map.groupBy(rows, codeOf).values()].flat() : rows;
  return dataTable<UsageEntry>({ label, rows: shown, empty, isStacked: true, isDense: true, ...groups, columns });
}

/** What went wrong: equal of failures that mean the same. */
function codeOf({ status, errorCode }: UsageEntry): string {
  return errorCode ?? String(status);
}

function renderCodeTitle(rows: readonly [UsageEntry, ...UsageEntry[]], locale: Locale): Html {
  const [first] = rows;
  const { errorCode } = first;
  const action = errorCode === null ? undefined : locale.texts.errors.actionOf(errorCode);
  return html`<strong>${meaningOf(first, locale)}</strong> <code>${codeOf(first)}</code> <span class="badge">${locale.texts.words.requests(rows.length)}</span>${action !== undefined && html`<p>${inline(action)} ${aboutCode(errorCode, locale)}</p>`}`;
}

/** Where a code is explained, if that says what can be done. */
function aboutCode(code: string | null, { texts }: Locale): Html | false {
  const isExplained = code !== null && actionOfCode(code) !== undefined;
  return isExplained && html`<a href="/docs/api/errors#${code}">${texts.usage.list.aboutCode}</a>`;
}

function requestColumns(
  view: RequestRowsView & { rows: readonly UsageEntry[]; isByCode: boolean },
  locale: Locale,
): readonly Column<UsageEntry>[] {
  const { usage: t } = locale.texts;
  const { path, query, owner, isOwnerShort = false, hasInputs = false, isByCode } = view;
  const { from, to } = query;
  const currency = view.rows.some(({ cost }) => cost !== null) ? view.currency : undefined;
  // In a card.
  const aboutOf = (row: UsageEntry) => {
    const parts = [row.model !== '' && html`<bdi>${row.model}</bdi>`, isOwnerShort && owner.cell(row)].filter(Boolean);
    return html`<span class="detail small muted in-card">${parts.map((part, index) => html`${index > 0 && ' · '}${part}`)}</span>`;
  };
  const wholeOf = (row: UsageEntry) => linkTo(path, { from, to, request_id: shownRequestId(row) });
  return [
    {
      head: t.route,
      cell: (row) =>
        html`<a class="row-link" href="${wholeOf(row)}"><code>${row.route}</code></a>${aboutOf(row)}${hasInputs && renderInput(row, locale)}`,
    },
    { head: t.by.model, inCard: 'none', cell: ({ model }) => model !== '' && html`<bdi>${model}</bdi>` },
    isOwnerShort ? { ...owner, inCard: 'none' } : owner,
    {
      head: t.list.result,
      inCard: 'end',
      cell: (row) =>
        html`<span class="figures${toneOf(row)}">${resultMark(row, isByCode, locale)} ${row.status}</span>${!isByCode && renderMeaning(row, locale)}`,
    },
    { head: t.list.duration, isNumber: true, inCard: 'plain', cell: ({ latencyMs }) => duration(latencyMs, locale) },
    { head: t.list.tokens, isNumber: true, inCard: 'none', cell: (row) => tokensOf(row, locale) },
    ...(currency === undefined
      ? []
      : [
          {
            head: t.costAlone,
            isNumber: true,
            inCard: 'plain' as const,
            cell: ({ cost }: UsageEntry) =>
              cost === null ? '–' : locale.smallMoney(cost, currency, ...(cost === 0 ? [0, 0] : [digitsOf(cost), 4])),
          },
        ]),
    {
      head: t.list.time,
      isNumber: true,
      inCard: 'time',
      cell: ({ at }) => (isByCode ? locale.second(at) : locale.clock(at)),
    },
  ];
}

/** Failures are red, refusals amber. */
function toneOf(row: UsageEntry): string {
  const outcome = outcomeOf(row);
  if (outcome === 'succeeded' || row.errorCode === 'cancelled') return '';
  return outcome === 'failed' ? ' bad' : ' warn';
}

/** In a list only what did not succeed stands out, and nothing where the titles say how it ended. */
function resultMark(row: UsageEntry, isByCode: boolean, locale: Locale): Html {
  const mark = resultBadge(row, locale);
  return isByCode || outcomeOf(row) === 'succeeded' ? html`<span class="visually-hidden">${mark}</span>` : mark;
}

function resultBadge(row: UsageEntry, { texts: { words } }: Locale): Html {
  const outcome = outcomeOf(row);
  return row.errorCode === 'cancelled' ? badge(words.cancelled) : badge(words.outcomes[outcome], TONES[outcome]);
}

/** What went wrong in words; undefined of a request that succeeded. */
function meaningOf({ status, errorCode }: UsageEntry, { texts: { errors } }: Locale): string | undefined {
  return errorCode === null && status < 400 ? undefined : errors.meaningOf(errorCode ?? '');
}

function renderMeaning(row: UsageEntry, locale: Locale): Html | false {
  const { errorCode } = row;
  const meaning = meaningOf(row, locale);
  return (
    meaning !== undefined &&
    html`<span class="detail small" title="${meaning}">${errorCode !== null && html`<code>${errorCode}</code> `}<span class="muted in-card">${meaning}</span></span>`
  );
}

/** What it was and when, as the title of its page, with the way back. */
export function requestTitle(row: UsageEntry, view: Pick<RequestRowsView, 'path' | 'repeatOf'>, locale: Locale): Html {
  const method = view.repeatOf?.(row)?.method;
  return html`<p class="back"><a href="${view.path}">${locale.texts.usage.list.allRequests}</a></p><h1 class="request-title">${method !== undefined && html`<span class="muted">${method}</span> `}<code>${row.route}</code></h1><p>${locale.moment(row.at)}</p>`;
}

/** The whole of one request: each of its rows as a card. */
export function requestDetails(view: RequestRowsView & { rows: readonly UsageEntry[] }, locale: Locale): Html {
  const { rows, path, isTitled = false } = view;
  return html`${!isTitled && html`<p><a href="${path}">← ${locale.texts.usage.list.allRequests}</a></p>`}${rows.map((row, index) => renderDetail(row, index, view, locale))}`;
}

function renderDetail(
  row: UsageEntry,
  index: number,
  view: RequestRowsView & { rows: readonly UsageEntry[] },
  locale: Locale,
): Html {
  const { usage: t } = locale.texts;
  const { route, model, status, errorCode, latencyMs, inputTokens, outputTokens, cost, input } = row;
  const { path, query, currency, owner, rows, isTitled = false } = view;
  const isNamed = isTitled && rows.length === 1;
  const { from, to } = query;
  const meaning = meaningOf(row, locale);
  const tried = view.tryAt?.(row);
  const repeated = view.repeatOf?.(row);
  const id = `request-${index}`;
  const numbers: [string, string][] = [
    [t.list.duration, duration(latencyMs, locale)],
    ...(inputTokens === null && outputTokens === null
      ? []
      : ([
          [t.tokensIn, locale.count(inputTokens ?? 0)],
          [t.tokensOut, locale.count(outputTokens ?? 0)],
        ] satisfies [string, string][])),
    ...(currency === undefined
      ? []
      : ([[t.costAlone, cost === null ? t.list.noPrice : locale.smallMoney(cost, currency)]] satisfies [
          string,
          string,
        ][])),
  ];
  const facts: [string, HtmlValue][] = [
    ...(isNamed ? [] : ([[t.list.time, locale.moment(row.at)]] satisfies [string, HtmlValue][])),
    [owner.head, owner.cell(row)],
    ...(model === ''
      ? []
      : ([[t.modelOrPlatform, html`<a href="${linkTo('/models', { q: model })}"><bdi>${model}</bdi></a>`]] satisfies [
          string,
          HtmlValue,
        ][])),
  ];
  const listed = (entries: readonly [string, HtmlValue][]) =>
    entries.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`);
  const isBad = outcomeOf(row) === 'failed' && errorCode !== 'cancelled';
  return html`<section class="card stack request-detail" aria-labelledby="${id}-title">
<div class="request-head"><span class="figures">${resultBadge(row, locale)} ${status}</span><h2${isNamed && html` class="visually-hidden"`} id="${id}-title"><code>${route}</code></h2>${tried !== undefined && html`<a class="button button-quiet button-small" href="${tried}">${t.list.tryAgain}</a>`}</div>
${meaning !== undefined && html`<div class="notice stack-small${isBad && ' notice-bad'}"><p><strong>${meaning}</strong></p>${errorCode !== null && renderCode(errorCode, linkTo(path, { from, to, code: errorCode }), locale)}</div>`}
<div${repeated && html` class="request-parts"`}><div class="stack request-facts"><dl class="totals">${listed(numbers)}</dl>
${typeof input === 'string' && html`<div class="stack-small"><h3 class="small muted">${t.inputs.column}</h3><p class="asked-whole" dir="auto">${input}</p></div>`}
<dl class="request-about">${listed(facts)}
<div><dt>${t.list.requestId}</dt><dd class="row"><code class="whole-id" id="${id}">${shownRequestId(row)}</code>${copyIcon(t.list.requestId, locale)}</dd></div></dl></div>
${repeated && html`<div class="stack-small request-again"><h3>${t.list.again}</h3>${exampleTabs({ id: `${id}-code`, title: t.list.again, example: repeated }, locale)}<p class="small muted">${typeof input === 'string' ? t.list.againWords : t.list.againExample}</p></div>`}</div>
</section>`;
}

/** What can be done about a code, where it is explained, and the other requests with it. */
function renderCode(code: string, others: string, locale: Locale): Html {
  const { list: t } = locale.texts.usage;
  const action = locale.texts.errors.actionOf(code);
  return html`${action !== undefined && html`<p>${inline(action)}</p>`}
<p class="row small"><code>${code}</code> <a href="${others}">${t.sameCode}</a> ${aboutCode(code, locale)}</p>`;
}

/** Its beginning: the whole is with the request. Its direction is its own. */
function renderInput({ input }: UsageEntry, { texts }: Locale): Html | false {
  if (input === undefined || input === null) return false;
  const text = input.length <= SHORT_INPUT ? input : `${input.slice(0, SHORT_INPUT).toWellFormed()}…`;
  return html`<span class="visually-hidden">${texts.usage.inputs.column}: </span><span class="asked small" dir="auto">${text}</span>`;
}

function duration(ms: number, { texts, count }: Locale): string {
  const t = texts.usage.list;
  return ms < 1_000 ? t.milliseconds(count(ms)) : t.seconds(count(ms / 1_000));
}

/** Four, where they show anything of it. */
function digitsOf(micros: number): number {
  return micros < 100 ? 6 : 4;
}

function tokensOf({ inputTokens, outputTokens }: UsageEntry, { count }: Locale): string {
  if (inputTokens === null && outputTokens === null) return '–';
  return `${count(inputTokens ?? 0)} / ${count(outputTokens ?? 0)}`;
}
