/*
 * The page of an error: its title and words by code, what a person can do, and the request id for the support.
 */

import type { GatewayError } from '../../core/runtime/index.js';
import type { RequestContext } from '../http/index.js';
import { type Html, html } from './html.js';
import { type Locale, localeOf } from './language/index.js';
import { contactUrl, renderPage } from './page.js';

/** Codes after which a visitor signs in. */
const SIGN_IN: ReadonlyMap<string, 'signIn' | 'signInAgain'> = new Map([
  ['not_signed_in', 'signIn'],
  ['sign_in_failed', 'signInAgain'],
  ['sign_in_unavailable', 'signInAgain'],
]);

/** The whole page, in the language of the visitor. */
export function renderFailure({ code, message }: GatewayError, context: RequestContext): string {
  const locale = localeOf(context);
  const t = locale.texts.failure;
  const { title, words = t.wordsOf(code, message) } = t.codes[code] ?? t.other;
  return renderPage(
    {
      title,
      content: html`<div class="frame frame-narrow failure">
<div class="page-head"><h1>${title}</h1><p role="alert">${words}</p></div>
<div class="row">${signInLink(code, locale)}<a class="button button-quiet" href="/">${t.homePage}</a>${supportLink(locale)}</div>
<p class="small muted"><span class="mono">${code}</span><br>${t.request} <span class="mono">${context.state.requestId}</span></p>
</div>`,
    },
    locale,
  );
}

function supportLink({ texts, brand: { support } }: Locale): Html | undefined {
  return support === undefined ? undefined : html`<a href="${contactUrl(support)}">${texts.layout.support}</a>`;
}

function signInLink(code: string, { texts: { failure: t } }: Locale): Html | undefined {
  const label = SIGN_IN.get(code);
  return label && html`<a class="button" href="/login">${t[label]}</a>`;
}
