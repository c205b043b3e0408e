/*
 * The page of one image: the whole picture, the whole prompt, its facts, and what can be done with it. A part of it can
 * be painted over and described anew; the part can also be given by numbers. The script of the list shows the article of
 * this page over the list, and takes the card from it.
 */

import { NAMED_SIZES } from '../../images/index.js';
import { linkTo } from '../components/filters.js';
import type { PictureView } from '../components/pictures.js';
import type { Locale } from '../language/index.js';
import { type Html, type HtmlValue, html, type Page, scriptedButton } from '../page.js';
import type { ModelChoice } from '../playground-view.js';
import { deleteForm, type ImageView, imageCard } from './images.js';
import { modelSelect, runCost } from './playground-forms.js';

export interface OneImageView {
  image: ImageView;
  /** Models that change a part of an image; none if images cannot be made. */
  editModels: readonly ModelChoice[];
}

const PATH = '/images';
const MAX_TITLE = 90;

export function imagePage({ image, editModels }: OneImageView, locale: Locale): Omit<Page, 'viewer'> {
  const { picture } = image;
  const t = locale.texts.images;
  const isEditable = picture !== undefined && editModels.length > 0;
  return {
    title: titleOf(image),
    current: PATH,
    styles: ['images.css'],
    scripts: ['images.js', ...(isEditable ? ['image-edit.js'] : [])],
    content: html`<div class="frame stack images image-page">
<div class="page-head"><p class="back"><a href="${PATH}">${t.back}</a></p><h1 class="visually-hidden">${titleOf(image)}</h1></div>
${imageDetail(image, isEditable, locale)}
${isEditable && editor(image, picture, editModels, locale)}
<template id="image-card">${imageCard(image, locale)}</template>
</div>`,
  };
}

function imageDetail(image: ImageView, isEditable: boolean, locale: Locale): Html {
  const { id, picture, request, isMock, state, error } = image;
  const t = locale.texts.images;
  const shown = picture
    ? html`<a class="image-whole" href="${picture.src}"><img src="${picture.src}" alt="${request?.prompt ?? t.anImage}" width="${picture.width}" height="${picture.height}"></a>`
    : html`<div class="image-whole image-frame"><p>${t.states[state]}</p>${error && html`<p class="small">${locale.texts.errors.meaningOf(error.code)}</p><p class="small muted" lang="en" dir="auto">${error.message}</p>`}</div>`;
  return html`<article class="image-detail" id="image-detail">
${shown}
<div class="stack">
<div><h2 class="image-title${request && request.prompt.length <= MAX_TITLE && html` image-words`}" dir="auto">${titleOf(image)}</h2>${request ? request.prompt.length > MAX_TITLE && html`<p class="image-words small" dir="auto" tabindex="0" role="region" aria-label="${t.prompt}">${request.prompt}</p>` : html`<p class="small muted">${t.noPrompt}</p>`}</div>
<div class="image-actions">
${picture && html`<a class="button" href="${picture.src}" download="${picture.fileName}">${t.download}</a>`}
${request && html`<a class="button button-quiet needs-script" href="${linkTo(PATH, { again: id })}">${t.again}</a>`}
${picture && html`<a class="button button-quiet needs-script" href="${linkTo(PATH, { reference: id })}">${t.reference}</a>`}
${isEditable && html`<a class="button button-quiet needs-script" href="${PATH}/${id}#edit">${t.edit}</a>`}
</div>
<dl class="facts small">${factsOf(image, locale).map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>
${isMock && html`<p class="small muted">${t.mockWords}</p>`}
${state !== 'queued' && state !== 'running' && deleteForm(id, false, locale)}
</div></article>`;
}

/** The prompt, up to a word where it is long: then the whole is text below it. Without a prompt: the model. */
function titleOf({ request, model }: ImageView): string {
  const prompt = request?.prompt ?? model;
  if (prompt.length <= MAX_TITLE) return prompt;
  const [start] = /^.{1,60}(?=\s)/s.exec(prompt) ?? [[...prompt].slice(0, 60).join('')];
  return `${start}…`;
}

function factsOf(image: ImageView, locale: Locale): [string, HtmlValue][] {
  const { picture, request, seed, cost, model, createdAt, runMs, expiresAt } = image;
  const t = locale.texts.images;
  const masked = request?.hasMask ? `, ${t.withMask}` : '';
  const facts: [string, HtmlValue | undefined][] = [
    [t.facts.size, picture && `${picture.width} × ${picture.height}`],
    [t.facts.model, request && model],
    [t.facts.seed, seed || request?.seed !== undefined ? String(seed) : undefined],
    [t.facts.inputs, request && request.references > 0 ? `${request.references}${masked}` : undefined],
    [t.facts.cost, cost],
    [t.facts.file, picture && locale.dataSize(picture.bytes)],
    [t.facts.took, runMs === null ? undefined : t.secondsTaken(locale.count(runMs / 1_000))],
    [t.facts.created, locale.minute(createdAt)],
    [t.facts.expires, expiresAt === null ? undefined : locale.day(expiresAt)],
  ];
  return facts.filter((fact): fact is [string, HtmlValue] => fact[1] !== undefined);
}

/** In percent, as a person can measure them on the screen. */
const RECTANGLE = [
  ['left', '25'],
  ['top', '25'],
  ['width', '50'],
  ['height', '50'],
] as const;

function editor({ id, model }: ImageView, picture: PictureView, models: readonly ModelChoice[], locale: Locale): Html {
  const t = locale.texts.images;
  const { src, width, height } = picture;
  const size = `${width}x${height}`;
  const isNamed = NAMED_SIZES.some((name) => name === size);
  return html`<section class="needs-script" id="edit" aria-labelledby="edit-title" tabindex="-1">
<div class="edit-head"><p class="back"><a href="${PATH}/${id}">${t.wholeImage}</a></p><h2 id="edit-title">${t.editTitle}</h2><p class="muted">${t.editWords}</p></div>
<div class="card image-edit">
<div class="stack-small">
<div class="image-tools" role="group" aria-label="${t.tools}"><button type="button" class="button button-quiet button-small" id="edit-paint" aria-pressed="true">${t.paint}</button><button type="button" class="button button-quiet button-small" id="edit-box" aria-pressed="false">${t.box}</button><button type="button" class="button button-quiet button-small" id="edit-erase" aria-pressed="false">${t.erase}</button>
<label class="image-brush small">${t.brush} <input type="range" id="edit-brush" min="2" max="30" value="8"></label><button type="button" class="button button-quiet button-small" id="edit-undo" aria-disabled="true">${t.undo}</button><button type="button" class="button button-quiet button-small" id="edit-clear" aria-disabled="true">${t.clear}</button></div>
<div class="image-stage"><div class="image-canvas"><img id="edit-image" src="${src}" alt="" width="${width}" height="${height}"><canvas id="edit-canvas" role="img" aria-label="${t.canvas}" width="${width}" height="${height}"></canvas></div></div>
<p class="small muted" id="edit-news" role="status"></p>
</div>
<div class="stack">
<form class="stack" id="edit-form"><div class="field"><label for="edit-prompt">${t.editPrompt}</label><textarea class="input" id="edit-prompt" name="prompt" dir="auto" required maxlength="32000" rows="3" placeholder="${t.editSample}"></textarea></div>
<div class="form-row">${modelSelect('edit-model', models, locale, model)}${scriptedButton(t.createEdit)}</div>
${runCost(models, locale, model, isNamed ? size : 'auto')}<p class="small muted">${t.counts}</p><p class="problem" role="alert"></p></form>
<details><summary>${t.rectangle}</summary><form class="stack" id="edit-rectangle"><p class="small muted" id="edit-rectangle-words">${t.rectangleWords}</p>
<div class="image-numbers">${RECTANGLE.map(([name, value]) => html`<div class="field"><label for="edit-${name}">${t[name]}</label><input class="input" id="edit-${name}" name="${name}" inputmode="decimal" value="${value}" aria-describedby="edit-rectangle-words" autocomplete="off"></div>`)}</div>
<div>${scriptedButton(t.addRectangle, 'button-quiet button-small')}</div><p class="problem" role="alert"></p></form></details>
</div></div></section>`;
}
