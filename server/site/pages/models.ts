/*
 * The public page of the models and platforms: a table for each kind, with what each entry does, its limits and its price.
 * A row leads to the playground with its entry. Its routes are in a fold below the table. What all models of a kind have the
 * same stands beside its title: whether they are mocks, and what they do. Models of which then only the name is known are a list.
 * Search and pages work without scripts, as queries of the page. A visitor who tries a model gets to the playground with
 * it, or to the sign-in page and then there.
 */

import { closestMatch } from '../../../core/runtime/index.js';
import { linkRow, linkTo } from '../components/filters.js';
import { type Column, dataTable } from '../components/table.js';
import type { Locale } from '../language/index.js';
import type { ModelEntry, ModelKind, ModelUse, PlatformEntry, PriceLine } from '../model-views.js';
import { badge, copyIcon, emptyState, type Html, html, type Page } from '../page.js';

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
/** Names that make a list of their own; fewer stay in the table. */
const MIN_NAMES = 4;
/** Suggestions where nothing was found. */
const MAX_NEAR = 3;
const KINDS: readonly ModelKind[] = ['text', 'audio', 'image', 'link'];
/** What the playground has a form for. */
const TRIED: readonly ModelUse[] = ['chat', 'image', 'speak', 'transcribe', 'changeVoice', 'generateSound'];

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
<div class="row row-apart model-kinds">${found.length > 0 ? kindLinks(search, found, locale) : kindLinks({ q: '', page: 1 }, all, locale, false)}<p class="small muted${ofKind.length === all.length && html` visually-hidden`}" role="status">${t.found(ofKind.length, all.length)}</p></div>
${shown.length === 0 && nothing(search, all, locale)}
${shown.some((entry) => 'model' in entry && entry.model.isMock) && html`<p class="small muted">${t.mocks}</p>`}
${KINDS.map((kind) => renderKind(kind, shown, locale))}
${pageLinks(search, ofKind.length, locale)}
</div>`,
  };
}

function entriesOf({ models, platforms }: ModelsView, locale: Locale): Entry[] {
  const { kinds, uses, tasks, platformWords } = locale.texts.models;
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
        model.uses.flatMap((use) => [uses[use], tasks[use]]),
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

/** @param isHere Whether one of them is the page itself: where nothing was found, they lead to what there is. */
function kindLinks(
  { q, kind }: ModelSearch,
  found: readonly Entry[],
  { texts: { models: t }, count }: Locale,
  isHere = true,
): Html {
  const of = (value: ModelKind | undefined, label: string, many: number) => ({
    label: `${label} ${count(many)}`,
    href: linkTo(PATH, { q, kind: value }),
    isCurrent: isHere && kind === value,
  });
  const counts = KINDS.map((one) => [one, found.filter((entry) => entry.kind === one).length] as const);
  const kinds = counts.filter(([one, many]) => many > 0 || one === kind);
  const links = [of(undefined, t.all, found.length), ...kinds.map(([one, many]) => of(one, t.kinds[one], many))];
  return linkRow(t.kind, links);
}

function nothing({ q }: ModelSearch, all: readonly Entry[], { texts: { models: t } }: Locale): Html {
  if (all.length === 0) return emptyState(t.empty, t.emptyWords);
  const near = nearNames(q, all).map((name) => html`<a href="${linkTo(PATH, { q: name })}"><bdi>${name}</bdi></a>`);
  const meant = near.length > 0 && html` ${t.meant} ${near.map((link, index) => html`${index > 0 && ', '}${link}`)}?`;
  return emptyState(t.none, html`${t.noneWords}${meant} <a href="${PATH}">${t.showAll}</a>`);
}

/** Names that the visitor may have meant, the closest first. */
function nearNames(q: string, all: readonly Entry[]): string[] {
  const names = all.flatMap((entry) =>
    'model' in entry ? [entry.model.id, ...entry.model.aliases] : entry.platform.name,
  );
  const left = new Map(names.map((name) => [name.toLowerCase(), name]));
  const near: string[] = [];
  while (near.length < MAX_NEAR) {
    const match = closestMatch(q.trim().toLowerCase(), left.keys());
    if (match === undefined) break;
    near.push(left.get(match) ?? match);
    left.delete(match);
  }
  return near;
}

function renderKind(kind: ModelKind, entries: readonly Entry[], locale: Locale): Html | false {
  const { models: t } = locale.texts;
  const own = entries.filter((entry) => entry.kind === kind);
  const models = own.flatMap((entry) => ('model' in entry ? entry.model : []));
  const platforms = own.flatMap((entry) => ('platform' in entry ? entry.platform : []));
  if (own.length === 0) return false;
  const areMocks = models.length > 0 && models.every(({ isMock }) => isMock);
  const task = sharedTask(models, locale);
  const view = { label: `${t.title}: ${t.kinds[kind]}`, areMocks, hasTasks: task === undefined };
  return html`<section class="stack model-kind" aria-labelledby="kind-${kind}"><div class="row"><h2 id="kind-${kind}">${t.kinds[kind]}</h2>${areMocks && badge(t.mock, 'warn')}${task !== undefined && html`<p class="small muted">${task}</p>`}</div>
<div class="card models">${models.length > 0 ? modelList(models, view, locale) : platformTable(platforms, locale)}
${models.length > 0 && routesOf(models, locale)}</div></section>`;
}

/** What all of them do, unless they differ or the operator describes one. */
function sharedTask(models: readonly ModelEntry[], locale: Locale): string | undefined {
  if (models.some(({ description }) => description !== undefined)) return undefined;
  const tasks = new Set(models.map((model) => taskOf(model, locale)));
  return tasks.size === 1 ? [...tasks][0] : undefined;
}

interface ModelListView {
  label: string;
  /** Whether all are mocks, which the title says. */
  areMocks: boolean;
  /** Whether they do different things. */
  hasTasks: boolean;
}

/** A table, and below it the names of those of which nothing else is known. */
function modelList(models: readonly ModelEntry[], view: ModelListView, locale: Locale): Html {
  const t = locale.texts.models;
  const isBare = (model: ModelEntry) => !view.hasTasks && model.prices.length === 0 && !limitsOf(model, locale);
  const bare = models.filter(isBare);
  if (bare.length < MIN_NAMES) return modelTable(models, view, locale);
  const rows = models.filter((model) => !isBare(model));
  const title = rows.some(({ prices }) => prices.length > 0) ? t.unpriced : t.further;
  return html`${rows.length > 0 && html`${modelTable(rows, view, locale)}<h3 class="small muted model-names-title">${title}</h3>`}
<ul class="model-names" aria-label="${rows.length > 0 ? title : view.label}">${bare.map((model) => html`<li>${nameOf(model, view, locale)}</li>`)}</ul>`;
}

/** @param hasCopy Whether a button beside the name copies it. */
function nameOf(
  { id, aliases, uses, isMock }: ModelEntry,
  { areMocks }: ModelListView,
  locale: Locale,
  hasCopy = false,
): Html {
  const t = locale.texts.models;
  const name = tryLink(html`<bdi class="mono">${id}</bdi>`, triedAt({ id, uses }), t.tryIt(id));
  return html`${name}${hasCopy && copyIcon(id, locale)}${isMock && !areMocks && html` ${badge(t.mock, 'warn')}`}${aliases.length > 0 && html`<span class="detail small muted">${t.also}: ${joined(aliases)}</span>`}`;
}

/** A name can be copied. Prices of tokens have a column each where there is room, and are one text in a card. */
function modelTable(models: readonly ModelEntry[], view: ModelListView, locale: Locale): Html {
  const t = locale.texts.models;
  const { label, hasTasks } = view;
  const areTokens = models.every(({ prices }) => prices.every(({ unit }) => unit === 'input' || unit === 'output'));
  const tokenPrice = (unit: 'input' | 'output'): Column<ModelEntry> => ({
    head: t.million[unit],
    inCard: 'none',
    cell: ({ prices }) => {
      const price = areTokens && prices.find((one) => one.unit === unit);
      return price && html`<span class="figures">${amountOf(price, locale)}</span>`;
    },
  });
  return dataTable<ModelEntry>({
    label,
    rows: models,
    isStacked: true,
    empty: { title: t.empty, words: t.emptyWords },
    columns: [
      { head: t.model, cell: (model) => nameOf(model, view, locale, true) },
      { head: t.task, inCard: 'end', cell: (model) => hasTasks && describe(model, locale) },
      { head: t.more, inCard: 'plain', cell: (model) => limitsOf(model, locale) },
      tokenPrice('input'),
      tokenPrice('output'),
      {
        head: t.prices,
        inCard: areTokens ? 'only' : 'plain',
        cardHead: '',
        cell: ({ prices }) => renderPrices(prices, locale),
      },
    ],
  });
}

function effortsOf(model: ModelEntry | undefined, t: Locale['texts']['models']): Html | false {
  const { efforts = [] } = model?.limits ?? {};
  return (
    efforts.length > 0 && html`<p class="small">${t.limits.efforts}: <span lang="en">${efforts.join(', ')}</span></p>`
  );
}

/** In the words of the operator, if there are any. */
function describe(model: ModelEntry, locale: Locale): Html | string {
  const { description } = model;
  return description === undefined ? taskOf(model, locale) : html`<span dir="auto">${description}</span>`;
}

function taskOf({ uses, limits }: Pick<ModelEntry, 'uses' | 'limits'>, { texts: { models: t } }: Locale): string {
  const { maxReferences = 0 } = limits;
  const tasks = uses.map(
    (use) => t.tasks[use] + (use === 'image' && maxReferences > 0 ? t.withReferences(maxReferences) : ''),
  );
  return tasks.join('; ');
}

function platformTable(platforms: readonly PlatformEntry[], locale: Locale): Html {
  const t = locale.texts.models;
  return dataTable<PlatformEntry>({
    label: `${t.platform}: ${t.kinds.link}`,
    rows: platforms,
    isStacked: true,
    empty: { title: t.empty, words: t.emptyWords },
    columns: [
      { head: t.platform, cell: ({ name }) => tryLink(html`<bdi>${name}</bdi>`, '/playground', t.tryIt(name)) },
      {
        head: t.task,
        inCard: 'end',
        cell: ({ features: { async: isAsync, audio_mp3: hasMp3 } }) =>
          [t.features.batch, isAsync && t.features.async, hasMp3 && t.features.audio_mp3].filter(Boolean).join(', '),
      },
      {
        head: t.linkForms,
        inCard: 'plain',
        cell: ({ linkForms }) =>
          linkForms.length > 0 &&
          html`<details><summary>${t.forms(linkForms.length)}</summary>
<ul class="link-form-list" aria-label="${t.linkForms}" lang="en">${linkForms.map((form) => html`<li><code class="small">${form}</code></li>`)}</ul></details>`,
      },
      { head: t.prices, inCard: 'plain', cell: ({ prices }) => renderPrices(prices, locale) },
    ],
  });
}

/** Folded: once for all models that do the same, with the efforts that they take. */
function routesOf(models: readonly ModelEntry[], { texts: { models: t } }: Locale): Html {
  const groups = Map.groupBy(models, ({ routes, limits }) => JSON.stringify([routes, limits.efforts]));
  const tasks = (some: readonly ModelEntry[]) =>
    [...new Set(some.flatMap(({ uses }) => uses))].map((use) => t.uses[use]);
  return html`<details class="model-routes"><summary>${t.routes}</summary><dl>${[...groups.values()].map(
    (some) =>
      html`<div><dt>${tasks(some).join('. ')}</dt><dd><ul class="chips" aria-label="${t.routes}">${some[0]?.routes.map((route) => html`<li><code class="badge">${route}</code></li>`)}</ul>${effortsOf(some[0], t)}</dd></div>`,
  )}</dl></details>`;
}

/** Where the playground has a form for it. */
function triedAt({ id, uses }: Pick<ModelEntry, 'id' | 'uses'>): string | undefined {
  if (!uses.some((use) => TRIED.includes(use))) return undefined;
  const page = uses.includes('image') ? '/images' : '/playground';
  return `${page}?${new URLSearchParams({ model: id })}`;
}

function joined(names: readonly string[]): Html[] {
  return names.map((name, index) => html`${index > 0 && ', '}<bdi class="mono">${name}</bdi>`);
}

/** The name; where the playground has a form for it, the row leads there. */
function tryLink(name: Html, href: string | undefined, label: string): Html {
  if (href === undefined) return html`<span class="model-name">${name}</span>`;
  return html`<a class="row-link model-name model-try" href="${href}" aria-label="${label}">${name}</a>`;
}

function limitsOf({ limits }: ModelEntry, { texts: { models: t }, count, dataSize }: Locale): Html | false {
  const { contextLength, maxOutput, maxCharacters, maxAudioBytes, formats = [], takesMask } = limits;
  const lines: [keyof typeof t.limits, Html | string | false | undefined][] = [
    ['contextLength', contextLength !== undefined && t.tokens(count(contextLength))],
    ['maxOutput', maxOutput !== undefined && t.tokens(count(maxOutput))],
    ['maxCharacters', maxCharacters !== undefined && t.characters(count(maxCharacters))],
    ['maxAudioBytes', maxAudioBytes !== undefined && dataSize(maxAudioBytes)],
    ['formats', formats.length > 0 && formats.map((one) => one.toUpperCase()).join(', ')],
    ['takesMask', takesMask && t.yes],
  ];
  const known = lines.filter(([, value]) => value);
  return (
    known.length > 0 &&
    html`${known.map(([name, value]) => html`<span class="model-limit"><span class="muted">${t.limits[name]}</span> ${value}</span> `)}`
  );
}

function renderPrices(prices: readonly PriceLine[], locale: Locale): Html | false {
  const words = wordsOfPrices(prices, locale);
  return (
    words.length > 0 &&
    html`<ul class="model-prices" aria-label="${locale.texts.models.prices}">${words.map((price) => html`<li>${price}</li>`)}</ul>`
  );
}

function amountOf({ amount, currency, isHighest }: PriceLine, { texts: { models: t }, smallMoney }: Locale): string {
  const price = smallMoney(amount, currency);
  return isHighest ? t.upTo(price) : price;
}

/** Each price in words: `€0.02 for an image`. */
export function wordsOfPrices(prices: readonly PriceLine[], locale: Locale): readonly string[] {
  const { models: t } = locale.texts;
  const written = (price: PriceLine) => amountOf(price, locale);
  const [input, output] = (['input', 'output'] as const).map((of) => prices.find(({ unit }) => unit === of));
  const others = input && output ? prices.filter((price) => price !== input && price !== output) : prices;
  return [
    ...(input && output ? [t.inAndOut(written(input), written(output))] : []),
    ...others.map((price) => t.unit(written(price), t.units[price.unit])),
  ];
}

function pageLinks({ q, kind, page }: ModelSearch, many: number, { texts: { models: t } }: Locale): Html | false {
  const last = Math.ceil(many / ROWS);
  if (last <= 1) return false;
  const to = (target: number, label: string, rel: string) =>
    html`<a class="button button-quiet button-small" rel="${rel}" href="${linkTo(PATH, { q, kind, page: String(target) })}">${label}</a>`;
  return html`<nav class="row row-apart" aria-label="${t.pages}"><span>${page > 1 && to(page - 1, t.previous, 'prev')}</span>
<span class="small muted figures">${page} / ${last}</span><span>${page < last && to(page + 1, t.next, 'next')}</span></nav>`;
}
