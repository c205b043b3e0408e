/*
 * Models and plugins in the console: by kind, those that do not work first, each with its state and in a line what is
 * known of its provider, times, failures, weights and price. It describes the process that answers; what it shows is set in
 * the plugins file and the prices file, which the page names, and on the page of each model. Keys are never shown.
 */

import { addModel, latenciesOf, type RecentUsage, type WatchedModel, watchModels } from '../admin/index.js';
import type { Route } from '../http/index.js';
import { groupEntries, type PluginGroup } from '../plugin-groups.js';
import {
  badge,
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
import { addUp, type ModelLatency, type UsageGroup } from '../usage/index.js';
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
import { searchBar, section } from './parts.js';

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
  const facts = { prices: pricesOf(services), latencies, daysOfModels, currency: services.prices?.currency, isMock };
  // Those that do not work first.
  const groups = [
    { id: FAILING, title: t.failing, rows: failing },
    ...kinds.map((kind) => ({ id: kind, title: nameOf(kind), rows: ofKind(kind).filter((one) => !isFailing(one)) })),
  ].filter(({ id, rows }) => rows.length > 0 && (wanted === undefined || wanted === id));
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
${groups.length === 0 && html`<section class="card">${emptyState(t.none, t.noneWords)}</section>`}${groups.map(({ id, title, rows }) => renderGroup({ id, title, rows, facts, isWhole: wanted !== undefined }, call))}
${renderPluginCard(groupEntries(services.gateway.plugins()), locale)}
<p class="small muted">${t.whereSet}</p>`,
  };
}

/** What is known of models besides their state. */
interface Facts {
  prices: ReturnType<typeof pricesOf>;
  latencies: ReadonlyMap<string, ModelLatency>;
  daysOfModels: ReadonlyMap<string, readonly UsageGroup[]>;
  currency: string | undefined;
  /** Whether all are mocks, which is said once. */
  isMock: boolean;
}

interface GroupView {
  id: string;
  title: string;
  rows: readonly WatchedModel[];
  facts: Facts;
  /** Whether the page has this one alone. */
  isWhole: boolean;
}

/** The most used first: state, requests of the last days, time and price of each. */
function renderGroup({ id, title, rows, facts, isWhole }: GroupView, { locale, query }: ConsoleCall): Html {
  const { models: t, model: own } = locale.texts.console;
  const { texts, shortCount } = locale;
  const requestsOf = ({ model }: WatchedModel) =>
    addUp((facts.daysOfModels.get(model.id) ?? []).map((day) => day.counts));
  const used = rows.map((one) => ({ one, counts: requestsOf(one) }));
  const sorted = used.sort((left, right) => right.counts.requests - left.counts.requests);
  const shown = sorted.slice(0, isWhole ? MOST : ROWS);
  // What is known of the others is their state.
  const isQuiet = ({ one, counts }: (typeof sorted)[number]) =>
    counts.requests === 0 && one.health === 'ok' && !facts.latencies.has(one.model.id);
  const [busy, quiet] = [shown.filter((row) => !isQuiet(row)), shown.filter(isQuiet)];
  const more = rows.length - shown.length;
  const all = linkTo(PATH, { kind: id, q: query('q') });
  return section(
    `kind-${id}`,
    title,
    html`${
      (busy.length > 0 || quiet.length === 0) &&
      dataTable<(typeof sorted)[number]>({
        label: title,
        isStacked: true,
        rows: busy,
        empty: { title: t.none, words: t.noneWords },
        columns: [
          {
            head: texts.usage.by.model,
            cell: ({ one: { model } }) =>
              html`<a class="row-link" href="${PATH}/${encodeURIComponent(model.id)}"><bdi class="mono">${model.id}</bdi></a>`,
          },
          {
            head: texts.console.users.state,
            inCard: 'end',
            cell({ one }) {
              const { words, tone } = healthOf(one, locale);
              return html`<span class="state state-${tone}">${words}</span>`;
            },
          },
          { head: t.provider, inCard: 'plain', cell: ({ one }) => providerOf(one, locale) },
          {
            head: t.traffic,
            isNumber: true,
            cell: ({ counts }) => counts.requests > 0 && shortCount(counts.requests),
          },
          {
            head: texts.usage.failed,
            isNumber: true,
            cell: ({ counts }) => counts.failed > 0 && shortCount(counts.failed),
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
            head: own.weight,
            isNumber: true,
            inCard: 'none',
            cell: ({ one: { model } }) =>
              model.upstreams.length > 1 && model.upstreams.map(({ weight }) => locale.count(weight ?? 1)).join(':'),
          },
          {
            head: t.prices,
            isNumber: true,
            inCard: 'plain',
            cell: ({ one: { model } }) => {
              const lines = facts.prices.get(model.id) ?? [];
              return shortPrice(lines, locale);
            },
          },
        ],
      })
    }${
      quiet.length > 0 &&
      renderQuiet(
        quiet.map(({ one }) => one),
        facts,
        locale,
      )
    }${more > 0 && (isWhole ? html`<p class="small muted">${t.more(more)}</p>` : html`<p class="small"><a href="${all}">${t.showMore(more)}</a></p>`)}`,
    busy.length > 0 && html`<span class="small muted">${t.lastDays}</span>`,
  );
}

/** Models that answer and were not asked: names beside each other. */
function renderQuiet(models: readonly WatchedModel[], { isMock }: Facts, locale: Locale): Html {
  const { model: own } = locale.texts.console;
  const names = models.map((one) => {
    const { words, tone } = healthOf(one, locale);
    const { id, mock } = one.model;
    return html`<li><span class="state state-${tone}"><span class="visually-hidden">${words} </span><a href="${PATH}/${encodeURIComponent(id)}"><bdi class="mono">${id}</bdi></a></span>${mock && !isMock && html` ${badge(words, tone)}`}</li>`;
  });
  return html`<div class="stack-small"><p class="small muted">${own.noUsage}</p>
<ul class="quiet-models">${names}</ul></div>`;
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
  return parts.length > 0 && html`<span class="small muted">${parts.join(' · ')}</span>`;
}

/** In and out in one figure, since both are for as many tokens. */
function shortPrice(
  lines: readonly PriceLine[],
  { texts: { models: t, console: own }, smallMoney }: Locale,
): HtmlValue {
  const of = (unit: PriceLine['unit']) => lines.find((line) => line.unit === unit);
  const write = ({ amount, currency }: PriceLine) => smallMoney(amount, currency);
  const [input, output, first] = [of('input'), of('output'), lines[0]];
  if (input && output) {
    return html`${own.models.inOut(write(input), write(output))}<span class="detail small muted beside">${own.models.million}</span>`;
  }
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
  return html`<dl class="totals">${first && figure(t.firstToken, first)}${figure(t.whole, total)}<div><dt>${t.answers}</dt><dd>${locale.count(answers)}</dd></div></dl>`;
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
