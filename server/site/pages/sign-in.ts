import type { SignInStatus } from '../../accounts/index.js';
import type { Page } from '../page.js';
import { html } from '../page.js';

export interface SignInView {
  status: SignInStatus;
  /** Where to go on to; a path of the site. */
  returnTo: string;
}

export function signInPage({ status, returnTo }: SignInView): Omit<Page, 'viewer'> {
  const { state, provider = 'your identity provider', standIn, reason } = status;
  const start = `/signin?return_to=${encodeURIComponent(returnTo)}`;
  return {
    title: 'Sign in',
    current: '/login',
    content: html`<div class="frame frame-narrow sign-in">
<div class="page-head"><h1>Sign in</h1><p>You sign in at <strong>${standIn ? 'the development identity provider' : provider}</strong> and come back here.
Your account is created the first time.</p></div>
<div class="card stack">
${
  state === 'ready'
    ? html`<a class="button" href="${start}">Continue with ${standIn ? 'the development provider' : provider}</a>`
    : html`<p class="problem" role="alert">Nobody can sign in at the moment. ${reason}</p>`
}
${standIn && html`<p class="notice notice-warn"><strong>For development.</strong> Anyone can sign in as anyone there. It works on this machine only, until <code>OIDC_ISSUER</code> names a real provider.</p>`}
</div>
<dl class="promises">
<div><dt>What we get</dt><dd>Your id there, with your name and email address.</dd></div>
<div><dt>What we never ask for</dt><dd>Your password. You enter it only at the identity provider.</dd></div>
<div><dt>What is kept here</dt><dd>One cookie while you are signed in. It ends after 12 hours without a visit, and after 7 days in any case.</dd></div>
</dl>
</div>`,
  };
}
