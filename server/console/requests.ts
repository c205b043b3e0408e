/*
 * Single requests of all keys in the console, newest first: the error of a request that a user quotes by its id is found
 * here, with what its code means. There is no prompt, link or answer in it, since none is stored. Filters are those of
 * the admin API.
 */

import { listRequests, watchModels } from '../admin/index.js';
import { dayOf } from '../format/index.js';
import type { Route } from '../http/index.js';
import { maskedKey } from '../keys/index.js';
import {
  type Column,
  filterCard,
  type Html,
  html,
  type Locale,
  outcomeTabs,
  requestDetails,
  requestTable,
} from '../site/index.js';
import { REQUEST_OUTCOMES, readRangeQuery, type UsageEntry } from '../usage/index.js';
import {
  type ConsoleCall,
  type ConsolePage,
  type ConsoleServices,
  choiceOf,
  consolePage,
  pagesOf,
  rangeOf,
} from './console-route.js';
import { chooseOwner, type OwnerFilter, readOwner } from './owner-filter.js';
import { emptyList, ownerLink, ownersOf } from './parts.js';

const PATH = '/admin/requests';
const SUGGESTED = 50;
const DAY_MS = 24 * 60 * 60 * 1000;

export function requestPages(services: ConsoleServices): Route[] {
  return [
    consolePage(services, {
      path: '/requests',
      summary: 'Requests in the console',
      description: 'Page of single requests of all keys, by days, outcome, account, key, model, route, code or id.',
      query: {
        from: 'First day by UTC, e.g. 2026-06-15.',
        to: 'Last day by UTC.',
        outcome: '`succeeded`, `failed` or `refused`.',
        account: 'Address or name of a user, or id of an account.',
        key: 'Id of a key.',
        model: 'Id of a model, or a platform.',
        route: 'A route, such as /v1/chat/completions.',
        code: 'Error code.',
        request_id: 'Id of a request.',
        after: 'Cursor.',
      },
      show: (call) => requestsPage(services, call),
    }),
  ];
}

/** The filters of the address. @throws GatewayError `invalid_value` for a day that is none. */
function filterOf({ query }: ConsoleCall, now: number) {
  const days = readRangeQuery({ from: query('from'), to: query('to') }, now);
  return {
    days,
    outcome: choiceOf(query('outcome'), REQUEST_OUTCOMES),
    accountId: query('account'),
    keyId: query('key'),
    model: query('model'),
    route: query('route'),
    errorCode: query('code'),
    requestId: query('request_id'),
  };
}

type Filter = ReturnType<typeof filterOf>;

function queryOf({ days, outcome, accountId, keyId, errorCode, requestId, model, route }: Filter) {
  return { ...days, outcome, account: accountId, key: keyId, model, route, code: errorCode, request_id: requestId };
}

async function requestsPage(services: ConsoleServices, call: ConsoleCall): Promise<ConsolePage> {
  const { locale } = call;
  const now = services.clock.now();
  const filter = filterOf(call, now);
  const { days, accountId: text, keyId, ...rest } = filter;
  const account = await readOwner(services, text);
  const { accountId } = account;
  const wanted = {
    ...rest,
    ...(accountId !== undefined && { accountId }),
    ...(keyId !== undefined && { keyId }),
    from: Date.parse(days.from),
    to: Date.parse(days.to) + DAY_MS,
  };
  const { items, next } =
    account.several.length > 0 ? { items: [] } : await listRequests(services, wanted, rangeOf(call));
  const owners = await ownersOf(
    services,
    items.map((entry) => entry.accountId),
  );
  const { console: t, usage } = locale.texts;
  const query = queryOf(filter);
  const { requestId } = filter;
  // Two links of a row would be too near to each other.
  const isOne = requestId !== undefined && items.length > 0;
  const key = ({ keyId }: UsageEntry) => html`<code>${maskedKey(keyId)}</code>`;
  const owner: Column<UsageEntry> = {
    head: t.requests.owner,
    inCard: 'plain',
    cell: (row) =>
      html`${ownerLink(row.accountId, owners)}<span class="detail small muted key">${isOne ? html`<a href="/admin/keys/${row.keyId}">${key(row)}</a>` : key(row)}</span>`,
  };
  const empty =
    chooseOwner(account, { path: PATH, query, name: 'account' }, locale) ??
    emptyList({ title: usage.list.none, words: t.requests.none, reset: PATH }, locale);
  const rows = { path: PATH, query, currency: services.prices?.currency, owner };
  return {
    title: t.requests.title,
    current: 'requests',
    lead: t.requests.lead,
    content: isOne
      ? requestDetails({ ...rows, rows: items }, locale)
      : html`${renderFilters(filter, { account, today: dayOf(now), models: watchModels(services).map(({ model }) => model.id) }, locale)}
<section class="card stack"><h2 class="visually-hidden" id="list">${filter.outcome === undefined ? usage.list.newest : usage.list.titles[filter.outcome]}</h2>
${outcomeTabs(rows, locale, undefined, 'long')}
${requestTable({ ...rows, label: t.requests.title, rows: items, empty }, locale)}
${pagesOf(call, { path: PATH, filters: query, ...(next && { next }) })}
</section>`,
  };
}

function renderFilters(
  filter: Filter,
  { account, today, models }: { account: OwnerFilter; today: string; models: readonly string[] },
  locale: Locale,
): Html {
  const { usage: t, console: own } = locale.texts;
  const { days, outcome, keyId, model, route, errorCode, requestId } = filter;
  return filterCard(
    {
      path: PATH,
      label: own.requests.title,
      reset: PATH,
      days: { range: days, today },
      hidden: { outcome },
      isFolded: true,
      fields: [
        { kind: 'text', name: 'code', label: t.list.errorCode, value: errorCode, placeholder: 'upstream_timeout' },
        { kind: 'text', name: 'request_id', label: t.list.requestId, value: requestId, placeholder: 'req_…' },
        { kind: 'text', name: 'account', label: own.users.user, value: account.text, placeholder: own.ownerHint },
        { kind: 'text', name: 'key', label: t.key, value: keyId, placeholder: 'AbCd1234' },
        {
          kind: 'text',
          name: 'model',
          label: t.modelOrPlatform,
          value: model,
          suggestions: models.slice(0, SUGGESTED),
        },
        { kind: 'text', name: 'route', label: t.route, value: route, placeholder: '/v1/chat/completions' },
      ],
    },
    locale,
  );
}
