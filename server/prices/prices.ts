/*
 * Computes costs from prices. A cost is a whole number of millionths of
 * the currency: the exact sum of a request, rounded half up, once. Sums are computed with integers from the decimal
 * digits as written, so they have no rounding error of binary fractions. A request that no price is known for has the
 * cost null in the log, which is not the cost 0. For budgets, the highest cost of a request is computed before it runs.
 * It is null if a price is missing or an amount has no limit; then a budget of money refuses the request. If an
 * upstream then reports a use without a price, the cost is null after all, and the budget is charged what was reserved.
 */

import type { ServerResponse } from 'node:http';
import { field, type ModelPrices, ModelPricesSchema, optional, type Static, Type } from '../../core/contracts/index.js';
import {
  costOfTokens,
  type ExactPrices,
  exact,
  highestOfTokens,
  highestOutputPrice,
  larger,
  least,
  type TokenDemand,
  type TokenUse,
  toExact,
  whole,
} from './token-prices.js';

const strict = { additionalProperties: false } as const;

const LinkPriceSchema = Type.Object(
  {
    platform: optional(Type.String({ minLength: 1, maxLength: 64 }), 'Key of the platform. Default: any.', 'vidsite'),
    method: optional(
      Type.String({ minLength: 1, maxLength: 64 }),
      'One of the methods in `extraction_method` of the answer; `background_job` for a job. Default: any.',
      'browser',
    ),
    price: field(Type.Number({ minimum: 0, maximum: 1_000_000_000 }), 'Price of a link that was extracted.', 0.002),
  },
  strict,
);

/** The file that `PRICES_FILE` names. */
export const PRICES_FILE_SCHEMA = Type.Object(
  {
    currency: field(Type.String({ pattern: '^[A-Z]{3}$' }), 'Currency of all prices (ISO 4217).', 'USD'),
    models: optional(
      Type.Record(Type.String({ minLength: 1 }), ModelPricesSchema),
      'Prices of models, by the id that clients use.',
    ),
    links: optional(
      Type.Array(LinkPriceSchema, { minItems: 1, maxItems: 1_000 }),
      'Price of a link: the first entry that fits its platform and method.',
    ),
    gigabyte: optional(
      Type.Number({ minimum: 0, maximum: 1_000_000_000 }),
      'Price of a gigabyte (a billion bytes) that media links send.',
      0.05,
    ),
  },
  strict,
);
export type PricesFile = Static<typeof PRICES_FILE_SCHEMA>;

/** What a request used; null is not known, or not applicable. */
export interface PricedUse extends TokenUse {
  model: string;
  /** Searches in the web. Default: not known. */
  webSearches?: number | null;
  /** Of speech. */
  characters: number | null;
  /** Of audio. */
  seconds: number | null;
  /** The one image of an image request. Default: it is no image request. */
  image?: PricedImage;
}

export interface PricedImage {
  /** In pixels: `1024x1024`. Default: not known, and only prices of any size fit. */
  size?: string;
  /** As the request states it. Default: it states none, and only prices of any quality fit. */
  quality?: string;
}

/** The most that a request may use. An amount that is left out has no limit. */
export interface HighestUse extends TokenDemand {
  model: string;
  characters?: number;
  seconds?: number;
  /** Default 0. */
  webSearches?: number;
  /** Default: it is no image request. An unknown size or quality counts at its highest price. */
  image?: PricedImage;
  /** Platform of each link of a request of link data, which uses nothing else. Default: it is none. */
  links?: readonly string[];
  /** Bytes that a media link sends, which uses nothing else. Default: it is none. */
  bytes?: number;
}

/** Vendors that bill audio by tokens make 10 to 32 of a second, and speech has fewer words than that. */
const TOKENS_PER_SECOND = 50;
/** Maximum for the hint before the audio, which has at most 4,096 characters. */
const HINT_TOKENS = 4_096;

/** What a recording uses at most: by its seconds, or by tokens. */
export function highestOfAudio(seconds: number) {
  const tokens = Math.ceil(seconds * TOKENS_PER_SECOND);
  return { seconds, inputTokens: tokens + HINT_TOKENS, outputTokens: tokens };
}

/** What a million tokens of a model cost. */
export interface ModelRate {
  model: string;
  currency: string;
  input: number;
  /** Default: as `input`, like the following. */
  cachedInput?: number;
  cacheWrite?: number;
  output: number;
}

/** All prices of a gateway. Costs are in millionths of the currency. */
export interface Prices {
  /** ISO 4217. */
  readonly currency: string;
  /** All prices as JSON, to compare those of processes. */
  readonly text: string;
  /** Prices of tokens, of the models that have them. */
  readonly rates: readonly ModelRate[];
  /** Whether any link has a price. */
  readonly hasLinkPrices: boolean;
  /** Whether the bytes of media links have a price. */
  readonly hasBytePrice: boolean;
  /** The prices as they are now, which do not change. Default: these never do. */
  now?(): Prices;
  /** When they were changed last, in milliseconds since 1970. Default: never. */
  readonly changedAt?: number | undefined;
  /**
   * The cost of a request. Null if the model has no price, or none for what was used.
   * @param use Undefined counts of a request that used nothing: 0 if the model has a price.
   */
  costOf(use: PricedUse | Nothing): number | null;
  /**
   * The cost of a link. Null if it has no price.
   * @param method Undefined: it failed, which costs 0 if its platform has a price for any method.
   */
  linkCostOf(platform: string, method: string | undefined): number | null;
  /** The cost of the bytes that a media link sent. Null if they have no price. */
  byteCostOf(bytes: number): number | null;
  /**
   * What a request costs at most, before it runs: its input at the highest price of input, rounded up; a link by any
   * method. Null if the model or a platform has no price for it, or a price of an amount that has no limit.
   */
  highestCostOf(use: HighestUse): number | null;
  /**
   * The prices by which a request would be billed and that its model does not state, as fields of `PRICES_FILE`:
   * `` `second` ``. Undefined if {@link highestCostOf} is known, or for another reason is not.
   */
  missingFor(use: HighestUse): string | undefined;
  /**
   * The most output tokens with which {@link highestCostOf} stays within `cost`; Infinity if output costs nothing, and
   * negative if the input alone costs more. Null if the model has no price.
   */
  outputTokensWithin(cost: number, use: Omit<HighestUse, 'outputTokens'>): number | null;
}

/** A request of a model that used nothing. */
export interface Nothing {
  model: string;
  nothing: true;
}

/** Sums are in 10^-15 of the currency: a token at a price of 10^-9 for a million. */
const THOUSAND = 1_000n;
const ONE = 1_000_000n;
const MILLIONTH = 1_000_000_000n;
/** A hundred million of the currency: higher costs are errors of an upstream, and their sums must stay exact. */
const MAX_COST = 100_000_000_000_000n;

export interface PriceTable {
  currency: string;
  models?: Readonly<Record<string, ModelPrices>>;
  links?: PricesFile['links'];
  gigabyte?: number;
}

/** @throws PricesError if a price has too many digits. */
export function createPrices({ currency, models = {}, links = [], gigabyte }: PriceTable): Prices {
  const known = new Map(Object.entries(models).map(([id, prices]) => [id, toExact(prices, `models.${id}`)]));
  const ofLinks = links.map(({ price, ...link }, index) => ({ ...link, price: exact(price, `links.${index}.price`) }));

  const ofGigabyte = gigabyte === undefined ? undefined : exact(gigabyte, 'gigabyte');

  /** In 10^-15 of the currency. */
  function sumOfBytes(bytes: number): bigint | undefined {
    return ofGigabyte === undefined ? undefined : (whole(bytes) * ofGigabyte) / THOUSAND;
  }

  function highestOfLink(platform: string): number | null {
    const ofPlatform = ofLinks.filter((link) => (link.platform ?? platform) === platform);
    const ofAnyMethod = ofPlatform.findIndex(({ method }) => method === undefined);
    // Those after it never apply.
    const applying = ofAnyMethod < 0 ? ofPlatform : ofPlatform.slice(0, ofAnyMethod + 1);
    return applying.length === 0 ? null : toCost(applying.map(({ price }) => price).reduce(larger) * ONE);
  }

  function highestOf(use: HighestUse): bigint | undefined {
    const prices = known.get(use.model);
    if (!prices) return undefined;
    const { inputTokens, outputTokens = 0, characters, seconds, image, webSearches, serviceTier } = use;
    const parts: (bigint | undefined)[] = [whole(webSearches) * prices.webSearch * ONE];
    if (prices.hasTokens) parts.push(highestOfTokens(prices, { inputTokens, outputTokens, serviceTier }));
    if (prices.characters !== undefined) {
      parts.push(characters === undefined ? undefined : whole(characters) * prices.characters);
    }
    if (prices.second !== undefined) {
      parts.push(seconds === undefined ? undefined : whole(Math.ceil(seconds * 1000)) * prices.second * THOUSAND);
    }
    const fitting = image ? prices.images.filter((price) => mayFit(price, image)) : [];
    if (fitting.length > 0) parts.push(fitting.map(({ price }) => price).reduce(larger) * ONE);
    if (parts.length === 1) return undefined;
    return parts.reduce((sum, part) => (sum === undefined || part === undefined ? undefined : sum + part), 0n);
  }

  return {
    currency,
    text: JSON.stringify({ currency, models, links, gigabyte }),
    rates: Object.entries(models).flatMap(([model, prices]) => rateOf(model, prices, currency)),
    hasLinkPrices: ofLinks.length > 0,
    hasBytePrice: ofGigabyte !== undefined,
    costOf(use) {
      const prices = known.get(use.model);
      if (!prices) return null;
      return 'nothing' in use ? 0 : costOf(prices, use);
    },
    linkCostOf(platform, method) {
      const ofPlatform = ofLinks.filter((link) => (link.platform ?? platform) === platform);
      if (method === undefined) return ofPlatform.length > 0 ? 0 : null;
      const methods = method.split('+');
      const found = ofPlatform.find((link) => link.method === undefined || methods.includes(link.method));
      return found ? toCost(found.price * ONE) : null;
    },
    byteCostOf(bytes) {
      const sum = sumOfBytes(bytes);
      return sum === undefined ? null : toCost(sum);
    },
    missingFor(use) {
      if (use.links || highestOf(use) !== undefined) return undefined;
      const prices = known.get(use.model);
      const isTokens = use.inputTokens !== undefined;
      if (use.image) return '`images`, or `input` and `output`';
      if ('seconds' in use) return prices?.second === undefined ? '`second`' : undefined;
      if (use.characters !== undefined) return prices?.characters === undefined ? '`characters`' : undefined;
      return isTokens && !prices?.hasTokens ? '`input` and `output`' : undefined;
    },
    highestCostOf(use) {
      if (use.links) {
        const costs = use.links.map(highestOfLink);
        return costs.reduce((sum, cost) => (sum === null || cost === null ? null : sum + cost), 0);
      }
      const sum = use.bytes === undefined ? highestOf(use) : sumOfBytes(use.bytes);
      return sum === undefined ? null : toCost(roundedUp(sum));
    },
    outputTokensWithin(cost, use) {
      const prices = known.get(use.model);
      const before = highestOf({ ...use, outputTokens: 0 });
      if (!prices || before === undefined) return null;
      const left = BigInt(Math.floor(cost)) * MILLIONTH - before;
      if (left < 0n) return -1;
      const output = prices.hasTokens ? highestOutputPrice(prices, use) : 0n;
      return output === 0n ? Number.POSITIVE_INFINITY : Number(left / output);
    },
  };
}

function rateOf(model: string, prices: ModelPrices, currency: string): ModelRate[] {
  const { input, cachedInput, cacheWrite, output } = prices;
  if (input === undefined || output === undefined) return [];
  const cached = { ...(cachedInput !== undefined && { cachedInput }), ...(cacheWrite !== undefined && { cacheWrite }) };
  return [{ model, currency, input, ...cached, output }];
}

function costOf(prices: ExactPrices, use: PricedUse): number | null {
  const { inputTokens, outputTokens, characters, seconds, image, webSearches } = use;
  const parts: bigint[] = [];
  if (prices.hasTokens && (inputTokens !== null || outputTokens !== null)) parts.push(costOfTokens(prices, use));
  if (webSearches) parts.push(whole(webSearches) * prices.webSearch * ONE);
  if (prices.characters !== undefined && characters !== null) parts.push(whole(characters) * prices.characters);
  if (prices.second !== undefined && seconds !== null) {
    parts.push(whole(Math.round(seconds * 1000)) * prices.second * THOUSAND);
  }
  const ofImage = image && prices.images.find((price) => fits(price, image));
  if (ofImage) parts.push(ofImage.price * ONE);
  return parts.length === 0 ? null : toCost(parts.reduce((sum, part) => sum + part, 0n));
}

function fits(price: PricedImage, image: PricedImage): boolean {
  return (price.size ?? image.size) === image.size && (price.quality ?? image.quality) === image.quality;
}

/** Whether the price may be that of an image of which not everything is known. */
function mayFit(price: PricedImage, { size, quality }: PricedImage): boolean {
  return fits(price, { size: size ?? price.size, quality: quality ?? price.quality });
}

/** Millionths, rounded half up. */
function toCost(sum: bigint): number {
  const rounded = (sum + MILLIONTH / 2n) / MILLIONTH;
  return Number(least(rounded, MAX_COST));
}

function roundedUp(sum: bigint): bigint {
  return ((sum + MILLIONTH - 1n) / MILLIONTH) * MILLIONTH;
}

/** The header of an answer with its cost: `0.001234 USD`. Without a known cost it is not set. */
export function sendCost(response: ServerResponse, { currency }: Pick<Prices, 'currency'>, cost: number | null): void {
  if (cost !== null) response.setHeader('X-Mediagate-Cost', `${decimalOf(cost)} ${currency}`);
}

/** Adds the cost of a part to the header: a link and its speech recognition, for example. */
export function addCost(response: ServerResponse, prices: Pick<Prices, 'currency'>, cost: number): void {
  const [before = ''] = String(response.getHeader('X-Mediagate-Cost') ?? '').split(' ');
  sendCost(response, prices, Math.round(Number(before) * 1_000_000) + cost);
}

/** Millionths of a currency as a decimal: `0.001234`, always with six digits. */
export function decimalOf(cost: number): string {
  const digits = String(Math.abs(Math.round(cost))).padStart(7, '0');
  return `${cost < 0 ? '-' : ''}${digits.slice(0, -6)}.${digits.slice(-6)}`;
}
