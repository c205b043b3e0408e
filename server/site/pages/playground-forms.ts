/*
 * What the forms of the playground share: the choice of a model, what a run of it costs, files that are dropped or
 * chosen, and a form that is disabled, with the reason, if the plan does not allow its work or no model is ready.
 */

import type { Grant } from '../../keys/index.js';
import type { Locale } from '../language/index.js';
import type { PriceLine } from '../model-views.js';
import { type Html, html } from '../page.js';
import type { ModelChoice, Withheld } from '../playground-view.js';
import { wordsOfPrices } from './models.js';

export interface WorkForm {
  id: string;
  /** Additional classes, such as `card`. Default: none. */
  kind?: string;
  page: { readonly withheld: Withheld };
  grant: Grant;
  /** Options of the selection. Default: none needed. */
  models?: readonly ModelChoice[];
  content: Html;
}

/** A form for work of that group. */
export function workForm(view: WorkForm, locale: Locale): Html {
  const { id, kind = '', page, grant, models, content } = view;
  const { notice, closed } = closedForm({ id, page, grant, models }, locale);
  return html`${notice}<form class="${kind} stack" id="${id}"><fieldset class="form-body stack"${closed}>
${content}
<p class="problem" role="alert"></p>
</fieldset></form>`;
}

/** Why a form is disabled, and the attributes of its fieldset; both are false if it is not. */
export function closedForm(
  { id, page, grant, models }: Pick<WorkForm, 'id' | 'page' | 'grant' | 'models'>,
  { texts: { playground: t } }: Locale,
): { notice: Html | false; closed: Html | false } {
  const reason = page.withheld[grant] ?? (models?.length === 0 && t.noModel);
  if (!reason) return { notice: false, closed: false };
  return {
    notice: html`<p class="notice" id="${id}-closed">${reason} <a href="/plans">${t.seePlans}</a></p>`,
    closed: html` disabled aria-describedby="${id}-closed"`,
  };
}

/** A mock is named as one. @param chosen Default: the first one. */
export function modelSelect(id: string, models: readonly ModelChoice[], locale: Locale, chosen?: string): Html {
  const t = locale.texts.playground;
  const cost = ({ prices, imagePrices = {} }: ModelChoice) =>
    Object.keys(imagePrices).length > 0
      ? html` data-costs="${costsBySize(imagePrices)}"`
      : prices.length > 0 && html` data-cost="${costWords(prices, locale)}"${rateOf(prices)}`;
  return html`<div class="field"><label for="${id}">${t.model}</label>
<select class="input" id="${id}" name="model">${models.map((model) => html`<option value="${model.id}"${model.id === chosen && html` selected`}${model.takesSeed && html` data-takes-seed`}${cost(model)}>${model.isMock ? t.mock(model.id) : model.id}</option>`)}</select></div>`;
}

/** Of a thousand characters, in millionths of the currency: the script multiplies it. False if they have no price. */
function rateOf([price]: readonly PriceLine[]): Html | false {
  return price?.unit === 'characters' && html` data-rate="${price.amount}"`;
}

/** For the script, which multiplies them: `[millionths of the currency, whether that is the most]` by size. */
function costsBySize(prices: Readonly<Record<string, PriceLine>>): string {
  const costs = Object.entries(prices).map(([size, { amount, isHighest }]) => [size, [amount, isHighest]]);
  return JSON.stringify(Object.fromEntries(costs));
}

/**
 * What one run costs, beside its button; the script keeps it to the choice. False if no price is known.
 * @param chosen Default: the first model. @param size Of an image. Default: it makes none.
 */
export function runCost(models: readonly ModelChoice[], locale: Locale, chosen?: string, size = ''): Html | false {
  const model = models.find(({ id }) => id === chosen) ?? models[0];
  const currency = models.flatMap(({ prices }) => prices).at(0)?.currency;
  if (currency === undefined) return false;
  const ofSize = model?.imagePrices?.[size];
  const words = costWords(ofSize ? [ofSize] : (model?.prices ?? []), locale);
  return html`<span class="small muted run-cost" data-currency="${currency}">${words}</span>`;
}

/** Prices in a line: `€0.02 for an image`. */
export function costWords(prices: readonly PriceLine[], locale: Locale): string {
  const isFree = prices.length > 0 && prices.every(({ amount }) => amount === 0);
  return isFree ? locale.texts.playground.free : wordsOfPrices(prices, locale).join(' · ');
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

/**
 * A file input below a button in the language of the page: a browser labels its own button in its language.
 * @param attributes Of the input.
 */
export function filePick(words: string, attributes: Html): Html {
  return html`<div class="file-pick"><input type="file" ${attributes}><span class="button button-quiet button-small" aria-hidden="true">${words}</span></div>`;
}

/** A file input: by drop, dialog, or keyboard. */
export function fileDrop(view: FileDropView, { texts: { words: t } }: Locale): Html {
  const { id, label, words, accept, param, multiple = false } = view;
  const attributes = html`id="${id}" data-param="${param}" accept="${accept}"${multiple && html` multiple`} aria-describedby="${id}-words"`;
  return html`<div class="field"><label for="${id}">${label}</label>
<div class="drop" data-drop="${id}">${filePick(multiple ? t.chooseFiles : t.chooseFile, attributes)}
<p class="small muted" id="${id}-words">${words}</p><p class="small drop-left" role="status"></p><ul class="drop-files" aria-live="polite"></ul></div></div>`;
}
