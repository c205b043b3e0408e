/*
 * The setup page, with commands to copy for each kind of client.
 */

import { KEY_VARIABLE, type SetupClient } from '../../accounts/index.js';
import type { Locale } from '../language/index.js';
import { codeBlock, type Html, html, type Page } from '../page.js';

export interface SetupView {
  clients: readonly SetupClient[];
  baseUrl: string;
  isSignedIn: boolean;
  /** Whether there is a page that connects agents. */
  connects: boolean;
}

export function setupPage({ clients, baseUrl, isSignedIn, connects }: SetupView, locale: Locale): Omit<Page, 'viewer'> {
  const t = locale.texts.setup;
  return {
    title: t.title,
    description: t.description,
    current: '/setup',
    scripts: ['tabs.js'],
    content: html`<div class="frame frame-text">
<div class="page-head"><h1>${t.title}</h1><p>${t.lead(html`<code>${KEY_VARIABLE}</code>`)} ${isSignedIn ? t.signedIn : t.signedOut}${connects && html` <a href="/connect">${locale.texts.connect.link}</a>.`}</p></div>
<dl class="facts setup-facts"><div><dt>${t.address}</dt><dd><code>${baseUrl}/v1</code></dd></div><div><dt>${t.header}</dt><dd><code>Authorization: Bearer $${KEY_VARIABLE}</code></dd></div></dl>
${clientTabs(clients, locale)}
</div>`,
  };
}

/** A tab with files and commands for each client. */
export function clientTabs(clients: readonly SetupClient[], locale: Locale): Html {
  const t = locale.texts.setup;
  const titleOf = ({ id, title }: SetupClient) => t.titles[id] ?? title;
  return html`<div class="tabs">
<div role="tablist" aria-label="${t.clients}" class="tab-list needs-script">${clients.map(
    (client, index) =>
      html`<button type="button" class="tab" role="tab" id="tab-${client.id}" aria-controls="${client.id}" aria-selected="${index === 0 ? 'true' : 'false'}"${index > 0 && html` tabindex="-1"`}>${titleOf(client)}</button>`,
  )}</div>
${clients.map(
  (
    client,
  ) => html`<section class="tab-panel stack" id="${client.id}" role="tabpanel" aria-labelledby="tab-${client.id}">
<h2>${titleOf(client)}</h2>
<p class="muted">${t.summaries[client.id] ?? client.summary}</p>
${codeOf(client, locale)}
</section>`,
)}
</div>`;
}

function codeOf({ id, files, commands }: SetupClient, locale: Locale): Html {
  const blocks = [
    ...files.map(({ path, content }, index) => ({
      id: `${id}-file-${index + 1}`,
      title: path,
      text: content.trimEnd(),
    })),
    { id: `${id}-shell`, title: locale.texts.setup.shell, text: shellOf(commands) },
  ];
  return html`${blocks.map((block) => codeBlock(block, locale))}`;
}

/** Long commands get a block of their own. */
function shellOf(commands: SetupClient['commands']): string {
  return commands.join(commands.some((command) => command.includes('\n')) ? '\n\n' : '\n');
}
