/*
 * The playground, with tabs for images, links and models. A form whose work the plan does not allow, or for which no
 * model is ready, is disabled and says why. Everything is sent with the session of the page, and counts like a request
 * with a key of the account. Files can be dropped, chosen, or added by keyboard. Controls that need scripts are
 * enabled by them.
 */

import { NAMED_SIZES } from '../../images/index.js';
import type { Grant } from '../../keys/index.js';
import { type Html, html, type Page, scriptedButton } from '../page.js';
import type { PlaygroundView } from '../views.js';

const TABS = [
  { id: 'links', label: 'Links', panel: linksPanel },
  { id: 'images', label: 'Images', panel: imagesPanel },
  { id: 'models', label: 'Models', panel: modelsPanel },
] as const;

export function playgroundPage(view: PlaygroundView): Omit<Page, 'viewer'> {
  return {
    title: 'Playground',
    current: '/playground',
    scripts: [
      'tabs.js',
      'playground-links.js',
      'playground-images.js',
      'playground-chat.js',
      'playground-audio.js',
      'playground-chosen.js',
    ],
    content: html`<div class="frame playground" data-base-url="${view.baseUrl}" data-platforms="${JSON.stringify(Object.fromEntries(view.platforms.map(({ key, name }) => [key, name])))}">
<div class="page-head"><h1>Playground</h1><p>Requests from this page count like any others of your account. They need no API key.</p></div>
<p class="needs-no-script notice">The playground needs scripts. <a href="/setup">The setup page</a> shows the same requests with curl.</p>
<div class="tabs needs-script">
<div role="tablist" aria-label="What to try" class="tab-list">${TABS.map(
      ({ id, label }, index) =>
        html`<button type="button" class="tab" role="tab" id="tab-${id}" aria-controls="${id}" aria-selected="${index === 0 ? 'true' : 'false'}"${index > 0 && html` tabindex="-1"`}>${label}</button>`,
    )}</div>
${TABS.map(
  ({ id, panel }, index) =>
    html`<section class="tab-panel stack" id="${id}" role="tabpanel" aria-labelledby="tab-${id}"${index > 0 && html` hidden`}>${panel(view)}</section>`,
)}
</div>
</div>`,
  };
}

const COUNTS = [1, 2, 3, 4, 6, 8] as const;

export function imagesPanel(view: PlaygroundView): Html {
  const { image } = view.models;
  return html`<h2 class="visually-hidden">Images</h2>
${workForm({
  id: 'image-form',
  card: true,
  page: view,
  grant: 'images',
  models: image,
  content: html`<div class="field"><label for="image-prompt">Prompt</label>
<textarea class="input" id="image-prompt" name="prompt" required maxlength="32000" rows="3" placeholder="A tug in the harbour at dawn"></textarea></div>
<div class="options">
${modelSelect('image-model', image)}
<div class="field"><label for="image-size">Size</label><select class="input" id="image-size" name="size">${NAMED_SIZES.map((size) => html`<option value="${size}">${size.replace('x', ' × ')}</option>`)}<option value="auto">Let the model decide</option></select></div>
<div class="field"><label for="image-count">Number of images</label><select class="input" id="image-count" name="count">${COUNTS.map((count) => html`<option>${count}</option>`)}</select></div>
</div>
${fileDrop({ id: 'image-references', param: 'image', label: 'Input images', words: 'Drop up to four here: PNG, JPEG, WebP or GIF, 10 MB each.', accept: 'image/png,image/jpeg,image/webp,image/gif', multiple: true })}
<div class="row">${scriptedButton('Create images')}<span class="small muted">Each image is one job and counts as one request.</span></div>`,
})}
<p class="visually-hidden" id="image-news" role="status"></p>
<ul class="image-cards" id="image-cards" aria-label="Images"></ul>`;
}

export function linksPanel(view: PlaygroundView): Html {
  const { platforms } = view;
  return html`<h2 class="visually-hidden">Links</h2>
${workForm({
  id: 'link-form',
  card: true,
  page: view,
  grant: 'extract',
  content: html`<div class="form-row">
<div class="field"><label for="link-url">Public link</label>
<input class="input" id="link-url" name="url" type="text" required maxlength="2048" placeholder="https://" autocomplete="off" spellcheck="false" inputmode="url"></div>
${scriptedButton('Extract')}
</div>
<details><summary>Options</summary><div class="options">
<div class="field"><label for="link-reviews">Reviews of a product, at most</label><input class="input" id="link-reviews" name="reviews" data-param="clip_review_limit" type="number" min="1" max="100" value="10"></div>
<div class="field"><label for="link-sort">Order of the reviews</label><select class="input" id="link-sort" name="sort" data-param="clip_sort"><option value="recommended">Recommended</option><option value="latest">Latest</option></select></div>
<label class="check"><input type="checkbox" name="audio" checked> Include an MP3 link</label>
<label class="check"><input type="checkbox" name="background"> Products as a background job</label>
</div></details>
<details><summary>Supported links</summary><dl class="link-forms">${platforms.map(({ name, linkForms }) => html`<div><dt>${name}</dt>${linkForms.map((form) => html`<dd><code>${form}</code></dd>`)}</div>`)}</dl></details>`,
})}
<p class="work" id="link-work" role="status"></p>
<div class="stack" id="link-result" tabindex="-1"></div>`;
}

/** Voices that every speech model supports or maps. */
const VOICES = ['alloy', 'echo', 'fable', 'nova', 'onyx', 'shimmer'] as const;

export function modelsPanel(view: PlaygroundView): Html {
  return html`<h2 class="visually-hidden">Models</h2><div class="model-cards">${chat(view)}<div class="stack">${speech(view)}${transcription(view)}</div></div>`;
}

function chat(view: PlaygroundView): Html {
  const { text } = view.models;
  return html`<section class="card stack" aria-labelledby="chat-title"><h3 id="chat-title">Chat</h3>
<div class="chat-frame" id="chat-log" role="log" aria-label="Chat" tabindex="0"><ol class="chat" id="chat-entries"></ol></div>
${workForm({
  id: 'chat-form',
  page: view,
  grant: 'text',
  models: text,
  content: html`<div class="field"><label for="chat-text">Message</label><textarea class="input" id="chat-text" name="text" data-param="messages" rows="2" maxlength="20000" placeholder="Enter sends, Shift+Enter starts a new line"></textarea></div>
<div class="form-row">${modelSelect('chat-model', text)}${scriptedButton('Send')}<button type="button" class="button button-quiet" id="chat-stop" hidden>Stop</button><button type="button" class="button button-quiet" id="chat-clear">Start over</button></div>`,
})}</section>`;
}

function speech(view: PlaygroundView): Html {
  const { speak } = view.models;
  return html`<section class="card stack" aria-labelledby="speech-title"><h3 id="speech-title">Text to speech</h3>
${workForm({
  id: 'speech-form',
  page: view,
  grant: 'audio',
  models: speak,
  content: html`<div class="field"><label for="speech-text">Text</label><textarea class="input" id="speech-text" name="text" data-param="input" rows="2" required maxlength="4096"></textarea></div>
<div class="form-row">${modelSelect('speech-model', speak)}
<div class="field"><label for="speech-voice">Voice</label><select class="input" id="speech-voice" name="voice">${VOICES.map((voice) => html`<option>${voice}</option>`)}</select></div>
${scriptedButton('Speak')}</div>`,
})}
<p class="work" id="speech-work" role="status"></p>
<div id="speech-result"></div></section>`;
}

function transcription(view: PlaygroundView): Html {
  const { transcribe } = view.models;
  return html`<section class="card stack" aria-labelledby="hearing-title"><h3 id="hearing-title">Transcription</h3>
${workForm({
  id: 'hearing-form',
  page: view,
  grant: 'audio',
  models: transcribe,
  content: html`${fileDrop({ id: 'hearing-sound', param: 'file', label: 'Recording', words: 'Drop a recording here: MP3, WAV, M4A, OGG, FLAC or WebM.', accept: 'audio/*,video/mp4,video/webm' })}
<div class="form-row">${modelSelect('hearing-model', transcribe)}${scriptedButton('Transcribe')}</div>`,
})}
<p class="work" id="hearing-work" role="status"></p>
<div id="hearing-result"></div></section>`;
}

export function modelSelect(id: string, models: readonly string[]): Html {
  return html`<div class="field"><label for="${id}">Model</label>
<select class="input" id="${id}" name="model">${models.map((model) => html`<option>${model}</option>`)}</select></div>`;
}

/** A form for work of that group; disabled, with the reason, if the plan does not allow it or no model is ready. */
export function workForm(view: WorkForm): Html {
  const { id, card = false, page, grant, models, content } = view;
  const reason = page.withheld[grant] ?? (models?.length === 0 && 'Your account has no model for this.');
  const notice = reason && html`<p class="notice" id="${id}-closed">${reason} <a href="/plans">See the plans</a></p>`;
  const closed = reason && html` disabled aria-describedby="${id}-closed"`;
  return html`${notice}<form class="${card && 'card '}stack" id="${id}"><fieldset class="form-body stack"${closed}>
${content}
<p class="problem" role="alert"></p>
</fieldset></form>`;
}

export interface WorkForm {
  id: string;
  /** Whether it is a separate card, rather than a part of one. Default false. */
  card?: boolean;
  page: PlaygroundView;
  grant: Grant;
  /** Options of the selection. Default: none needed. */
  models?: readonly string[];
  content: Html;
}

export interface FileDropView {
  id: string;
  label: string;
  words: string;
  accept: string;
  /** Field of the request. */
  param: string;
  /** Default false. */
  multiple?: boolean;
}

/** A file input: by drop, dialog, or keyboard. */
export function fileDrop({ id, label, words, accept, param, multiple = false }: FileDropView): Html {
  return html`<div class="field"><label for="${id}">${label}</label>
<div class="drop" data-drop="${id}"><input type="file" id="${id}" data-param="${param}" accept="${accept}"${multiple && html` multiple`} aria-describedby="${id}-words">
<p class="small muted" id="${id}-words">${words}</p><p class="small drop-left" role="status"></p><ul class="drop-files" aria-live="polite"></ul></div></div>`;
}
