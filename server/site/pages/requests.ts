/*
 * The page of single requests: what each key did, newest first, with filters, in pages. A failure has its code and what
 * the code means. It shows no prompt, link or answer, since none is stored. The account may delete the rows; the sums of
 * usage stay.
 */

import {
  outcomeOf,
  REQUEST_OUTCOMES,
  type RequestFilter,
  type RequestOutcome,
  shownRequestId,
  type UsageEntry,
  wordsOfCode,
} from '../../usage/index.js';
import { accountPages, type Choice, filterForm, linkTo } from '../components/filters.js';
import { dataTable, pager } from '../components/table.js';
import { badge, type Html, html, type Page, type Tone } from '../page.js';
import { count, counted, second } from '../views.js';

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
  /** Cursor of the next page; undefined on the last one. */
  next: string | undefined;
  /** Whether this is the first page. */
  isFirst: boolean;
  /** Days for which requests are kept. */
  retentionDays: number;
  /** Requests that were just deleted. */
  deleted: number | undefined;
}

const PATH = '/requests';

export function requestsPage(view: RequestsView): Omit<Page, 'viewer'> {
  const { rows, next, isFirst, deleted, filter, retentionDays } = view;
  const query = queryOf(filter);
  const older = next === undefined ? undefined : linkTo(PATH, { ...query, after: next });
  return {
    title: 'Requests',
    current: '/dashboard',
    content: html`<div class="frame stack">
<div class="page-head"><h1>Requests</h1><p>Every request of your keys, without prompts, links and answers. They are kept for ${counted(retentionDays, 'day')}.</p>${accountPages(PATH)}</div>
${deleted !== undefined && html`<p class="notice notice-good" tabindex="-1" autofocus role="status">${deleted === 0 ? 'There was no request to delete.' : `${counted(deleted, 'request is', 'requests are')} deleted.`}</p>`}
${renderFilters(view)}
<section class="card stack" aria-labelledby="list">
<div class="row row-apart"><h2 id="list">${titleOf(filter.outcome)}</h2><a class="button button-quiet button-small" href="${linkTo('/requests.csv', query)}" download>Download CSV</a></div>
${renderRows(view, rows)}
${pager({ newest: isFirst ? undefined : linkTo(PATH, query), older })}
</section>
${renderDelete(view)}
</div>`,
  };
}

const TITLES: Readonly<Record<RequestOutcome, string>> = {
  succeeded: 'Succeeded requests',
  failed: 'Failed requests',
  refused: 'Refused requests',
};

function titleOf(outcome: RequestOutcome | undefined): string {
  return outcome === undefined ? 'Newest first' : TITLES[outcome];
}

function queryOf({ range, key, outcome, route, model, errorCode, requestId }: RequestFilter) {
  return { ...range, key, outcome, route, model, code: errorCode, request_id: requestId };
}

const OUTCOMES: Readonly<Record<RequestOutcome, readonly [words: string, tone: Tone]>> = {
  succeeded: ['Succeeded', 'good'],
  failed: ['Failed', 'bad'],
  refused: ['Refused', 'warn'],
};

function renderFilters({ filter, keys, models, routes, today }: RequestsView): Html {
  const { range, key, outcome, route, model, errorCode, requestId } = filter;
  const named = (names: readonly string[]) => names.map((name) => ({ value: name, label: name }));
  const ends = REQUEST_OUTCOMES.map((each) => ({ value: each, label: OUTCOMES[each][0] }));
  return html`<section class="card" aria-label="Filters">${filterForm({
    path: PATH,
    label: 'Requests',
    reset: PATH,
    fields: [
      { kind: 'day', name: 'from', label: 'From', value: range.from, max: today },
      { kind: 'day', name: 'to', label: 'To', value: range.to, max: today },
      { kind: 'choice', name: 'outcome', label: 'Result', value: outcome, all: 'All', choices: ends },
      { kind: 'choice', name: 'key', label: 'Key', value: key, all: 'All keys', choices: keys },
      { kind: 'choice', name: 'model', label: 'Model or platform', value: model, all: 'All', choices: named(models) },
      { kind: 'choice', name: 'route', label: 'Route', value: route, all: 'All routes', choices: named(routes) },
      { kind: 'text', name: 'code', label: 'Error code', value: errorCode, placeholder: 'rate_limit_exceeded' },
      { kind: 'text', name: 'request_id', label: 'Request id', value: requestId, placeholder: 'req_…' },
    ],
  })}</section>`;
}

function renderRows({ filter, keys, currency, retentionDays }: RequestsView, rows: readonly UsageEntry[]): Html {
  const query = queryOf(filter);
  return dataTable<UsageEntry>({
    label: 'Requests',
    isStacked: true,
    rows,
    empty: {
      title: 'No such requests',
      words: html`Single requests are kept for ${counted(retentionDays, 'day')}. <a href="${PATH}">Show all of them</a>, or see the sums under <a href="/usage">Usage</a>.`,
    },
    columns: [
      {
        head: 'Time (UTC)',
        cell: (row) => html`${second(row.at)}<br><code class="small muted">${shownRequestId(row)}</code>`,
      },
      { head: 'Result', cell: (row) => renderResult(row, query) },
      {
        head: 'Route and model',
        cell: ({ route, model }) =>
          html`<code>${route}</code>${model !== '' && html`<br><span class="small muted">${model}</span>`}`,
      },
      {
        head: 'Key',
        cell: ({ keyId }) => html`<bdi>${keys.find(({ value }) => value === keyId)?.label ?? keyId}</bdi>`,
      },
      { head: 'Duration', isNumber: true, cell: ({ latencyMs }) => duration(latencyMs) },
      { head: 'Tokens in / out', isNumber: true, cell: tokensOf },
      ...(currency === undefined
        ? []
        : [{ head: `Cost (${currency})`, isNumber: true, cell: ({ cost }: UsageEntry) => costOf(cost) }]),
    ],
  });
}

function renderResult(row: UsageEntry, query: ReturnType<typeof queryOf>): Html {
  const { status, errorCode } = row;
  const [words, tone] = OUTCOMES[outcomeOf(row)];
  const isFailed = errorCode === null && status >= 400;
  const code =
    errorCode !== null &&
    html` <a class="small" href="${linkTo(PATH, { ...query, code: errorCode })}"><code>${errorCode}</code></a>
<br><span class="small muted">${wordsOfCode(errorCode)}</span>`;
  return html`<span class="figures">${badge(words, tone)} ${status}</span>${code}${isFailed && html`<br><span class="small muted">${wordsOfCode('')}</span>`}`;
}

function duration(ms: number): string {
  return ms < 1_000 ? `${count(ms)} ms` : `${count(ms / 1_000)} s`;
}

function tokensOf({ inputTokens, outputTokens }: UsageEntry): string {
  if (inputTokens === null && outputTokens === null) return '–';
  return `${count(inputTokens ?? 0)} / ${count(outputTokens ?? 0)}`;
}

function costOf(cost: number | null): string {
  if (cost === null) return '–';
  return (cost / 1_000_000).toLocaleString('en-US', { minimumFractionDigits: 2, maximumFractionDigits: 6 });
}

function renderDelete({ keys, filter }: RequestsView): Html {
  return html`<details><summary>Delete requests</summary>
<form class="stack" method="post" action="/requests/delete">
<p class="small muted">Deletes the single requests for good, of all days. The sums under Usage stay, since they are accounting. Requests of the last minute stay.</p>
<div class="form-row"><div class="field"><label for="delete-key">Key</label>
<select class="input" id="delete-key" name="key"><option value="">All keys</option>${keys.map(
    ({ value, label }) => html`<option value="${value}"${value === filter.key && html` selected`}>${label}</option>`,
  )}</select></div>
<button class="button button-quiet">Delete the requests</button></div>
</form></details>`;
}
