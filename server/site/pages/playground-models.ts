import { type Html, html } from '../html.js';
import { scriptedButton } from '../pieces.js';
import type { PlaygroundView } from '../playground-view.js';
import { fileDrop, modelSelect, workForm } from './playground-pieces.js';

/** Names that every model which speaks knows, or finds the nearest of its own for. */
const VOICES = ['alloy', 'echo', 'fable', 'nova', 'onyx', 'shimmer'] as const;

export function modelsPanel(view: PlaygroundView): Html {
  return html`<h2 class="visually-hidden">Models</h2><div class="model-cards">${chat(view)}<div class="stack">${speech(view)}${hearing(view)}</div></div>`;
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

function hearing(view: PlaygroundView): Html {
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
