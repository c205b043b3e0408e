import type { SignInStatus } from '../../account/identity.js';
import { html } from '../html.js';
import type { Page } from '../page.js';

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
<div class="page-head"><h1>Sign in</h1><p>You go to <strong>${standIn ? 'the development identity provider' : provider}</strong>, and come back here signed in.
The first time makes your account.</p></div>
<div class="card stack">
${
  state === 'ready'
    ? html`<a class="button" href="${start}">Continue with ${standIn ? 'the development provider' : provider}</a>`
    : html`<p class="problem" role="alert">Nobody can sign in at the moment. ${reason}</p>`
}
${standIn && html`<p class="notice notice-warn"><strong>For development.</strong> Anyone can sign in as anyone there. It serves this machine alone, and gives way once <code>OIDC_ISSUER</code> is set.</p>`}
</div>
<dl class="promises">
<div><dt>What we get</dt><dd>Who you are there, and the name and email address that go with it.</dd></div>
<div><dt>What we never ask for</dt><dd>Your password. It is typed at the identity provider or nowhere.</dd></div>
<div><dt>What is kept here</dt><dd>One cookie while you are signed in: 12 hours without a visit end it, 7 days end it in any case.</dd></div>
</dl>
</div>`,
  };
}
