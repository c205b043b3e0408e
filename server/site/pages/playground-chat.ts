/*
 * The chat of the playground: the conversation, the message with its files, which stays at the end of the window, and the
 * settings of the request. The script fills the conversation, and keeps it in the browser.
 */

import type { Locale } from '../language/index.js';
import { type Html, html, scriptedButton } from '../page.js';
import type { PlaygroundView } from '../playground-view.js';
import { closedForm, modelSelect, runCost } from './playground-forms.js';

const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const;
/** What the gateway reads for models; anything else is text, or refused with the reason. */
const ACCEPTED = 'image/*,application/pdf,.docx,.xlsx,.pptx,.odt,.ods,.odp,.rtf,.epub,text/*,.md,.json,.csv,.xml,.yaml';

export function chatPanel(view: PlaygroundView, locale: Locale): Html {
  const { text: models } = view.models;
  const { notice, closed } = closedForm({ id: 'chat-form', page: view, grant: 'text', models }, locale);
  return html`<h2 class="visually-hidden">${locale.texts.playground.chat}</h2>${notice}
<form id="chat-form"><fieldset class="chat-page"${closed} data-account="${view.accountId}" data-priced="${view.currency ?? ''}">
${settings(view, locale)}
${tools(locale)}
<div class="card chat-card">${conversation(locale)}${composer(view, locale)}</div>
</fieldset></form>`;
}

function tools({ texts: { playgroundChat: t } }: Locale): Html {
  return html`<div class="chat-tools"><button type="button" class="button button-quiet button-small" id="chat-code">${t.code}</button><button type="button" class="button button-quiet button-small" id="chat-clear">${t.clear}</button></div>`;
}

function conversation({ texts: { playgroundChat: t } }: Locale): Html {
  return html`<div class="chat-frame" id="chat-log" role="region" aria-label="${t.conversation}">
<ol class="chat" id="chat-entries"></ol>
<div class="chat-empty" id="chat-empty"><p class="chat-empty-title">${t.empty}</p><p class="muted"><span id="chat-files-words">${t.attachWords}</span> ${t.storage}</p>
<ul class="chat-samples">${t.samples.map((sample) => html`<li><button type="button" class="chat-sample" data-sample>${sample}</button></li>`)}</ul></div>
</div>
<p class="visually-hidden" id="chat-news" role="status"></p>`;
}

function composer({ models }: PlaygroundView, locale: Locale): Html {
  const { playgroundChat: t } = locale.texts;
  return html`<div class="chat-composer drop" data-drop="chat-files">
<p class="problem" role="alert"></p>
<div class="chat-box">
<label class="visually-hidden" for="chat-text">${t.message}</label>
<p class="small drop-left" role="status"></p><ul class="drop-files" aria-live="polite"></ul>
<textarea class="input" id="chat-text" name="text" data-enter-sends data-param="messages" rows="1" maxlength="200000" placeholder="${t.placeholder}" aria-describedby="chat-keys"></textarea>
<div class="row row-apart chat-bar">
<div class="row"><div class="file-pick"><input type="file" id="chat-files" multiple accept="${ACCEPTED}" aria-describedby="chat-files-words"><label class="button button-quiet button-small" for="chat-files" title="${t.attachWords}">${t.attach}</label></div><span class="small muted chat-keys" id="chat-keys">${t.keys}</span></div>
<div class="row"><button type="button" class="button button-small" id="chat-stop" hidden>${t.stop}</button>${scriptedButton(t.send, 'button-small')}</div>
</div>
</div>
${runCost(models.text, locale)}
</div>`;
}

/** A column where there is room, and a fold above the conversation on a phone. */
function settings({ models }: PlaygroundView, locale: Locale): Html {
  const { playgroundChat: t } = locale.texts;
  return html`<details class="card chat-settings" id="chat-settings"><summary><span>${t.settings}</span> <span class="muted" id="chat-chosen">${models.text[0]?.id}</span></summary>
<div class="stack">
${modelSelect('chat-model', models.text, locale)}
<div class="field"><label for="chat-system">${t.system}</label><textarea class="input" id="chat-system" name="system" rows="3" maxlength="100000" placeholder="${t.systemPlaceholder}"></textarea></div>
<div class="chat-numbers">
<div class="field"><label for="chat-temperature">${t.temperature}</label><input class="input" id="chat-temperature" name="temperature" type="number" min="0" max="2" step="0.1" inputmode="decimal" placeholder="${t.default}"></div>
<div class="field"><label for="chat-maximum">${t.maximum}</label><input class="input" id="chat-maximum" name="maximum" data-param="max_tokens" type="number" min="1" max="1000000" step="1" inputmode="numeric" placeholder="${t.default}"></div>
</div>
<div class="field"><label for="chat-effort">${t.effort}</label><select class="input" id="chat-effort" name="effort" data-param="reasoning_effort"><option value="">${t.default}</option>${EFFORTS.map((effort) => html`<option>${effort}</option>`)}</select></div>
</div></details>`;
}
