/*
 * The page on which a user connects an agent, the page after the answer, and the list of connected agents on the
 * dashboard. All of them work without scripts. Names of programs are texts of strangers; the page says who vouches for
 * them, where the access goes, and what the agent may do.
 */

import type { AccessRequest, ConnectionRecord } from '../../identity/index.js';
import type { Grant } from '../../keys/index.js';
import type { Locale } from '../language/index.js';
import { type Html, html, type Page } from '../page.js';

export interface ConsentView extends AccessRequest {
  /** What the account may use of it. */
  allowed: readonly Grant[];
  /** The user it would act for. */
  label: string;
  /** Where the form is sent. */
  action: string;
  /** Proves that the answer comes from this page and this session. */
  formToken: string;
}

/** Field of the form by which the user allows a grant. */
export function rightField(grant: Grant): string {
  return `may_${grant}`;
}

export function consentPage(view: ConsentView, locale: Locale): Omit<Page, 'viewer'> {
  const t = locale.texts.agents;
  const { program, allowed, label } = view;
  const name = html`<bdi>${program.name}</bdi>`;
  return {
    title: t.title,
    content: html`<div class="frame frame-narrow consent"><div class="page-head"><h1>${t.askTitle(name)}</h1>
<p>${t.ask(html`<strong>${name}</strong>`, html`<strong><bdi>${label}</bdi></strong>`)}</p></div>
<div class="card stack">
${renderOrigin(view, locale)}
<form class="stack" method="post" action="${view.action}">
<input type="hidden" name="form_token" value="${view.formToken}">
${allowed.length > 0 ? renderRights(view, locale) : html`<p class="problem" role="alert">${t.nothing}</p>`}
<div class="row">
${allowed.length > 0 && html`<button class="button" name="answer" value="allow">${t.allow}</button>`}
<button class="button button-quiet" name="answer" value="deny">${t.deny}</button>
</div></form>
</div></div>`,
  };
}

function renderOrigin({ program, isLocal, isApp }: ConsentView, { texts: { agents: t } }: Locale): Html {
  const place = html`<code>${program.redirectHost}</code>`;
  const publisher = program.host === null ? t.unknownPublisher : html`<code>${program.host}</code>`;
  return html`<dl class="facts facts-line"><div><dt>${t.publisher}</dt><dd>${publisher}</dd></div>
<div><dt>${t.destination}</dt><dd>${isLocal ? t.local(place) : isApp ? t.app(place) : place}</dd></div>
<div><dt>${t.ends}</dt><dd>${t.endsWhen}</dd></div></dl>`;
}

function renderRights({ grants, allowed, isLocal }: ConsentView, { texts: { agents: t } }: Locale): Html {
  const withheld = grants.filter((grant) => !allowed.includes(grant)).map((grant) => t.rights[grant]);
  return html`<fieldset class="field"><legend>${t.may}</legend><div class="checks checks-long">
${allowed.map((grant) => html`<label class="check"><input type="checkbox" name="${rightField(grant)}" checked> <span>${t.rights[grant]}</span></label>`)}</div></fieldset>
${withheld.length > 0 && html`<p class="small muted">${t.withheld(withheld.join('; '))}</p>`}
<p class="small muted">${t.limits}</p>
<p class="notice notice-warn">${isLocal ? t.warningLocal : t.warning}</p>`;
}

/** @param path Where the browser goes on by itself. */
export function answeredPage(isAllowed: boolean, path: string, { texts: { agents: t } }: Locale): Omit<Page, 'viewer'> {
  const title = isAllowed ? t.allowed : t.denied;
  return {
    title,
    content: html`<div class="frame frame-narrow"><div class="page-head"><h1>${title}</h1><p>${t.goesOn}</p></div>
<div class="row"><a class="button" href="${path}">${t.goOn}</a></div></div>`,
  };
}

/** The card of the dashboard. */
export function renderConnections(connections: readonly ConnectionRecord[], locale: Locale): Html {
  const t = locale.texts.agents;
  return html`<section class="card stack" id="agents" aria-labelledby="agents-title"><h2 id="agents-title">${t.connected}</h2>
<p class="small muted">${t.connectedWords} ${t.disconnectWords}</p>
<ul class="rows">${connections.map((each) => renderConnection(each, locale))}</ul></section>`;
}

function renderConnection(connection: ConnectionRecord, { texts, day }: Locale): Html {
  const t = texts.agents;
  const { id, name, host, redirectHost, grants, createdAt, expiresAt, lastUsedAt } = connection;
  return html`<li><div><span><bdi>${name}</bdi></span>
<span class="small muted"><code>${host ?? redirectHost}</code></span>
<span class="small">${grants.map((grant) => t.rights[grant]).join('; ')}</span>
<span class="small muted">${t.since(day(createdAt))}, ${lastUsedAt === null ? t.unused : t.lastUsed(day(lastUsedAt))}, ${t.until(day(expiresAt))}</span></div>
<div class="rows-end"><form method="post" action="/agents/${id}/disconnect"><button class="button button-quiet button-small">${t.disconnect}<span class="visually-hidden"> ${name}</span></button></form></div></li>`;
}
