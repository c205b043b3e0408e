/*
 * The playground, with tabs for links, chats and audio, and beside them the link to the page of images. A form whose work
 * the plan does not allow, or for which no model is ready, is disabled and says why. Everything is sent with the session
 * of the page, and counts like a request with a key of the account. Files can be dropped, chosen, or added by keyboard.
 * Controls that need scripts are enabled by them.
 */

import { EXAMPLE_LINK, exampleDocument } from '../components/examples.js';
import type { Locale } from '../language/index.js';
import { type Html, html, type Page, scriptedButton } from '../page.js';
import type { PlaygroundView } from '../playground-view.js';
import { audioPanel } from './playground-audio.js';
import { chatPanel } from './playground-chat.js';
import { costWords, filePick, workForm } from './playground-forms.js';

/** Panels have the ids of their tabs; `#models` is an earlier name of the chat, and `#images` was a tab. */
const TABS = [
  { id: 'links', panel: linksPanel },
  { id: 'chat', also: 'models', panel: chatPanel },
  { id: 'audio', panel: audioPanel },
] as const;

export function playgroundPage(view: PlaygroundView, locale: Locale): Omit<Page, 'viewer'> {
  const { playground: t } = locale.texts;
  const names = JSON.stringify(Object.fromEntries(view.platforms.map(({ key, name }) => [key, name])));
  return {
    title: t.title,
    current: '/playground',
    styles: ['playground.css'],
    scripts: ['playground.js'],
    content: html`<div class="frame playground" data-base-url="${view.baseUrl}" data-platforms="${names}">
<div class="page-head"><h1>${t.title}</h1><p>${t.words}</p></div>
<p class="needs-no-script notice">${t.needsScripts} <a href="/setup">${t.needsScriptsSetup}</a>.</p>
<div class="tabs needs-script">
<div class="tab-list"><div role="tablist" aria-label="${t.tabs}">${TABS.map((tab, index) => {
      const also = 'also' in tab && html` data-also="${tab.also}"`;
      return html`<button type="button" class="tab" role="tab" id="tab-${tab.id}" aria-controls="${tab.id}"${also} aria-selected="${index === 0 ? 'true' : 'false'}"${index > 0 && html` tabindex="-1"`}>${t[tab.id]}</button>`;
    })}</div><a class="tab" href="/images" data-also="images">${t.images}</a></div>
${TABS.map(
  ({ id, panel }, index) =>
    html`<section class="tab-panel stack" id="${id}" role="tabpanel" aria-labelledby="tab-${id}"${index > 0 && html` hidden`}>${panel(view, locale)}</section>`,
)}
</div>
</div>`,
  };
}

export function linksPanel(view: PlaygroundView, locale: Locale): Html {
  const { playgroundLinks: t } = locale.texts;
  const { examples, withheld } = view;
  const isClosed = withheld.extract !== undefined;
  return html`<h2 class="visually-hidden">${t.title}</h2>
${!isClosed && partChoice(locale)}
${workForm(
  {
    id: 'link-form',
    kind: 'card',
    page: view,
    grant: 'extract',
    content: html`<div class="form-row">
<div class="field"><label for="link-url">${t.url}</label>
<input class="input" id="link-url" name="url" type="text" required maxlength="2048"${view.link !== undefined && html` value="${view.link}"`} placeholder="https://" autocomplete="off" spellcheck="false" inputmode="url"></div>
${scriptedButton(t.read)}
</div>
${examples.length > 0 && exampleLinks(view, locale)}
<div class="link-more"><details><summary>${t.options}</summary><div class="options">
<div class="field"><label for="link-reviews">${t.reviews}</label><input class="input" id="link-reviews" name="reviews" data-param="clip_review_limit" type="number" min="1" max="100" value="10"></div>
<div class="field"><label for="link-sort">${t.sort}</label><select class="input" id="link-sort" name="sort" data-param="clip_sort"><option value="recommended">${t.recommended}</option><option value="latest">${t.latest}</option></select></div>
<label class="check"><input type="checkbox" name="audio" checked> ${t.audio}</label>
<label class="check"><input type="checkbox" name="background"> ${t.background}</label>
</div></details>
<a class="small" href="/models?kind=link">${t.supported}</a>${view.linkPrices.length > 0 && html`<span class="small muted run-cost">${costWords(view.linkPrices, locale)}</span>`}</div>`,
  },
  locale,
)}
<p class="work" id="link-work" role="status"></p>
${!isClosed && batchPart(view, locale)}
<div class="stack" id="link-result" tabindex="-1">${!isClosed && exampleDocument(locale, 'beside', exampleAct(view, locale))}</div>`;
}

/** Scripts and styles show one of the parts. */
function partChoice({ texts: { playgroundLinks: t, playgroundBatch } }: Locale): Html {
  const option = (value: string, title: string) =>
    html`<label><input type="radio" name="links-part" value="${value}"${value === 'one' && html` checked`}><span>${title}</span></label>`;
  return html`<fieldset class="part-choice"><legend class="visually-hidden">${t.title}</legend>${option('one', t.one)}${option('several', playgroundBatch.title)}</fieldset>`;
}

/** The link of the example, where it is a recorded sample; where no samples answer, a real link of the same platform. */
function exampleAct({ examples, isRecorded }: PlaygroundView, { texts: { playgroundLinks: t } }: Locale): Html | false {
  const shown = isRecorded && examples.find(({ url }) => url.startsWith(EXAMPLE_LINK));
  const real = isRecorded ? undefined : (examples.find(({ name }) => name === 'YouTube') ?? examples[0]);
  const act = shown ? { url: shown.url, words: t.readThis } : real && { url: real.url, words: t.tryReal(real.name) };
  return (
    act !== undefined &&
    html`<button type="button" class="button button-quiet button-small" data-example="${act.url}">${act.words}</button>`
  );
}

/** Buttons, since they send the form. */
function exampleLinks({ examples, isRecorded }: PlaygroundView, { texts: { playgroundLinks: t } }: Locale): Html {
  return html`<p class="row small muted link-examples">${isRecorded ? t.recordedExamples : t.examples} ${examples.map(
    ({ url, name }) =>
      html`<button type="button" class="button button-quiet button-small" data-example="${url}">${name}</button>`,
  )}</p>`;
}

function batchPart({ linkPrices }: PlaygroundView, locale: Locale): Html {
  const { playgroundBatch: t, words } = locale.texts;
  return html`<section class="card stack" id="batch" aria-label="${t.title}">
<details id="batch-new" open><summary class="button button-quiet button-small">${t.newList}</summary><form class="stack" id="batch-form"><fieldset class="form-body stack">
<div class="field"><label for="batch-links">${t.links}</label>
<textarea class="input mono" id="batch-links" name="links" data-param="urls" rows="5" spellcheck="false" placeholder="https://
https://" aria-describedby="batch-words"></textarea>
<p class="small muted" id="batch-words">${t.linksWords}</p></div>
<div class="row">${scriptedButton(t.read)}<label class="visually-hidden" for="batch-file">${t.file}</label>${filePick(words.chooseFile, html`id="batch-file" accept=".txt,.csv,text/plain,text/csv"`)}${linkPrices.length > 0 && html`<span class="small muted run-cost">${costWords(linkPrices, locale)}</span>`}<span class="small muted">${t.counts}</span></div>
<p class="problem" role="alert"></p>
</fieldset></form></details>
<p class="small" id="batch-news" role="status"></p>
<p class="small muted" id="batch-none"></p>
<ul class="stack" id="batch-list" aria-label="${t.title}"></ul></section>`;
}
