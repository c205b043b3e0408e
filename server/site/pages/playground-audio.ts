/*
 * The audio part of the playground: speech, transcription, sound effects and the voice changer. Recordings are dropped,
 * chosen, or made with the microphone. Where a result will be, the page shows what kind of result it is, and offers to
 * send the sample text.
 */

import type { Locale } from '../language/index.js';
import { type Html, html, scriptedButton } from '../page.js';
import type { PlaygroundView } from '../playground-view.js';
import { fileDrop, modelSelect, runCost, workForm } from './playground-forms.js';

/** Voices that every speech model supports or maps. */
const VOICES = ['alloy', 'echo', 'fable', 'nova', 'onyx', 'shimmer'] as const;
const SPEEDS = ['0.75', '1', '1.25', '1.5'] as const;
const RECORDINGS = 'audio/*,video/mp4,video/webm';

export function audioPanel(view: PlaygroundView, locale: Locale): Html {
  const { playground, playgroundAudio: t } = locale.texts;
  const parts = [
    ['speech', t.speech, speech],
    ['hearing', t.transcription, transcription],
    ['sound', t.sounds, soundEffects],
    ['changer', t.changer, voiceChanger],
  ] as const;
  return html`<h2 class="visually-hidden">${playground.audio}</h2>
<fieldset class="part-choice"><legend class="visually-hidden">${playground.audio}</legend>${parts.map(
    ([id, title], index) =>
      html`<label><input type="radio" name="audio-part" value="${id}"${index === 0 && html` checked`}><span>${title}</span></label>`,
  )}</fieldset>
<div class="audio-parts">${parts.map(([, , part]) => part(view, locale))}</div>`;
}

interface CardView {
  id: string;
  title: string;
  form: Html;
  /** What stands in place of the first result. */
  before: Html;
}

/** The elements for progress and results have the id of the card as a beginning. */
function card({ id, title, form, before }: CardView): Html {
  return html`<section class="card stack" id="${id}" aria-labelledby="${id}-title"><h3 class="visually-hidden" id="${id}-title">${title}</h3>${form}
<div class="audio-result stack"><p class="work" id="${id}-work" role="status"></p><div class="audio-place" id="${id}-result"><div class="audio-empty">${before}</div></div></div></section>`;
}

/** Heights of the bars of drawn audio, from 0 to 9. */
const WAVE = '12354679864235798653124689764323568753212';

/** Drawn audio. */
function wave(): Html {
  const bars = [...WAVE].map((height, index) => `M${2 + 6 * index} ${24 - 2 * Number(height)}v${4 * Number(height)}`);
  return html`<svg class="audio-wave" viewBox="0 0 ${4 + 6 * (WAVE.length - 1)} 48" aria-hidden="true"><path d="${bars.join('')}"/></svg>`;
}

/** Sends the sample of a field. It does nothing where the form is closed. */
function tryButton(field: string, models: readonly unknown[], page: PlaygroundView, locale: Locale): Html | false {
  if (page.withheld.audio !== undefined || models.length === 0) return false;
  return html`<button type="button" class="button button-quiet button-small" data-try="${field}">${locale.texts.playgroundAudio.trySample}</button>`;
}

function speech(page: PlaygroundView, locale: Locale): Html {
  const { playgroundAudio: t } = locale.texts;
  const { speak: models } = page.models;
  const content = html`<div class="field"><label for="speech-text">${t.text}</label><textarea class="input" id="speech-text" name="text" data-param="input" rows="3" required maxlength="4096" placeholder="${t.textSample}" aria-describedby="speech-count"></textarea><p class="small muted figures" id="speech-count" data-words="${t.typed}">${t.typed.replace('{count}', '0')}</p></div>
<div class="options">${modelSelect('speech-model', models, locale)}${voiceSelect('speech-voice', locale)}
<div class="field"><label for="speech-speed">${t.speed}</label><select class="input" id="speech-speed" name="speed">${SPEEDS.map((speed) => html`<option value="${speed}"${speed === '1' && html` selected`}>${speed}×</option>`)}</select></div></div>
<div class="row">${scriptedButton(t.speak)}<button type="button" class="button button-quiet" id="speech-hear">${t.tryVoice}</button>${runCost(models, locale)}</div>`;
  const form = workForm({ id: 'speech-form', page, grant: 'audio', models, content }, locale);
  const before = html`${wave()}<p>${t.speechBefore}</p>${tryButton('speech-text', models, page, locale)}`;
  return card({ id: 'speech', title: t.speech, form, before });
}

function transcription(page: PlaygroundView, locale: Locale): Html {
  const { playgroundAudio: t } = locale.texts;
  const { transcribe: models } = page.models;
  const languages = Object.entries(t.languages);
  const content = html`${recordingDrop('hearing', 'file', locale)}
<div class="options">${modelSelect('hearing-model', models, locale)}
<div class="field"><label for="hearing-language">${t.language}</label><select class="input" id="hearing-language" name="language"><option value="">${t.detect}</option>${languages.map(([code, name]) => html`<option value="${code}">${name}</option>`)}</select></div></div>
<div class="row">${scriptedButton(t.transcribe)}${runCost(models, locale)}</div>`;
  const form = workForm({ id: 'hearing-form', page, grant: 'audio', models, content }, locale);
  const before = html`<p>${t.hearingBefore}</p><dl class="audio-lines">${t.hearingLines.map(([time, words]) => html`<dt class="figures">${time}</dt><dd>${words}</dd>`)}</dl>`;
  return card({ id: 'hearing', title: t.transcription, form, before });
}

function soundEffects(page: PlaygroundView, locale: Locale): Html {
  const { playgroundAudio: t } = locale.texts;
  const { generateSound: models } = page.models;
  const content = html`<div class="field"><label for="sound-text">${t.sound}</label><textarea class="input" id="sound-text" name="text" data-param="text" rows="2" required maxlength="1000" placeholder="${t.soundSample}"></textarea></div>
<div class="options">${modelSelect('sound-model', models, locale)}
<div class="field"><label for="sound-seconds">${t.seconds}</label><input class="input" id="sound-seconds" name="seconds" data-param="duration_seconds" type="number" min="0.5" max="30" step="0.5" inputmode="decimal" placeholder="${t.secondsHint}"></div></div>
<div class="row">${scriptedButton(t.makeSound)}${runCost(models, locale)}</div>`;
  const form = workForm({ id: 'sound-form', page, grant: 'audio', models, content }, locale);
  const before = html`${wave()}<p>${t.soundBefore}</p>${tryButton('sound-text', models, page, locale)}`;
  return card({ id: 'sound', title: t.sounds, form, before });
}

function voiceChanger(page: PlaygroundView, locale: Locale): Html {
  const { playgroundAudio: t } = locale.texts;
  const { changeVoice: models } = page.models;
  const content = html`<p class="small muted">${t.changerWords}</p>${recordingDrop('changer', 'audio', locale)}
<div class="options">${modelSelect('changer-model', models, locale)}${voiceSelect('changer-voice', locale)}</div>
<div class="row">${scriptedButton(t.changeVoice)}${runCost(models, locale)}</div>`;
  const form = workForm({ id: 'changer-form', page, grant: 'audio', models, content }, locale);
  const before = html`${wave()}<p>${t.changerBefore}</p>`;
  return card({ id: 'changer', title: t.changer, form, before });
}

function recordingDrop(id: string, param: string, locale: Locale): Html {
  const { playgroundAudio: t } = locale.texts;
  return html`${fileDrop({ id: `${id}-file`, param, label: t.recording, words: t.recordingWords, accept: RECORDINGS }, locale)}
<div class="row"><button type="button" class="button button-quiet button-small" id="${id}-record" aria-pressed="false">${t.record}</button><span class="small muted" id="${id}-record-time" role="status"></span></div>`;
}

function voiceSelect(id: string, { texts: { playgroundAudio: t } }: Locale): Html {
  return html`<div class="field"><label for="${id}">${t.voice}</label><select class="input" id="${id}" name="voice">${VOICES.map((voice) => html`<option>${voice}</option>`)}</select></div>`;
}
