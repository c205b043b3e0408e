/*
 * Reads public catalogues of list prices, and turns them into prices of `PRICES_FILE`. Two formats are known: the JSON of
 * LiteLLM (`model_prices_and_context_window.json`: prices of one token, tiers by the suffix `_above_200k_tokens`, tiers of
 * service by `_flex`, `_priority` and `_batches`), and that of models.dev (prices of a million tokens, by provider). A
 * price of a token is multiplied as decimal digits, so that no digit is lost or invented. What this gateway cannot bill
 * is left out and reported; a negative price, or one that is no number, is an error that names model and field.
 */

import type { ModelPrices } from '../../core/contracts/index.js';
import { PricesError } from './token-prices.js';

/** List prices in USD. */
export interface PriceCatalogue {
  format: 'litellm' | 'models.dev';
  /** Names of its models, in its order. */
  names: readonly string[];
  /**
   * Undefined if there is no such model, or it has no price that can be billed.
   * @throws PricesError naming the field, or the providers whose prices differ.
   */
  pricesOf(name: string): ModelPrices | undefined;
}

type Entry = Readonly<Record<string, unknown>>;
type TokenField = 'input' | 'cachedInput' | 'cacheWrite' | 'cacheWrite1h' | 'inputAudio' | 'output' | 'outputAudio';
type TokenPriceList = Partial<Record<TokenField, number>>;

/**
 * @param content The parsed JSON of the file.
 * @param where Begins the messages: the file.
 * @throws PricesError
 */
export function readPriceCatalogue(content: unknown, where: string): PriceCatalogue {
  if (!isEntry(content)) throw new PricesError(`${where} must have a JSON object.`);
  const entries = Object.entries(content).filter((pair): pair is [string, Entry] => isEntry(pair[1]));
  if (entries.some(([, { models }]) => isEntry(models))) return ofModelsDev(entries, where);
  if (entries.some(([, entry]) => Object.keys(entry).some((name) => /^(in|out)put_cost_per_/.test(name)))) {
    return ofLiteLlm(entries, where);
  }
  const wanted = "neither LiteLLM's model_prices_and_context_window.json nor the api.json of models.dev";
  throw new PricesError(`${where} has ${wanted}: no entry has prices of models.`);
}

function isEntry(value: unknown): value is Entry {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Field of LiteLLM for one token → field of PRICES_FILE for a million. */
const LITELLM: Readonly<Record<string, TokenField>> = {
  input_cost_per_token: 'input',
  cache_read_input_token_cost: 'cachedInput',
  cache_creation_input_token_cost: 'cacheWrite',
  cache_creation_input_token_cost_above_1hr: 'cacheWrite1h',
  input_cost_per_audio_token: 'inputAudio',
  output_cost_per_token: 'output',
  output_cost_per_audio_token: 'outputAudio',
};
const SERVICE_TIERS = { flex: '_flex', priority: '_priority', batch: '_batches' } as const;
const SAMPLE = 'sample_spec';

function ofLiteLlm(entries: readonly (readonly [string, Entry])[], where: string): PriceCatalogue {
  const models = new Map(entries.filter(([id]) => id !== SAMPLE));
  return {
    format: 'litellm',
    names: [...models.keys()],
    pricesOf(name) {
      const entry = models.get(name);
      return entry && liteLlmPrices(entry, `${where}: ${name}`);
    },
  };
}

function liteLlmPrices(entry: Entry, where: string): ModelPrices | undefined {
  const base = tokenPrices(entry, '', where);
  const tiers = aboves(entry).map((above) => {
    return { above: above * 1_000, ...tokenPrices(entry, `_above_${above}k_tokens`, where) };
  });
  const serviceTiers = Object.entries(SERVICE_TIERS).flatMap(([name, suffix]) => {
    const prices = tokenPrices(entry, suffix, where);
    return Object.keys(prices).length === 0 ? [] : [[name, prices] as const];
  });
  const second = priceOf(entry, 'input_cost_per_second', where, 0);
  const characters = priceOf(entry, 'input_cost_per_character', where, 6);
  const whole = {
    ...base,
    ...(tiers.length > 0 && { tiers }),
    ...(serviceTiers.length > 0 && { serviceTiers: Object.fromEntries(serviceTiers) }),
    ...(second !== undefined && { second }),
    ...(characters !== undefined && { characters }),
  };
  return Object.keys(whole).length === 0 ? undefined : whole;
}

/** Thousands of tokens that tiers begin above. */
function aboves(entry: Entry): number[] {
  const found = Object.keys(entry).flatMap((name) => /_above_(\d{1,6})k_tokens$/.exec(name)?.[1] ?? []);
  return [...new Set(found.map(Number))].sort((left, right) => left - right);
}

function tokenPrices(entry: Entry, suffix: string, where: string): TokenPriceList {
  const prices: TokenPriceList = {};
  for (const [name, field] of Object.entries(LITELLM)) {
    const price = priceOf(entry, `${name}${suffix}`, where, 6);
    if (price !== undefined) prices[field] = price;
  }
  return prices;
}

/** Field of models.dev for a million tokens → field of PRICES_FILE. */
const MODELS_DEV: Readonly<Record<string, TokenField>> = {
  input: 'input',
  cache_read: 'cachedInput',
  cache_write: 'cacheWrite',
  input_audio: 'inputAudio',
  output: 'output',
  output_audio: 'outputAudio',
};

/** Models by `provider/model`, and by `model` where the prices of all providers are the same. */
function ofModelsDev(providers: readonly (readonly [string, Entry])[], where: string): PriceCatalogue {
  const costs = new Map<string, Entry>();
  const namesOf = new Map<string, string[]>();
  for (const [provider, { models }] of providers) {
    for (const [id, model] of isEntry(models) ? Object.entries(models) : []) {
      if (!isEntry(model) || !isEntry(model.cost)) continue;
      const name = `${provider}/${id}`;
      costs.set(name, model.cost);
      namesOf.set(id, [...(namesOf.get(id) ?? []), name]);
    }
  }
  const read = (name: string): ModelPrices | undefined => {
    const cost = costs.get(name);
    const prices = cost && modelsDevPrices(cost, `${where}: ${name}`);
    return prices && Object.keys(prices).length > 0 ? prices : undefined;
  };
  return {
    format: 'models.dev',
    names: [...costs.keys()],
    pricesOf(name) {
      if (costs.has(name)) return read(name);
      const names = namesOf.get(name) ?? [];
      const [first, ...others] = names.map(read);
      if (others.every((other) => JSON.stringify(other) === JSON.stringify(first))) return first;
      throw new PricesError(`${where}: the prices of ${name} differ by provider. Name one of ${names.join(', ')}.`);
    },
  };
}

function modelsDevPrices(cost: Entry, where: string): ModelPrices {
  const pricesIn = (prices: Entry): TokenPriceList => {
    const known: TokenPriceList = {};
    for (const [name, field] of Object.entries(MODELS_DEV)) {
      const price = priceOf(prices, name, where, 0);
      if (price !== undefined) known[field] = price;
    }
    return known;
  };
  const tiers = Object.entries(cost).flatMap(([name, prices]) => {
    const above = /^context_over_(\d{1,6})k$/.exec(name)?.[1];
    return above !== undefined && isEntry(prices) ? [{ above: Number(above) * 1_000, ...pricesIn(prices) }] : [];
  });
  return { ...pricesIn(cost), ...(tiers.length > 0 && { tiers }) };
}

/** @param digits By which the point moves: 6 from the price of one to that of a million. */
function priceOf(entry: Entry, name: string, where: string, digits: 0 | 6): number | undefined {
  const value = entry[name];
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'number' || !Number.isFinite(value) || value < 0) {
    throw new PricesError(`${where}: ${name} must be a number of at least 0, not ${JSON.stringify(value)}.`);
  }
  return shifted(value, digits);
}

const MAX_DIGITS = 9;

/** The number times 10^digits, from its decimal digits; rounded to nine digits after the point. */
function shifted(value: number, digits: number): number {
  const [mantissa = '0', exponent = '0'] = value.toExponential().split('e');
  return Number(Number(`${mantissa}e${Number(exponent) + digits}`).toFixed(MAX_DIGITS));
}
