import type { GatewayError } from 'mediagate';
import { type Html, html, renderPage } from './page.js';

/** What a person may do about it. */
interface Advice {
  title: string;
  /** Instead of the error's own words, which speak to programs. */
  words?: string;
  action?: Html;
}

const SIGN_IN: Html = html`<a class="button" href="/login">Sign in</a>`;
const SIGN_IN_AGAIN: Html = html`<a class="button" href="/login">Sign in again</a>`;

const ADVICE: Readonly<Record<string, Advice>> = {
  route_not_found: { title: 'Page not found', words: 'The address is wrong, or the page no longer exists.' },
  order_not_found: {
    title: 'Order not found',
    words: 'The code is wrong, or the order belongs to another account.',
  },
  not_signed_in: {
    title: 'Sign in first',
    words: 'Your session has ended, or you signed out in another tab. Nothing was changed.',
    action: SIGN_IN,
  },
  sign_in_failed: { title: 'You are not signed in', action: SIGN_IN_AGAIN },
  sign_in_unavailable: { title: 'Signing in is not possible right now', action: SIGN_IN_AGAIN },
  account_suspended: { title: 'This account is suspended' },
  cross_site_request: {
    title: 'This came from another site',
    words: 'Nothing was changed. Go back to the page and try again.',
  },
  rate_limit_exceeded: { title: 'Too many requests' },
  upstream_unavailable: { title: 'This is not possible right now', words: 'Nothing is lost. Try again in a moment.' },
  internal_error: { title: 'Something broke on our side', words: 'It has been logged. Try again in a moment.' },
};

export function renderFailure({ code, message }: GatewayError, requestId: string): string {
  const { title, words = message, action } = ADVICE[code] ?? { title: 'This did not work' };
  return renderPage({
    title,
    content: html`<div class="frame frame-narrow failure">
<div class="page-head"><h1>${title}</h1><p role="alert">${words}</p></div>
<div class="row">${action}<a class="button button-quiet" href="/">Home page</a></div>
<p class="small muted"><span class="mono">${code}</span><br>Request <span class="mono">${requestId}</span></p>
</div>`,
  });
}
