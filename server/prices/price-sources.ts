/*
 * Reads the prices of `PRICES_FILE` and of the plugins file. Each model has prices in one of the two; both are checked by
 * themselves, so that errors name the source. Aliases of a model share its prices.
 */

import type { ModelPrices } from '../../core/contracts/index.js';
import { createValidator, readJsonFile } from '../../core/runtime/index.js';
import { isCurrency } from '../format/index.js';
import { createLivePrices, type LivePrices } from './live-prices.js';
import { PRICES_FILE_SCHEMA, type PricesFile } from './prices.js';
import { PricesError } from './token-prices.js';

const validator = createValidator(PRICES_FILE_SCHEMA);

/** Where prices may be stated. */
export interface PriceSources {
  /** `PRICES_FILE`. Default: none. */
  file?: string;
  /** `PRICES_CURRENCY`: the currency of `models`. Default: that of the file, otherwise USD. */
  currency?: string;
  /** Prices of models in the plugins file. Default: none. */
  models?: Readonly<Record<string, ModelPrices>>;
  /** Further name of a model → its id: a model without prices has those of its first alias with prices. Default: none. */
  aliases?: ReadonlyMap<string, string>;
}

/** Reads the file that `PRICES_FILE` names. @throws PricesError naming the field. */
export async function readPricesFile(file: string): Promise<PricesFile> {
  const advice = 'Set PRICES_FILE to the file of prices.';
  return readJsonFile(file, { validator, advice, failure: PricesError });
}

/**
 * Reads all prices.
 * @returns Undefined if there are none.
 * @throws PricesError
 */
export async function readPrices({
  file,
  currency,
  models = {},
  aliases,
}: PriceSources): Promise<LivePrices | undefined> {
  if (file === undefined) {
    // A currency alone is for prices that operators state while the gateway runs.
    if (Object.keys(models).length === 0 && currency === undefined) return undefined;
    const ofAll = withAliases(models, aliases);
    const table = { currency: checkCurrency(currency ?? 'USD', 'PRICES_CURRENCY'), models: ofAll };
    return within('the plugins file', () => createLivePrices(table));
  }
  const { models: ofFile = {}, ...table } = await readPricesFile(file);
  checkCurrency(table.currency, `${file}: currency`);
  if (currency !== undefined && currency !== table.currency) {
    throw new PricesError(`PRICES_CURRENCY must be the currency of PRICES_FILE (${table.currency}), or not be set.`);
  }
  const twice = Object.keys(models).find((id) => Object.hasOwn(ofFile, id));
  if (twice !== undefined) {
    throw new PricesError(`${file}: models.${twice} has prices in the plugins file as well. Remove one of the two.`);
  }
  within('the plugins file', () => createLivePrices({ currency: table.currency, models }));
  return within(file, () => createLivePrices({ ...table, models: withAliases({ ...ofFile, ...models }, aliases) }));
}

function withAliases(
  models: Readonly<Record<string, ModelPrices>>,
  aliases: ReadonlyMap<string, string> = new Map(),
): Record<string, ModelPrices> {
  const all = { ...models };
  for (const [name, id] of aliases) {
    const prices = models[name];
    if (prices && !Object.hasOwn(all, id)) all[id] = prices;
  }
  return all;
}

/** Names the source of the prices in errors. */
function within<Result>(source: string, create: () => Result): Result {
  try {
    return create();
  } catch (error) {
    throw error instanceof PricesError ? new PricesError(`${source}: ${error.message}`) : error;
  }
}

function checkCurrency(currency: string, name: string): string {
  if (isCurrency(currency)) return currency;
  throw new PricesError(`${name} must be the code of a currency (ISO 4217), such as USD or EUR.`);
}
