/*
 * Models and plugins in the console: which provider serves a model, where its servers are, whether they answer or cool
 * down after failures, and what it costs. It describes the process that answers; what it shows is set in the plugins file
 * and the prices file, which the page names. A model can be tested: what its servers say, and how long a short answer
 * takes. Addresses are shown, keys never.
 */

import {
  addModel,
  latenciesOf,
  type ModelTest,
  testServedModel,
  type WatchedModel,
  watchModels,
} from '../admin/index.js';
import type { Route } from '../http/index.js';
import { groupEntries, type PluginGroup } from '../plugin-groups.js';
import {
  badge,
  dataTable,
  filterCard,
  type Html,
  html,
  type Locale,
  loadModels,
  type PriceLine,
  type Tone,
} from '../site/index.js';
import type { ModelLatency } from '../usage/index.js';
import { type ConsoleCall, type ConsolePage, type ConsoleServices, consoleForm, consolePage } from './console-route.js';
import { NEW_MODEL_FORM, readServer, serverFields } from './model-forms.js';
import { action, actions, choiceField, section, textField } from './parts.js';

const PATH = '/admin/models';
/** A page stays below 80 kB. */
const ROWS = 50;
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
      description: 'Page of models and plugins: providers, servers, health, failures and prices.',
      query: { q: 'Part of a name of a model, a provider or a server.' },
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
    consoleForm(services, {
      path: '/models/test',
      summary: 'Test a model in the console',
      description: 'Asks the upstreams of a model, sends it one short request, and shows what came.',
      form: { model: 'Id of the model.' },
      errors: ['invalid_value'],
      show,
      async run(call) {
        const model = call.field('model');
        return modelsPage(services, call, { model, results: await testServedModel(services, model) });
      },
    }),
  ];
}

/** A model that was just tested. */
interface Tested {
  model: string;
  results: readonly ModelTest[];
}

async function modelsPage(services: ConsoleServices, call: ConsoleCall, tested?: Tested): Promise<ConsolePage> {
  const { locale, query } = call;
  const { console: own } = locale.texts;
  const t = own.models;
  const search = query('q')?.toLowerCase();
  const all = watchModels(services).filter(({ aliasOf }) => aliasOf === undefined);
  const found = search === undefined ? all : all.filter((one) => wordsOf(one).includes(search));
  const prices = pricesOf(services);
  const latencies = await latenciesOf(services);
  // Those that do not work first.
  const rows = [
    ...found.filter(({ health }) => health === 'degraded' || health === 'down'),
    ...found.filter(({ health }) => health === 'ok'),
    ...found.filter(({ health }) => health === 'off'),
  ];
  return {
    title: own.pages.models,
    current: 'models',
    lead: t.lead,
    primary: renderAdd(call),
    content: html`${renderTest(call, all, tested)}
${filterCard(
  {
    path: PATH,
    label: own.pages.models,
    reset: search === undefined ? undefined : PATH,
    fields: [{ kind: 'text', name: 'q', label: t.search, value: query('q'), placeholder: 'm-5.5' }],
  },
  locale,
)}
<section class="card stack">
${dataTable<WatchedModel>({
  label: own.pages.models,
  isStacked: true,
  rows: rows.slice(0, ROWS),
  empty: { title: t.none, words: t.noneWords },
  columns: [
    {
      head: t.model,
      cell: ({ model }) =>
        html`<a href="/admin/models/${encodeURIComponent(model.id)}"><bdi class="mono small">${model.id}</bdi></a>${model.mock && html` ${badge(locale.texts.models.mock, 'warn')}`}<br><span class="small muted">${locale.texts.models.kinds[model.kind as 'text'] ?? model.kind}</span>`,
    },
    { head: t.health, inCard: 'end', cell: ({ health }) => badge(t.healths[health], HEALTH[health]) },
    {
      head: t.provider,
      cell: ({ model }) => (model.provider === model.id ? '–' : html`<code class="small">${model.provider}</code>`),
    },
    { head: t.servers, cell: (one) => renderServers(one, locale) },
    { head: t.latency, cell: ({ model }) => renderLatency(latencies.get(model.id), locale) },
    { head: t.prices, cell: ({ model }) => renderPrices(prices.get(model.id) ?? [], locale) },
  ],
})}
${rows.length > ROWS && html`<p class="small muted">${t.more(rows.length - ROWS)}</p>`}
</section>
${section('plugins', t.plugins, renderPlugins(groupEntries(services.gateway.plugins()), locale))}
<p class="small muted">${t.whereSet}</p>`,
  };
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
  );
}

function renderTest({ locale, field }: ConsoleCall, all: readonly WatchedModel[], tested: Tested | undefined): Html {
  const t = locale.texts.console.models;
  const names = all.map(({ model }) => ({ value: model.id, label: model.id }));
  const results =
    tested &&
    html`<div class="notice ${tested.results.every(({ ok }) => ok) ? 'notice-good' : 'notice-warn'}" role="status" tabindex="-1" autofocus><strong><bdi>${tested.model}</bdi></strong>
<ul class="stack-small" lang="en">${tested.results.map(({ detail, advice }) => html`<li class="small"><bdi>${detail}</bdi>${advice !== undefined && html` <bdi>${advice}</bdi>`}</li>`)}</ul></div>`;
  const fields = choiceField({ name: 'model', label: t.model, choices: names, value: field('model') });
  const test = {
    path: '/models/test',
    label: t.test,
    words: t.testWords,
    button: t.testNow,
    fields,
    hasNoReason: true,
  };
  return html`<section class="card stack">${results}${names.length > 0 && actions([action(test, locale)])}</section>`;
}

function wordsOf({ model, upstreams }: WatchedModel): string {
  const servers = model.upstreams.flatMap((one) => [one.url, one.model]);
  return [model.id, model.provider, ...servers, ...upstreams.map(({ name }) => name)].join(' ').toLowerCase();
}

export function renderServers({ model, upstreams }: WatchedModel, locale: Locale): Html | string {
  if (model.upstreams.length === 0 && upstreams.length === 0) return '–';
  const t = locale.texts.console.models;
  return html`<ul class="stack-small small">${model.upstreams.map(({ url, model: name, weight }) => html`<li><bdi class="mono">${url}</bdi>${name !== model.id && html` <bdi class="mono muted">${name}</bdi>`}${weight !== undefined && model.upstreams.length > 1 && html` <span class="muted">${locale.texts.console.model.weight}\u00a0${locale.count(weight)}</span>`}</li>`)}${upstreams.map(
    ({ name, isCoolingDown, tries, failures }) =>
      html`<li>${upstreams.length > 1 && html`<code>${name}</code> `}${isCoolingDown && html`${badge(t.cooling, 'bad')} `}<span class="muted">${t.tries(tries, failures)}</span></li>`,
  )}</ul>`;
}

export function renderLatency(latency: ModelLatency | undefined, locale: Locale): Html | string {
  const t = locale.texts.console.models;
  if (!latency) return '–';
  const { answers, total, first } = latency;
  const seconds = (ms: number) => `${locale.count(Number((ms / 1_000).toPrecision(2)))} s`;
  const line = (name: string, { p50, p95 }: typeof total) =>
    html`<li>${name} ${t.percentiles(seconds(p50), seconds(p95))}</li>`;
  return html`<ul class="small">${first && line(t.firstToken, first)}${line(t.whole, total)}<li class="muted">${t.answers(answers)}</li></ul>`;
}

export function renderPrices(
  prices: readonly PriceLine[],
  { texts: { models: t }, smallMoney }: Locale,
): Html | string {
  if (prices.length === 0) return '–';
  return html`<ul class="small">${prices.map(({ unit, amount, currency, isHighest }) => {
    const price = smallMoney(amount, currency);
    return html`<li>${t.unit(isHighest ? t.upTo(price) : price, t.units[unit])}</li>`;
  })}</ul>`;
}

const STATES: Readonly<Record<string, Tone>> = { ready: 'good', failed: 'bad', loading: 'warn' };

/** Those that failed first; disabled ones are named alone. */
function renderPlugins(groups: readonly Plugin[], locale: Locale): Html {
  const t = locale.texts.console.models;
  const used = groups.filter(({ state }) => state !== 'disabled');
  const rows = [...used.filter(({ state }) => state === 'failed'), ...used.filter(({ state }) => state !== 'failed')];
  const disabled = groups.filter(({ state }) => state === 'disabled').flatMap(({ entries }) => entries);
  return html`${dataTable<Plugin>({
    label: t.plugins,
    isStacked: true,
    rows: rows.slice(0, ROWS),
    empty: { title: t.noPlugins, words: '' },
    columns: [
      {
        head: t.entry,
        cell: ({ id, entries }) =>
          html`<code class="small">${id}</code>${entries.length > 1 && html`<br><span class="small muted">${entries.join(', ')}</span>`}`,
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
