/*
 * Prepares what the page of models displays: each ready model once, with its further names, routes and limits, and each
 * platform. The list is that of `GET /v1/models`. Addresses and names of upstreams are never part of it. Prices are
 * those of the operator, for amounts that people know, and absent unless the catalogue makes them public.
 */

import type { Gateway } from 'mediagate';
import type { AudioOperation, ReadyModel } from '../../core/contracts/index.js';
import { encodeModel, isWritingModel, mockEntries, orderModels, withoutAliases } from '../models/index.js';
import type { Prices } from '../prices/index.js';

/** What a model does. */
export type ModelUse = 'chat' | 'embeddings' | 'moderations' | 'image' | AudioOperation;

export type ModelKind = ReadyModel['kind'] | 'link';

export interface ModelEntry {
  id: string;
  kind: ReadyModel['kind'];
  /** Further names of the model. */
  aliases: readonly string[];
  uses: readonly ModelUse[];
  /** In the words of the operator. */
  description: string | undefined;
  /** Whether it only stands for a provider that is not connected. */
  isMock: boolean;
  /** Paths of the API. */
  routes: readonly string[];
  limits: ModelLimits;
  prices: readonly PriceLine[];
}

/** Absent: not known, or not applicable. */
export interface ModelLimits {
  /** Tokens of input and output together. */
  contextLength?: number;
  /** Tokens. */
  maxOutput?: number;
  efforts?: readonly string[];
  /** Characters of input. */
  maxCharacters?: number;
  /** Bytes of an audio file. */
  maxAudioBytes?: number;
  maxReferences?: number;
  takesMask?: boolean;
  formats?: readonly string[];
}

/** For a million tokens, of which `cached` ones the vendor read from its cache, for a minute, for a thousand characters, for one image or one link. */
export type PriceUnit = 'input' | 'cached' | 'output' | 'minute' | 'characters' | 'image' | 'link';

export interface PriceLine {
  unit: PriceUnit;
  /** In millionths of the currency. */
  amount: number;
  /** ISO 4217. */
  currency: string;
  /** Whether it may be less, such as for small images. */
  isHighest: boolean;
}

export interface PlatformEntry {
  key: string;
  name: string;
  linkForms: readonly string[];
  features: { async: boolean; audio_mp3: boolean };
  prices: readonly PriceLine[];
}

type ModelGateway = Pick<
  Gateway,
  'models' | 'plugins' | 'platforms' | 'textProvider' | 'imageProvider' | 'audioProvider'
>;

export interface ModelSources {
  gateway: ModelGateway;
  messagesEnabled: boolean;
  modelAliases: boolean;
  audioMaxBytes: number;
  /** Default: none is shown. */
  prices?: Prices | undefined;
}

/** Characters of speech if its model states no limit, as in the open format. */
const MAX_CHARACTERS = 4_096;
/** The gateway accepts no more input images. */
const MAX_REFERENCES = 4;

/** Every model that is listed, in the order of the list of models. */
export function loadModels(sources: ModelSources): readonly ModelEntry[] {
  const { gateway, messagesEnabled, modelAliases } = sources;
  const there = gateway.models().filter(({ isAbsent }) => !isAbsent);
  const listed = modelAliases ? there : withoutAliases(there);
  const mocks = mockEntries(gateway);
  const byModel = Map.groupBy(listed, ({ id, aliasOf = id }) => aliasOf);
  return orderModels(listed.map(({ id, aliasOf = id }) => aliasOf)).flatMap((id) => {
    const names = byModel.get(id) ?? [];
    const own = there.filter((model) => model.id === id);
    const [first] = own;
    if (!first) return [];
    return {
      id,
      kind: first.kind,
      aliases: orderModels(names.map((one) => one.id).filter((name) => name !== id)),
      uses: [...new Set(own.flatMap(usesOf))],
      description: own.find(({ description }) => description !== undefined)?.description,
      isMock: own.every(({ entry }) => mocks.has(entry)),
      routes: encodeModel(id, own, { messagesEnabled, mocks }).routes,
      limits: limitsOf(first, sources),
      prices: pricesOf(id, own, sources.prices),
    };
  });
}

/** The price of a link, at most; of several platforms that of the dearest. Empty unless each has one. */
export function pricesOfLinks({
  gateway,
  prices,
}: {
  gateway: Pick<Gateway, 'platforms'>;
  prices: Prices | undefined;
}): readonly PriceLine[] {
  const costs = gateway.platforms().map(({ key }) => prices?.highestCostOf({ model: '', links: [key] }) ?? null);
  if (costs.length === 0 || costs.some((cost) => cost === null)) return [];
  return lines(prices, [['link', Math.max(...costs.map(Number)), true]]);
}

export function loadPlatforms({ gateway, prices }: ModelSources): readonly PlatformEntry[] {
  return gateway.platforms().map(({ key, name, linkForms, features }) => ({
    ...{ key, name, linkForms, features },
    prices: lines(prices, [['link', prices?.highestCostOf({ model: '', links: [key] }), true]]),
  }));
}

function usesOf(model: ReadyModel): ModelUse[] {
  const { kind, routes = [], operations = [] } = model;
  if (kind === 'image') return ['image'];
  if (kind === 'audio') return [...operations];
  const others = (['embeddings', 'moderations'] as const).filter((route) => routes.includes(route));
  return isWritingModel(model) || routes.includes('messages') ? ['chat', ...others] : others;
}

function limitsOf(model: ReadyModel, { gateway, audioMaxBytes }: ModelSources): ModelLimits {
  const { id, kind, operations = [] } = model;
  if (kind === 'text') {
    const { contextLength, maxOutputTokens: maxOutput, efforts = [] } = gateway.textProvider(id)?.model ?? {};
    return {
      ...(contextLength !== undefined && { contextLength }),
      ...(maxOutput !== undefined && { maxOutput }),
      ...(efforts.length > 0 && { efforts }),
    };
  }
  if (kind === 'image') {
    const found = gateway.imageProvider(id)?.models.find((one) => one.id === id);
    const { maxReferences = 0, takesMask = false, formats = [] } = found ?? {};
    return { maxReferences: Math.min(MAX_REFERENCES, maxReferences), takesMask, formats };
  }
  const [operation] = operations;
  const found = operation && gateway.audioProvider(id, operation)?.models.find((one) => one.id === id);
  const isOf = (...some: readonly AudioOperation[]) => some.some((one) => operations.includes(one));
  return {
    ...(isOf('speak', 'generateSound') && { maxCharacters: found?.maxCharacters ?? MAX_CHARACTERS }),
    ...(isOf('transcribe', 'translate', 'changeVoice') && { maxAudioBytes: audioMaxBytes }),
  };
}

/** Of which a million is ten times as much: long prompts may have other prices. */
const TOKENS = 100_000;
const NOTHING = { inputTokens: null, cachedTokens: null, outputTokens: null, characters: null, seconds: null } as const;

/** Prices of a model, of those that are known. */
export function pricesOf(model: string, own: readonly ReadyModel[], prices: Prices | undefined): readonly PriceLine[] {
  const of = (use: {
    inputTokens?: number;
    cachedTokens?: number;
    outputTokens?: number;
    characters?: number;
    seconds?: number;
  }) => prices?.costOf({ ...NOTHING, ...use, model });
  const isImage = own.some(({ kind }) => kind === 'image');
  const input = of({ inputTokens: TOKENS });
  const cached = of({ inputTokens: TOKENS, cachedTokens: TOKENS });
  return lines(prices, [
    ['input', times(input, 10)],
    ['cached', cached === input ? null : times(cached, 10)],
    ['output', times(of({ outputTokens: TOKENS }), 10)],
    ['minute', of({ seconds: 60 })],
    ['characters', of({ characters: 1_000 })],
    // 0 if its images are billed by their tokens.
    ['image', (isImage && prices?.highestCostOf({ model, image: {}, inputTokens: 0 })) || null, true],
  ]);
}

/**
 * What one image costs, by its size, in a request that states no quality: at most, where its price depends on more than
 * that. A model that is billed by tokens has none.
 * @param sizes `1024x1024`; another word is a size that is not known yet.
 */
export function imagePricesOf(
  model: string,
  sizes: readonly string[],
  prices: Prices | undefined,
): Readonly<Record<string, PriceLine>> {
  if (prices?.rates.some((rate) => rate.model === model)) return {};
  const known = sizes.flatMap((size) => {
    const image = /^\d+x\d+$/.test(size) ? { size } : {};
    const exact = image.size === undefined ? null : prices?.costOf({ ...NOTHING, model, image });
    const amount = exact ?? prices?.highestCostOf({ model, image, inputTokens: 0 });
    return lines(prices, [['image', amount, exact === null]]).map((line) => [size, line] as const);
  });
  return Object.fromEntries(known);
}

function times(amount: number | null | undefined, factor: number): number | null {
  return amount === null || amount === undefined ? null : amount * factor;
}

function lines(
  prices: Prices | undefined,
  known: readonly (readonly [unit: PriceUnit, amount: number | null | undefined, isHighest?: boolean])[],
): PriceLine[] {
  if (!prices) return [];
  const { currency } = prices;
  return known.flatMap(([unit, amount, isHighest = false]) =>
    amount === null || amount === undefined ? [] : { unit, amount, currency, isHighest },
  );
}
