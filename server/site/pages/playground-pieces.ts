import type { Grant } from 'mediagate';
import { type Html, html } from '../html.js';
import type { PlaygroundView } from '../playground-view.js';

export function modelSelect(id: string, models: readonly string[]): Html {
  return html`<div class="field"><label for="${id}">Model</label>
<select class="input" id="${id}" name="model">${models.map((model) => html`<option>${model}</option>`)}</select></div>`;
}

/** Where the key may not do this, or nothing is ready that could. */
export function withheldNotice({ withheld }: PlaygroundView, grant: Grant, models?: readonly string[]): Html | false {
  if (withheld.includes(grant)) return notice('Your plan does not include this.');
  return models?.length === 0 && notice('No model that this account may use is ready for this.');
}

function notice(words: string): Html {
  return html`<p class="notice">${words} <a href="/plans">See the plans</a></p>`;
}

/** A place for files: dropped, pasted by the browser's own dialog, or chosen by keyboard. */
export function fileDrop(view: { id: string; label: string; words: string; accept: string; multiple?: boolean }): Html {
  const { id, label, words, accept, multiple = false } = view;
  return html`<div class="field"><label for="${id}">${label}</label>
<div class="drop" data-drop="${id}"><input type="file" id="${id}" accept="${accept}"${multiple && html` multiple`} aria-describedby="${id}-words">
<p class="small muted" id="${id}-words">${words}</p><ul class="drop-files" aria-live="polite"></ul></div></div>`;
}
