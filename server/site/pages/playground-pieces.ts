import type { Grant } from '../../keys/index.js';
import { type Html, html } from '../html.js';
import type { PlaygroundView } from '../playground-view.js';

export function modelSelect(id: string, models: readonly string[]): Html {
  return html`<div class="field"><label for="${id}">Model</label>
<select class="input" id="${id}" name="model">${models.map((model) => html`<option>${model}</option>`)}</select></div>`;
}

/** A form for work of that group; closed, with the reason, where the key may not do this or nothing is ready that could. */
export function workForm(view: WorkForm): Html {
  const { id, card = false, page, grant, models, content } = view;
  const reason =
    page.withheld[grant] ?? (models?.length === 0 && 'No model that this account may use is ready for this.');
  const notice = reason && html`<p class="notice" id="${id}-closed">${reason} <a href="/plans">See the plans</a></p>`;
  const closed = reason && html` disabled aria-describedby="${id}-closed"`;
  return html`${notice}<form class="${card && 'card '}stack" id="${id}"><fieldset class="form-body stack"${closed}>
${content}
<p class="problem" role="alert"></p>
</fieldset></form>`;
}

export interface WorkForm {
  id: string;
  /** Whether it is a card by itself, rather than a part of one. Default false. */
  card?: boolean;
  page: PlaygroundView;
  grant: Grant;
  /** Those it chooses from. Default: it needs none. */
  models?: readonly string[];
  content: Html;
}

export interface FileDropView {
  id: string;
  label: string;
  words: string;
  accept: string;
  /** Member of the request that they are. */
  param: string;
  /** Default false. */
  multiple?: boolean;
}

/** A place for files: dropped, pasted by the browser's own dialog, or chosen by keyboard. */
export function fileDrop({ id, label, words, accept, param, multiple = false }: FileDropView): Html {
  return html`<div class="field"><label for="${id}">${label}</label>
<div class="drop" data-drop="${id}"><input type="file" id="${id}" data-param="${param}" accept="${accept}"${multiple && html` multiple`} aria-describedby="${id}-words">
<p class="small muted" id="${id}-words">${words}</p><p class="small drop-left" role="status"></p><ul class="drop-files" aria-live="polite"></ul></div></div>`;
}
