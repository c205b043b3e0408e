/*
 * The setup page in three steps: a key in the environment, a client with commands to copy, and a first request that shows
 * whether it works. Below are the pages that come next.
 */

import { KEY_VARIABLE, type SetupClient } from '../../accounts/index.js';
import { shellWord } from '../../format/index.js';
import type { Locale } from '../language/index.js';
import { codeBlock, copyButton, type Html, html, type Page } from '../page.js';

export interface SetupView {
  clients: readonly SetupClient[];
  baseUrl: string;
  isSignedIn: boolean;
  /** Whether there is a page that connects agents. */
  connects: boolean;
}

export function setupPage({ clients, baseUrl, isSignedIn, connects }: SetupView, locale: Locale): Omit<Page, 'viewer'> {
  const t = locale.texts.setup;
  const env = clients.find(({ id }) => id === 'env');
  const check = checkOf(baseUrl);
  // The last step has this command.
  const others = clients
    .filter((client) => client !== env)
    .map((client) => ({ ...client, commands: client.commands.filter((command) => command !== check) }));
  return {
    title: t.title,
    description: t.description,
    current: '/setup',
    styles: ['setup.css', 'code.css'],
    content: html`<div class="frame frame-text">
<div class="page-head"><h1>${t.title}</h1><p>${t.lead}</p></div>
<ol class="setup-steps">
<li><h2>${t.steps.key}</h2><p class="muted">${t.keyWords(html`<code>${KEY_VARIABLE}</code>`)}</p>
<p><a class="button button-small" href="${isSignedIn ? '/keys' : '/login?return_to=/keys'}">${isSignedIn ? t.toKeys : t.signIn}</a></p>
${env && codeBlock({ id: 'setup-env', title: t.environment, text: shellOf(env.commands).replace('your API key', t.yourKey), language: 'sh' }, locale)}</li>
<li><h2>${t.steps.client}</h2>
<dl class="facts setup-facts">${setupFact('setup-address', t.address, `${baseUrl}/v1`, locale)}${setupFact('setup-header', t.header, `Authorization: Bearer $${KEY_VARIABLE}`, locale)}</dl>
${clientTabs(others, locale)}</li>
<li><h2>${t.steps.check}</h2><p class="muted">${t.checkWords}</p>
${codeBlock({ id: 'setup-check', title: 'curl', text: check }, locale)}
<p class="small muted">${t.checkHelp}</p></li>
</ol>
${nextPages(connects, locale)}
</div>`,
  };
}

/** A value to copy. */
export function setupFact(id: string, name: string, value: string, locale: Locale): Html {
  return html`<div><dt>${name}</dt><dd class="row"><code id="${id}">${value}</code>${copyButton(id, name, locale)}</dd></div>`;
}

/** The request that needs no model. */
function checkOf(baseUrl: string): string {
  return `curl ${shellWord(`${baseUrl}/v1/models`)} \\\n  -H "Authorization: Bearer $${KEY_VARIABLE}"`;
}

function nextPages(connects: boolean, { texts: { setup: t } }: Locale): Html {
  const pages = [
    ['/playground', t.next.playground],
    ['/models', t.next.models],
    ['/docs', t.next.docs],
    ...(connects ? ([['/connect', t.next.agents]] as const) : []),
  ] as const;
  return html`<section class="setup-next" aria-labelledby="next"><h2 id="next">${t.nextTitle}</h2>
<ul>${pages.map(([href, { title, words }]) => html`<li class="card"><a href="${href}">${title}</a><p class="small muted">${words}</p></li>`)}</ul></section>`;
}

/** A tab with files and commands for each client. */
export function clientTabs(clients: readonly SetupClient[], locale: Locale): Html {
  const t = locale.texts.setup;
  const titleOf = ({ id, title }: SetupClient) => t.titles[id] ?? title;
  return html`<div class="tabs">
<div role="tablist" aria-label="${t.clients}" class="tab-list needs-script">${clients.map(
    (client, index) =>
      html`<button type="button" class="tab" role="tab" id="tab-${client.id}" aria-controls="${client.id}" aria-selected="${index === 0 ? 'true' : 'false'}"${index > 0 && html` tabindex="-1"`}>${t.tabs[client.id] ?? titleOf(client)}</button>`,
  )}</div>
${clients.map(
  (
    client,
  ) => html`<section class="tab-panel stack" id="${client.id}" role="tabpanel" aria-labelledby="tab-${client.id}">
<h3>${titleOf(client)}</h3>
<p class="muted">${t.summaries[client.id] ?? client.summary}</p>
${codeOf(client, locale)}
</section>`,
)}
</div>`;
}

function codeOf({ id, add, files, commands }: SetupClient, locale: Locale): Html {
  const t = locale.texts.setup;
  const language = 'sh';
  // Commands that only list what was added.
  const isCheck = commands.every((command) => command.endsWith(' list'));
  const blocks = [
    ...(add === undefined ? [] : [{ id: `${id}-add`, title: t.shell, text: add, language }]),
    ...files.map((file, index) => ({
      id: `${id}-file-${index + 1}`,
      title: add === undefined ? file.path : t.orFile(file.path),
      text: file.content.trimEnd(),
      language: file.language,
    })),
    { id: `${id}-shell`, title: isCheck ? t.steps.check : t.shell, text: shellOf(commands), language },
  ];
  return html`${blocks.map((block) => codeBlock(block, locale))}`;
}

/** Long commands get a block of their own. */
function shellOf(commands: SetupClient['commands']): string {
  return commands.join(commands.some((command) => command.includes('\n')) ? '\n\n' : '\n');
}
