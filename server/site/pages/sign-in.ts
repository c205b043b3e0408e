/*
 * The sign-in page, and the pages on which a user approves or denies a program that requests access.
 */

import type { SignInStatus } from '../../accounts/index.js';
import { type Html, html, type Page } from '../page.js';

export interface SignInView {
  status: SignInStatus;
  /** Path of the site to continue at. */
  returnTo: string;
  /** No user exists yet: the first one becomes the operator. */
  isFirst: boolean;
}

export function signInPage({ status, returnTo, isFirst }: SignInView): Omit<Page, 'viewer'> {
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
${standIn && isFirst && html`<p class="notice"><strong>You are the first.</strong> The first person who signs in here becomes the operator of this gateway, with every grant and without the limits of a plan.</p>`}
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

/** The form for a program's user code. @param wrong The last code, which was invalid. */
export function deviceCodePage(wrong?: string): Page {
  const isWrong = wrong !== undefined;
  return devicePage(
    'Connect a program',
    'Enter the code that the program shows. You then see what it asks for.',
    html`<form class="card stack" method="get" action="/device">
<p class="problem" role="alert" id="code-problem">${isWrong && 'Code not found. Compare it with the one that the program shows, or start again there. Codes work once and expire after 10 minutes.'}</p>
<div class="field"><label for="user_code">The code that the program shows</label>
<input class="input user-code-input" id="user_code" name="user_code" required maxlength="12" placeholder="BCDF-GHJK"${isWrong && html` value="${wrong.slice(0, 12)}" aria-invalid="true" aria-describedby="code-problem" autofocus`} autocomplete="off" autocapitalize="characters" spellcheck="false"></div>
<button class="button">Continue</button>
</form>`,
  );
}

export interface DeviceAnswerView {
  clientName: string;
  /** The user it would act for. */
  label: string;
  userCode: string;
  /** In the most readable form. */
  shownCode: string;
}

/** The form to approve or deny a program. */
export function deviceAnswerPage({ clientName, label, userCode, shownCode }: DeviceAnswerView): Page {
  return devicePage(
    'Connect this program?',
    html`A program that calls itself <strong><bdi>${clientName}</bdi></strong> asks to act for <strong><bdi>${label}</bdi></strong>.`,
    html`<div class="card stack">
<p>It must show this code:</p>
<p class="user-code">${shownCode}</p>
<ul class="ticks"><li>See the account</li><li>Create and revoke its API keys</li><li>Order plans</li><li>For 12 hours</li></ul>
<p class="notice notice-warn">Allow this only if you have just started it yourself. Nobody else has a reason to send you here.</p>
<form class="row" method="post" action="/device">
<input type="hidden" name="user_code" value="${userCode}">
<button class="button" name="answer" value="approve">Allow</button>
<button class="button button-quiet" name="answer" value="deny">Deny</button>
</form>
</div>`,
  );
}

export type DeviceAnswer = 'approve' | 'deny';

export function deviceDonePage(answer: DeviceAnswer): Page {
  const [title, words] =
    answer === 'approve'
      ? ['Program connected', 'The program continues by itself. You can close this page.']
      : ['Request denied', 'The program was not connected. You can close this page.'];
  return devicePage(
    title,
    words,
    html`<div class="row"><a class="button button-quiet" href="/dashboard">Dashboard</a></div>`,
  );
}

function devicePage(title: string, words: Html | string, content: Html): Page {
  return {
    title,
    content: html`<div class="frame frame-narrow"><div class="page-head"><h1>${title}</h1><p>${words}</p></div>
${content}</div>`,
  };
}
