/*
 * The page of one model in the console, and the forms that change it: off and on, the weights of its servers, its prices,
 * and for a model that was added here its server, its key and its removal. Each form says what it will do and how it is
 * taken back; the rules are those of the admin API. The form of prices has the usual fields, and leaves the others of the
 * model as they are.
 */

import type { ModelPrices } from '../../core/contracts/index.js';
import { GatewayError } from '../../core/runtime/index.js';
import {
  addModel,
  changeModel,
  changesOf,
  findModel,
  latenciesOf,
  removeModel,
  watchModels,
  weighable,
} from '../admin/index.js';
import type { Route } from '../http/index.js';
import { badge, type Html, html, linkTo } from '../site/index.js';
import { type ConsoleCall, type ConsolePage, type ConsoleServices, consoleForm, consolePage } from './console-route.js';
import { readServer, SERVER_FORM, serverFields } from './model-forms.js';
import { HEALTH, pricesOf, renderLatency, renderPrices, renderServers } from './models.js';
import { action, actions, facts, history, section, textField } from './parts.js';

const PARAMS = { id: { description: 'Id of the model.' } };
const HISTORY = 20;

const pathOf = (id: string) => `/models/${encodeURIComponent(id)}`;

export function modelPage(services: ConsoleServices): Route[] {
  const show = (call: ConsoleCall) => renderModel(services, call);
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

async function renderModel(services: ConsoleServices, call: ConsoleCall): Promise<ConsolePage> {
  const { locale, param } = call;
  const { console: own } = locale.texts;
  const t = own.model;
  const { id } = findModel(services, param('id'));
  const all = watchModels(services);
  const watched = all.find(({ model }) => model.id === id);
  if (!watched) throw new Error(`the model ${id} is not watched`);
  const { model, health, changed } = watched;
  const names = all.filter(({ aliasOf }) => aliasOf === id).map((one) => one.model.id);
  const [latencies, audit] = await Promise.all([
    latenciesOf(services),
    services.state.audit.list({ subject: id, limit: HISTORY }),
  ]);
  const prices = pricesOf(services).get(id) ?? [];
  const made = changed ? changesOf(changed) : [];
  return {
    title: id,
    current: 'models',
    lead: html`<a href="/admin/models">${t.all}</a>`,
    content: html`<section class="card stack">
${facts([
  [
    own.models.health,
    html`${badge(own.models.healths[health], HEALTH[health])}${made.map((what) => html` ${badge(t.changed[what], 'plain')}`)}`,
  ],
  [t.names, names.length > 0 && html`<bdi class="mono small">${names.join(', ')}</bdi>`],
  [own.models.provider, html`<code class="small">${model.provider}</code>`],
  [own.models.servers, renderServers(watched, locale)],
  [t.context, model.context_length !== null && t.tokens(locale.count(model.context_length))],
  [own.models.latency, renderLatency(latencies.get(id), locale)],
  [own.models.prices, renderPrices(prices, locale)],
])}
<p class="row small"><a href="${linkTo('/admin/requests', { model: id })}">${own.pages.requests}</a></p>
</section>
${section('change', t.change, html`<p class="small muted">${t.changeWords}</p>${renderActions(services, call, watched)}`)}
${section('history', own.history.title, await history(services, audit, locale))}`,
  };
}

type Watched = ReturnType<typeof watchModels>[number];

function renderActions(services: ConsoleServices, call: ConsoleCall, { model, changed }: Watched): Html {
  const { locale, problem, fields } = call;
  const t = locale.texts.console.model;
  const at = pathOf(model.id);
  const isOff = changed?.isClosed === true;
  const hidden = (name: string, value: string) => html`<input type="hidden" name="${name}" value="${value}">`;
  const wasSent = (start: string) => problem !== undefined && fields.some((name) => name.startsWith(start));
  const upstreams = weighable(services, model.id);
  const sentWeight = (name: string) => (wasSent('weight_') ? call.field(`weight_${name}`) : undefined);
  const prices = services.livePrices?.ofModel(model.id);
  return html`${actions([
    action(
      isOff
        ? {
            path: `${at}/switch`,
            label: t.switchOn,
            words: t.switchOnWords,
            button: t.switchOnNow,
            fields: hidden('on', 'yes'),
            isPrimary: true,
          }
        : {
            path: `${at}/switch`,
            label: t.switchOff,
            words: t.switchOffWords,
            button: t.switchOffNow,
            fields: hidden('on', 'no'),
            isBad: true,
          },
      locale,
    ),
    upstreams.length > 0 &&
      action(
        {
          path: `${at}/weights`,
          label: t.weigh,
          words: t.weighWords,
          button: t.weighNow,
          isOpen: wasSent('weight_'),
          fields: html`<div class="form-row">${upstreams.map(({ name, weight, url }) => textField({ name: `weight_${name}`, label: name, hint: url, isRequired: true, maxLength: 12, value: sentWeight(name) ?? String(weight ?? 1) }))}</div>`,
        },
        locale,
      ),
    changed?.weights !== undefined &&
      action(
        {
          path: `${at}/weights`,
          id: 'unweigh',
          label: t.unweigh,
          words: t.unweighWords,
          button: t.unweighNow,
          fields: hidden('configured', 'yes'),
        },
        locale,
      ),
    services.livePrices !== undefined &&
      action(
        {
          path: `${at}/prices`,
          label: t.price,
          words: t.priceWords(services.livePrices.currency),
          button: t.priceNow,
          isOpen: wasSent('price_'),
          fields: html`<div class="form-row">${fieldsOf(model.kind).map((name) => priceField(name, call, prices, wasSent('price_')))}</div>
${wasSent('price_') && html`<label class="check"><input type="checkbox" name="accept" value="yes"> <span>${t.accept}</span></label>`}`,
        },
        locale,
      ),
    changed?.prices !== undefined &&
      action(
        {
          path: `${at}/prices`,
          id: 'unprice',
          label: t.unprice,
          words: t.unpriceWords,
          button: t.unpriceNow,
          fields: hidden('configured', 'yes'),
        },
        locale,
      ),
    changed?.added !== undefined &&
      action(
        {
          path: `${at}/server`,
          label: t.replace,
          words: t.replaceWords,
          button: t.replaceNow,
          isOpen: wasSent('url'),
          fields: serverFields(call, changed.added, wasSent('url')),
        },
        locale,
      ),
    changed?.added !== undefined &&
      action({ path: `${at}/remove`, label: t.remove, words: t.removeWords, button: t.removeNow, isBad: true }, locale),
  ])}
${services.livePrices === undefined && html`<p class="small muted">${t.noCurrency}</p>`}`;
}

function priceField(
  name: PriceField,
  { locale, field }: ConsoleCall,
  prices: ModelPrices | undefined,
  isSent: boolean,
): Html {
  const t = locale.texts.console.model;
  const stated = name === 'image' ? prices?.images?.find(isOfAny)?.price : prices?.[name];
  const value = isSent ? field(`price_${name}`) : stated === undefined ? '' : decimal(stated);
  return textField({ name: `price_${name}`, label: t.priceFields[name], value, maxLength: 20, placeholder: '1.25' });
}

/** Without an exponent, which no field accepts. */
function decimal(value: number): string {
  return value.toFixed(9).replace(/\.?0+$/, '');
}
