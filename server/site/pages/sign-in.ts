/*
 * The sign-in page, and the pages on which a user approves or denies a program that requests access. The first names the
 * identity provider or offers passkeys, and says what is asked for and stored, and the operator's terms. The others show the program's own name as
 * text of a stranger, with its code, and what it may do.
 */

import type { SignInStatus } from '../../accounts/index.js';
import type { Locale } from '../language/index.js';
import { type Html, html, type Page, scriptedButton } from '../page.js';
import { renderElsewhere } from './passkeys.js';

export interface SignInView {
  status: SignInStatus;
  /** Scheme, host and port of the site. */
  origin: string;
  /** Path of the site to continue at. */
  returnTo: string;
  /** No user exists yet: the first one becomes the operator. */
  isFirst: boolean;
  /** Whether an application asks for a new sign-in. Default false. */
  isAgain?: boolean;
}

export function signInPage(view: SignInView, locale: Locale): Omit<Page, 'viewer'> {
  const { status, origin } = view;
  const { signIn: t, passkeys: p } = locale.texts;
  const { state, oidc, reason, passkeys } = status;
  const isOidc = oidc === 'ready';
  // The first person has none.
  const hasPasskeys = passkeys.state === 'ready' && !(isOidc && view.isFirst);
  const [asked, neverAsked] = isOidc ? [t.whatWeGetWords, t.neverAskedWords] : [p.whatWeGetWords, p.neverAskedWords];
  return {
    title: t.title,
    current: '/login',
    scripts: hasPasskeys ? ['passkeys.js'] : [],
    styles: ['sign-in.css'],
    content: html`<div class="frame frame-narrow sign-in">
<div class="page-head"><h1>${t.title}</h1><p>${isOidc ? t.where(providerName(status, locale)) : p.where}</p></div>
<div class="card stack">
${state === 'off' && html`<p class="problem" role="alert">${t.impossible} <span lang="en">${reason} ${passkeys.reason}</span></p>`}
${isOidc && status.standIn && renderDevelopment(view, locale)}
${hasPasskeys && renderElsewhere(origin, locale)}
${isOidc && renderProvider(view, locale)}
${hasPasskeys && renderPasskeys(view, locale)}
${acceptedTerms(locale)}
</div>
<dl class="promises">
<div><dt>${t.whatWeGet}</dt><dd>${asked}</dd></div>
<div><dt>${t.neverAsked}</dt><dd>${neverAsked}</dd></div>
<div><dt>${t.stored}</dt><dd>${t.storedWords}</dd></div>
</dl>
</div>`,
  };
}

function providerName({ standIn, provider }: SignInStatus, { texts: { signIn: t } }: Locale): Html {
  return html`<strong>${standIn ? t.developmentProviderAt : (provider ?? t.unnamedProvider)}</strong>`;
}

function renderProvider({ status, returnTo, isAgain = false }: SignInView, { texts: { signIn: t } }: Locale): Html {
  const { standIn, provider = t.unnamedProvider } = status;
  const start = `/signin?return_to=${encodeURIComponent(returnTo)}${isAgain ? '&again=1' : ''}`;
  return html`<a class="button" href="${start}">${t.continueWith(standIn ? t.developmentProvider : provider)}</a>`;
}

/** What the development provider means is read before the button. */
function renderDevelopment({ isFirst }: SignInView, { texts: { signIn: t } }: Locale): Html {
  return html`<div class="notice notice-warn small stack-small">${isFirst && html`<p>${t.first}</p>`}<p>${t.development}</p></div>`;
}

/** Beside the development provider it is the second way. */
function renderPasskeys({ status, returnTo }: SignInView, { texts: { passkeys: t } }: Locale): Html {
  const kind = status.oidc === 'ready' ? 'button-quiet' : '';
  return html`<form class="stack" data-passkey="sign-in" data-return="${returnTo}">${scriptedButton(t.signIn, kind)}
<p class="problem" role="alert"></p></form>
<p class="needs-no-script small muted">${t.needsScripts}</p>
<p class="small muted"><a href="/recover">${t.lost}</a></p>
${!status.standIn && html`<p class="small muted">${t.invitedOnly}</p>`}`;
}

function acceptedTerms({ texts: { signIn: t }, brand: { termsUrl, privacyUrl } }: Locale): Html | undefined {
  const terms = termsUrl && html`<a href="${termsUrl}">${t.terms}</a>`;
  const privacy = privacyUrl && html`<a href="${privacyUrl}">${t.privacy}</a>`;
  const one = terms || privacy;
  if (!one) return undefined;
  return html`<p class="small muted">${terms && privacy ? t.acceptBoth(terms, privacy) : t.acceptOne(one)}</p>`;
}

/** The form for a program's user code. @param wrong The last code, which was invalid. */
export function deviceCodePage({ texts }: Locale, wrong?: string): Page {
  const t = texts.signIn.device;
  const isWrong = wrong !== undefined;
  return devicePage(
    t.title,
    t.words,
    html`<form class="card stack" method="get" action="/device">
<p class="problem" role="alert" id="code-problem">${isWrong && t.wrong}</p>
<div class="field"><label for="user_code">${t.code}</label>
<input class="input user-code-input" id="user_code" name="user_code" required maxlength="12" placeholder="XXXX-XXXX"${isWrong && html` value="${wrong.slice(0, 12)}" aria-invalid="true" aria-describedby="code-problem" autofocus`} autocomplete="off" autocapitalize="characters" spellcheck="false"></div>
<button class="button">${t.continue}</button>
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
export function deviceAnswerPage(
  { clientName, label, userCode, shownCode }: DeviceAnswerView,
  { texts }: Locale,
): Page {
  const t = texts.signIn.device;
  return devicePage(
    t.askTitle,
    t.ask(html`<strong><bdi>${clientName}</bdi></strong>`, html`<strong><bdi>${label}</bdi></strong>`),
    html`<div class="card stack">
<div><p class="small muted">${t.mustShow}</p>
<p class="user-code">${shownCode}</p></div>
<div class="stack-small"><p class="small muted">${t.may}</p>
<ul class="ticks">${t.rights.map((right) => html`<li>${right}</li>`)}</ul>
<p class="small muted">${t.cannot} ${t.holds}</p></div>
<p class="notice notice-warn">${t.warning}</p>
<form class="row" method="post" action="/device">
<input type="hidden" name="user_code" value="${userCode}">
<button class="button" name="answer" value="approve">${t.allow}</button>
<button class="button button-quiet" name="answer" value="deny">${t.deny}</button>
</form>
</div>`,
  );
}

export type DeviceAnswer = 'approve' | 'deny';

export function deviceDonePage(answer: DeviceAnswer, { texts: { signIn } }: Locale): Page {
  const t = signIn.device;
  const [title, words] = answer === 'approve' ? [t.allowed, t.allowedWords] : [t.denied, t.deniedWords];
  return devicePage(
    title,
    words,
    html`<div class="row"><a class="button button-quiet" href="/dashboard">${signIn.dashboard}</a></div>`,
  );
}

function devicePage(title: string, words: Html | string, content: Html): Page {
  return {
    title,
    styles: ['sign-in.css'],
    content: html`<div class="frame frame-narrow"><div class="page-head"><h1>${title}</h1><p>${words}</p></div>
${content}</div>`,
  };
}
