/*
 * The page of an error: what it is, why in plain words, what a person can do, with the place where that is done, and the
 * request id for the support. A wrong address gets the page that has nearly this address, a search, and the places where
 * most people go. The code is in the markup alone.
 */

import { retentionMs } from '../../core/jobs/index.js';
import { closestMatch, type GatewayError } from '../../core/runtime/index.js';
import type { RequestContext } from '../http/index.js';
import { type Html, html } from './html.js';
import { type Locale, localeOf } from './language/index.js';
import { contactUrl, copyButton, renderPage } from './page.js';
import { viewerOf } from './visit.js';

const DAY_MS = 24 * 60 * 60 * 1_000;

type Label = 'signIn' | 'signInAgain' | 'console' | 'images' | 'orders' | 'keys' | 'plans';

/** Where people go on, by code. */
const NEXT: ReadonlyMap<string, readonly [path: string, label: Label]> = new Map([
  ['not_signed_in', ['/login', 'signIn']],
  ['sign_in_failed', ['/login', 'signInAgain']],
  ['sign_in_unavailable', ['/login', 'signInAgain']],
  ['invitation_invalid', ['/login', 'signIn']],
  ['image_not_found', ['/images', 'images']],
  ['order_not_found', ['/orders', 'orders']],
  ['too_many_open_orders', ['/orders', 'orders']],
  ['key_not_found', ['/keys', 'keys']],
  ['insufficient_quota', ['/plans', 'plans']],
]);

/** Codes whose message says more than the words of the code: which value, which limit, whose fault. Messages are English. */
const DETAILED = new Set([
  'invalid_value',
  'request_too_large',
  'insufficient_quota',
  'sign_in_failed',
  'sign_in_unavailable',
]);

/** The whole page, in the language of the visitor. The header shows a session that is known. */
export async function renderFailure({ code, message }: GatewayError, context: RequestContext): Promise<string> {
  const signedIn = await context.state.signedIn?.catch(() => undefined);
  const locale = localeOf(context, signedIn?.user.language);
  const { failure: t, errors } = locale.texts;
  const { path: at = '' } = context;
  const kind = code === 'job_not_found' && at.startsWith('/images') ? 'image_not_found' : code;
  const known = t.codes[kind];
  const { title, words = errors.meaningOf(code), next } = known ?? t.other;
  const period = kind === 'image_not_found' && t.imagePeriod(retentionMs('image') / DAY_MS);
  const isConsole = at.startsWith('/admin/') && context.state.operator !== undefined;
  const [path, label] = isConsole ? (['/admin', 'console'] as const) : (NEXT.get(kind) ?? []);
  return renderPage(
    {
      title,
      viewer: signedIn && viewerOf(signedIn, locale),
      content: html`<div class="frame frame-narrow failure" data-code="${code}">
<div class="page-head"><h1>${title}</h1><p role="alert">${period && html`${period} `}${words} ${next}</p></div>
${
  code === 'route_not_found'
    ? otherPages(at, locale)
    : html`<div class="row">${path !== undefined && label !== undefined && html`<a class="button" href="${path}">${t[label]}</a>`}<a class="button${path !== undefined && html` button-quiet`}" href="/">${t.homePage}</a>${supportLink(locale)}</div>`
}
<dl class="facts small">${locale.language === 'en' && (!known || DETAILED.has(code)) && html`<div><dt>${t.detail}</dt><dd>${message}</dd></div>`}<div><dt>${t.request}</dt><dd class="row"><code id="request-id">${context.state.requestId}</code>${copyButton('request-id', t.request, locale)}</dd></div></dl>
</div>`,
    },
    locale,
  );
}

/** Paths of pages that a wrong address may have been meant to lead to. */
const PATHS = [
  ...['/dashboard', '/keys', '/usage', '/requests', '/images', '/orders', '/plans'],
  ...['/models', '/playground', '/setup', '/docs', '/status', '/login'],
];
const PLACES = ['playground', 'models', 'setup', 'docs'] as const;

const MAX_QUERY = 100;

/** The words of a path, to search for them. */
function wordsOf(at: string): string {
  const words = decoded(at)
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '');
  return words.join(' ').slice(0, MAX_QUERY);
}

function decoded(at: string): string {
  try {
    return decodeURIComponent(at);
  } catch {
    return at;
  }
}

/** Where a wrong address may have been meant to lead. */
function otherPages(at: string, locale: Locale): Html {
  const { failure: t, layout, documentation } = locale.texts;
  const meant = closestMatch(at, PATHS);
  return html`${meant !== undefined && html`<div class="row"><a class="button" href="${meant}">${t.meant(meant)}</a></div>`}
<form class="form-row" role="search" action="/docs/search"><div class="field"><label for="failure-query">${documentation.searchLabel}</label><input class="input" id="failure-query" name="q" type="search" value="${wordsOf(at)}" maxlength="${MAX_QUERY}" required></div><button class="button${meant !== undefined && html` button-quiet`}">${documentation.search}</button></form>
<ul class="failure-places">${PLACES.map((place) => html`<li><a href="/${place}">${layout[place]}</a><span class="small muted">${t.places[place]}</span></li>`)}</ul>
${locale.brand.support !== undefined && html`<div class="row">${supportLink(locale)}</div>`}`;
}

function supportLink({ texts, brand: { support } }: Locale): Html | undefined {
  return support === undefined ? undefined : html`<a href="${contactUrl(support)}">${texts.layout.support}</a>`;
}
