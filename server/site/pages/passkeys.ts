/*
 * The pages of an invitation, of a recovery code, and of a user's own passkeys. Ceremonies need scripts, since a browser
 * has no other way to ask for a passkey; the list can be read without. Recovery codes are in a page only after a script
 * has put them there, once. Each page that needs the address of the site says where that is.
 */

import type { PasskeyStatus } from '../../accounts/index.js';
import type { PasskeyRecord } from '../../passkeys/index.js';
import type { Locale } from '../language/index.js';
import { copyButton, emptyState, type Html, html, type Page, scriptedButton } from '../page.js';

const SCRIPTS = ['api-forms.js', 'passkeys.js'];
const MAX_NAME = 100;

/** Where passkeys of the site work. */
export interface PasskeyPlace {
  status: PasskeyStatus;
  /** Scheme, host and port of the site. */
  origin: string;
}

/** Shown by the script where the page was opened at another address. */
export function renderElsewhere(origin: string, { texts: { passkeys: t } }: Locale): Html {
  const link = html`<a href="${origin}">${origin}</a>`;
  return html`<p class="notice notice-warn" data-elsewhere="${origin}" hidden>${t.elsewhere(link)}</p>`;
}

export function invitationPage({ status, origin }: PasskeyPlace, locale: Locale): Omit<Page, 'viewer'> {
  const t = locale.texts.passkeys;
  const { invited } = t;
  const roles = (Object.keys(invited) as (keyof typeof invited)[]).map(
    (role) => html`<p data-invited="${role}" hidden>${invited[role]}</p>`,
  );
  const form = html`${renderElsewhere(origin, locale)}
<p class="problem" role="alert" id="invitation-problem"></p>
<p id="invitation-advice" hidden>${t.invalidAdvice}</p>
<form class="card stack" data-passkey="accept" hidden>
${roles}
<div class="field"><label for="invited-name">${t.name}</label>
<input class="input" id="invited-name" name="name" required maxlength="${MAX_NAME}" autocomplete="name"></div>
${scriptedButton(t.create)}
<p class="problem" role="alert"></p>
</form>
${renderNewCodes('/dashboard', locale)}
<p class="needs-no-script small muted">${t.needsScripts}</p>`;
  return {
    title: t.invitation,
    scripts: SCRIPTS,
    styles: ['sign-in.css'],
    content: html`<div class="frame frame-narrow sign-in">
<div class="page-head"><h1>${t.invitation}</h1><p>${t.invitationWords(html`<strong>${locale.brand.name}</strong>`)}</p></div>
<div class="stack">${status.state === 'ready' ? form : renderUnavailable(status, locale)}</div>
</div>`,
  };
}

/** Also where the sign-in page has a passkey button no longer. */
export function recoveryPage({ status, origin }: PasskeyPlace, locale: Locale): Omit<Page, 'viewer'> {
  const t = locale.texts.passkeys;
  const form = html`${renderElsewhere(origin, locale)}
<form class="card stack" data-api="POST /api/passkeys/recover" data-then="/passkeys?done=recovered" data-problem="problem-code">
<div class="field"><label for="code">${t.code}</label>
<input class="input user-code-input" id="code" name="code" required maxlength="40" placeholder="XXXX-XXXX-XXXX-XXXX" autocomplete="off" autocapitalize="characters" spellcheck="false"></div>
<p class="problem" role="alert" id="problem-code"></p>
${scriptedButton(t.recoverButton)}
</form>
<p class="small muted">${t.lostAll}</p>
<p class="needs-no-script small muted">${t.needsScripts}</p>`;
  return {
    title: t.recover,
    scripts: SCRIPTS,
    styles: ['sign-in.css'],
    content: html`<div class="frame frame-narrow sign-in">
<div class="page-head"><h1>${t.recover}</h1><p>${t.recoverWords}</p></div>
<div class="stack">${status.state === 'ready' ? form : renderUnavailable(status, locale)}</div>
</div>`,
  };
}

export interface OwnPasskeysView extends PasskeyPlace {
  passkeys: readonly PasskeyRecord[];
  codesLeft: number;
  /** What was just done. */
  done?: 'added' | 'saved' | 'removed' | 'recovered';
}

export function ownPasskeysPage(view: OwnPasskeysView, locale: Locale): Omit<Page, 'viewer'> {
  const t = locale.texts.passkeys;
  const { status, origin, passkeys, codesLeft, done } = view;
  const tone = done === 'recovered' ? 'notice-warn' : 'notice-good';
  const list = html`<ul class="rows">${passkeys.map((each) => renderPasskey(each, view, locale))}</ul>`;
  const add = html`<form class="stack needs-script" data-passkey="add"><div class="row">${scriptedButton(t.add)}</div><p class="problem" role="alert"></p></form>`;
  return {
    title: t.title,
    current: '/dashboard',
    scripts: SCRIPTS,
    styles: ['sign-in.css'],
    content: html`<div class="frame frame-text">
<div class="page-head"><h1>${t.title}</h1><p>${t.words}</p></div>
<div class="stack">
${done && html`<p class="notice ${tone}" tabindex="-1" autofocus>${t[done]}</p>`}
${renderElsewhere(origin, locale)}
${status.state === 'off' && renderUnavailable(status, locale)}
<section class="card stack" aria-labelledby="passkeys"><h2 id="passkeys">${t.yours}</h2>
${passkeys.length === 0 ? emptyState(t.none, t.noneWords) : list}
${status.state === 'ready' && add}
<p class="needs-no-script small muted">${t.needsScripts}</p></section>
${passkeys.length > 0 && renderCodes(codesLeft, locale)}
</div>
</div>`,
  };
}

function renderPasskey(
  { id, name, kind, host, createdAt, lastUsedAt }: PasskeyRecord,
  { status, passkeys }: OwnPasskeysView,
  locale: Locale,
): Html {
  const { texts, day } = locale;
  const t = texts.passkeys;
  const isElsewhere = status.state === 'ready' && status.host !== host;
  return html`<li class="key"><div><span class="key-name"><bdi>${name}</bdi></span>
<span class="small muted">${isElsewhere ? t.otherHost(host) : t[kind]}</span>
<span class="small muted">${t.created(day(createdAt))} · ${lastUsedAt === null ? t.unused : t.lastUsed(day(lastUsedAt))}</span></div>
<div class="rows-end needs-script">${passkeys.length > 1 && renderRemoval(id, name, locale)}</div>
<details class="needs-script"><summary>${t.rename}<span class="visually-hidden"> ${name}</span></summary>
<form class="stack" data-api="POST /api/passkeys/${id}" data-then="/passkeys?done=saved" data-problem="problem-${id}">
<div class="form-row"><div class="field"><label for="name-${id}">${t.newName}</label>
<input class="input" id="name-${id}" name="name" value="${name}" required maxlength="${MAX_NAME}" autocomplete="off"></div>${scriptedButton(t.save)}</div>
<p class="problem" role="alert" id="problem-${id}"></p></form></details></li>`;
}

function renderRemoval(id: string, name: string, { texts: { passkeys: t } }: Locale): Html {
  return html`<form data-api="POST /api/passkeys/${id}/remove" data-then="/passkeys?done=removed"
data-confirm="${t.confirm(name)}" data-confirm-label="${t.remove}" data-confirm-bad data-problem="problem-${id}">
${scriptedButton(html`${t.remove}<span class="visually-hidden"> ${name}</span>`, 'button-quiet button-small')}</form>`;
}

function renderCodes(left: number, locale: Locale): Html {
  const t = locale.texts.passkeys;
  return html`<section class="card stack" aria-labelledby="recovery"><h2 id="recovery">${t.codesTitle}</h2>
<p class="small muted">${t.codesLeft(left)}</p>
${renderNewCodes('/passkeys', locale)}
<form class="needs-script" data-api="POST /api/passkeys/recovery-codes" data-show="recovery-codes" data-key="text"
data-confirm="${t.renewConfirm}" data-confirm-label="${t.renew}" data-problem="problem-codes">
${scriptedButton(t.renew, 'button-quiet')}</form>
<p class="problem" role="alert" id="problem-codes"></p></section>`;
}

/** Hidden until a script has put codes into it. @param path Where the page goes on. */
function renderNewCodes(path: string, locale: Locale): Html {
  const t = locale.texts.passkeys;
  return html`<div class="new-key stack" id="new-codes" tabindex="-1" hidden>
<h2>${t.codesTitle}</h2>
<p>${t.codesWords}</p>
<pre class="recovery-codes"><code id="recovery-codes"></code></pre>
<div class="row"><a class="button button-small" href="${path}">${t.stored}</a>${copyButton('recovery-codes', t.codes, locale)}</div>
</div>`;
}

function renderUnavailable({ reason }: PasskeyStatus, { texts: { passkeys: t } }: Locale): Html {
  return html`<p class="problem" role="alert">${t.unavailable} <span lang="en">${reason}</span></p>`;
}
