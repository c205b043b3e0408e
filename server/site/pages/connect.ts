/*
 * The page that connects agents: the address of the endpoint, a setup for each client, and what the tools do.
 */

import { KEY_VARIABLE, type SetupClient } from '../../accounts/index.js';
import type { Locale } from '../language/index.js';
import { html, type Page } from '../page.js';
import { clientTabs, setupFact } from './setup.js';

export interface ConnectView {
  clients: readonly SetupClient[];
  /** Address of the endpoint. */
  url: string;
  /** Whether agents can sign in, so that they need no key. */
  signsIn: boolean;
  isSignedIn: boolean;
}

export function connectPage({ clients, url, signsIn, isSignedIn }: ConnectView, locale: Locale): Omit<Page, 'viewer'> {
  const { connect: t, setup } = locale.texts;
  const tools = Object.entries(t.tools);
  return {
    title: t.title,
    description: t.description,
    current: '/setup',
    styles: ['setup.css', 'code.css'],
    content: html`<div class="frame frame-text">
<div class="page-head"><h1>${t.title}</h1><p>${t.lead} ${signsIn ? t.signIn : isSignedIn ? setup.signedIn : setup.signedOut}</p></div>
<dl class="facts setup-facts">${setupFact('mcp-url', setup.address, url, locale)}${!signsIn && setupFact('mcp-header', setup.header, `Authorization: Bearer $${KEY_VARIABLE}`, locale)}</dl>
${clientTabs(clients, locale)}
<section class="stack tool-list"><h2>${t.whatTools}</h2><p class="muted">${t.grants}</p>
<dl class="facts">${tools.map(([name, text]) => html`<div><dt><code>${name}</code></dt><dd>${text}</dd></div>`)}</dl></section>
</div>`,
  };
}
