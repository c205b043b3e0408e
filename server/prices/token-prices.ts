/*
 * The prices of tokens as integers, and what tokens cost: by their kind, by the length of the prompt and by the service
 * tier. Vendors bill a whole request at the prices of its tier. Each token is billed once: a token that is cached or
 * written to the cache does not count as one of an image, and the rest of the input is text. A kind without a stated
 * price has the price of plain input or output. Prices have at most 9 digits after the point; more are an error that
 * names the field.
 */

import type { ModelPrices } from '../../core/contracts/index.js';

/** Invalid prices. The message names the file and the field. */
export class PricesError extends Error {
  override readonly name = 'PricesError';
}

/** The tokens of a request; null is not known, or not applicable. */
export interface TokenUse {
  inputTokens: number | null;
  /** Among the input tokens. */
  cachedTokens: number | null;
  /** Among the input tokens. Default: not known. */
  cacheWriteTokens?: number | null;
  /** For an hour, among the tokens written to the cache. Default: not known. */
  cacheWriteLongTokens?: number | null;
  /** Of images and of audio, among the input tokens. Default: not known. */
  inputImageTokens?: number | null;
  inputAudioTokens?: number | null;
  outputTokens: number | null;
  /** Of text, images and audio, among the output tokens. Default: not known. */
  outputTextTokens?: number | null;
  outputImageTokens?: number | null;
  outputAudioTokens?: number | null;
  /** Service tier of the answer. Default: the usual one. */
  serviceTier?: string | null;
}

/** The most tokens that a request may use. An amount that is left out has no limit. */
export interface TokenDemand {
  inputTokens?: number;
  /** Over all choices. Default 0 if the input is stated. */
  outputTokens?: number;
  /** Service tier that the request names. Default: the usual one. */
  serviceTier?: string;
}

const TOKEN_PRICES = [
  'input',
  'cachedInput',
  'cacheWrite',
  'cacheWrite1h',
  'inputImage',
  'inputAudio',
  'output',
  'outputText',
  'outputImage',
  'outputAudio',
] as const;
type TokenPrice = (typeof TOKEN_PRICES)[number];
const INPUT_PRICES = TOKEN_PRICES.slice(0, 6);
const OUTPUT_PRICES = TOKEN_PRICES.slice(6);

/** In 10^-9 of the currency, for a token in 10^-15. */
export type ExactTokenPrices = Readonly<Record<TokenPrice, bigint>>;

/** Prices of requests with more than `above` input tokens. */
interface ExactTier extends ExactTokenPrices {
  above: bigint;
}

/** From the longest prompt down; the last entry is for every length. */
type Tiers = readonly ExactTier[];

/** Prices in 10^-9 of the currency. */
export interface ExactPrices {
  tiers: Tiers;
  serviceTiers: ReadonlyMap<string, Tiers>;
  /** Whether any price of tokens is stated. */
  hasTokens: boolean;
  webSearch: bigint;
  images: readonly { size?: string; quality?: string; price: bigint }[];
  second?: bigint;
  characters?: bigint;
}

/** The cost in 10^-15 of the currency. */
export function costOfTokens(prices: ExactPrices, use: TokenUse): bigint {
  const input = whole(use.inputTokens);
  const tiers = tiersOf(prices, use.serviceTier);
  const price = tiers.find(({ above }) => input > above) ?? tiers[tiers.length - 1];
  if (!price) return 0n;
  const cached = least(whole(use.cachedTokens), input);
  const written = least(whole(use.cacheWriteTokens), input - cached);
  const long = least(whole(use.cacheWriteLongTokens), written);
  const ofImages = least(whole(use.inputImageTokens), input - cached - written);
  const ofAudio = least(whole(use.inputAudioTokens), input - cached - written - ofImages);
  const ofInput =
    (input - cached - written - ofImages - ofAudio) * price.input +
    cached * price.cachedInput +
    (written - long) * price.cacheWrite +
    long * price.cacheWrite1h +
    ofImages * price.inputImage +
    ofAudio * price.inputAudio;
  const output = whole(use.outputTokens);
  const images = least(whole(use.outputImageTokens), output);
  const audio = least(whole(use.outputAudioTokens), output - images);
  const text = least(whole(use.outputTextTokens), output - images - audio);
  const ofOutput =
    (output - images - audio - text) * price.output +
    images * price.outputImage +
    audio * price.outputAudio +
    text * price.outputText;
  return ofInput + ofOutput;
}

/** The most that tokens cost, in 10^-15 of the currency. The input is an upper estimate: a lower tier may apply. */
export function highestOfTokens(prices: ExactPrices, use: TokenDemand): bigint | undefined {
  const { inputTokens, outputTokens = 0 } = use;
  if (inputTokens === undefined) return undefined;
  const ofInput = reachable(prices, use).flatMap((tier) => INPUT_PRICES.map((name) => tier[name]));
  return whole(inputTokens) * ofInput.reduce(larger) + whole(outputTokens) * highestOutputPrice(prices, use);
}

/** The highest price of an output token. */
export function highestOutputPrice(prices: ExactPrices, use: TokenDemand): bigint {
  return reachable(prices, use)
    .flatMap((tier) => OUTPUT_PRICES.map((name) => tier[name]))
    .reduce(larger);
}

/** The tiers that a prompt of at most this length may have. */
function reachable(prices: ExactPrices, { inputTokens = 0, serviceTier }: TokenDemand): Tiers {
  const input = whole(inputTokens);
  // A vendor may answer in the usual tier in place of the one that was asked for.
  const tiers = serviceTier === undefined ? prices.tiers : [...tiersOf(prices, serviceTier), ...prices.tiers];
  return tiers.filter(({ above }) => above < 0n || input > above);
}

function tiersOf({ tiers, serviceTiers }: ExactPrices, name: string | null | undefined): Tiers {
  return (name && serviceTiers.get(name)) || tiers;
}

/** @param name Of the model's prices, for errors. @throws PricesError if a price has too many digits. */
export function toExact(prices: ModelPrices, name: string): ExactPrices {
  const { tiers, serviceTiers = {}, images = [], second, characters, webSearch = 0 } = prices;
  const base = statedIn(prices);
  const all = [prices, ...(tiers ?? []), ...Object.values(serviceTiers).flatMap((one) => [one, ...(one.tiers ?? [])])];
  return {
    tiers: tiersFrom(base, tiers, name),
    serviceTiers: new Map(
      Object.entries(serviceTiers).map(([tier, { tiers: own, ...stated }]) => [
        tier,
        tiersFrom({ ...base, ...stated }, own, `${name}.serviceTiers.${tier}`),
      ]),
    ),
    hasTokens: all.some((one) => Object.keys(statedIn(one)).length > 0),
    webSearch: exact(webSearch, `${name}.webSearch`),
    images: images.map(({ price, ...image }, index) => ({
      ...image,
      price: exact(price, `${name}.images.${index}.price`),
    })),
    ...(second !== undefined && { second: exact(second, `${name}.second`) }),
    ...(characters !== undefined && { characters: exact(characters, `${name}.characters`) }),
  };
}

type StatedPrices = Partial<Record<TokenPrice, number>>;

function statedIn(prices: StatedPrices): StatedPrices {
  const stated = TOKEN_PRICES.filter((name) => prices[name] !== undefined);
  return Object.fromEntries(stated.map((name) => [name, prices[name]]));
}

function tiersFrom(base: StatedPrices, tiers: ModelPrices['tiers'], name: string): Tiers {
  const longest = (tiers ?? []).map(({ above, ...stated }, index) => ({
    above: BigInt(above),
    ...exactTokens({ ...base, ...stated }, `${name}.tiers.${index}`),
  }));
  const sorted = longest.sort((one, other) => (one.above > other.above ? -1 : 1));
  return [...sorted, { above: -1n, ...exactTokens(base, name) }];
}

function exactTokens(stated: StatedPrices, name: string): ExactTokenPrices {
  const of = (part: TokenPrice, fallback: bigint) => {
    const price = stated[part];
    return price === undefined ? fallback : exact(price, `${name}.${part}`);
  };
  const [input, output] = [of('input', 0n), of('output', 0n)];
  const cacheWrite = of('cacheWrite', input);
  return {
    input,
    cachedInput: of('cachedInput', input),
    cacheWrite,
    cacheWrite1h: of('cacheWrite1h', cacheWrite),
    inputImage: of('inputImage', input),
    inputAudio: of('inputAudio', input),
    output,
    outputText: of('outputText', output),
    outputImage: of('outputImage', output),
    outputAudio: of('outputAudio', output),
  };
}

/** Digits after the point of a price. */
const DIGITS = 9;

/** The decimal digits of a number, as it is written, in 10^-9. @throws PricesError if it has more. */
export function exact(price: number, name: string): bigint {
  const [digits = '', exponent = '0'] = String(price).split('e');
  const [before = '', after = ''] = digits.split('.');
  const zeros = DIGITS - after.length + Number(exponent);
  if (zeros < 0) throw new PricesError(`${name} must have at most ${DIGITS} digits after the point.`);
  return BigInt(`${before}${after}${'0'.repeat(zeros)}`);
}

export function larger(one: bigint, other: bigint): bigint {
  return one > other ? one : other;
}

export function least(one: bigint, other: bigint): bigint {
  return one < other ? one : other;
}

export function whole(count: number | null | undefined): bigint {
  return BigInt(Math.max(0, Math.round(count ?? 0)));
}
