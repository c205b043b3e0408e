/*
 * The playground, with tabs for links, images, chats and audio. A form whose work the plan does not allow, or for which
 * no model is ready, is disabled and says why. Everything is sent with the session of the page, and counts like a
 * request with a key of the account. Files can be dropped, chosen, or added by keyboard. Controls that need scripts are
 * enabled by them.
 */

import { NAMED_SIZES } from '../../images/index.js';
import type { Locale } from '../language/index.js';
import { type Html, html, type Page, scriptedButton } from '../page.js';
import type { PlaygroundView } from '../playground-view.js';
import { audioPanel } from './playground-audio.js';
import { chatPanel } from './playground-chat.js';
import { fileDrop, modelSelect, workForm } from './playground-forms.js';

/** Panels have the ids of their tabs; `#models` is an earlier name of the chat. */
const TABS = [
  { id: 'links', panel: linksPanel },
  { id: 'images', panel: imagesPanel },
  { id: 'chat', also: 'models', panel: chatPanel },
  { id: 'audio', panel: audioPanel },
] as const;

export function playgroundPage(view: PlaygroundView, locale: Locale): Omit<Page, 'viewer'> {
  const { playground: t } = locale.texts;
  const names = JSON.stringify(Object.fromEntries(view.platforms.map(({ key, name }) => [key, name])));
  return {
    title: t.title,
    current: '/playground',
    styles: ['chat.css'],
    scripts: [
      'tabs.js',
      'playground-links.js',
      'playground-batch.js',
      'playground-images.js',
      'playground-chat.js',
      'playground-audio.js',
      'playground-chosen.js',
    ],
    content: html`<div class="frame playground" data-base-url="${view.baseUrl}" data-platforms="${names}">
<div class="page-head"><h1>${t.title}</h1><p>${t.words}</p></div>
<p class="needs-no-script notice">${t.needsScripts} <a href="/setup">${t.needsScriptsSetup}</a>.</p>
<div class="tabs needs-script">
<div role="tablist" aria-label="${t.tabs}" class="tab-list">${TABS.map((tab, index) => {
      const also = 'also' in tab && html` data-also="${tab.also}"`;
      return html`<button type="button" class="tab" role="tab" id="tab-${tab.id}" aria-controls="${tab.id}"${also} aria-selected="${index === 0 ? 'true' : 'false'}"${index > 0 && html` tabindex="-1"`}>${t[tab.id]}</button>`;
    })}</div>
${TABS.map(
  ({ id, panel }, index) =>
    html`<section class="tab-panel stack" id="${id}" role="tabpanel" aria-labelledby="tab-${id}"${index > 0 && html` hidden`}>${panel(view, locale)}</section>`,
)}
</div>
</div>`,
  };
}

const COUNTS = [1, 2, 3, 4, 6, 8] as const;

export function imagesPanel(view: PlaygroundView, locale: Locale): Html {
  const { playgroundImages: t } = locale.texts;
  const { image } = view.models;
  return html`<h2 class="visually-hidden">${t.title}</h2>
${workForm(
  {
    id: 'image-form',
    kind: 'card',
    page: view,
    grant: 'images',
    models: image,
    content: html`<div class="field"><label for="image-prompt">${t.prompt}</label>
<textarea class="input" id="image-prompt" name="prompt" required maxlength="32000" rows="3" placeholder="${t.promptSample}"></textarea></div>
<div class="options">
${modelSelect('image-model', image, locale)}
<div class="field"><label for="image-size">${t.size}</label><select class="input" id="image-size" name="size">${NAMED_SIZES.map((size) => html`<option value="${size}">${size.replace('x', ' × ')}</option>`)}<option value="auto">${t.autoSize}</option></select></div>
<div class="field"><label for="image-count">${t.count}</label><select class="input" id="image-count" name="count">${COUNTS.map((count) => html`<option>${count}</option>`)}</select></div>
</div>
${fileDrop({ id: 'image-references', param: 'image', label: t.references, words: t.referencesWords, accept: 'image/png,image/jpeg,image/webp,image/gif', multiple: true })}
<div class="row">${scriptedButton(t.create)}<span class="small muted">${t.counts}</span></div>`,
  },
  locale,
)}
<p class="small"><a href="/images">${t.allImages}</a></p>
<p class="visually-hidden" id="image-news" role="status"></p>
<ul class="image-cards" id="image-cards" aria-label="${t.title}"></ul>`;
}

export function linksPanel(view: PlaygroundView, locale: Locale): Html {
  const { playgroundLinks: t } = locale.texts;
  const { platforms } = view;
  return html`<h2 class="visually-hidden">${t.title}</h2>
${workForm(
  {
    id: 'link-form',
    kind: 'card',
    page: view,
    grant: 'extract',
    content: html`<div class="form-row">
<div class="field"><label for="link-url">${t.url}</label>
<input class="input" id="link-url" name="url" type="text" required maxlength="2048" placeholder="https://" autocomplete="off" spellcheck="false" inputmode="url"></div>
${scriptedButton(t.read)}
</div>
<details><summary>${t.options}</summary><div class="options">
<div class="field"><label for="link-reviews">${t.reviews}</label><input class="input" id="link-reviews" name="reviews" data-param="clip_review_limit" type="number" min="1" max="100" value="10"></div>
<div class="field"><label for="link-sort">${t.sort}</label><select class="input" id="link-sort" name="sort" data-param="clip_sort"><option value="recommended">${t.recommended}</option><option value="latest">${t.latest}</option></select></div>
<label class="check"><input type="checkbox" name="audio" checked> ${t.audio}</label>
<label class="check"><input type="checkbox" name="background"> ${t.background}</label>
</div></details>
<details><summary>${t.supported}</summary><dl class="link-forms">${platforms.map(({ name, linkForms }) => html`<div><dt>${name}</dt>${linkForms.map((form) => html`<dd><code>${form}</code></dd>`)}</div>`)}</dl></details>`,
  },
  locale,
)}
<p class="work" id="link-work" role="status"></p>
<div class="stack" id="link-result" tabindex="-1"></div>
${batchPart(view, locale)}`;
}

/** It is hidden where links are closed: the form above says why. */
function batchPart({ withheld }: PlaygroundView, { texts: { playgroundBatch: t } }: Locale): Html {
  const isClosed = withheld.extract !== undefined;
  return html`<details class="card" id="batch"${isClosed && html` hidden`}><summary>${t.title}</summary><div class="stack">
<form class="stack" id="batch-form"><fieldset class="form-body stack"${isClosed && html` disabled`}>
<div class="field"><label for="batch-links">${t.links}</label>
<textarea class="input mono" id="batch-links" name="links" data-param="urls" rows="5" spellcheck="false" aria-describedby="batch-words"></textarea>
<p class="small muted" id="batch-words">${t.linksWords}</p></div>
<div class="field"><label for="batch-file">${t.file}</label><input type="file" id="batch-file" accept=".txt,.csv,text/plain,text/csv"></div>
<p class="small" id="batch-news" role="status"></p>
<div class="row">${scriptedButton(t.read)}<span class="small muted">${t.counts}</span></div>
<p class="problem" role="alert"></p>
</fieldset></form>
<p class="small muted" id="batch-none"></p>
<ul class="stack" id="batch-list" aria-label="${t.title}"></ul></div></details>`;
}
