/*
 * The page of single requests: what each key did, newest first, in tabs by how they ended, with filters, in pages. With the
 * id of a request it shows the whole of that one. Where filters leave none, it names them, each can be removed alone, and codes
 * that there are stand in place of one that there is not. A failure has its code and what the code means. It shows no answer; what
 * was asked only if the account has turned that on here, as text. The account may delete the rows; the sums of usage stay.
 */

import type { RequestFilter, UsageEntry } from '../../usage/index.js';
import { accountPages, type Choice, chosenLabel, type FilterField, filterCard, linkTo } from '../components/filters.js';
import {
  outcomeTabs,
  type RequestRowsView,
  requestDetails,
  requestTable,
  requestTitle,
} from '../components/request-rows.js';
import { type Column, pager } from '../components/table.js';
import { codeOf } from '../docs/examples.js';
import type { Locale } from '../language/index.js';
import { badge, codeBlock, emptyPage, type Html, html, type Page } from '../page.js';

export interface RequestsView {
  filter: RequestFilter;
  /** Today, by UTC. */
  today: string;
  /** Keys of the account by id. */
  keys: readonly Choice[];
  /** Models and platforms that were used in the range. */
  models: readonly string[];
  /** Routes that were used in the range. */
  routes: readonly string[];
  currency: string | undefined;
  rows: readonly UsageEntry[];
  /** Sums of the filters without the outcome; undefined if sums cannot be limited so. */
  counts: Readonly<Record<'all' | 'failed' | 'refused', number>> | undefined;
  /** Cursor of the next page; undefined on the last one. */
  next: string | undefined;
  /** Codes of the latest failures in these days, the most frequent first; only where no request has the code of the filter. */
  codes: readonly string[];
  /** Whether the address names days. */
  hasDays: boolean;
  /** A request like one of them, as code. */
  repeatOf: NonNullable<RequestRowsView['repeatOf']>;
  /** Whether this is the first page. */
  isFirst: boolean;
  /** Days for which requests are kept. */
  retentionDays: number;
  /** Days for which what was asked is kept; null if it is not. */
  inputDays: number | null;
  /** Whether that was just changed. */
  inputsChanged: boolean;
  /** Requests that were just deleted. */
  deleted: number | undefined;
}

const PATH = '/requests';
/** That needs no model. */
const FIRST_ROUTE = '/v1/models';
/** To choose from. */
const INPUT_DAYS = [1, 3, 7, 14, 30];

export function requestsPage(view: RequestsView, locale: Locale): Omit<Page, 'viewer'> {
  const { deleted, retentionDays, inputDays } = view;
  const t = locale.texts.usage.list;
  const one = isOne(view) ? view.rows[0] : undefined;
  const lead = inputDays === null ? t.lead(retentionDays) : t.leadWithInputs(retentionDays);
  return {
    title: one ? `${one.route}, ${t.one}` : t.title,
    current: '/dashboard',
    scripts: ['calendar.js'],
    styles: ['tables.css', 'activity.css', ...(isOne(view) || isUnused(view) ? ['code.css'] : [])],
    content: html`<div class="frame stack">
<div class="page-head">${one ? requestTitle(one, { path: PATH, repeatOf: view.repeatOf }, locale) : html`<h1>${t.title}</h1><p>${lead}</p>`}${accountPages(PATH, locale)}</div>
${deleted !== undefined && html`<p class="notice notice-good" tabindex="-1" autofocus role="status">${deleted === 0 ? t.noneDeleted : t.deleted(deleted)}</p>`}
${renderList(view, locale)}
${!isOne(view) && renderInputs(view, locale)}
${!isOne(view) && !isUnused(view) && renderDelete(view, locale)}
</div>`,
  };
}

/** Whether the whole of a request is shown. */
function isOne({ filter, rows }: RequestsView): boolean {
  return filter.requestId !== undefined && rows.length > 0;
}

/** Whether there is no request, and nothing limits them. */
function isUnused({ rows, isFirst, hasDays, filter }: RequestsView): boolean {
  const { range: _, ...limits } = queryParts(filter);
  return rows.length === 0 && isFirst && !hasDays && Object.values(limits).every((limit) => limit === undefined);
}

function renderList(view: RequestsView, locale: Locale): Html {
  const { rows, next, isFirst, filter, retentionDays, counts } = view;
  const { usage } = locale.texts;
  const t = usage.list;
  const query = queryOf(filter);
  if (isOne(view)) {
    return requestDetails({ ...rowsOf(view, locale), rows, isTitled: true }, locale);
  }
  if (isUnused(view)) {
    const first = view.repeatOf({ route: FIRST_ROUTE, model: '', input: null });
    return emptyPage('rows', {
      title: t.first(retentionDays),
      words: t.firstWords(retentionDays),
      steps: html`<a class="button" href="/playground">${t.try}</a><a class="button button-quiet" href="/setup">${t.useKey}</a>${first && codeBlock({ id: 'first-request', title: 'curl', text: codeOf(first, 'curl'), language: 'sh' }, locale)}`,
      isLow: true,
    });
  }
  const limits = rows.length === 0 ? limitsOf(view, locale) : [];
  const named = limits.map(
    ({ label, value }, index) => html`${index > 0 && ', '}${t.limit(label, html`<bdi>${value}</bdi>`)}`,
  );
  const none = html`${named.length > 0 && html`${t.noneMatches(named)} `}${t.noneWords(retentionDays)}`;
  const older = next === undefined ? undefined : linkTo(PATH, { ...query, after: next });
  return html`${renderFilters(view, locale)}
<section class="card stack" aria-labelledby="list">
<h2 class="visually-hidden" id="list">${filter.outcome === undefined ? t.newest : t.titles[filter.outcome]}</h2>
<div class="row row-apart">${outcomeTabs({ path: PATH, query }, locale, counts)}${rows.length > 0 && html`<a class="button button-quiet button-small" href="${linkTo('/requests.csv', query)}" download>${usage.csv}</a>`}</div>
${requestTable({ ...rowsOf(view, locale), label: t.title, rows, empty: { title: t.none, words: none } }, locale)}
${view.codes.length > 0 && html`<p>${t.codesHere} ${view.codes.map((code, index) => html`${index > 0 && ', '}<a href="${linkTo(PATH, { ...query, code })}"><code>${code}</code></a>`)}</p>`}
${rows.length === 0 && html`<div class="row">${limits.map(({ name, label }, index) => html`<a class="button${index > 0 && ' button-quiet'}" href="${linkTo(PATH, { ...query, [name]: undefined })}">${t.removeLimit(label)}</a>`)}<a class="button button-quiet" href="${PATH}">${t.showAll}</a></div>`}
${pager({ newest: isFirst ? undefined : linkTo(PATH, query), older }, locale)}
</section>`;
}

function rowsOf(view: RequestsView, { texts: { usage: t } }: Locale) {
  const { filter, keys, currency, inputDays, repeatOf } = view;
  const isWhole = isOne(view);
  const owner: Column<UsageEntry> = {
    head: t.key,
    inCard: 'plain',
    cell: ({ keyId }) => {
      const name = html`<bdi>${keys.find(({ value }) => value === keyId)?.label ?? keyId}</bdi>`;
      return isWhole ? html`<a href="${linkTo('/usage', { key: keyId })}">${name}</a>` : name;
    },
  };
  return {
    path: PATH,
    query: queryOf(filter),
    currency,
    owner,
    isOwnerShort: true,
    hasInputs: inputDays !== null,
    tryAt,
    repeatOf,
  };
}

/** Routes of which the playground has a form with a model, by how they begin. */
const TRIED: readonly (readonly [routes: string, page: string])[] = [
  ['/v1/chat/completions', '/playground'],
  ['/v1/responses', '/playground'],
  ['/v1/messages', '/playground'],
  ['/v1/audio/', '/playground'],
  ['/v1/images/', '/images'],
];

function tryAt({ route, model }: UsageEntry): string | undefined {
  if (route === '/v1/extract') return '/playground';
  const page = TRIED.find(([routes]) => route.startsWith(routes))?.[1];
  return page !== undefined && model !== '' ? linkTo(page, { model }) : undefined;
}

function queryParts({ range, key, outcome, route, model, errorCode, requestId }: RequestFilter) {
  return { range, key, outcome, route, model, code: errorCode, request_id: requestId };
}

function queryOf(filter: RequestFilter) {
  const { range, ...limits } = queryParts(filter);
  return { ...range, ...limits };
}

function renderFilters(view: RequestsView, locale: Locale): Html {
  const { filter, today } = view;
  const { range, outcome } = filter;
  const label = locale.texts.usage.list.title;
  const fields = fieldsOf(view, locale);
  const isFolded = fields.every(({ value }) => value === undefined);
  return filterCard(
    { path: PATH, label, reset: PATH, days: { range, today }, hidden: { outcome }, fields, isFolded },
    locale,
  );
}

function fieldsOf({ filter, keys, models, routes }: RequestsView, locale: Locale): readonly FilterField[] {
  const { usage: t } = locale.texts;
  const { key, route, model, errorCode, requestId } = filter;
  const named = (names: readonly string[]) => names.map((name) => ({ value: name, label: name }));
  return [
    { kind: 'choice', name: 'key', label: t.key, value: key, all: t.allKeys, choices: keys },
    { kind: 'choice', name: 'model', label: t.modelOrPlatform, value: model, all: t.all, choices: named(models) },
    { kind: 'choice', name: 'route', label: t.route, value: route, all: t.allRoutes, choices: named(routes) },
    { kind: 'text', name: 'code', label: t.list.errorCode, value: errorCode, placeholder: 'rate_limit_exceeded' },
    { kind: 'text', name: 'request_id', label: t.list.requestId, value: requestId, placeholder: 'req_…' },
  ];
}

/** What limits the requests besides their days, with the words of its value. */
function limitsOf(view: RequestsView, locale: Locale): { name: string; label: string; value: string }[] {
  const { usage: t, words } = locale.texts;
  const { outcome } = view.filter;
  const fields = fieldsOf(view, locale).flatMap((field) =>
    chosenLabel(field).map((value) => ({ name: field.name, label: field.label, value })),
  );
  return outcome === undefined
    ? fields
    : [...fields, { name: 'outcome', label: t.list.result, value: words.outcomes[outcome] }];
}

/**
 * Off by default: what would be stored, for how long, and that turning it off deletes it. It is folded once it is on, and
 * below a page that has nothing yet.
 */
function renderInputs(view: RequestsView, { texts: { usage } }: Locale): Html {
  const { inputDays, inputsChanged } = view;
  const t = usage.inputs;
  const title = html`<h2 id="inputs-title">${t.title}</h2>`;
  const form = html`<p class="small muted">${t.words}</p>
<div class="row input-choice"><form class="row" method="post" action="/requests/inputs">
<div class="field"><label for="input-days">${t.days}</label>
<select class="input" id="input-days" name="days">${INPUT_DAYS.map(
    (days) =>
      html`<option value="${days}"${days === (inputDays ?? 7) && html` selected`}>${usage.lastDays(days)}</option>`,
  )}</select></div>
<button class="button button-quiet">${inputDays === null ? t.turnOn : t.change}</button></form>
${
  inputDays !== null &&
  html`<form method="post" action="/requests/inputs"><input type="hidden" name="days" value=""><button class="button button-quiet">${t.turnOff}</button></form>`
}</div>`;
  const state = inputDays === null ? badge(t.isOff) : badge(t.isOn(inputDays), 'good');
  if (!inputsChanged && (inputDays !== null || isUnused(view))) {
    return html`<section class="card" id="inputs" aria-labelledby="inputs-title"><details class="card-fold"><summary>${title}${state}</summary><div class="stack">${form}</div></details></section>`;
  }
  return html`<section class="card stack" id="inputs" aria-labelledby="inputs-title">
<div class="row row-apart">${title}${state}</div>
${inputsChanged && html`<p class="notice notice-good" role="status">${inputDays === null ? t.turnedOff : t.turnedOn(inputDays)}</p>`}
${form}
</section>`;
}

function renderDelete({ keys, filter }: RequestsView, { texts: { usage } }: Locale): Html {
  const t = usage.list;
  return html`<details><summary>${t.delete}</summary>
<form class="stack" method="post" action="/requests/delete">
<p class="small muted">${t.deleteWords}</p>
<div class="form-row"><div class="field"><label for="delete-key">${usage.key}</label>
<select class="input" id="delete-key" name="key"><option value="">${usage.allKeys}</option>${keys.map(
    ({ value, label }) => html`<option value="${value}"${value === filter.key && html` selected`}>${label}</option>`,
  )}</select></div>
<button class="button button-quiet">${t.deleteNow}</button></div>
</form></details>`;
}
