/*
 * The page of images: the form for new ones, and the image jobs of the account in pages, newest first. A card has the
 * picture, what was asked for, and what can be done with it; a job that failed or was cancelled says so in words. All of
 * it can be read, opened and deleted without scripts; the scripts show new images as they are made, and open pictures
 * over the page. What a person asked for is text of a stranger: it never becomes markup, and has its own direction.
 */

import type { JobState } from '../../../core/contracts/index.js';
import { NAMED_SIZES } from '../../images/index.js';
import { accountPages, linkTo } from '../components/filters.js';
import { type PictureView, thumbnailOf } from '../components/pictures.js';
import { pager } from '../components/table.js';
import type { Locale } from '../language/index.js';
import { badge, emptyState, type Html, html, type Page, scriptedButton } from '../page.js';
import type { ImageOffer } from '../playground-view.js';
import { closedForm, fileDrop, modelSelect, runCost } from './playground-forms.js';

/** An image job as pages show it. */
export interface ImageView {
  id: string;
  state: JobState;
  model: string;
  /** Times in milliseconds since 1970. */
  createdAt: number;
  expiresAt: number | null;
  runMs: number | null;
  /** What was asked for; undefined if the job came from an API client. */
  request: ImageRequestView | undefined;
  /** Undefined without a public file. */
  picture: PictureView | undefined;
  seed: number | undefined;
  isMock: boolean;
  /** With its currency; undefined if it has no price. */
  cost: string | undefined;
  error: { code: string; message: string } | undefined;
}

export interface ImageRequestView {
  prompt: string;
  /** `1024x1024` or `auto`. */
  size: string;
  seed: number | undefined;
  /** Number of input images. */
  references: number;
  hasMask: boolean;
}

export interface ImagesView {
  images: readonly ImageView[];
  /** Each model by one name. */
  offer: ImageOffer;
  /** Days for which images are kept. */
  retentionDays: number;
  /** Id of the last image, if there are older ones. */
  next: string | undefined;
  isFirst: boolean;
  /** The image that is made again. */
  again: ImageView | undefined;
  /** The model that the address names. */
  model: string | undefined;
  /** The image that is used as an input. */
  reference: PictureView | undefined;
}

const PATH = '/images';
const COUNTS = [1, 2, 3, 4, 6, 8] as const;
/** Longer prompts are cut in the list: the page of the image has them whole. */
const SHOWN_PROMPT = 200;

export function imagesPage(view: ImagesView, locale: Locale): Omit<Page, 'viewer'> {
  const { images, next, isFirst, retentionDays } = view;
  const t = locale.texts.images;
  const empty = isFirst ? emptyState(t.empty, t.emptyWords) : emptyState(t.noneHere, '');
  return {
    title: t.title,
    current: PATH,
    styles: ['tables.css', 'images.css'],
    scripts: ['images.js'],
    content: html`<div class="frame stack images">
<div class="page-head"><h1>${t.title}</h1><p>${t.lead(retentionDays)}</p>${accountPages(PATH, locale)}</div>
<p class="needs-no-script notice">${t.needsScripts}</p>
${imageForm(view, locale)}
<section class="stack" aria-labelledby="gallery-title"><h2 id="gallery-title" tabindex="-1">${t.gallery}</h2>
<p class="visually-hidden" id="image-news" role="status"></p>
<ul class="image-cards" id="image-cards">${images.map((image) => imageCard(image, locale))}</ul>
<div id="image-none"${images.length > 0 && html` hidden`}>${empty}</div>
${pager({ newest: isFirst ? undefined : PATH, older: next && linkTo(PATH, { after: next }) }, locale)}</section>
</div>`,
  };
}

/** What an account without images may begin with. The buttons fill the form. */
function samples({ offer, images, isFirst }: ImagesView, { texts: { images: t } }: Locale): Html | false {
  const isClosed = offer.withheld.images !== undefined || offer.models.length === 0;
  if (isClosed || images.length > 0 || !isFirst) return false;
  return html`<div class="row image-samples">${t.samples.map((sample) => html`<button type="button" class="button button-quiet button-small" data-sample>${sample}</button>`)}</div>`;
}

function imageForm(view: ImagesView, locale: Locale): Html {
  const { offer, again, model, reference } = view;
  const t = locale.texts.images;
  const asked = again?.request;
  const inputs = asked?.references ?? 0;
  const { notice, closed } = closedForm(
    { id: 'image-form', page: offer, grant: 'images', models: offer.models },
    locale,
  );
  const size = asked?.size ?? NAMED_SIZES[0];
  const chosenId = again?.model ?? model;
  const chosen = offer.models.find(({ id }) => id === chosenId) ?? offer.models[0];
  const focus = (again || reference) && html` autofocus`;
  return html`<section class="needs-script stack" aria-labelledby="form-title"><h2 class="visually-hidden" id="form-title">${t.form}</h2>
${notice}
<form class="card stack" id="image-form"><fieldset class="form-body stack"${closed}>
${inputs > 0 && html`<p class="notice notice-warn">${t.inputsGone(inputs)}</p>`}
<div class="field"><label for="image-prompt">${t.prompt}</label>
<textarea class="input" id="image-prompt" name="prompt" dir="auto" required maxlength="32000" rows="2" placeholder="${t.promptSample}"${focus}>${asked?.prompt}</textarea>${samples(view, locale)}</div>
<div class="options image-options">
${modelSelect('image-model', offer.models, locale, chosenId)}
<div class="field"><label for="image-size">${t.size}</label><select class="input" id="image-size" name="size">${NAMED_SIZES.map((name) => option(name, name.replace('x', ' × '), size))}${option('auto', t.autoSize, size)}</select></div>
<div class="field"><label for="image-count">${t.count}</label><select class="input" id="image-count" name="count">${COUNTS.map((count) => html`<option>${count}</option>`)}</select></div>
<div class="field" id="image-seed-field"${chosen?.takesSeed !== true && html` hidden`}><label for="image-seed">${t.seed}</label><input class="input" id="image-seed" name="seed" inputmode="numeric" autocomplete="off" title="${t.seedWords}" value="${asked?.seed}"></div>
</div>
<details${(reference || inputs > 0) && html` open`}${reference && html` data-reference="${reference.src}" data-reference-name="${reference.fileName}"`}><summary>${t.addReferences}</summary>${fileDrop({ id: 'image-references', param: 'image', label: t.references, words: t.referencesWords, accept: 'image/png,image/jpeg,image/webp,image/gif', multiple: true }, locale)}</details>
<div class="row">${scriptedButton(t.create)}${runCost(offer.models, locale, chosen?.id, size)}<span class="small muted image-counts">${t.counts}</span></div>
<p class="problem" role="alert"></p>
</fieldset></form></section>`;
}

function option(value: string, label: string, chosen: string | undefined): Html {
  return html`<option value="${value}"${value === chosen && html` selected`}>${label}</option>`;
}

/** One image in the list. */
export function imageCard(image: ImageView, locale: Locale): Html {
  const { id, state, createdAt } = image;
  const open = (state === 'queued' || state === 'running') && html` data-open`;
  return html`<li class="card image-card" id="${id}" data-created="${createdAt}"${open} tabindex="-1">
${cardFrame(image, locale)}
${promptWords(image, locale)}
${cardFacts(image, locale)}
${cardActions(image, locale)}
</li>
`;
}

function cardFrame(image: ImageView, locale: Locale): Html {
  const { id, picture, request, state } = image;
  const t = locale.texts.images;
  if (!picture) return html`<div class="image-frame">${shapeOf(image)}${stateWords(image, locale)}</div>`;
  const { width, height } = picture;
  const label = t.openImage(short(request?.prompt ?? t.anImage));
  return html`<a class="image-frame image-open" href="${PATH}/${id}"><span class="visually-hidden">${label}</span>
<img src="${thumbnailOf(picture)}" alt="" width="${width}" height="${height}" loading="lazy" decoding="async">${state === 'completed' ? '' : badge(t.states[state])}</a>`;
}

/** As the picture will be, while it is made. */
function shapeOf({ state, request }: ImageView): Html | false {
  const [, width, height] = /^(\d+)x(\d+)$/.exec(request?.size ?? '') ?? [];
  if ((state !== 'queued' && state !== 'running') || height === undefined) return false;
  return html`<svg class="image-shape" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" aria-hidden="true"></svg>`;
}

/** What stands in place of a picture. */
function stateWords({ state, error, cost = '' }: ImageView, locale: Locale): Html {
  const t = locale.texts.images;
  if (state === 'queued' || state === 'running') {
    return html`<div class="work"><span><span class="image-state">${t.states[state]}</span><span class="image-seconds figures" aria-hidden="true"></span></span><progress aria-label="${t.states[state]}"></progress></div>`;
  }
  if (state === 'completed') return html`<p class="small muted">${t.inlineOnly}</p>`;
  if (state === 'cancelled')
    return html`<p>${badge(t.states.cancelled)}</p><p class="small muted">${t.cancelledWords}${/[1-9]/.test(cost) && html` ${t.cancelledCosts}`}</p>`;
  return html`<p>${badge(t.states.failed, 'bad')}</p>${error && failureWords(error, locale)}`;
}

/** The meaning of the code, and the sentence of the model's vendor or the gateway, which stays English. */
function failureWords({ code, message }: { code: string; message: string }, { texts }: Locale): Html {
  const words = texts.errors.meaningOf(code);
  const further = message !== words && html`<p class="small muted image-reason" lang="en" dir="auto">${message}</p>`;
  return html`<p class="small" data-code="${code}">${words}</p>${further}`;
}

/** An image of an API client is named by its model. */
function promptWords({ request, model }: ImageView, { texts: { images: t } }: Locale): Html {
  if (!request)
    return html`<p class="small image-prompt" title="${t.noPrompt}">${model} <span class="muted">· ${t.fromKey}</span></p>`;
  return html`<p class="small image-prompt" dir="auto">${short(request.prompt)}</p>`;
}

function short(text: string): string {
  const characters = [...text.slice(0, 2 * SHOWN_PROMPT)];
  return characters.length > SHOWN_PROMPT ? `${characters.slice(0, SHOWN_PROMPT).join('')}…` : text;
}

function cardFacts({ picture, request, createdAt, cost, isMock }: ImageView, locale: Locale): Html {
  const t = locale.texts.images;
  const asked = request?.size === 'auto' ? undefined : request?.size.replace('x', ' × ');
  const size = picture ? `${picture.width} × ${picture.height}` : asked;
  return html`<p class="small muted figures image-facts">${size !== undefined && html`<span>${size}</span>`}${cost !== undefined && html`<span>${cost}</span>`}<span>${locale.minute(createdAt)}</span>${isMock && html`<span title="${t.mockWords}">${t.mock}</span>`}</p>`;
}

function cardActions(image: ImageView, locale: Locale): Html {
  const { id, state, picture, request } = image;
  const t = locale.texts.images;
  const what = html`<span class="visually-hidden"> ${short(request?.prompt ?? t.anImage)}</span>`;
  if (state === 'queued' || state === 'running') {
    return html`<div class="row"><button type="button" class="button button-quiet button-small needs-script" data-cancel="${id}">${t.cancel}${what}</button></div>`;
  }
  const quiet = 'button button-quiet button-small';
  const again = (kind: string) =>
    request && html`<a class="${kind} needs-script" href="${linkTo(PATH, { again: id })}">${t.again}${what}</a>`;
  return html`<div class="row image-card-actions">
${picture ? html`<a class="${quiet}" href="${picture.src}" download="${picture.fileName}">${t.download}${what}</a>` : again(quiet)}
<details class="menu menu-end"><summary class="${quiet}"><span aria-hidden="true">⋯</span><span class="visually-hidden">${t.more}${what}</span></summary>
<div class="menu-list">${picture && again('')}${deleteForm(id, what, locale)}</div></details></div>`;
}

/** Works without scripts; with them, it asks before. */
export function deleteForm(id: string, what: Html | false, { texts: { images: t } }: Locale): Html {
  return html`<form method="post" action="${PATH}/delete" data-delete><input type="hidden" name="id" value="${id}"><button class="link-button">${t.delete}${what}</button></form>`;
}
