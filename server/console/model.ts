/*
 * The page of one model in the console, and the forms that test and change it: off and on, the weights of its servers, its
 * prices, and for a model that was added here its server, its key and its removal. Each form says what it will do and how it is
 * taken back; the rules are those of the admin API. The form of prices has the usual fields, and leaves the others of the
 * model as they are.
 */

import type { ModelPrices } from '../../core/contracts/index.js';
import { GatewayError } from '../../core/runtime/index.js';
import {
  addModel,
  changeModel,
  findModel,
  latenciesOf,
  type ModelTest,
  type RecentUsage,
  removeModel,
  testServedModel,
  watchModels,
  weighable,
} from '../admin/index.js';
import type { Route } from '../http/index.js';
import { changesOf } from '../model-changes/index.js';
import { badge, dataTable, type Html, html, type Locale, type PriceLine } from '../site/index.js';
import { type ConsoleCall, type ConsolePage, type ConsoleServices, consoleForm, consolePage } from './console-route.js';
import { action, actions, textField } from './forms.js';
import { historySection } from './history.js';
import { readServer, SERVER_FORM, serverFields } from './model-forms.js';
import { healthOf, pricesOf, renderLatency } from './models.js';
import { backTo, facts, section } from './parts.js';
import { usageOfDays } from './usage-part.js';

const PARAMS = { id: { description: 'Id of the model.' } };
const HISTORY = 20;

const pathOf = (id: string) => `/models/${encodeURIComponent(id)}`;

/** @param recent Shared with the first page. */
export function modelPage(services: ConsoleServices, recent: RecentUsage): Route[] {
  const show = (call: ConsoleCall, tested?: readonly ModelTest[]) => renderModel(services, call, { recent, tested });
  const form = (
    verb: string,
    about: Pick<Parameters<typeof consoleForm>[1], 'summary' | 'description' | 'form' | 'run'>,
  ) =>
    consoleForm(services, { path: `/models/:id/${verb}`, params: PARAMS, errors: ['invalid_value'], show, ...about });
  const done = (id: string, what: string) => `${pathOf(id)}?done=${what}`;
  return [
    consolePage(services, {
      path: '/models/:id',
      params: PARAMS,
      summary: 'A model in the console',
      description: 'Page of a model: servers, weights, prices, history, and forms that change it.',
      errors: ['invalid_value'],
      show,
    }),
    form('test', {
      summary: 'Test a model in the console',
      description: 'Asks the upstreams of a model, sends it one short request, and shows what came.',
      form: {},
      async run(call) {
        const { id } = findModel(services, call.param('id'));
        return show(call, await testServedModel(services, id));
      },
    }),
    form('switch', {
      summary: 'Switch a model in the console',
      description: 'Switches a model off or on.',
      form: { on: '`yes` or `no`.' },
      async run({ param, field, by }) {
        const enabled = field('on') === 'yes';
        const id = await changeModel(services, param('id'), { enabled }, by);
        return done(id, enabled ? 'model_on' : 'model_off');
      },
    }),
    form('weights', {
      summary: 'Weigh a model in the console',
      description: 'Sets the weights of the servers of a model, or takes them back.',
      form: { configured: '`yes`: as configured.', weight_: 'Followed by the name of a server: its weight.' },
      async run(call) {
        const weights = call.field('configured') === 'yes' ? null : readWeights(call);
        return done(await changeModel(services, call.param('id'), { weights }, call.by), 'model_weighed');
      },
    }),
    form('prices', {
      summary: 'Price a model in the console',
      description: 'Sets the prices of a model, or takes them back.',
      form: {
        configured: '`yes`: as configured.',
        accept: '`yes`: suspicious prices are meant.',
        price_: 'Followed by the name of a price: the price.',
      },
      async run(call) {
        const { id } = findModel(services, call.param('id'));
        const prices =
          call.field('configured') === 'yes' ? null : readPrices(call, services.livePrices?.ofModel(id) ?? {});
        await changeModel(services, id, { prices, accept: call.field('accept') === 'yes' }, call.by);
        return done(id, 'model_priced');
      },
    }),
    form('server', {
      summary: 'Move a model in the console',
      description: 'Gives a model that was added here another server and key.',
      form: SERVER_FORM,
      async run(call) {
        await addModel(services, { ...readServer(call), id: call.param('id') }, call.by);
        return done(call.param('id'), 'model_server');
      },
    }),
    form('remove', {
      summary: 'Remove a model in the console',
      description: 'Removes a model that was added here.',
      async run({ param, by }) {
        await removeModel(services, param('id'), by);
        return '/models?done=model_removed';
      },
    }),
  ];
}

const WEIGHT = /^\d{1,4}(\.\d{1,6})?$/;

function readWeights({ field, fields }: ConsoleCall): Record<string, number> {
  const named = fields.filter((name) => name.startsWith('weight_'));
  return Object.fromEntries(
    named.map((param) => {
      if (WEIGHT.test(field(param))) return [param.slice('weight_'.length), Number(field(param))];
      throw new GatewayError('invalid_value', 'A weight must be a number from 0 to 1000.', { param });
    }),
  );
}

const TOKEN_PRICES = ['input', 'cachedInput', 'cacheWrite', 'output', 'webSearch'] as const;
const AUDIO_PRICES = ['second', 'characters'] as const;
type PriceField = (typeof TOKEN_PRICES)[number] | (typeof AUDIO_PRICES)[number] | 'image';
const PRICE = /^\d{1,9}(\.\d{1,9})?$/;

function fieldsOf(kind: string): readonly PriceField[] {
  if (kind === 'audio') return AUDIO_PRICES;
  return kind === 'image' ? ['image', 'input', 'output'] : TOKEN_PRICES;
}

const isOfAny = ({ size, quality }: { size?: string; quality?: string }) => size === undefined && quality === undefined;

/** @returns Null if no price is left. @throws GatewayError `invalid_value`. */
function readPrices({ field, fields }: ConsoleCall, before: ModelPrices): ModelPrices | null {
  const prices: Record<string, unknown> = { ...before };
  for (const param of fields.filter((name) => name.startsWith('price_'))) {
    const name = param.slice('price_'.length);
    const text = field(param);
    if (text !== '' && !PRICE.test(text)) {
      const message = 'A price must be a number such as 1.25, with at most 9 digits after the point.';
      throw new GatewayError('invalid_value', message, { param });
    }
    const value = text === '' ? undefined : Number(text);
    if (name !== 'image') prices[name] = value;
    else {
      const others = (before.images ?? []).filter((one) => !isOfAny(one));
      const images = value === undefined ? others : [...others, { price: value }];
      prices.images = images.length > 0 ? images : undefined;
    }
  }
  const stated = Object.entries(prices).filter(([, value]) => value !== undefined);
  return stated.length === 0 ? null : (Object.fromEntries(stated) as ModelPrices);
}

/** @param tested What a test has just found. */
async function renderModel(
  services: ConsoleServices,
  call: ConsoleCall,
  { recent, tested }: { recent: RecentUsage; tested?: readonly ModelTest[] | undefined },
): Promise<ConsolePage> {
  const { locale, param } = call;
  const { console: own } = locale.texts;
  const t = own.model;
  const { id } = findModel(services, param('id'));
  const all = watchModels(services);
  const watched = all.find(({ model }) => model.id === id);
  if (!watched) throw new Error(`the model ${id} is not watched`);
  const { model, changed } = watched;
  const names = all.filter(({ aliasOf }) => aliasOf === id).map((one) => one.model.id);
  const [latencies, { daysOfModels }, audit] = await Promise.all([
    latenciesOf(services),
    recent.get(),
    services.state.audit.list({ subject: id, limit: HISTORY }),
  ]);
  const prices = pricesOf(services).get(id) ?? [];
  const latency = latencies.get(id);
  const made = changed ? changesOf(changed) : [];
  const used = { at: services.clock.now(), currency: services.prices?.currency, of: { model: id } };
  const forms = modelActions(services, call, watched);
  const state = healthOf(watched, locale);
  // Without an answer and any of these there is no card.
  const about = (
    [
      [t.changedHere, made.length > 0 && html`${made.map((what) => html`${badge(t.changed[what], 'plain')} `)}`],
      [own.models.provider, model.provider !== id && html`<code class="small">${model.provider}</code>`],
      [t.names, names.length > 0 && html`<bdi class="mono small">${names.join(', ')}</bdi>`],
      [t.context, model.context_length !== null && t.tokens(locale.count(model.context_length))],
    ] as const
  ).filter(([, value]) => value !== false);
  return {
    title: id,
    current: 'models',
    scripts: ['chart.js'],
    back: backTo('/admin/models', t.all),
    lead: html`<span class="state state-${state.tone}">${state.words}</span>${!latency && html`<span class="small"> · ${own.models.noAnswers}</span>`}`,
    primary: actions(forms.whole),
    content: html`${tested && renderTest(id, tested)}<div class="halves">${
      (latency || about.length > 0) &&
      section(
        'health',
        own.models.health,
        html`${latency && renderLatency(latency, locale)}${about.length > 0 && facts(about)}`,
      )
    }
${section('prices', own.models.prices, html`${renderPrices(prices, locale)}${services.livePrices === undefined && html`<p class="small muted">${t.noCurrency}</p>`}`, actions(forms.prices))}</div>
${section('usage', t.usage, usageOfDays(daysOfModels.get(id) ?? [], used, locale))}
${(serversOf(watched).length > 0 || forms.servers.some((one) => one !== false)) && section('servers', own.models.servers, renderServers(watched, locale), actions(forms.servers))}
<p class="small muted">${t.changeWords}</p>
${await historySection(services, audit, { locale })}`,
  };
}

function renderTest(id: string, results: readonly ModelTest[]): Html {
  const tone = results.every(({ ok }) => ok) ? 'good' : 'warn';
  return html`<div class="notice notice-${tone}" role="status" tabindex="-1" autofocus><strong><bdi>${id}</bdi></strong>
<ul class="stack-small" lang="en">${results.map(({ detail, advice }) => html`<li class="small"><bdi>${detail}</bdi>${advice !== undefined && html` <bdi>${advice}</bdi>`}</li>`)}</ul></div>`;
}

/** Addresses of a text model; of other models the names of its upstreams alone are known. */
function serversOf({ model, upstreams }: Watched) {
  const known = model.upstreams.length > 0 ? model.upstreams : upstreams.map(({ name }) => ({ url: name, model: '' }));
  return known.map((server, index) => ({
    ...server,
    weight: 'weight' in server ? server.weight : undefined,
    seen: upstreams.length === known.length ? upstreams[index] : undefined,
  }));
}

function renderServers(watched: Watched, locale: Locale): Html {
  const { models: t, model: own, users } = locale.texts.console;
  const { model } = watched;
  const rows = serversOf(watched);
  return dataTable({
    label: t.servers,
    isStacked: true,
    rows,
    empty: { title: own.noServers, words: own.noServersWords },
    columns: [
      {
        head: own.url,
        cell: ({ url, model: name }) =>
          html`<bdi class="mono small">${url}</bdi>${name !== '' && name !== model.id && html`<bdi class="detail small mono muted">${name}</bdi>`}`,
      },
      {
        head: users.state,
        inCard: 'end',
        cell: ({ seen }) =>
          seen && badge(seen.isCoolingDown ? t.cooling : t.healths.ok, seen.isCoolingDown ? 'bad' : 'good'),
      },
      {
        head: own.weight,
        isNumber: true,
        cell: ({ weight }) => (rows.length > 1 ? locale.count(weight ?? 1) : '–'),
      },
      {
        head: t.traffic,
        isNumber: true,
        inCard: 'plain',
        cell: ({ seen }) => seen && t.tries(seen.tries, seen.failures),
      },
    ],
  });
}

function renderPrices(prices: readonly PriceLine[], locale: Locale): Html {
  const { models: t, console: own } = locale.texts;
  return dataTable<PriceLine>({
    label: own.models.prices,
    rows: prices,
    empty: { title: own.models.noPrice, words: own.model.noPriceWords },
    columns: [
      { head: own.model.priceFor, cell: ({ unit }) => t.units[unit] },
      {
        head: own.models.prices,
        isNumber: true,
        cell: ({ amount, currency, isHighest }) => {
          const price = locale.smallMoney(amount, currency);
          return isHighest ? t.upTo(price) : price;
        },
      },
    ],
  });
}

type Watched = ReturnType<typeof watchModels>[number];

/** What can be done with the whole model, with its servers, and with its prices. */
function modelActions(services: ConsoleServices, call: ConsoleCall, { model, changed }: Watched) {
  const { locale, problem, fields } = call;
  const { model: t, models } = locale.texts.console;
  const at = pathOf(model.id);
  const about = html`<bdi class="mono">${model.id}</bdi>`;
  const isOff = changed?.isClosed === true;
  const hidden = (name: string, value: string) => html`<input type="hidden" name="${name}" value="${value}">`;
  const wasSent = (start: string) => problem !== undefined && fields.some((name) => name.startsWith(start));
  const upstreams = weighable(services, model.id);
  const sentWeight = (name: string) => (wasSent('weight_') ? call.field(`weight_${name}`) : undefined);
  const prices = services.livePrices?.ofModel(model.id);
  const make = (view: Omit<Parameters<typeof action>[0], 'about'>) => action({ ...view, about }, locale, problem);
  const whole = [
    !isOff &&
      make({
        path: `${at}/test`,
        label: models.test,
        words: models.testWords,
        button: models.testNow,
        hasNoReason: true,
        isPrimary: true,
      }),
    isOff
      ? make({
          path: `${at}/switch`,
          label: t.switchOn,
          words: t.switchOnWords,
          button: t.switchOnNow,
          fields: hidden('on', 'yes'),
          isPrimary: true,
        })
      : make({
          path: `${at}/switch`,
          label: t.switchOff,
          words: t.switchOffWords,
          button: t.switchOffNow,
          fields: hidden('on', 'no'),
          isBad: true,
        }),
    changed?.added !== undefined &&
      make({ path: `${at}/remove`, label: t.remove, words: t.removeWords, button: t.removeNow, isBad: true }),
  ];
  const servers = [
    upstreams.length > 0 &&
      make({
        path: `${at}/weights`,
        label: t.weigh,
        words: t.weighWords,
        button: t.weighNow,
        isOpen: wasSent('weight_'),
        fields: html`<div class="form-row">${upstreams.map(({ name, weight, url }) => textField({ name: `weight_${name}`, label: name, hint: url, isRequired: true, maxLength: 12, type: 'decimal', value: sentWeight(name) ?? String(weight ?? 1) }))}</div>`,
      }),
    changed?.weights !== undefined &&
      make({
        path: `${at}/weights`,
        id: 'unweigh',
        label: t.unweigh,
        words: t.unweighWords,
        button: t.unweighNow,
        fields: hidden('configured', 'yes'),
      }),
    changed?.added !== undefined &&
      make({
        path: `${at}/server`,
        label: t.replace,
        words: t.replaceWords,
        button: t.replaceNow,
        isOpen: wasSent('url'),
        fields: serverFields(call, changed.added, wasSent('url')),
      }),
  ];
  const currency = services.livePrices?.currency;
  const priced = [
    currency !== undefined &&
      make({
        path: `${at}/prices`,
        label: t.price,
        words: t.priceWords(currency),
        button: t.priceNow,
        isOpen: wasSent('price_'),
        fields: html`<div class="form-row">${fieldsOf(model.kind).map((name) => priceField(name, call, { prices, currency, isSent: wasSent('price_') }))}</div>
${wasSent('price_') && html`<label class="check"><input type="checkbox" name="accept" value="yes"> <span>${t.accept}</span></label>`}`,
      }),
    changed?.prices !== undefined &&
      make({
        path: `${at}/prices`,
        id: 'unprice',
        label: t.unprice,
        words: t.unpriceWords,
        button: t.unpriceNow,
        fields: hidden('configured', 'yes'),
      }),
  ];
  return { whole, servers, prices: priced };
}

function priceField(
  name: PriceField,
  { locale, field }: ConsoleCall,
  { prices, currency, isSent }: { prices: ModelPrices | undefined; currency: string; isSent: boolean },
): Html {
  const t = locale.texts.console.model;
  const stated = name === 'image' ? prices?.images?.find(isOfAny)?.price : prices?.[name];
  const value = isSent ? field(`price_${name}`) : stated === undefined ? '' : decimal(stated);
  return textField({
    name: `price_${name}`,
    label: t.priceFields[name],
    value,
    maxLength: 20,
    type: 'decimal',
    unit: currency,
    placeholder: PRICE_SAMPLES[name],
  });
}

/** Of the size that such prices have. */
const PRICE_SAMPLES: Readonly<Record<PriceField, string>> = {
  input: '1.25',
  cachedInput: '0.125',
  cacheWrite: '1.5',
  output: '10',
  webSearch: '0.01',
  second: '0.0001',
  characters: '15',
  image: '0.04',
};

/** Without an exponent, which no field accepts. */
function decimal(value: number): string {
  return value.toFixed(9).replace(/\.?0+$/, '');
}
