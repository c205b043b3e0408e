/*
 * The public page of the models and platforms: what each does, on which routes, within which limits, and whether it is a
 * mock. What models do stands once, beside a row for each of them, with its price and a link that tries it. Search and pages
 * work without scripts, as queries of the page. A visitor who tries a model gets to the playground with it, or to the
 * sign-in page and then there.
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

/** A group with more rows than this is folded on a phone, which then shows the first ones. */
const LONG_GROUP = 6;
/** Even, as they stand in two columns of a wide window. */
const SHOWN_ROWS = 4;

type Entry = { kind: ModelKind; words: string } & ({ model: ModelEntry } | { platform: PlatformEntry });

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
<div class="row row-apart">${found.length > 0 && kindLinks(search, found, locale)}<p class="small muted${ofKind.length === all.length && html` visually-hidden`}" role="status">${t.found(ofKind.length, all.length)}</p></div>
${shown.length === 0 && nothing(all.length === 0, locale)}
${shown.some((entry) => 'model' in entry && entry.model.isMock) && html`<p class="small muted">${t.mocks}</p>`}
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
      model,
    })),
    ...platforms.map((platform) => ({
      kind: 'link' as const,
      words: wordsOf(platform.name, platform.linkForms, kinds.link, platformWords, '/v1/extract'),
      platform,
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
  return html`<section class="stack model-kind" aria-labelledby="kind-${kind}"><h2 id="kind-${kind}">${t.kinds[kind]}</h2>
<ul class="models">${alike(own).map(
    (group) => html`<li>${renderGroup(group, locale)}</li>
`,
  )}</ul></section>`;
}

/** Entries that do the same, within the same limits, on the same routes. */
function alike(entries: readonly Entry[]): [Entry, ...Entry[]][] {
  const groups = new Map<string, [Entry, ...Entry[]]>();
  for (const entry of entries) {
    const facts = 'model' in entry ? JSON.stringify(factsOf(entry.model)) : 'platforms';
    const group = groups.get(facts);
    if (group) group.push(entry);
    else groups.set(facts, [entry]);
  }
  return [...groups.values()];
}

/** What is said once: everything but the names and prices. */
function factsOf({ id: _id, aliases: _aliases, prices: _prices, ...facts }: ModelEntry) {
  return facts;
}

function renderGroup(group: readonly [Entry, ...Entry[]], locale: Locale): Html {
  const [first] = group;
  const t = locale.texts.models;
  const rows = group.map((entry) =>
    'model' in entry ? modelRow(entry.model, locale) : platformRow(entry.platform, locale),
  );
  const isWide = 'model' in first && rows.length > 1;
  const list = (some: readonly Html[]) => html`<ul class="model-rows${isWide && ' model-rows-two'}">${some}</ul>`;
  const shown = rows.length > LONG_GROUP ? SHOWN_ROWS : rows.length;
  const rest = rows.slice(shown);
  return html`<div class="model-about">${'model' in first ? aboutModels(first.model, locale) : html`<p>${t.platformWords}.</p>`}</div>
<div>${list(rows.slice(0, shown))}${rest.length > 0 && html`<details class="fold"><summary>${t.furtherModels(rest.length)}</summary>${list(rest)}</details>`}</div>`;
}

function modelRow(model: ModelEntry, locale: Locale): Html {
  const { id, aliases, prices } = model;
  const t = locale.texts.models;
  const href = triedAt(model);
  return html`<li><div class="model-row"><div><h3><bdi class="mono">${id}</bdi></h3>${aliases.length > 0 && html`<p class="small muted">${t.also}: ${joined(aliases)}</p>`}</div>
${renderPrices(prices, locale)}</div>${href !== undefined && tryLink(href, id, locale)}</li>
`;
}

function platformRow({ name, linkForms, features, prices }: PlatformEntry, locale: Locale): Html {
  const t = locale.texts.models;
  const has = [t.features.batch, features.async && t.features.async, features.audio_mp3 && t.features.audio_mp3];
  return html`<li><div class="model-row"><div><h3><bdi>${name}</bdi></h3><p class="small muted">${has.filter((one) => one !== false).join(', ')}</p>${
    linkForms.length > 0 &&
    html`<details><summary>${t.forms(linkForms.length)}</summary>
<ul class="link-form-list" aria-label="${t.linkForms}" lang="en">${linkForms.map((form) => html`<li><code class="small">${form}</code></li>`)}</ul></details>`
  }</div>
${renderPrices(prices, locale)}</div>${tryLink('/playground', name, locale)}</li>
`;
}

function aboutModels(model: ModelEntry, locale: Locale): Html {
  const { description, routes, isMock } = model;
  const t = locale.texts.models;
  return html`${description !== undefined && html`<p dir="auto">${description}</p>`}
<p${description !== undefined && html` class="small muted"`}>${whatItDoes(model, locale)} ${isMock && badge(t.mock, 'warn')}</p>
<details class="fold"><summary>${t.more}</summary>
<dl class="model-facts">${limitsOf(model, locale).map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>
<ul class="chips" aria-label="${t.routes}">${routes.map((route) => html`<li><code class="badge">${route}</code></li>`)}</ul></details>`;
}

function whatItDoes({ uses, limits }: ModelEntry, { texts: { models: t }, count }: Locale): string {
  const { maxReferences = 0, contextLength } = limits;
  const does = uses.map(
    (use) => t.uses[use] + (use === 'image' && maxReferences > 0 ? t.withReferences(maxReferences) : ''),
  );
  const context = contextLength === undefined ? '' : ` ${t.limits.contextLength}: ${t.tokens(count(contextLength))}.`;
  return `${does.join('. ')}.${context}`;
}

/** Where the playground has a form for it. */
function triedAt({ id, uses }: ModelEntry): string | undefined {
  if (!uses.some((use) => TRIED.includes(use))) return undefined;
  const page = uses.includes('image') ? '/images' : '/playground';
  return `${page}?${new URLSearchParams({ model: id })}`;
}

function joined(names: readonly string[]): Html[] {
  return names.map((name, index) => html`${index > 0 && ', '}<bdi class="mono">${name}</bdi>`);
}

function tryLink(href: string, name: string, { texts: { models: t } }: Locale): Html {
  return html`<a class="model-try" href="${href}" aria-label="${t.tryIt(name)}">${t.try}</a>`;
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
  const written = ({ amount, currency, isHighest }: PriceLine) => {
    const price = smallMoney(amount, currency);
    return isHighest ? t.upTo(price) : price;
  };
  const [input, output] = (['input', 'output'] as const).map((of) => prices.find(({ unit }) => unit === of));
  const others = input && output ? prices.filter((price) => price !== input && price !== output) : prices;
  return html`<ul class="model-prices" aria-label="${t.prices}">${input && output && html`<li>${t.inAndOut(written(input), written(output))}</li>`}${others.map((price) => html`<li>${t.unit(written(price), t.units[price.unit])}</li>`)}</ul>`;
}

function pageLinks({ q, kind, page }: ModelSearch, many: number, { texts: { models: t } }: Locale): Html | false {
  const last = Math.ceil(many / ROWS);
  if (last <= 1) return false;
  const to = (target: number, label: string, rel: string) =>
    html`<a class="button button-quiet button-small" rel="${rel}" href="${linkTo(PATH, { q, kind, page: String(target) })}">${label}</a>`;
  return html`<nav class="row row-apart" aria-label="${t.pages}"><span>${page > 1 && to(page - 1, t.previous, 'prev')}</span>
<span class="small muted figures">${page} / ${last}</span><span>${page < last && to(page + 1, t.next, 'next')}</span></nav>`;
}
