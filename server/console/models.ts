/*
 * Models and plugins in the console: by kind, those that do not work first and then the most used, each with its state,
 * provider, requests, failures, times, weights and price; those without a request are names in a fold. It describes the
 * process that answers; what it shows is set in the plugins file and the prices file, which the page names, and on the page
 * of each model. Keys are never shown.
 */

import { addModel, latenciesOf, type RecentUsage, type WatchedModel, watchModels } from '../admin/index.js';
import { dayOf } from '../format/index.js';
import type { Route } from '../http/index.js';
import { groupEntries, type PluginGroup } from '../plugin-groups.js';
import {
  badge,
  type Column,
  dataTable,
  emptyState,
  type Html,
  type HtmlValue,
  html,
  type Locale,
  linkTo,
  loadModels,
  type PriceLine,
  type Tone,
} from '../site/index.js';
import { addUp, type ModelLatency, type UsageCounts, type UsageGroup } from '../usage/index.js';
import {
  type ConsoleCall,
  type ConsolePage,
  type ConsoleServices,
  choiceOf,
  consoleForm,
  consolePage,
} from './console-route.js';
import { action, textField } from './forms.js';
import { NEW_MODEL_FORM, readServer, serverFields } from './model-forms.js';
import { searchBar } from './parts.js';
import { renderFailed } from './usage-part.js';

const PATH = '/admin/models';
/** Models of a kind that are shown before one asks for all. */
const ROWS = 24;
/** A page stays below 80 kB. */
const MOST = 120;
const HEALTH: Readonly<Record<WatchedModel['health'], Tone>> = {
  ok: 'good',
  degraded: 'warn',
  down: 'bad',
  off: 'plain',
};

type Plugin = PluginGroup;

/** What a model does, in a word: one without a provider answers with samples. */
export function healthOf(
  { model, health }: Pick<WatchedModel, 'model' | 'health'>,
  { texts }: Locale,
): { words: string; tone: Tone } {
  if (model.mock && health === 'ok') return { words: texts.models.mock, tone: 'plain' };
  return { words: texts.console.models.healths[health], tone: HEALTH[health] };
}

/** @param recent Shared with the first page. */
export function modelPages(services: ConsoleServices, recent: RecentUsage): Route[] {
  const show = (call: ConsoleCall) => modelsPage(services, call, recent);
  return [
    consolePage(services, {
      path: '/models',
      summary: 'Models in the console',
      description: 'Page of models and plugins: models by kind with their health, failures, times and prices.',
      query: { q: 'Part of a name of a model, a provider or a server.', kind: 'Of the models, or `failing`.' },
      show,
    }),
    consoleForm(services, {
      path: '/models',
      summary: 'Add a model in the console',
      description: 'Adds a text model at a server, without a restart.',
      form: NEW_MODEL_FORM,
      errors: ['invalid_value'],
      show,
      async run(call) {
        const id = call.field('id');
        await addModel(services, { ...readServer(call), id }, call.by);
        return `/models/${encodeURIComponent(id)}?done=model_added`;
      },
    }),
  ];
}

const isFailing = ({ health }: WatchedModel) => health === 'degraded' || health === 'down';
const FAILING = 'failing';

async function modelsPage(services: ConsoleServices, call: ConsoleCall, recent: RecentUsage): Promise<ConsolePage> {
  const { locale, query } = call;
  const { console: own, models: words, usage } = locale.texts;
  const t = own.models;
  const search = query('q')?.toLowerCase();
  const all = watchModels(services).filter(({ aliasOf }) => aliasOf === undefined);
  const found = search === undefined ? all : all.filter((one) => wordsOf(one).includes(search));
  const kinds = [...new Set(found.map(({ model }) => model.kind))];
  const nameOf = (kind: string) => words.kinds[kind as 'text'] ?? kind;
  const wanted = choiceOf(query('kind'), [FAILING, ...kinds]);
  const failing = found.filter(isFailing);
  const tab = (value: string | undefined, label: string, of: readonly WatchedModel[]) => ({
    value,
    label,
    count: locale.count(of.length),
  });
  const ofKind = (kind: string) => found.filter(({ model }) => model.kind === kind);
  const [latencies, { daysOfModels }] = await Promise.all([latenciesOf(services), recent.get()]);
  const isMock = all.every(({ model }) => model.mock);
  const facts = { prices: pricesOf(services), latencies, daysOfModels, today: dayOf(services.clock.now()) };
  // Those that do not work first.
  const groups = [
    { id: FAILING, title: t.failing, models: failing },
    ...kinds.map((kind) => ({ id: kind, title: nameOf(kind), models: ofKind(kind).filter((one) => !isFailing(one)) })),
  ]
    .filter(({ id, models }) => models.length > 0 && (wanted === undefined || wanted === id))
    .map((group) => ({ ...group, isWhole: wanted !== undefined }));
  return {
    title: own.pages.models,
    current: 'models',
    lead: t.lead,
    primary: renderAdd(call),
    content: html`${isMock && all.length > 0 && html`<p class="notice">${t.allMock} <a href="/docs/operate/connect-models">${t.connect}</a></p>`}${searchBar(
      {
        path: PATH,
        label: t.search,
        placeholder: t.searchFor,
        value: query('q'),
        tabs: {
          name: 'kind',
          label: words.kind,
          value: wanted,
          of: [
            tab(undefined, usage.all, found),
            ...(failing.length > 0 ? [tab(FAILING, t.failing, failing)] : []),
            ...kinds.map((kind) => tab(kind, nameOf(kind), ofKind(kind))),
          ],
        },
      },
      locale,
    )}
${groups.length === 0 ? html`<section class="card">${emptyState(t.none, t.noneWords)}</section>` : renderModels(groups, facts, call)}
${renderPluginCard(groupEntries(services.gateway.plugins()), locale)}
<p class="small muted">${t.whereSet}</p>`,
  };
}

/** What is known of models besides their state. */
interface Facts {
  prices: ReturnType<typeof pricesOf>;
  latencies: ReadonlyMap<string, ModelLatency>;
  daysOfModels: ReadonlyMap<string, readonly UsageGroup[]>;
  today: string;
}

interface GroupView {
  id: string;
  title: string;
  models: readonly WatchedModel[];
  /** Whether the page has this one alone. */
  isWhole: boolean;
}

interface ModelRow {
  one: WatchedModel;
  /** Of the last days. */
  counts: UsageCounts;
  /** The last of them with a request. Undefined without one. */
  lastDay: string | undefined;
  group: { id: string; title: string };
}

/** Below a title for each kind, the most used first; below them, in a fold, those that were not used. */
function renderModels(groups: readonly GroupView[], facts: Facts, { locale, query }: ConsoleCall): Html {
  const { models: t, model: own } = locale.texts.console;
  const { texts, shortCount } = locale;
  const isUsed = ({ one, counts, group }: ModelRow) =>
    counts.requests > 0 || facts.latencies.has(one.model.id) || group.id === FAILING;
  const linesOf = ({ one: { model } }: ModelRow) => facts.prices.get(model.id) ?? [];
  const shown = groups.map((group) => ({ ...group, rows: rowsOf(group, facts) }));
  const columns: Column<ModelRow>[] = [
    {
      head: texts.usage.by.model,
      cell: ({ one, one: { model } }) =>
        html`<a class="row-link" href="${PATH}/${encodeURIComponent(model.id)}"><bdi class="mono">${model.id}</bdi></a>${providerOf(one, locale)}`,
    },
    {
      head: texts.console.users.state,
      inCard: 'plain',
      cell: ({ one }) => renderHealth(one, locale),
    },
    {
      head: t.traffic,
      isNumber: true,
      cell: ({ counts }) => counts.requests > 0 && shortCount(counts.requests),
    },
    {
      head: texts.usage.failed,
      isNumber: true,
      cell: ({ counts }) => renderFailed(counts, locale),
    },
    {
      head: t.answersIn,
      isNumber: true,
      cell: ({ one: { model } }) => {
        const latency = facts.latencies.get(model.id);
        return latency && duration(latency.total.p50, locale);
      },
    },
    {
      head: t.lastUsed,
      isNumber: true,
      cell: ({ lastDay }) => lastDay && dayWords(lastDay, facts.today, locale),
    },
    {
      head: own.weight,
      isNumber: true,
      inCard: 'none',
      cell: ({ one: { model } }) =>
        model.upstreams.length > 1 && model.upstreams.map(({ weight }) => locale.count(weight ?? 1)).join(':'),
    },
    { head: t.prices, isNumber: true, inCard: 'end', cell: (row) => shortPrice(linesOf(row), locale) },
  ];
  const all = shown.flatMap((group) => group.rows);
  const rows = all.filter(isUsed);
  const unused = all.filter((row) => !isUsed(row));
  const rest = shown.flatMap(({ id, title, rows: some, models, isWhole }) => {
    const more = models.length - some.length;
    if (more === 0) return [];
    const words = isWhole
      ? t.more(more)
      : html`<a href="${linkTo(PATH, { kind: id, q: query('q') })}">${t.showMore(more)}</a>`;
    return [html`<p class="small muted">${title}: ${words}</p>`];
  });
  const table = dataTable<ModelRow>({
    label: texts.console.pages.models,
    isStacked: true,
    rows,
    groupOf: ({ group }) => group.id,
    titleOf: ([{ group, counts }, ...others]) =>
      html`<strong>${group.title}</strong>${counts.requests === 0 && others.every((one) => one.counts.requests === 0) && html` · ${own.noUsage}`}`,
    empty: { title: t.none, words: t.noneWords },
    columns,
  });
  const isOpen = rows.length === 0 || query('q') !== undefined;
  return html`<section class="card stack">${rows.length > 0 && table}
${unused.length > 0 && renderUnused(unused, { isOpen, isWhole: rest.length === 0 }, locale)}
${rest}
<p class="small muted">${t.lastDays}</p></section>`;
}

/** Folded: the names of those without a request, by kind. @param isWhole Whether these are all of them. */
function renderUnused(
  rows: readonly ModelRow[],
  { isOpen, isWhole }: { isOpen: boolean; isWhole: boolean },
  locale: Locale,
): Html {
  const t = locale.texts.console.models;
  const kinds = Map.groupBy(rows, ({ group }) => group.title);
  return html`<details class="unused"${isOpen && html` open`}><summary>${t.unused} (${locale.count(rows.length)}${!isWhole && '+'})</summary>
<dl>${[...kinds].map(
    ([title, some]) =>
      html`<div><dt>${title}</dt><dd><ul>${some.map(({ one }) => html`<li><a href="${PATH}/${encodeURIComponent(one.model.id)}"><bdi class="mono">${one.model.id}</bdi></a>${one.health === 'off' && html` ${renderHealth(one, locale)}`}</li>`)}</ul></dd></div>`,
  )}</dl></details>`;
}

function renderHealth(one: WatchedModel, locale: Locale): Html {
  const { words, tone } = healthOf(one, locale);
  return html`<span class="state state-${tone}">${words}</span>`;
}

/** @returns At most as many as the page shows. */
function rowsOf(group: GroupView, { daysOfModels }: Facts): ModelRow[] {
  const { id, title, models, isWhole } = group;
  const shared = { id, title };
  const used = models.map((one): ModelRow => {
    const days = daysOfModels.get(one.model.id) ?? [];
    const names = days.filter(({ counts }) => counts.requests > 0).map(({ name }) => name);
    return { one, counts: addUp(days.map(({ counts }) => counts)), lastDay: names.toSorted().at(-1), group: shared };
  });
  used.sort((left, right) => right.counts.requests - left.counts.requests);
  return used.slice(0, isWhole ? MOST : ROWS);
}

function dayWords(day: string, today: string, { texts, shortDay }: Locale): string {
  return day === today ? texts.words.spans.today : shortDay(Date.parse(day));
}

/** The provider if it has a name of its own, and servers that fail or rest. */
function providerOf({ model, upstreams }: WatchedModel, { texts }: Locale): Html | false {
  const t = texts.console.models;
  const tries = upstreams.reduce((sum, one) => sum + one.tries, 0);
  const failures = upstreams.reduce((sum, one) => sum + one.failures, 0);
  const parts = [
    model.provider !== model.id && model.provider,
    upstreams.some(({ isCoolingDown }) => isCoolingDown) && t.cooling,
    failures > 0 && t.failures(failures, tries),
  ].filter((part) => part !== false);
  return parts.length > 0 && html`<span class="detail small muted">${parts.join(' · ')}</span>`;
}

/** In and out in one figure, since both are for as many tokens. */
function shortPrice(
  lines: readonly PriceLine[],
  { texts: { models: t, console: own }, smallMoney }: Locale,
): HtmlValue {
  const of = (unit: PriceLine['unit']) => lines.find((line) => line.unit === unit);
  const write = ({ amount, currency }: PriceLine) => smallMoney(amount, currency);
  const [input, output, first] = [of('input'), of('output'), lines[0]];
  if (input && output) return own.models.inOut(write(input), write(output));
  return first !== undefined && t.unit(write(first), t.units[first.unit]);
}

/** Prices of all models, as people know them. */
export function pricesOf(services: ConsoleServices): ReadonlyMap<string, readonly PriceLine[]> {
  const sources = { ...services, modelAliases: false, audioMaxBytes: 0, prices: services.prices };
  return new Map(loadModels(sources).map((model) => [model.id, model.prices]));
}

function renderAdd(call: ConsoleCall): Html {
  const { locale, field, fields, problem } = call;
  const t = locale.texts.console.model;
  const isSent = problem !== undefined && fields.includes('url');
  const name = textField({
    name: 'id',
    label: t.id,
    isRequired: true,
    placeholder: 'team-llama',
    value: isSent ? field('id') : '',
  });
  return action(
    {
      path: '/models',
      id: 'add',
      label: t.add,
      words: t.addWords,
      button: t.addNow,
      fields: html`${name}${serverFields(call, undefined, isSent)}`,
      isPrimary: true,
      isOpen: isSent,
    },
    locale,
    problem,
  );
}

function wordsOf({ model, upstreams }: WatchedModel): string {
  const servers = model.upstreams.flatMap((one) => [one.url, one.model]);
  return [model.id, model.provider, ...servers, ...upstreams.map(({ name }) => name)].join(' ').toLowerCase();
}

/** Times of the last hour: half of the answers were faster, and all but one of twenty. */
export function renderLatency({ answers, total, first }: ModelLatency, locale: Locale): Html {
  const t = locale.texts.console.models;
  const figure = (name: string, { p50, p95 }: typeof total) =>
    html`<div><dt>${name}</dt><dd>${duration(p50, locale)} <span class="small muted">${t.slowest(duration(p95, locale))}</span></dd></div>`;
  return html`<dl class="totals">${first && figure(t.firstToken, first)}${figure(t.whole, total)}</dl>
<p class="small muted">${t.answersOf(answers)}</p>`;
}

function duration(ms: number, { texts, count }: Locale): string {
  const t = texts.usage.list;
  return ms < 1_000 ? t.milliseconds(count(Math.round(ms))) : t.seconds(count(Number((ms / 1_000).toPrecision(2))));
}

const STATES: Readonly<Record<string, Tone>> = { ready: 'good', failed: 'bad', loading: 'warn' };

/** Folded, unless one of them does not work. */
function renderPluginCard(groups: readonly Plugin[], locale: Locale): Html {
  const t = locale.texts.console.models;
  const used = groups.filter(({ state }) => state !== 'disabled');
  const isWell = used.every(({ state }) => state === 'ready');
  return html`<section class="card"><details class="plugins"${!isWell && html` open`}><summary><h2 id="plugins">${t.plugins}</h2> <span class="small muted">${t.working(used.filter(({ state }) => state === 'ready').length, used.length)}</span></summary>
${renderPlugins(groups, locale)}</details></section>`;
}

/** Those that failed first; disabled ones are named alone. */
function renderPlugins(groups: readonly Plugin[], locale: Locale): Html {
  const t = locale.texts.console.models;
  const used = groups.filter(({ state }) => state !== 'disabled');
  const rows = [...used.filter(({ state }) => state === 'failed'), ...used.filter(({ state }) => state !== 'failed')];
  const disabled = groups.filter(({ state }) => state === 'disabled').flatMap(({ entries }) => entries);
  return html`${dataTable<Plugin>({
    label: t.plugins,
    isStacked: true,
    rows: rows.slice(0, MOST),
    empty: { title: t.noPlugins, words: '' },
    columns: [
      {
        head: t.entry,
        cell: ({ id, entries }) =>
          html`<code class="entry">${id}</code>${entries.length > 1 && html`<span class="detail small muted">${entries.join(', ')}</span>`}`,
      },
      {
        head: locale.texts.console.users.state,
        inCard: 'end',
        cell: ({ state }) => badge(t.states[state as 'ready'] ?? state, STATES[state] ?? 'plain'),
      },
      {
        head: t.reason,
        inCard: 'line',
        cell: ({ reason, summary }) => html`<span class="small" lang="en">${reason ?? summary}</span>`,
      },
    ],
  })}
${disabled.length > 0 && html`<details><summary>${t.disabled(disabled.length)}</summary><p class="small mono">${disabled.join(', ')}</p></details>`}`;
}
