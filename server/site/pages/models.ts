/*
 * The public page of the models and platforms: what each does, on which routes, within which limits, and whether it is a
 * mock. Models that differ in their names alone share a card. Search and pages work without scripts, as queries of the page. A visitor who tries a model gets to the
 * playground with it, or to the sign-in page and then there.
 */

import { linkRow, linkTo } from '../components/filters.js';
import type { Locale } from '../language/index.js';
import type { ModelEntry, ModelKind, ModelUse, PlatformEntry, PriceLine } from '../model-views.js';
import { badge, emptyState, type Html, html, type Page } from '../page.js';

/** What the visitor looks for. */
export interface ModelSearch {
  /** Empty: everything. */
  q: string;
  /** Default: every kind. */
  kind?: ModelKind | undefined;
  /** From 1. */
  page: number;
}

export interface ModelsView {
  search: ModelSearch;
  models: readonly ModelEntry[];
  /** Empty if no plan includes link data. */
  platforms: readonly PlatformEntry[];
}

const PATH = '/models';
/** Entries of a page: it stays small with every model of a large vendor, and short on a phone. */
const ROWS = 40;
const KINDS: readonly ModelKind[] = ['text', 'audio', 'image', 'link'];
/** What the playground has a form for. */
const TRIED: readonly ModelUse[] = ['chat', 'image', 'speak', 'transcribe', 'changeVoice', 'generateSound'];

type Entry = { kind: ModelKind; words: string; content: Html; model?: ModelEntry };

export function modelsPage(view: ModelsView, locale: Locale): Omit<Page, 'viewer'> {
  const { search, platforms } = view;
  const t = locale.texts.models;
  const all = entriesOf(view, locale);
  const found = all.filter(({ words }) => words.includes(search.q.toLowerCase()));
  const ofKind = found.filter(({ kind }) => kind === (search.kind ?? kind));
  const shown = ofKind.slice((search.page - 1) * ROWS, search.page * ROWS);
  return {
    title: t.title,
    description: t.description,
    current: PATH,
    styles: ['tables.css', 'public.css'],
    content: html`<div class="frame stack">
<div class="page-head"><h1>${t.title}</h1><p>${platforms.length > 0 ? t.leadWithLinks : t.lead}</p></div>
${searchForm(search, locale)}
<div class="row row-apart">${kindLinks(search, found, locale)}<p class="small muted${ofKind.length === all.length && html` visually-hidden`}" role="status">${t.found(ofKind.length, all.length)}</p></div>
${shown.length === 0 && nothing(all.length === 0, locale)}
${shown.some(({ model }) => model?.isMock) && html`<p class="small muted">${t.mocks}</p>`}
${KINDS.map((kind) => renderKind(kind, shown, locale))}
${pageLinks(search, ofKind.length, locale)}
</div>`,
  };
}

function entriesOf({ models, platforms }: ModelsView, locale: Locale): Entry[] {
  const { kinds, uses, platformWords } = locale.texts.models;
  const wordsOf = (...words: readonly (string | readonly string[])[]) => words.flat().join('\n').toLowerCase();
  return [
    ...models.map((model) => ({
      kind: model.kind,
      words: wordsOf(
        model.id,
        model.aliases,
        model.routes,
        model.description ?? '',
        kinds[model.kind],
        model.uses.map((use) => uses[use]),
      ),
      content: renderModel(model, locale),
      model,
    })),
    ...platforms.map((platform) => ({
      kind: 'link' as const,
      words: wordsOf(platform.name, platform.linkForms, kinds.link, platformWords, '/v1/extract'),
      content: renderPlatform(platform, locale),
    })),
  ];
}

function searchForm({ q, kind }: ModelSearch, { texts: { models: t } }: Locale): Html {
  return html`<form class="form-row" method="get" action="${PATH}" role="search">
${kind !== undefined && html`<input type="hidden" name="kind" value="${kind}">`}
<div class="field"><label class="visually-hidden" for="models-q">${t.search}</label><input class="input" type="search" id="models-q" name="q" value="${q}" maxlength="200" placeholder="${t.placeholder}" autocomplete="off" spellcheck="false"></div>
<button class="button button-quiet">${t.find}</button>
</form>`;
}

function kindLinks({ q, kind }: ModelSearch, found: readonly Entry[], { texts: { models: t }, count }: Locale): Html {
  const of = (value: ModelKind | undefined, label: string, many: number) => ({
    label: `${label} ${count(many)}`,
    href: linkTo(PATH, { q, kind: value }),
    isCurrent: kind === value,
  });
  const counts = KINDS.map((one) => [one, found.filter((entry) => entry.kind === one).length] as const);
  return linkRow(t.kind, [
    of(undefined, t.all, found.length),
    ...counts.filter(([one, many]) => many > 0 || one === kind).map(([one, many]) => of(one, t.kinds[one], many)),
  ]);
}

function nothing(isEmpty: boolean, { texts: { models: t } }: Locale): Html {
  if (isEmpty) return emptyState(t.empty, t.emptyWords);
  return emptyState(t.none, html`${t.noneWords} <a href="${PATH}">${t.showAll}</a>`);
}

function renderKind(kind: ModelKind, entries: readonly Entry[], locale: Locale): Html | false {
  const { models: t } = locale.texts;
  const own = entries.filter((entry) => entry.kind === kind);
  if (own.length === 0) return false;
  return html`<section class="stack model-kind" aria-labelledby="kind-${kind}"><div class="model-kind-head"><h2 id="kind-${kind}">${t.kinds[kind]}</h2>${kind === 'link' && html`<p class="small muted">${t.platformWords}.</p>`}</div>
<ul class="models">${alike(own).map(([first, ...others]) => {
    const models = [first, ...others].flatMap((entry) => entry?.model ?? []);
    return models.length > 1
      ? html`<li class="model-group">${renderAlike(models as [ModelEntry, ...ModelEntry[]], locale)}</li>
`
      : html`<li>${first?.content ?? ''}</li>
`;
  })}</ul></section>`;
}

/** Neighbours that differ in their names alone stand in one card; those with words of the operator never. */
function alike(entries: readonly Entry[]): Entry[][] {
  const groups: Entry[][] = [];
  const factsOf = ({ model }: Entry) => {
    if (!model || model.description !== undefined) return undefined;
    const { id: _id, aliases: _aliases, ...facts } = model;
    return JSON.stringify(facts);
  };
  for (const entry of entries) {
    const facts = factsOf(entry);
    const same = groups.find(([first]) => facts !== undefined && first && factsOf(first) === facts);
    if (same) same.push(entry);
    else groups.push([entry]);
  }
  return groups;
}

function renderModel(model: ModelEntry, locale: Locale): Html {
  const { id, aliases, description, isMock } = model;
  const t = locale.texts.models;
  return html`<div class="model-head"><h3><bdi class="mono">${id}</bdi> ${isMock && badge(t.mock, 'warn')}</h3>
${tryModel(model, locale)}</div>
${description !== undefined && html`<p dir="auto">${description}</p>`}
<p${description !== undefined && html` class="small muted"`}>${whatItDoes(model, locale)}</p>
${aliases.length > 0 && html`<p class="small muted">${t.also}: ${joined(aliases)}</p>`}
${renderMore(model, locale)}`;
}

/** What they have in common, and each name as a link that tries it. */
function renderAlike(models: readonly [ModelEntry, ...ModelEntry[]], locale: Locale): Html {
  const t = locale.texts.models;
  const [first] = models;
  return html`<div class="model-head"><p>${whatItDoes(first, locale)}</p>${first.isMock && badge(t.mock, 'warn')}</div>
<ul class="model-names">${models.map((model) => {
    const name = html`<bdi class="mono">${model.id}</bdi>`;
    const href = triedAt(model);
    return html`<li><h3>${href === undefined ? name : html`<a class="model-name" href="${href}" aria-label="${t.tryIt(model.id)}">${name}</a>`}</h3>${model.aliases.length > 0 && html`<p class="small muted">${t.also}: ${joined(model.aliases)}</p>`}</li>`;
  })}</ul>
${renderMore(first, locale)}`;
}

function whatItDoes({ uses, limits }: ModelEntry, { texts: { models: t }, count }: Locale): string {
  const { maxReferences = 0, contextLength } = limits;
  const does = uses.map(
    (use) => t.uses[use] + (use === 'image' && maxReferences > 0 ? t.withReferences(maxReferences) : ''),
  );
  const context = contextLength === undefined ? '' : ` ${t.limits.contextLength}: ${t.tokens(count(contextLength))}.`;
  return `${does.join('. ')}.${context}`;
}

function tryModel(model: ModelEntry, locale: Locale): Html | false {
  const href = triedAt(model);
  return href !== undefined && tryLink(href, model.id, locale);
}

/** Where the playground has a form for it. */
function triedAt({ id, uses }: ModelEntry): string | undefined {
  if (!uses.some((use) => TRIED.includes(use))) return undefined;
  const page = uses.includes('image') ? '/images' : '/playground';
  return `${page}?${new URLSearchParams({ model: id })}`;
}

function renderMore(model: ModelEntry, locale: Locale): Html {
  const t = locale.texts.models;
  const { routes, prices } = model;
  return html`<details class="model-more"><summary>${t.more}</summary>
<dl class="model-facts">${limitsOf(model, locale).map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}${renderPrices(prices, locale)}</dl>
<ul class="chips" aria-label="${t.routes}">${routes.map((route) => html`<li><code class="badge">${route}</code></li>`)}</ul></details>`;
}

function joined(names: readonly string[]): Html[] {
  return names.map((name, index) => html`${index > 0 && ', '}<bdi class="mono">${name}</bdi>`);
}

function tryLink(href: string, name: string, { texts: { models: t } }: Locale): Html {
  return html`<a class="button button-quiet button-small" href="${href}" aria-label="${t.tryIt(name)}">${t.try}</a>`;
}

function limitsOf(
  { limits }: ModelEntry,
  { texts: { models: t }, count, dataSize }: Locale,
): [string, Html | string][] {
  const { maxOutput, efforts, maxCharacters, maxAudioBytes, formats, takesMask } = limits;
  const lines: [keyof typeof t.limits, Html | string | false | undefined][] = [
    ['maxOutput', maxOutput !== undefined && t.tokens(count(maxOutput))],
    ['efforts', efforts && html`<span lang="en">${efforts.join(', ')}</span>`],
    ['maxCharacters', maxCharacters !== undefined && t.characters(count(maxCharacters))],
    ['maxAudioBytes', maxAudioBytes !== undefined && dataSize(maxAudioBytes)],
    ['formats', formats && formats.length > 0 && formats.map((one) => one.toUpperCase()).join(', ')],
    ['takesMask', takesMask && t.yes],
  ];
  return lines.flatMap(([name, value]) => (value ? [[t.limits[name], value]] : []));
}

function renderPrices(prices: readonly PriceLine[], { texts: { models: t }, smallMoney }: Locale): Html | false {
  if (prices.length === 0) return false;
  const words = prices.map(({ unit, amount, currency, isHighest }) => {
    const price = smallMoney(amount, currency);
    return html`<dd>${t.unit(isHighest ? t.upTo(price) : price, t.units[unit])}</dd>`;
  });
  return html`<div><dt>${t.prices}</dt>${words}</div>`;
}

function renderPlatform({ name, linkForms, features, prices }: PlatformEntry, locale: Locale): Html {
  const t = locale.texts.models;
  const has = [t.features.batch, features.async && t.features.async, features.audio_mp3 && t.features.audio_mp3];
  return html`<div class="model-head"><h3><bdi>${name}</bdi></h3>${tryLink('/playground', name, locale)}</div>
<div class="row model-about"><ul class="chips">${has.map((feature) => feature && html`<li class="badge">${feature}</li>`)}</ul>
<dl class="model-facts">${renderPrices(prices, locale)}</dl></div>
${
  linkForms.length > 0 &&
  html`<details><summary>${t.forms(linkForms.length)}</summary>
<ul class="link-form-list" aria-label="${t.linkForms}" lang="en">${linkForms.map((form) => html`<li><code class="small">${form}</code></li>`)}</ul></details>`
}`;
}

function pageLinks({ q, kind, page }: ModelSearch, many: number, { texts: { models: t } }: Locale): Html | false {
  const last = Math.ceil(many / ROWS);
  if (last <= 1) return false;
  const to = (target: number, label: string, rel: string) =>
    html`<a class="button button-quiet button-small" rel="${rel}" href="${linkTo(PATH, { q, kind, page: String(target) })}">${label}</a>`;
  return html`<nav class="row row-apart" aria-label="${t.pages}"><span>${page > 1 && to(page - 1, t.previous, 'prev')}</span>
<span class="small muted figures">${page} / ${last}</span><span>${page < last && to(page + 1, t.next, 'next')}</span></nav>`;
}
