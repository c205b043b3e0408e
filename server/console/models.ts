/*
 * Models and plugins in the console: by kind, those that do not work first, each with its state and in a line what is
 * known of its provider, times, failures, weights and price. It describes the process that answers; what it shows is set in
 * the plugins file and the prices file, which the page names, and on the page of each model. Keys are never shown.
 */

import { addModel, latenciesOf, type WatchedModel, watchModels } from '../admin/index.js';
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
  linkRow,
  linkTo,
  loadModels,
  type PriceLine,
  type Tone,
} from '../site/index.js';
import type { ModelLatency } from '../usage/index.js';
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
import { section } from './parts.js';

const PATH = '/admin/models';
/** Models of a kind that are shown before one asks for all. */
const ROWS = 24;
/** A page stays below 80 kB. */
const MOST = 120;
export const HEALTH: Readonly<Record<WatchedModel['health'], Tone>> = {
  ok: 'good',
  degraded: 'warn',
  down: 'bad',
  off: 'plain',
};

type Plugin = PluginGroup;

export function modelPages(services: ConsoleServices): Route[] {
  const show = (call: ConsoleCall) => modelsPage(services, call);
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

async function modelsPage(services: ConsoleServices, call: ConsoleCall): Promise<ConsolePage> {
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
  const tab = (kind: string | undefined, label: string, of: readonly WatchedModel[]) => ({
    label,
    count: locale.count(of.length),
    href: linkTo(PATH, { kind, q: query('q') }),
    isCurrent: wanted === kind,
  });
  const ofKind = (kind: string) => found.filter(({ model }) => model.kind === kind);
  const facts = { prices: pricesOf(services), latencies: await latenciesOf(services) };
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
    content: html`<section class="card filter-card" aria-label="${locale.texts.words.filters}">
<div class="row row-apart">${linkRow(words.kind, [
      tab(undefined, usage.all, found),
      ...(failing.length > 0 ? [tab(FAILING, t.failing, failing)] : []),
      ...kinds.map((kind) => tab(kind, nameOf(kind), ofKind(kind))),
    ])}<form class="find" method="get" action="${PATH}" role="search">${wanted !== undefined && html`<input type="hidden" name="kind" value="${wanted}">`}<label class="visually-hidden" for="find">${t.search}</label><input class="input" id="find" name="q" type="search" value="${query('q')}" maxlength="200" placeholder="${t.searchFor}"><button class="button button-quiet">${words.find}</button></form></div>
</section>
${groups.length === 0 && html`<section class="card">${emptyState(t.none, t.noneWords)}</section>`}${groups.map(({ id, title, rows }) => renderGroup({ id, title, rows, facts, isWhole: wanted !== undefined }, call))}
${renderPluginCard(groupEntries(services.gateway.plugins()), locale)}
<p class="small muted">${t.whereSet}</p>`,
  };
}

interface GroupView {
  id: string;
  title: string;
  rows: readonly WatchedModel[];
  facts: { prices: ReturnType<typeof pricesOf>; latencies: ReadonlyMap<string, ModelLatency> };
  /** Whether the page has this one alone. */
  isWhole: boolean;
}

/** Models beside each other: name and state, and in a line what is known of each. */
function renderGroup({ id, title, rows, facts, isWhole }: GroupView, { locale, query }: ConsoleCall): Html {
  const t = locale.texts.console.models;
  const shown = rows.slice(0, isWhole ? MOST : ROWS);
  const more = rows.length - shown.length;
  const all = linkTo(PATH, { kind: id, q: query('q') });
  return section(
    `kind-${id}`,
    title,
    html`<ul class="model-list">${shown.map((one) => {
      const { model, health } = one;
      const known = summaryOf(one, facts, locale);
      return html`<li><div><a href="${PATH}/${encodeURIComponent(model.id)}"><bdi class="mono">${model.id}</bdi></a>${model.mock && html` ${badge(locale.texts.models.mock, 'plain')}`}<span class="state state-${HEALTH[health]}">${t.healths[health]}</span></div>
${known.length > 0 && html`<p class="small muted">${known.map((part, index) => html`${index > 0 && ' · '}<span>${part}</span>`)}</p>`}</li>`;
    })}</ul>${more > 0 && (isWhole ? html`<p class="small muted">${t.more(more)}</p>` : html`<p class="small"><a href="${all}">${t.showMore(more)}</a></p>`)}`,
    html`<span class="small muted figures">${locale.count(rows.length)}</span>`,
  );
}

/** Provider, time and failures of the last hour, servers with weights, and price; what is not known is left out. */
function summaryOf(
  { model, upstreams }: WatchedModel,
  { prices, latencies }: GroupView['facts'],
  locale: Locale,
): HtmlValue[] {
  const { models: t, model: own } = locale.texts.console;
  const latency = latencies.get(model.id);
  const tries = upstreams.reduce((sum, one) => sum + one.tries, 0);
  const failures = upstreams.reduce((sum, one) => sum + one.failures, 0);
  const weights = model.upstreams.map(({ weight }) => weight ?? 1);
  const lines = prices.get(model.id) ?? [];
  return [
    model.provider !== model.id && model.provider,
    upstreams.some(({ isCoolingDown }) => isCoolingDown) && t.cooling,
    latency && t.typical(duration(latency.total.p50, locale)),
    latency && t.answers(latency.answers),
    tries > 0 && failures > 0 && t.failures(failures, tries),
    weights.length > 1 && `${t.serverCount(weights.length)}, ${own.weight} ${weights.map(locale.count).join(':')}`,
    lines.length > 0 && shortPrice(lines, locale),
  ].filter((part) => part !== undefined && part !== false);
}

/** In and out in one figure, since both are for as many tokens. */
function shortPrice(lines: readonly PriceLine[], { texts: { models: t, console: own }, smallMoney }: Locale): string {
  const of = (unit: PriceLine['unit']) => lines.find((line) => line.unit === unit);
  const write = ({ amount, currency }: PriceLine) => smallMoney(amount, currency);
  const [input, output, first] = [of('input'), of('output'), lines[0]];
  if (input && output) return own.models.inOut(write(input), write(output));
  return first === undefined ? '' : t.unit(write(first), t.units[first.unit]);
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

export function renderLatency(latency: ModelLatency | undefined, locale: Locale): Html | string {
  const t = locale.texts.console.models;
  if (!latency) return '–';
  const { answers, total, first } = latency;
  const line = (name: string, { p50, p95 }: typeof total) =>
    html`<li>${name} ${t.percentiles(duration(p50, locale), duration(p95, locale))}</li>`;
  return html`<ul class="small">${first && line(t.firstToken, first)}${line(t.whole, total)}<li class="muted">${t.answers(answers)}</li></ul>`;
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
