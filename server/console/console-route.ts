/*
 * Declares the pages of the console and the forms on them. Every route has the grant `admin`, so other visitors get the
 * 404 of a path without a route; here a key is refused as well, since pages are for browsers. The frame has the links
 * between the pages. A form that succeeds redirects, so that a reload does not submit it again, and the next page says
 * what was done. One that fails shows its page again with the reason. What a form does is in server/admin, which audits
 * it. Nothing here needs scripts.
 */

import type { Readable } from 'node:stream';
import { type TSchema, Type } from '../../core/contracts/index.js';
import { type ErrorCode, type GatewayError, isGatewayError } from '../../core/runtime/index.js';
import type { AccountServices, Identity } from '../accounts/index.js';
import {
  type AdminActor,
  type AdminServices,
  decodeCursor,
  encodeCursor,
  type ListPage,
  type ListRange,
} from '../admin/index.js';
import { defineRoute, type ParamsContext, type Route, readForm, routeNotFound, seeOther } from '../http/index.js';
import {
  type Html,
  html,
  type Locale,
  linkTo,
  localeOf,
  PAGE_ROUTE,
  type Page,
  pager,
  readTypedDay,
  sendTo,
  type Visit,
} from '../site/index.js';
import { statusOfCode } from '../usage/index.js';
import { renderProblem, statesProblem } from './forms.js';

export interface ConsoleServices extends AdminServices, Pick<AccountServices, 'sessions' | 'site'> {
  identity: Pick<Identity, 'status' | 'applications'>;
}

const MAX_FORM_BYTES = 16_384;
const MAX_FIELD = 200;
/** Fields of a query that are days. */
const DAYS: ReadonlySet<string> = new Set(['from', 'to']);
const MAX_NOTE = 500;
/** Rows of a list: a page stays below 80 kB, and a phone page within reach. */
const ROWS = 20;

/** A request for a page, or a form that was sent. */
export interface ConsoleCall {
  locale: Locale;
  /** For the audit log, with the reason that the form states. */
  by: AdminActor;
  /** Whether the visitor only sees to orders and money, so that other pages are not linked. */
  isBilling: boolean;
  /** A field of the address, at most 200 characters; undefined if it is empty. */
  query(name: string): string | undefined;
  /** A parameter of the path. */
  param(name: string): string;
  /** A field of the form, without blanks around it; empty if it was left out. */
  field(name: string): string;
  /** Names of the fields that the form has. */
  fields: readonly string[];
  /** Why the form failed. */
  problem?: GatewayError;
}

export interface ConsolePage {
  title: string;
  /** Path of its link in the navigation. */
  current: ConsolePath;
  /** A sentence below the title. */
  lead?: Html | string;
  /** The list that the page is part of: a link above the title. Default: it is a list itself. */
  back?: Html;
  /** What one comes here to do, beside the title. */
  primary?: Html | false;
  content: Html;
  scripts?: readonly string[];
}

interface Declared {
  /** Below `/admin`. */
  path: string;
  /** Whether users with the role `billing` see it as well. Default false. */
  forBilling?: boolean;
  summary: string;
  description: string;
  params?: Route['params'];
  errors?: readonly ErrorCode[];
  show(call: ConsoleCall): Promise<ConsolePage>;
}

interface DeclaredPage extends Declared {
  /** Fields of the address: name → what it is. */
  query?: Readonly<Record<string, string>>;
}

interface DeclaredForm extends Declared {
  /** Fields of the form besides the reason: name → what it is. */
  form?: Readonly<Record<string, string>>;
  /** @returns Where it leads, with what was done; or a page that is shown once. */
  run(call: ConsoleCall): Promise<string | ConsolePage>;
}

/** Links by what they are about; those of the first group stand alone. */
const NAVIGATION = {
  first: [''],
  people: ['users', 'invitations', 'keys', 'groups', 'applications'],
  money: ['orders', 'transfers', 'balances'],
  service: ['models', 'requests', 'jobs'],
  watch: ['alerts', 'incidents', 'audit'],
} as const;
type NavigationGroup = keyof typeof NAVIGATION;
type ConsolePath = (typeof NAVIGATION)[NavigationGroup][number];

/** A page. `done` in its address says what a form has just done. */
export function consolePage(services: ConsoleServices, declared: DeclaredPage): Route {
  const { path, forBilling = false, summary, description, params, query = {}, errors = [], show } = declared;
  return defineRoute({
    ...PAGE_ROUTE,
    grant: 'admin',
    forBilling,
    path: `/admin${path}`,
    summary,
    description,
    ...(params && { params }),
    query: describeFields({ ...query, done: 'What a form has just done.' }),
    errors,
    async handler(context) {
      const visit = await visitOf(context, services);
      await send(context, visit, await show(callOf(context, visit)));
    },
  });
}

/** A form of a page, which is shown again if it fails. */
export function consoleForm(services: ConsoleServices, declared: DeclaredForm): Route {
  const { path, forBilling = false, summary, description, params, form = {}, errors = [], show, run } = declared;
  const fields = { ...form, note: 'Reason, for the audit log.' };
  return defineRoute({
    ...PAGE_ROUTE,
    method: 'POST',
    grant: 'admin',
    forBilling,
    path: `/admin${path}`,
    summary,
    description,
    ...(params && { params }),
    body: {
      type: 'application/x-www-form-urlencoded',
      schema: Type.Object(
        Object.fromEntries(
          Object.entries(fields).map(([name, words]) => [name, Type.Optional(Type.String({ description: words }))]),
        ),
      ),
    },
    answers: { 200: PAGE_ROUTE.answers[200], 303: { description: 'To the page, which says what was done.' } },
    errors,
    async handler(context) {
      const visit = await visitOf(context, services);
      const limits = { maxBytes: MAX_FORM_BYTES, budget: services.bodies, owner: visit.signedIn?.user.accountId ?? '' };
      const sent = await readForm(context.req, context.res, limits);
      const call = callOf(context, visit, sent);
      try {
        const done = await run(call);
        if (typeof done === 'string') return seeOther(context, `${services.site().url}/admin${done}`);
        await send(context, visit, done);
      } catch (error) {
        const status = isGatewayError(error) ? statusOfCode(error.code) : 500;
        if (!isGatewayError(error) || status >= 500) throw error;
        const page = await show({ ...call, problem: error });
        context.status = status;
        await send(context, visit, page, error);
      }
    },
  });
}

interface DeclaredFile extends Omit<Declared, 'show'> {
  /** Name for the browser. */
  name: string;
  /** @returns The text as CSV. */
  read(call: ConsoleCall): Promise<Readable>;
}

/** A file of a page. */
export function consoleFile(services: ConsoleServices, declared: DeclaredFile): Route {
  const { path, forBilling = false, summary, description, params, errors = [], name, read } = declared;
  return defineRoute({
    ...PAGE_ROUTE,
    grant: 'admin',
    forBilling,
    path: `/admin${path}`,
    summary,
    description,
    ...(params && { params }),
    answers: { 200: { description: 'The file.', type: 'text/csv' } },
    errors,
    async handler(context) {
      const body = await read(callOf(context, await visitOf(context, services)));
      context.set('Content-Type', 'text/csv; charset=utf-8');
      context.set('Content-Disposition', `attachment; filename="${name}"`);
      context.set('Cache-Control', 'private, no-store');
      context.body = body;
    },
  });
}

function describeFields(
  fields: Readonly<Record<string, string>>,
): Record<string, { schema: TSchema; description: string }> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, description]) => [name, { schema: Type.String(), description }]),
  );
}

/** The guard has admitted an operator; a key is one too, but has no pages. */
async function visitOf(context: ParamsContext, { sessions }: ConsoleServices): Promise<Visit> {
  const signedIn = await sessions.find(context);
  if (signedIn?.session.kind !== 'browser' || context.state.operator === undefined) throw routeNotFound(context);
  return { signedIn, locale: localeOf(context, signedIn.user.language) };
}

function callOf(context: ParamsContext, visit: Visit, form: Readonly<Record<string, string>> = {}): ConsoleCall {
  const field = (name: string) => (Object.hasOwn(form, name) ? (form[name] ?? '').trim() : '');
  const note = field('note').slice(0, MAX_NOTE);
  return {
    locale: visit.locale,
    isBilling: isBilling(visit),
    by: { actor: context.state.operator ?? '', ...(note !== '' && { note }) },
    query(name) {
      const value = context.query[name];
      const text = typeof value === 'string' ? value.trim() : '';
      if (text === '' || text.length > MAX_FIELD) return undefined;
      return DAYS.has(name) ? (readTypedDay(text) ?? text) : text;
    },
    param: (name) => context.params[name] ?? '',
    field,
    fields: Object.keys(form),
  };
}

/** The guard has admitted operators, and users of this role where the route is for them. */
function isBilling({ signedIn }: Visit): boolean {
  return signedIn?.user.role === 'billing';
}

async function send(context: ParamsContext, visit: Visit, page: ConsolePage, problem?: GatewayError): Promise<void> {
  const { locale } = visit;
  const { title, current, lead, back, primary, content, scripts } = page;
  const { done } = context.query;
  const t = locale.texts.console;
  const words =
    typeof done === 'string' && Object.hasOwn(t.done, done) ? t.done[done as keyof typeof t.done] : undefined;
  const framed = html`<div class="frame console">
<nav class="console-nav" aria-label="${t.title}"><details class="fold"><summary>${t.title}</summary>${renderLinks(visit, current, locale)}</details></nav>
<div class="stack console-main">
<div class="page-head"><div>${back && html`<p class="back">${back}</p>`}<h1>${title}</h1>${lead !== undefined && html`<p>${lead}</p>`}</div>${primary}</div>
${words !== undefined && problem === undefined && html`<p class="notice notice-good" role="status" tabindex="-1" autofocus>${words}</p>`}
${problem && ![content, primary || html``].some(statesProblem) && renderProblem(problem, locale)}
${content}
</div></div>`;
  sendTo(context, visit, {
    title: `${title} · ${t.title}`,
    current: '/admin',
    content: framed,
    styles: ['tables.css', 'activity.css', 'console.css'],
    // Text of a user cannot look like the button of a calendar: it is escaped.
    scripts: [...(scripts ?? []), ...(framed.markup.includes('class="day-open') ? ['calendar.js'] : [])],
  } satisfies Omit<Page, 'viewer'>);
}

/** Users with the role `billing` have the pages of money alone. */
function renderLinks(visit: Visit, current: ConsolePath, { texts: { console: t } }: Locale): Html {
  const groups = isBilling(visit) ? (['money'] as const) : (Object.keys(NAVIGATION) as NavigationGroup[]);
  return html`<ul class="nav-groups">${groups.map((group) => {
    const links = NAVIGATION[group].map((path: ConsolePath) => {
      const here = path === current && html` aria-current="page"`;
      const name = t.pages[path === '' ? 'overview' : path];
      return html`<li><a href="/admin${path !== '' && `/${path}`}"${here}>${name}</a></li>`;
    });
    return html`<li>${group !== 'first' && html`<span id="nav-${group}">${t.groupsOfPages[group]}</span>`}<ul${group !== 'first' && html` aria-labelledby="nav-${group}"`}>${links}</ul></li>`;
  })}</ul>`;
}

/** What part of a list the address asks for. @throws GatewayError `invalid_value` for an invented cursor. */
export function rangeOf({ query }: ConsoleCall): ListRange {
  const after = query('after');
  return { limit: ROWS, ...(after !== undefined && { after: decodeCursor(after) }) };
}

/** Links to older rows and back to the newest, with the filters of the page. */
export function pagesOf(
  { query, locale }: ConsoleCall,
  {
    path,
    filters = {},
    next,
  }: { path: string; filters?: Readonly<Record<string, string | undefined>> } & Pick<ListPage<unknown>, 'next'>,
): Html | false {
  const newest = query('after') === undefined ? undefined : linkTo(path, filters);
  return pager({ newest, older: next && linkTo(path, { ...filters, after: encodeCursor(next) }) }, locale);
}

/** One of some values; anything else does not filter. */
export function choiceOf<Value extends string>(text: string | undefined, values: readonly Value[]): Value | undefined {
  return values.find((value) => value === text);
}
