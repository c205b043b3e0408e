/*
 * The setup page, with commands to copy for each kind of client.
 */

import { KEY_VARIABLE, type SetupClient } from '../../accounts/index.js';
import type { Locale } from '../language/index.js';
import { codeBlock, html, type Page } from '../page.js';

export interface SetupView {
  clients: readonly SetupClient[];
  baseUrl: string;
  isSignedIn: boolean;
}

export function setupPage({ clients, baseUrl, isSignedIn }: SetupView, locale: Locale): Omit<Page, 'viewer'> {
  return {
    title: 'Client setup',
    description: 'Copy a working setup for curl, the OpenAI packages or a coding agent.',
    current: '/setup',
    scripts: ['tabs.js'],
    content: html`<div class="frame frame-text">
<div class="page-head"><h1>Client setup</h1><p>All examples read the key from <code>${KEY_VARIABLE}</code>, so that it never gets into a
file that is shared. ${isSignedIn ? html`You create keys on <a href="/dashboard">the dashboard</a>.` : html`<a href="/login?return_to=/dashboard">Sign in</a> to create one.`}</p></div>
<dl class="facts setup-facts"><div><dt>Address</dt><dd><code>${baseUrl}/v1</code></dd></div><div><dt>Header</dt><dd><code>Authorization: Bearer $${KEY_VARIABLE}</code></dd></div></dl>
<div class="tabs">
<div role="tablist" aria-label="Clients" class="tab-list needs-script">${clients.map(
      ({ id, title }, index) =>
        html`<button type="button" class="tab" role="tab" id="tab-${id}" aria-controls="${id}" aria-selected="${index === 0 ? 'true' : 'false'}"${index > 0 && html` tabindex="-1"`}>${title}</button>`,
    )}</div>
${clients.map(
  ({
    id,
    title,
    summary,
    files,
    commands,
  }) => html`<section class="tab-panel stack" id="${id}" role="tabpanel" aria-labelledby="tab-${id}">
<h2>${title}</h2>
<p class="muted">${summary}</p>
${files.map(({ path, content }, index) => codeBlock({ id: `${id}-file-${index + 1}`, title: path, text: content.trimEnd() }, locale))}
${codeBlock({ id: `${id}-shell`, title: 'Shell', text: shellOf(commands) }, locale)}
</section>`,
)}
</div>
</div>`,
  };
}

/** Long commands get a block of their own. */
function shellOf(commands: SetupClient['commands']): string {
  return commands.join(commands.some((command) => command.includes('\n')) ? '\n\n' : '\n');
}
