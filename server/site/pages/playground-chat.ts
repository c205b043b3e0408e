/*
 * The chat of the playground: the conversation, the message with its files, and the settings of the request. The script
 * fills the conversation, and keeps it in the browser.
 */

import type { Locale } from '../language/index.js';
import { type Html, html, scriptedButton } from '../page.js';
import type { PlaygroundView } from '../playground-view.js';
import { closedForm, modelSelect } from './playground-forms.js';

const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const;
/** What the gateway reads for models; anything else is text, or refused with the reason. */
const ACCEPTED = 'image/*,application/pdf,.docx,.xlsx,.pptx,.odt,.ods,.odp,.rtf,.epub,text/*,.md,.json,.csv,.xml,.yaml';

export function chatPanel(view: PlaygroundView, locale: Locale): Html {
  const { text: models } = view.models;
  const { notice, closed } = closedForm({ id: 'chat-form', page: view, grant: 'text', models }, locale);
  return html`<h2 class="visually-hidden">${locale.texts.playground.chat}</h2>${notice}
<form id="chat-form"><fieldset class="chat-page"${closed} data-account="${view.accountId}" data-priced="${view.currency ?? ''}">
<div class="card chat-card">${head(view, locale)}${conversation(locale)}${composer(locale)}</div>
${settings(locale)}
</fieldset></form>`;
}

function head({ models }: PlaygroundView, locale: Locale): Html {
  const { playgroundChat: t } = locale.texts;
  return html`<div class="chat-head">${modelSelect('chat-model', models.text, locale)}
<div class="row"><button type="button" class="button button-quiet" id="chat-code">${t.code}</button><button type="button" class="button button-quiet" id="chat-clear">${t.clear}</button></div></div>`;
}

function conversation({ texts: { playgroundChat: t } }: Locale): Html {
  return html`<div class="chat-frame" id="chat-log" role="region" aria-label="${t.conversation}" tabindex="0">
<ol class="chat" id="chat-entries"></ol>
<div class="chat-empty" id="chat-empty"><p><strong>${t.empty}</strong></p><p class="muted">${t.emptyWords}</p>
<ul class="chat-samples">${t.samples.map((sample) => html`<li><button type="button" class="chat-sample" data-sample>${sample}</button></li>`)}</ul></div>
</div>
<p class="visually-hidden" id="chat-news" role="status"></p>`;
}

function composer({ texts: { playgroundChat: t } }: Locale): Html {
  return html`<div class="chat-composer drop" data-drop="chat-files">
<label class="visually-hidden" for="chat-text">${t.message}</label>
<textarea class="input" id="chat-text" name="text" data-param="messages" rows="2" maxlength="200000" placeholder="${t.placeholder}"></textarea>
<p class="small drop-left" role="status"></p><ul class="drop-files" aria-live="polite"></ul>
<div class="row row-apart">
<div class="file-pick"><input type="file" id="chat-files" multiple accept="${ACCEPTED}" aria-describedby="chat-files-words"><label class="button button-quiet button-small" for="chat-files">${t.attach}</label></div>
<div class="row"><button type="button" class="button button-quiet" id="chat-stop" hidden>${t.stop}</button>${scriptedButton(t.send)}</div>
</div>
<p class="problem" role="alert"></p>
<p class="small muted" id="chat-files-words">${t.attachWords} ${t.storage}</p>
</div>`;
}

function settings({ texts: { playgroundChat: t } }: Locale): Html {
  return html`<details class="card chat-settings" id="chat-settings"><summary>${t.settings}</summary>
<div class="stack">
<div class="field"><label for="chat-system">${t.system}</label><textarea class="input" id="chat-system" name="system" rows="4" maxlength="100000" placeholder="${t.systemPlaceholder}"></textarea></div>
<div class="field"><label for="chat-temperature">${t.temperature}</label><input class="input" id="chat-temperature" name="temperature" type="number" min="0" max="2" step="0.1" inputmode="decimal" aria-describedby="chat-temperature-hint"><span class="hint" id="chat-temperature-hint">${t.temperatureHint}</span></div>
<div class="field"><label for="chat-maximum">${t.maximum}</label><input class="input" id="chat-maximum" name="maximum" data-param="max_tokens" type="number" min="1" max="1000000" step="1" inputmode="numeric" aria-describedby="chat-maximum-hint"><span class="hint" id="chat-maximum-hint">${t.maximumHint}</span></div>
<div class="field"><label for="chat-effort">${t.effort}</label><select class="input" id="chat-effort" name="effort" data-param="reasoning_effort"><option value="">${t.effortDefault}</option>${EFFORTS.map((effort) => html`<option>${effort}</option>`)}</select></div>
</div></details>`;
}
