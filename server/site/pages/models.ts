/*
 * The public page of the models and platforms: a table for each kind, with what each entry does, its limits and its price.
 * A row leads to the playground with its entry. What all models of a kind have the same is said once: beside its title whether
 * they are mocks and what they do, below the table their routes, which are folded where they differ. Models of which then only
 * the names are known are a list. Where nothing was found, the closest names stand in such tables. Search and pages work without scripts, as queries of the page. A visitor who tries a model gets to the playground with
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
  const near = shown.length === 0 ? nearest(search.q, all) : [];
  const listed = [...shown, ...near];
  return {
    title: t.title,
    description: t.description,
    current: PATH,
    styles: ['tables.css', 'public.css'],
    content: html`<div class="frame stack">
<div class="page-head"><h1>${t.title}</h1><p>${platforms.length > 0 ? t.leadWithLinks : t.lead}</p></div>
${searchForm(search, locale)}
<div class="row row-apart model-kinds">${found.length > 0 ? kindLinks(search, found, locale) : kindLinks({ q: '', page: 1 }, all, locale, false)}<p class="small muted${ofKind.length === all.length && html` visually-hidden`}" role="status">${t.found(ofKind.length, all.length)}</p></div>
${shown.length === 0 && nothing(near, all, locale)}
${listed.some((entry) => 'model' in entry && entry.model.isMock) && html`<p class="small muted">${t.mocks}</p>`}
${KINDS.map((kind) => renderKind(kind, listed, locale))}
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

function nothing(near: readonly Entry[], all: readonly Entry[], { texts: { models: t } }: Locale): Html {
  if (all.length === 0) return emptyState(t.empty, t.emptyWords);
  const words = html`${t.noneWords}${near.length > 0 && html` ${t.near(near.length)}`} <a href="${PATH}">${t.showAll}</a>`;
  return emptyState(t.none, words);
}

/** What the visitor may have meant, the closest first. */
function nearest(q: string, all: readonly Entry[]): Entry[] {
  const left = new Map(
    all.flatMap((entry) =>
      ('model' in entry ? [entry.model.id, ...entry.model.aliases] : [entry.platform.name]).map(
        (name) => [name.toLowerCase(), entry] as const,
      ),
    ),
  );
  const near = new Set<Entry>();
  while (near.size < MAX_NEAR) {
    const match = closestMatch(q.trim().toLowerCase(), left.keys());
    if (match === undefined) break;
    const entry = left.get(match);
    if (entry) near.add(entry);
    left.delete(match);
  }
  return [...near];
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
  const words = [task, models.some(hasTokenPrices) && t.perMillion].filter(Boolean).join('. ');
  return html`<section class="stack model-kind" aria-labelledby="kind-${kind}"><div class="row"><h2 id="kind-${kind}">${t.kinds[kind]}</h2>${areMocks && badge(t.mock, 'warn')}${words !== '' && html`<p class="small muted">${words}.</p>`}</div>
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

/** A table, or the names alone if nothing else is known of any. */
function modelList(models: readonly ModelEntry[], view: ModelListView, locale: Locale): Html {
  const isBare = (model: ModelEntry) => model.prices.length === 0 && limitsOf(model, locale).length === 0;
  if (view.hasTasks || !models.every(isBare)) return modelTable(models, view, locale);
  return html`<ul class="model-names" aria-label="${view.label}">${models.map((model) => html`<li>${nameOf(model, view, locale)}</li>`)}</ul>`;
}

/** With a button that copies it. */
function nameOf({ id, aliases, uses, isMock }: ModelEntry, { areMocks }: ModelListView, locale: Locale): Html {
  const t = locale.texts.models;
  const name = tryLink(html`<bdi class="mono">${id}</bdi>`, triedAt({ id, uses }), t.tryIt(id));
  return html`${name}${copyIcon(id, locale)}${isMock && !areMocks && html` ${badge(t.mock, 'warn')}`}${aliases.length > 0 && html`<span class="detail small muted">${t.also}: ${joined(aliases)}</span>`}`;
}

/** Prices of tokens have a column each where there is room, and are one text in a card. */
function modelTable(models: readonly ModelEntry[], view: ModelListView, locale: Locale): Html {
  const t = locale.texts.models;
  const { label, hasTasks } = view;
  const areTokens = models.every(({ prices }) => prices.every(({ unit }) => isTokenUnit(unit)));
  const arePriced = models.some(({ prices }) => prices.length > 0);
  const noPrice = arePriced && html`<span class="muted">${t.noPrice}</span>`;
  const tokenPrice = (unit: (typeof TOKEN_UNITS)[number]): Column<ModelEntry> => ({
    head: t.tokenPrices[unit],
    isNumber: true,
    inCard: 'none',
    cell: ({ prices }) => {
      const price = areTokens && prices.find((one) => one.unit === unit);
      return price ? amountOf(price, locale) : areTokens && unit === 'output' && prices.length === 0 && noPrice;
    },
  });
  const limit = (name: keyof typeof t.limits): Column<ModelEntry> => ({
    head: t.limits[name],
    ...((name === 'input' || name === 'formats' || name === 'edits') && { inCard: 'plain' }),
    cell: (model) => limitsOf(model, locale).find(([one]) => one === name)?.[1],
  });
  return dataTable<ModelEntry>({
    label,
    rows: models,
    isStacked: true,
    empty: { title: t.empty, words: t.emptyWords },
    columns: [
      { head: t.model, cell: (model) => nameOf(model, view, locale) },
      { head: t.task, inCard: 'plain', cell: (model) => hasTasks && describe(model, locale) },
      ...(['contextLength', 'maxOutput', 'input', 'formats', 'edits'] as const).map(limit),
      ...TOKEN_UNITS.map(tokenPrice),
      {
        head: t.prices,
        isNumber: true,
        inCard: areTokens ? 'only' : 'end',
        cardHead: '',
        cell: ({ prices }) => (prices.length > 0 ? renderPrices(prices, locale) : noPrice),
      },
    ],
  });
}

function effortsOf(model: ModelEntry | undefined, t: Locale['texts']['models']): Html | false {
  const { efforts = [] } = model?.limits ?? {};
  return efforts.length > 0 && html`<p class="small">${t.efforts}: <span lang="en">${efforts.join(', ')}</span></p>`;
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
        inCard: 'plain',
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
      {
        head: t.prices,
        isNumber: true,
        inCard: 'end',
        cell: ({ prices }) => prices.length > 0 && renderPrices(prices, locale),
      },
    ],
  });
}

/** Once for all models that do the same, with the efforts that they take; folded if some do something else. */
function routesOf(models: readonly ModelEntry[], { texts: { models: t } }: Locale): Html {
  const groups = Map.groupBy(models, ({ routes, limits }) => JSON.stringify([routes, limits.efforts]));
  const tasks = (some: readonly ModelEntry[]) =>
    [...new Set(some.flatMap(({ uses }) => uses))].map((use) => t.uses[use]);
  const list = (first: ModelEntry | undefined) =>
    html`<ul class="chips" aria-label="${t.routes}">${first?.routes.map((route) => html`<li><code class="badge">${route}</code></li>`)}</ul>${effortsOf(first, t)}`;
  const [only, ...others] = groups.values();
  if (only && others.length === 0) return html`<div class="model-routes small">${list(only[0])}</div>`;
  return html`<details class="model-routes"><summary>${t.routes}</summary><dl>${[...groups.values()].map(
    (some) => html`<div><dt>${tasks(some).join('. ')}</dt><dd>${list(some[0])}</dd></div>`,
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

type Limit = readonly [name: keyof Locale['texts']['models']['limits'], words: string];

function limitsOf({ limits }: ModelEntry, { texts: { models: t }, count, dataSize }: Locale): readonly Limit[] {
  const { contextLength, maxOutput, maxCharacters, maxAudioBytes, formats = [], takesMask } = limits;
  const input = [
    maxCharacters !== undefined && t.characters(count(maxCharacters)),
    maxAudioBytes !== undefined && t.files(dataSize(maxAudioBytes)),
  ].filter((one) => one !== false);
  const lines: (readonly [Limit[0], string | false])[] = [
    ['contextLength', contextLength !== undefined && t.tokens(count(contextLength))],
    ['maxOutput', maxOutput !== undefined && t.tokens(count(maxOutput))],
    ['input', input.length > 0 && input.join(', ')],
    ['formats', formats.length > 0 && formats.map((one) => one.toUpperCase()).join(', ')],
    ['edits', takesMask === true && t.masks],
  ];
  return lines.flatMap(([name, words]) => (words === false ? [] : [[name, words] as const]));
}

const TOKEN_UNITS = ['input', 'cached', 'output'] as const;

function isTokenUnit(unit: PriceLine['unit']): boolean {
  return TOKEN_UNITS.some((one) => one === unit);
}

function hasTokenPrices({ prices }: Pick<ModelEntry, 'prices'>): boolean {
  return prices.some(({ unit }) => isTokenUnit(unit));
}

/** Short, since what the prices of tokens are for stands beside the title. */
function renderPrices(prices: readonly PriceLine[], locale: Locale): Html {
  const { models: t } = locale.texts;
  const { tokens, others } = parted(prices, locale);
  const words = [
    ...(tokens ? [t.inOut(...tokens)] : []),
    ...others.map((price) => t.per(amountOf(price, locale), t.shortUnits[price.unit])),
  ];
  return html`<ul class="model-prices" aria-label="${t.prices}">${words.map((price) => html`<li>${price}</li>`)}</ul>`;
}

function amountOf({ amount, currency, isHighest }: PriceLine, { texts: { models: t }, smallMoney }: Locale): string {
  const price = smallMoney(amount, currency);
  return isHighest ? t.upTo(price) : price;
}

/** Each price in words: `€0.02 for an image`. */
export function wordsOfPrices(prices: readonly PriceLine[], locale: Locale): readonly string[] {
  const { models: t } = locale.texts;
  const { tokens, others } = parted(prices, locale);
  return [
    ...(tokens ? [t.inAndOut(...tokens)] : []),
    ...others.map((price) => t.unit(amountOf(price, locale), t.units[price.unit])),
  ];
}

/** The prices of tokens read and written, which stand together if both are known, and the others. */
function parted(prices: readonly PriceLine[], locale: Locale) {
  const [input, output] = (['input', 'output'] as const).map((of) => prices.find(({ unit }) => unit === of));
  if (!input || !output) return { others: prices };
  const tokens = [amountOf(input, locale), amountOf(output, locale)] as const;
  return { tokens, others: prices.filter(({ unit }) => !isTokenUnit(unit)) };
}

function pageLinks({ q, kind, page }: ModelSearch, many: number, { texts: { models: t } }: Locale): Html | false {
  const last = Math.ceil(many / ROWS);
  if (last <= 1) return false;
  const to = (target: number, label: string, rel: string) =>
    html`<a class="button button-quiet button-small" rel="${rel}" href="${linkTo(PATH, { q, kind, page: String(target) })}">${label}</a>`;
  return html`<nav class="row row-apart" aria-label="${t.pages}"><span>${page > 1 && to(page - 1, t.previous, 'prev')}</span>
<span class="small muted figures">${page} / ${last}</span><span>${page < last && to(page + 1, t.next, 'next')}</span></nav>`;
}
