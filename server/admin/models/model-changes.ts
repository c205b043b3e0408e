/*
 * Changes models for operators while the gateway runs: switches them off and on, weighs their upstreams, sets their
 * prices, and adds and removes models at servers of the OpenAI and Anthropic formats. The changes are in SQL, so all
 * workers have them at once and other nodes within 2 seconds, and they last; nothing restarts. Each can be taken back: a
 * model is switched on again, and weights and prices return to those of the files. A price that vanishes, or is 10 times
 * another one, is taken only if it is accepted. Addresses of added servers pass the address guard; their keys are sealed
 * before they are stored, and never shown.
 */

import type { Gateway } from 'mediagate';
import { type ModelPrices, type ReadyModel, TextOptionFields, Type } from '../../../core/contracts/index.js';
import { createValidator, GatewayError, isGatewayError } from '../../../core/runtime/index.js';
import { type AddedServer, entryIdOf, type ModelChange } from '../../model-changes/index.js';
import { unknownName } from '../../names/index.js';
import { createPrices, importPrices, PricesError } from '../../prices/index.js';
import { type AdminActor, acceptedOf, unaccepted } from '../admin-route.js';
import type { Of, Stored } from '../services.js';

export interface ModelChangeServices extends Stored<'changedModels'>, Of<'changedModels' | 'livePrices'> {
  gateway: Pick<
    Gateway,
    'allModels' | 'plugins' | 'resolveModel' | 'text' | 'textProvider' | 'upstreamsOf' | 'httpClient'
  >;
}

/** What an operator changes of a model. Absent fields stay as they are; null: as configured. */
export interface ModelChangeInput {
  enabled?: boolean;
  /** By name of the upstream. */
  weights?: Readonly<Record<string, number>> | null;
  prices?: ModelPrices | null;
  /** Whether suspicious prices are meant. */
  accept?: boolean;
}

/**
 * Changes a model, by its id or another name of it.
 * @returns Its id.
 * @throws GatewayError `invalid_value` naming the field and what is accepted.
 */
export async function changeModel(
  services: ModelChangeServices,
  name: string,
  { enabled, weights, prices, accept = false }: ModelChangeInput,
  by: AdminActor,
): Promise<string> {
  // Another node may have added it a moment ago.
  await services.changedModels.refresh();
  const { id } = findModel(services, name);
  const changes: ModelChange[] = [];
  if (enabled !== undefined) changes.push({ isClosed: !enabled });
  if (weights !== undefined) changes.push({ weights: weights && checkWeights(services, id, weights) });
  if (prices !== undefined) changes.push({ prices: prices && checkPrices(services, id, prices, accept) });
  if (changes.length === 0) {
    throw new GatewayError('missing_required_parameter', 'Send enabled, weights or prices.', { param: 'enabled' });
  }
  await services.state.changedModels.change(id, changes, by);
  await services.changedModels.refresh();
  return id;
}

/** The model with this id or other name, switched off or not. @throws GatewayError `invalid_value`. */
export function findModel({ gateway }: Pick<ModelChangeServices, 'gateway'>, name: string): ReadyModel {
  const all = gateway.allModels();
  const id = gateway.resolveModel(name);
  const found = all.find((model) => model.id === id && model.aliasOf === undefined);
  if (found) return found;
  throw unknownName(
    'model',
    name,
    all.map((model) => model.id),
  );
}

/** The upstreams of a model that can be weighed; none if it has one, or its plugin has no weights. */
export function weighable({ gateway }: Pick<ModelChangeServices, 'gateway'>, id: string) {
  const { upstreams, canWeigh } = gateway.upstreamsOf(id);
  return upstreams.length > 1 && canWeigh ? upstreams : [];
}

const MAX_WEIGHT = 1_000;

function checkWeights(
  services: Pick<ModelChangeServices, 'gateway'>,
  id: string,
  weights: Readonly<Record<string, number>>,
): Readonly<Record<string, number>> {
  const wrong = (message: string) => new GatewayError('invalid_value', message, { param: 'weights' });
  const names = weighable(services, id).map(({ name }) => name);
  if (names.length === 0) {
    const { upstreams, canWeigh } = services.gateway.upstreamsOf(id);
    const why = canWeigh || upstreams.length > 0 ? 'it has one upstream' : 'its plugin has no weights';
    throw wrong(
      `The requests of ${id} cannot be shared: ${why}. Add a further upstream to its entry of the plugins file.`,
    );
  }
  for (const [name, weight] of Object.entries(weights)) {
    if (!names.includes(name)) throw unknownName('weights', name, names);
    if (!Number.isFinite(weight) || weight < 0 || weight > MAX_WEIGHT) {
      throw wrong(`The weight of ${name} must be a number from 0 to ${MAX_WEIGHT}.`);
    }
  }
  const missing = names.find((name) => weights[name] === undefined);
  if (missing !== undefined) throw wrong(`Send the weight of each upstream: ${missing} is missing.`);
  if (names.every((name) => weights[name] === 0)) throw wrong('One upstream must have a weight above 0.');
  return weights;
}

function checkPrices(
  { livePrices: prices }: Pick<ModelChangeServices, 'livePrices'>,
  id: string,
  after: ModelPrices,
  accept: boolean,
): ModelPrices {
  const wrong = (message: string) => new GatewayError('invalid_value', message, { param: 'prices' });
  if (!prices) {
    throw wrong('This gateway has no currency for prices: set PRICES_CURRENCY or PRICES_FILE, and start it again.');
  }
  const { currency } = prices;
  try {
    createPrices({ currency, models: { [id]: after } });
  } catch (error) {
    throw error instanceof PricesError ? wrong(error.message.replace(`models.${id}`, 'prices')) : error;
  }
  const before = prices.ofModel(id);
  const { changes } = importPrices({ currency, ...(before && { models: { [id]: before } }) }, { [id]: after });
  const suspicious = changes.filter(({ suspicion }) => suspicion !== undefined);
  if (accept || suspicious.length === 0) return after;
  const words = suspicious.map(({ field, before: from, after: to }) =>
    to === null ? `${field} would no longer be there (${from})` : `${field} would be ${to} in place of ${from}`,
  );
  throw wrong(`These changes may be mistakes: ${words.join('; ')}. Send accept to make them anyway.`);
}

const MAX_KEY = 500;

/** What is accepted of an added model. */
export const NEW_MODEL = {
  id: TextOptionFields.model.id,
  url: Type.String({
    pattern: '^https?://[^/?#@\\s]+[^?#@\\s]*$',
    maxLength: 2_000,
    title: 'an http or https address, such as https://api.example.com/v1',
  }),
  model: Type.String({ minLength: 1, maxLength: 200, pattern: '^[^\\p{C}]*$', title: 'a name of 1 to 200 characters' }),
  key: Type.String({ pattern: '^[!-~]*$', minLength: 1, maxLength: MAX_KEY, title: 'a key without blanks' }),
} as const;

const newModelValidators = Object.entries(NEW_MODEL).map(([name, schema]) => ({
  name: name as keyof typeof NEW_MODEL,
  schema,
  validator: createValidator(schema),
}));

export interface AddModelInput extends AddedServer {
  /** Public name. */
  id: string;
  /** Default: the server needs none. */
  key?: string | undefined;
}

const CHECK_MS = 5_000;

/**
 * Adds a model at a server. A model that was added before gets the new server and key.
 * @throws GatewayError `invalid_value` for a name that is taken, or an address that the guard refuses.
 */
export async function addModel(
  services: ModelChangeServices,
  { id, key, ...server }: AddModelInput,
  by: AdminActor,
): Promise<void> {
  const { gateway, state, changedModels } = services;
  for (const { name, schema, validator } of newModelValidators) {
    const value = { ...server, id, key }[name];
    if (value !== undefined && !validator.check(value).ok) throw unaccepted(name, acceptedOf(schema));
  }
  await changedModels.refresh();
  const wasAdded = changedModels.all.some(({ model, added }) => model === id && added);
  const holder = gateway.allModels().find((model) => model.id === id);
  if (holder && !wasAdded) {
    const message = `A model ${id} exists already, at the entry ${holder.entry}. Choose another id.`;
    throw new GatewayError('invalid_value', message, { param: 'id' });
  }
  await checkAddress(services, server.url);
  const sealedKey = key === undefined ? null : changedModels.seal(id, key);
  await state.changedModels.change(id, [{ added: server, sealedKey }], by);
  await changedModels.refresh();
  if (gateway.allModels().some((model) => model.id === id)) return;
  const failed = gateway.plugins().find((entry) => entry.id === entryIdOf(id));
  await state.changedModels.change(id, [{ added: null, sealedKey: null }], by);
  await changedModels.refresh();
  const message = `The model cannot be added: ${failed?.reason ?? 'its entry was not loaded'}.`;
  throw new GatewayError('invalid_value', message, { param: 'id' });
}

/** Only what the guard says counts: a server that is down may be added. */
async function checkAddress({ gateway }: Pick<ModelChangeServices, 'gateway'>, url: string): Promise<void> {
  const http = gateway.httpClient({ timeoutMs: CHECK_MS });
  const target = `${url.replace(/\/+$/, '')}/models`;
  try {
    const { body } = await http.stream({ url: target, method: 'GET', timeoutMs: CHECK_MS, maxBytes: 1_000_000 });
    await body[Symbol.asyncIterator]().return?.();
  } catch (error) {
    if (!isGatewayError(error) || error.code !== 'upstream_refused') return;
    const advice = 'A server in a private network, or with a port of its own, must be named in TRUSTED_ORIGINS.';
    throw new GatewayError('invalid_value', `url cannot be used: ${error.message} ${advice}`, { param: 'url' });
  }
}

/**
 * Removes a model that was added while the gateway ran, with its prices. Requests that run are finished.
 * @throws GatewayError `invalid_value` for a model of the plugins file.
 */
export async function removeModel(services: ModelChangeServices, id: string, by: AdminActor): Promise<void> {
  const { state, changedModels } = services;
  await changedModels.refresh();
  const added = changedModels.all.filter((one) => one.added).map(({ model }) => model);
  if (!added.includes(id)) {
    const { entry } = findModel(services, id);
    const message = `${id} is in the plugins file, at the entry ${entry}. Switch it off, or remove it there.`;
    throw new GatewayError('invalid_value', message, { param: 'id' });
  }
  await state.changedModels.change(id, [{ added: null, sealedKey: null }], by);
  await changedModels.refresh();
}
