/*
 * The pages of keys, of usage and of single requests, their CSV files, and the deletion of requests, for the signed-in
 * user. All of them can be read without scripts. Files are limited by user, since one may read a million rows. Names of keys are those of
 * the account; a key that was deleted has its id alone.
 */

import { Type } from '../../core/contracts/index.js';
import {
  type AccountServices,
  type AccountView,
  readInputDays,
  readSharedGroups,
  type SignedIn,
} from '../accounts/index.js';
import type { Budgets } from '../budgets/index.js';
import { dayOf } from '../format/index.js';
import { AddressLimit, defineRoute, type RequestContext, type Route, readForm, seeOther } from '../http/index.js';
import type { ApiKeys } from '../keys/index.js';
import type { ApiDocument } from '../openapi/index.js';
import type { PlanTermsOptions } from '../plans/index.js';
import type { Prices } from '../prices/index.js';
import {
  addUp,
  dearestFirst,
  eachDayOf,
  encodeCursor,
  filterTotals,
  groupUsage,
  LOG_DAYS,
  partsOf,
  platformsOf,
  type RequestFilter,
  type RequestLog,
  readCursor,
  readDimension,
  readRequestFilter,
  readUsageQuery,
  renderUsageCsv,
  restOf,
  sendCsv,
  sendRequestsCsv,
  type UsageLog,
  type UsageTotal,
} from '../usage/index.js';
import { withTypedDays } from './components/day-input.js';
import { createRepeats } from './docs/example-tabs.js';
import { loadKeys } from './keys-view.js';
import { OWN_PAGE_ROUTE } from './page.js';
import { keysPage } from './pages/keys.js';
import { requestsPage } from './pages/requests.js';
import { DRAWN_GROUPS, usagePage } from './pages/usage.js';
import { ownVisitOf, sendTo } from './visit.js';

const ROWS = 25;
const DAY_MS = 24 * 60 * 60 * 1_000;
/** Looked through where the days of the page of usage are empty. */
const LONGER_DAYS = 90;
const FILES_PER_MINUTE = 10;
const MAX_FORM_BYTES = 1_024;

export interface AccountPageServices extends AccountServices, PlanTermsOptions {
  view: AccountView;
  accountKeys: Pick<ApiKeys, 'listOf' | 'ofGroups'>;
  budgets: Pick<Budgets, 'groups' | 'list'>;
  usageLog: Pick<UsageLog, 'totals'>;
  requestLog: RequestLog;
  /** Days for which requests are kept. Default 30. */
  requestLogDays?: number;
  /** Default: none. */
  prices?: Prices;
  document: Pick<ApiDocument, 'object'>;
}

const CSV_FILE = { 200: { description: 'The file.', type: 'text/csv' }, 303: OWN_PAGE_ROUTE.answers[303] };

export function accountPageRoutes(services: AccountPageServices): Route[] {
  const pages = new AccountPages(services);
  return [
    defineRoute({
      ...OWN_PAGE_ROUTE,
      path: '/keys',
      summary: 'Keys page',
      description: 'Page of the keys of the account: limits, budgets, usage, and forms to make and change them.',
      handler: (context) => pages.sendKeys(context),
    }),
    defineRoute({
      ...OWN_PAGE_ROUTE,
      path: '/usage',
      summary: 'Usage page',
      description: 'Page of the usage of the account: charts, and sums by key, model, platform, route and day.',
      errors: ['invalid_value'],
      handler: (context) => pages.sendUsage(context),
    }),
    defineRoute({
      ...OWN_PAGE_ROUTE,
      path: '/usage.csv',
      summary: 'Usage as CSV',
      description: 'The table of the usage page for spreadsheets.',
      answers: CSV_FILE,
      errors: ['invalid_value', 'rate_limit_exceeded'],
      handler: (context) => pages.sendUsageFile(context),
    }),
    defineRoute({
      ...OWN_PAGE_ROUTE,
      path: '/requests',
      summary: 'Requests page',
      description: 'Page of the single requests of the account, with filters.',
      errors: ['invalid_value'],
      handler: (context) => pages.sendRequests(context),
    }),
    defineRoute({
      ...OWN_PAGE_ROUTE,
      path: '/requests.csv',
      summary: 'Requests as CSV',
      description: 'The requests of the page, all of them, for spreadsheets.',
      answers: CSV_FILE,
      errors: ['invalid_value', 'rate_limit_exceeded'],
      handler: (context) => pages.sendRequestsFile(context),
    }),
    defineRoute({
      ...OWN_PAGE_ROUTE,
      method: 'POST',
      path: '/requests/delete',
      summary: 'Delete requests',
      description: 'Deletes the single requests of a key or of all keys. The sums of usage stay.',
      body: {
        type: 'application/x-www-form-urlencoded',
        schema: Type.Object({ key: Type.Optional(Type.String({ description: 'Id of a key. Default: all keys.' })) }),
      },
      answers: { 303: { description: 'To the requests page.' } },
      handler: (context) => pages.deleteRequests(context),
    }),
    defineRoute({
      ...OWN_PAGE_ROUTE,
      method: 'POST',
      path: '/requests/inputs',
      summary: 'Keep inputs of requests, or stop',
      description:
        'Turns on for some days that the log keeps what requests ask, or turns it off and deletes the texts.',
      body: {
        type: 'application/x-www-form-urlencoded',
        schema: Type.Object({ days: Type.String({ description: 'Days, 1 to 30. Empty: off.' }) }),
      },
      answers: { 303: { description: 'To the requests page.' } },
      errors: ['invalid_value'],
      handler: (context) => pages.keepInputs(context),
    }),
  ];
}

class AccountPages {
  readonly #services: AccountPageServices;
  readonly #files: AddressLimit;
  readonly #repeatOf: ReturnType<typeof createRepeats>;

  constructor(services: AccountPageServices) {
    this.#services = services;
    this.#repeatOf = createRepeats(services.document);
    const { clock, siblings } = services;
    const name = 'files of usage';
    this.#files = new AddressLimit({ clock, siblings, name, perMinute: FILES_PER_MINUTE, what: 'Too many files' });
  }

  async sendKeys(context: RequestContext): Promise<void> {
    const visit = await ownVisitOf(context, this.#services.sessions);
    if (!visit) return;
    const { signedIn, locale } = visit;
    const { view: of, gateway, catalogue, freeTierPeriod, clock } = this.#services;
    const { revoked, saved } = context.query;
    const changed = {
      ...(typeof revoked === 'string' && { revoked }),
      ...(typeof saved === 'string' && { saved }),
    };
    const sources = { view: of, gateway, catalogue, freeTierPeriod, now: clock.now(), changed };
    const [view, groups] = await Promise.all([
      loadKeys(sources, signedIn.user, locale),
      readSharedGroups(this.#services, signedIn.user.accountId, clock.now()),
    ]);
    sendTo(context, visit, keysPage({ ...view, groups }, locale));
  }

  async sendUsage(context: RequestContext): Promise<void> {
    const visit = await ownVisitOf(context, this.#services.sessions);
    if (!visit) return;
    const { signedIn, locale } = visit;
    const { clock, prices, gateway } = this.#services;
    const { range, filter, totals, keys, by, ...read } = await this.#readUsage(context, signedIn);
    const chosen = filterTotals(totals, filter);
    // Days keep their order; the dearest of others come first.
    const groups = by === 'day' ? read.groups : dearestFirst(read.groups);
    const isUnlimited = Object.keys(context.query).length === 0;
    const today = dayOf(clock.now());
    const usedDays =
      isUnlimited && totals.length === 0 && (await this.#hasUsage(signedIn.user.accountId, today))
        ? LONGER_DAYS
        : undefined;
    const names = by === 'day' ? [] : groups.slice(0, DRAWN_GROUPS).map(({ name }) => name);
    const page = usagePage(
      {
        ...{ range, filter, by, groups },
        ...{ isUnlimited, usedDays, today },
        keys: keys.map(({ id, name }) => ({ value: id, label: name })),
        models: namesOf(totals, 'model'),
        routes: namesOf(totals, 'route'),
        currency: prices?.currency,
        total: addUp(chosen),
        days: eachDayOf(range, chosen),
        parts: names.length === 0 ? [] : partsOf(chosen, { range, dimension: by, names }, platformsOf(gateway)),
      },
      locale,
    );
    sendTo(context, visit, page);
  }

  /** In more days than the page shows at first. */
  async #hasUsage(accountId: string, today: string): Promise<boolean> {
    const from = dayOf(Date.parse(today) - (LONGER_DAYS - 1) * DAY_MS);
    return (await this.#services.usageLog.totals({ accountId, from, to: today })).length > 0;
  }

  async sendUsageFile(context: RequestContext): Promise<void> {
    const visit = await ownVisitOf(context, this.#services.sessions);
    if (!visit) return;
    const { signedIn, locale } = visit;
    this.#files.admit(signedIn.user.id);
    const { prices } = this.#services;
    const { range, filter, by, totals, groups, keys } = await this.#readUsage(context, signedIn);
    const names = by === 'key' ? new Map(keys.map(({ id, name }) => [id, name])) : undefined;
    const rest = restOf(groups, addUp(filterTotals(totals, filter)));
    const rows = [...groups, ...rest.map((one) => ({ ...one, name: locale.texts.usage.others }))];
    const body = renderUsageCsv(rows, by, { currency: prices?.currency, names });
    sendCsv(context, `usage-${range.from}-${range.to}`, body);
  }

  async #readUsage({ query }: RequestContext, { user: { accountId } }: SignedIn) {
    const { clock, usageLog, accountKeys, gateway } = this.#services;
    const { range, filter } = readUsageQuery(withTypedDays(query), clock.now());
    const by = readDimension(query, 'key');
    const [totals, keys] = await Promise.all([
      usageLog.totals({ accountId, ...range }),
      accountKeys.listOf(accountId, true),
    ]);
    const groups = groupUsage(filterTotals(totals, filter), by, platformsOf(gateway));
    return { range, filter, by, totals, keys, groups };
  }

  async sendRequests(context: RequestContext): Promise<void> {
    const visit = await ownVisitOf(context, this.#services.sessions);
    if (!visit) return;
    const { signedIn, locale } = visit;
    const { clock, usageLog, requestLog, prices, requestLogDays: retentionDays = LOG_DAYS } = this.#services;
    const { accountId } = signedIn.user;
    const { query } = context;
    const { filter, keys, wanted } = await this.#readRequests(context, signedIn);
    const after = readCursor(query);
    const [found, totals, inputDays] = await Promise.all([
      requestLog.list({ ...wanted, withInputs: true }, ROWS + 1, after),
      usageLog.totals({ accountId, ...filter.range }),
      requestLog.inputs.daysOf(accountId),
    ]);
    const rows = found.slice(0, ROWS);
    const last = found.length > ROWS ? rows.at(-1) : undefined;
    const { deleted, inputs } = query;
    const { errorCode, ...others } = wanted;
    const isNone = rows.length === 0 && errorCode !== undefined && filter.requestId === undefined;
    // As much as the list of failures reads.
    const failures = isNone ? await requestLog.list({ ...others, outcome: 'failed' }, ROWS) : [];
    const page = requestsPage(
      {
        ...{ filter, rows, retentionDays, inputDays, repeatOf: this.#repeatOf },
        codes: codesOf(failures),
        counts: countsOf(filter, totals),
        inputsChanged: inputs !== undefined,
        today: dayOf(clock.now()),
        keys: keys.map(({ id, name }) => ({ value: id, label: name })),
        models: namesOf(totals, 'model'),
        routes: namesOf(totals, 'route'),
        currency: prices?.currency,
        next: last && encodeCursor(last),
        hasDays: query.from !== undefined || query.to !== undefined,
        isFirst: after === undefined,
        deleted: typeof deleted === 'string' && /^\d{1,9}$/.test(deleted) ? Number(deleted) : undefined,
      },
      locale,
    );
    sendTo(context, visit, page);
  }

  async sendRequestsFile(context: RequestContext): Promise<void> {
    const visit = await ownVisitOf(context, this.#services.sessions);
    if (!visit) return;
    const { signedIn } = visit;
    this.#files.admit(signedIn.user.id);
    const { requestLog, prices } = this.#services;
    const { filter, keys, wanted } = await this.#readRequests(context, signedIn);
    const names = new Map(keys.map(({ id, name }) => [id, name]));
    const { from, to } = filter.range;
    const hasInputs = (await requestLog.inputs.daysOf(wanted.accountId)) !== null;
    const rows = requestLog.all({ ...wanted, withInputs: true });
    sendRequestsCsv(context, `requests-${from}-${to}`, rows, { currency: prices?.currency, names, hasInputs });
  }

  async #readRequests({ query }: RequestContext, { user: { accountId } }: SignedIn) {
    const { clock, accountKeys } = this.#services;
    const filter = readRequestFilter(withTypedDays(query), clock.now());
    const keys = await accountKeys.listOf(accountId, true);
    const keyIds = keys.map(({ id }) => id).filter((id) => filter.key === undefined || id === filter.key);
    const { range, key, ...rest } = filter;
    return { filter, keys, wanted: { ...rest, keyIds, accountId } };
  }

  async deleteRequests(context: RequestContext): Promise<void> {
    const { sessions, bodies, accountKeys, requestLog, clock, site } = this.#services;
    const { accountId } = (await sessions.require(context)).user;
    const limits = { maxBytes: MAX_FORM_BYTES, budget: bodies, owner: accountId };
    const { key = '' } = await readForm(context.req, context.res, limits);
    const keys = await accountKeys.listOf(accountId, true);
    const keyIds = keys.map(({ id }) => id).filter((id) => key === '' || id === key);
    const deleted = await requestLog.delete({ keyIds, accountId }, clock.now());
    // A redirect, so that a reload does not submit the form again.
    seeOther(context, `${site().url}/requests?deleted=${deleted}`);
  }

  async keepInputs(context: RequestContext): Promise<void> {
    const { sessions, bodies, requestLog, site } = this.#services;
    const { accountId } = (await sessions.require(context)).user;
    const limits = { maxBytes: MAX_FORM_BYTES, budget: bodies, owner: accountId };
    const { days = '' } = await readForm(context.req, context.res, limits);
    await requestLog.inputs.setDays(accountId, readInputDays(days));
    seeOther(context, `${site().url}/requests?inputs=changed#inputs`);
  }
}

/** The most frequent first. */
function codesOf(rows: readonly { errorCode: string | null }[]): string[] {
  const byCode = Map.groupBy(rows, ({ errorCode }) => errorCode);
  return [...byCode].sort(([, one], [, other]) => other.length - one.length).flatMap(([code]) => code ?? []);
}

/** How many requests the tabs lead to; undefined if sums know nothing of a filter. */
function countsOf({ key, model, route, errorCode, requestId }: RequestFilter, totals: readonly UsageTotal[]) {
  if (errorCode !== undefined || requestId !== undefined) return undefined;
  const { requests, failed, refused } = addUp(filterTotals(totals, { key, model, route }));
  return { all: requests + refused, failed, refused };
}

/** Values of a column, in alphabetical order. */
function namesOf(totals: readonly { model: string; route: string }[], column: 'model' | 'route'): string[] {
  return [...new Set(totals.map((total) => total[column]))].filter((name) => name !== '').sort();
}
