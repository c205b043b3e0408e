/*
 * The registry of what plugins contribute: platforms, models, their aliases, and sign-in. It is written while plugins
 * load and read for every request, so its lists are rebuilt at each change and a look-up of a text model is one map
 * access. A platform or model has exactly one instance; a second one is refused before anything is added.
 * Contributions are checked against their contract when they are registered, because plugins need not be typed. An
 * extractor that throws in `match` counts as no match, so one platform does not hide the others.
 */

import type {
  AudioOperation,
  AudioProvider,
  ContributionKind,
  Contributions,
  Extractor,
  IdentityProvider,
  ImageFormat,
  ImageModel,
  ImageProvider,
  LinkMatch,
  LinkRef,
  Logger,
  ModelAlias,
  Plugin,
  ReadyModel,
  TextModel,
  TextProvider,
} from '../contracts/index.js';
import { createValidator, GatewayError, isRecord, type JsonRecord } from '../runtime/index.js';
import { resolveAliases } from './plugin-config.js';
import { asError, type HideOptions } from './plugin-failure.js';

/** What one plugin instance contributed, with the instance's id. */
export interface Registered<Contribution> {
  entry: string;
  contribution: Contribution;
}

/** A text provider, with one of its models. */
export type RegisteredText = Registered<TextProvider> & { model: TextModel };

/** What one instance contributed, how its texts are redacted, and the further names of its models. */
interface Entry {
  contributions: Contributions;
  hideOptions: HideOptions;
  aliases?: readonly ModelAlias[];
}

/** The registry of contributions. Filled while loading, read for every request. */
export class Registry {
  readonly #logger: Logger;
  readonly #entries = new Map<string, Entry>();
  #aliases = new Map<string, string>();
  #textModels = new Map<string, RegisteredText>();
  #extractors: readonly Registered<Extractor>[] = [];
  #images: readonly Registered<ImageProvider>[] = [];
  #audio: readonly Registered<AudioProvider>[] = [];
  #texts: readonly Registered<TextProvider>[] = [];

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /**
   * @param hideOptions Redacts the instance's option values from what an extractor's `match` returns or throws.
   * @param aliases Further names of its models. Default: none.
   * @throws Error if a platform or a model is served already; nothing is added then.
   */
  add(entry: string, contributions: Contributions, hideOptions: HideOptions, aliases?: readonly ModelAlias[]): void {
    const taken = new Map(
      [...this.#entries].flatMap(([id, other]) => claimed(other.contributions).map((name) => [name, id] as const)),
    );
    for (const name of claimed(contributions)) {
      const holder = taken.get(name);
      if (holder !== undefined) throw new Error(`${name} is served by the entry "${holder}" already`);
      taken.set(name, entry);
    }
    checkFallbacks([...this.#texts.flatMap(({ contribution }) => contribution.models), ...modelsOf(contributions)]);
    this.#entries.set(entry, { contributions, hideOptions, ...(aliases && { aliases }) });
    this.#relist();
  }

  remove(entry: string): void {
    this.#entries.delete(entry);
    this.#relist();
  }

  /** Every request reads these lists and only loading changes them, so they are rebuilt then. */
  #relist(): void {
    const collect = <Contribution>(pick: (contributions: Contributions) => readonly Contribution[] | undefined) =>
      [...this.#entries].flatMap(([entry, { contributions }]) =>
        (pick(contributions) ?? []).map((contribution) => ({ entry, contribution })),
      );
    this.#extractors = collect(({ extractors }) => extractors);
    this.#images = collect(({ imageProviders }) => imageProviders);
    this.#audio = collect(({ audioProviders }) => audioProviders);
    this.#texts = collect(({ textProviders }) => textProviders);
    this.#textModels = new Map(
      this.#texts.flatMap((found) =>
        found.contribution.models.map((model) => [model.id, { ...found, model }] as const),
      ),
    );
    this.#aliases = resolveAliases(
      [...this.#entries.values()].map(({ contributions, aliases }) => ({
        ...(aliases && { aliases }),
        served: modelsServed(contributions),
      })),
    );
  }

  get extractors(): readonly Registered<Extractor>[] {
    return this.#extractors;
  }

  get texts(): readonly Registered<TextProvider>[] {
    return this.#texts;
  }

  extractor(platform: string): Registered<Extractor> | undefined {
    return this.#extractors.find(({ contribution }) => contribution.platform === platform);
  }

  /** @throws GatewayError `unsupported_platform`; `unsupported_link` if the link is of a platform but names no item. */
  matchLink(url: URL): { extractor: Registered<Extractor>; link: LinkRef } {
    let refusal: GatewayError | undefined;
    for (const extractor of this.#extractors) {
      const match = this.#matchOf(extractor, url);
      if (!match) continue;
      if (!('unsupported' in match)) return { extractor, link: match };
      refusal ??= this.#unsupportedLink(extractor, match.unsupported);
    }
    if (refusal) throw refusal;
    const names = this.#extractors.map((extractor) => extractor.contribution.displayName);
    throw new GatewayError(
      'unsupported_platform',
      `No platform is known for this link. Supported: ${names.join(', ') || 'none, since no extractor is ready'}.`,
      { param: 'url' },
    );
  }

  /** A plugin fault in `match` counts as no match, so that one platform does not hide the others. */
  #matchOf({ entry, contribution }: Registered<Extractor>, url: URL): LinkMatch {
    try {
      return checkMatch(contribution.match(url));
    } catch (error) {
      this.#logger.error('match failed; counted as no match', { entry, error: asError(error, this.#hideOf(entry)) });
      return undefined;
    }
  }

  #unsupportedLink({ entry, contribution }: Registered<Extractor>, kind: string): GatewayError {
    const { platform, displayName, linkForms } = contribution;
    const words = `The link is ${kind}, not an item of ${displayName}; accepted, for example: ${linkForms[0]}.`;
    return new GatewayError('unsupported_link', this.#hideOf(entry)(words), { platform, param: 'url' });
  }

  #hideOf(entry: string): HideOptions {
    return this.#entries.get(entry)?.hideOptions ?? String;
  }

  /** The id of the model with this name: the name itself, unless it is an alias. The methods below take ids. */
  resolve(name: string): string {
    return this.#aliases.get(name) ?? name;
  }

  imageProvider(model: string): Registered<ImageProvider> | undefined {
    return this.#images.find(({ contribution }) => contribution.models.some(({ id }) => id === model));
  }

  imageModel(model: string): ImageModel | undefined {
    return this.#images.flatMap(({ contribution }) => contribution.models).find(({ id }) => id === model);
  }

  audioProvider(model: string, operation: AudioOperation): Registered<AudioProvider> | undefined {
    return this.#audio.find(
      ({ contribution }) =>
        typeof contribution[operation] === 'function' &&
        contribution.models.some((known) => known.id === model && known.operations.includes(operation)),
    );
  }

  /** Ids of the models that support this. */
  audioModels(operation: AudioOperation): string[] {
    return this.#audio.flatMap(({ contribution }) =>
      contribution.models.filter(({ operations }) => operations.includes(operation)).map(({ id }) => id),
    );
  }

  textProvider(model: string): RegisteredText | undefined {
    return this.#textModels.get(model);
  }

  identityProvider(): Registered<IdentityProvider> | undefined {
    for (const [entry, { contributions }] of this.#entries) {
      const [contribution] = contributions.identityProviders ?? [];
      if (contribution) return { entry, contribution };
    }
    return undefined;
  }

  /** The models, and then their aliases. */
  models(): ReadyModel[] {
    const own = [
      ...this.#images.flatMap(imageModelsOf),
      ...this.#audio.flatMap(audioModelsOf),
      ...this.#texts.flatMap(textModelsOf),
    ];
    const named = [...this.#aliases].flatMap(([name, aliasOf]) =>
      own.filter(({ id }) => id === aliasOf).map((model) => ({ ...model, id: name, aliasOf })),
    );
    return [...own, ...named];
  }

  /** Platform keys and model ids of one instance, and `sign-in` for an identity provider. */
  servedBy(entry: string): string[] {
    return namesServed(this.#entries.get(entry)?.contributions ?? {});
  }
}

function imageModelsOf({ entry, contribution }: Registered<ImageProvider>): ReadyModel[] {
  return contribution.models.map(({ id, maxReferences }) => ({
    id,
    kind: 'image',
    entry,
    takesImages: maxReferences > 0,
  }));
}

function audioModelsOf({ entry, contribution }: Registered<AudioProvider>): ReadyModel[] {
  return contribution.models.map(({ id, operations }) => ({ id, kind: 'audio', entry, operations }));
}

function textModelsOf({ entry, contribution }: Registered<TextProvider>): ReadyModel[] {
  return contribution.models.map(({ id, routes, contextLength }) => ({
    id,
    kind: 'text',
    entry,
    routes,
    ...(contextLength !== undefined && { contextLength }),
  }));
}

/** What only one instance may serve: for an audio model, each operation. */
function claimed(contributions: Contributions): string[] {
  const { audioProviders = [], ...others } = contributions;
  const operations = audioProviders.flatMap(({ models }) =>
    models.flatMap((model) => model.operations.map((operation) => `${model.id} (${operation})`)),
  );
  return [...namesServed(others), ...operations];
}

function modelsServed({ imageProviders = [], audioProviders = [], textProviders = [] }: Contributions): string[] {
  return [...imageProviders, ...audioProviders, ...textProviders].flatMap(({ models }) => models.map(({ id }) => id));
}

function modelsOf({ textProviders = [] }: Contributions): TextModel[] {
  return textProviders.flatMap(({ models }) => models);
}

/** @throws Error if the fallbacks of a model lead back to it. */
function checkFallbacks(models: readonly TextModel[]): void {
  const next = new Map(models.map(({ id, fallbacks = [] }) => [id, fallbacks]));
  const done = new Set<string>();
  const visit = (id: string, way: readonly string[]): void => {
    if (way.includes(id)) throw new Error(`the fallbacks of ${id} lead back to it: ${[...way, id].join(', ')}`);
    if (done.has(id)) return;
    for (const fallback of next.get(id) ?? []) visit(fallback, [...way, id]);
    done.add(id);
  };
  for (const { id } of models) visit(id, []);
}

/** Platform keys, model ids, and `sign-in` for an identity provider. */
export function namesServed(contributions: Contributions): string[] {
  return [
    ...(contributions.extractors ?? []).map(({ platform }) => platform),
    ...modelsServed(contributions),
    ...(contributions.identityProviders ?? []).map(() => 'sign-in'),
  ];
}

/** The field of `setup`'s result for each kind. */
export const CONTRIBUTION_LISTS: Readonly<Record<ContributionKind, Exclude<keyof Contributions, 'dispose'>>> = {
  extractor: 'extractors',
  image: 'imageProviders',
  audio: 'audioProviders',
  text: 'textProviders',
  identity: 'identityProviders',
};
const KINDS = Object.keys(CONTRIBUTION_LISTS) as ContributionKind[];

const CHECKS: Readonly<Record<ContributionKind, (contribution: JsonRecord, at: string) => void>> = {
  extractor: checkExtractor,
  image: checkImageProvider,
  audio: checkAudioProvider,
  text: checkTextProvider,
  identity: (provider, at) => mustBeFunction(provider, 'open', at),
};

/** Used in URLs, metrics and cache keys. */
const PLATFORM = /^[a-z][a-z0-9_]{0,39}$/;

/**
 * Checks what `setup` returned against its contract, as far as possible before the first call: plugins need not be
 * written in a typed language.
 * @throws Error naming the field, and what it must be.
 */
export function checkContributions({ provides }: Plugin, contributions: Contributions): void {
  const unknown = provides.find((kind) => !KINDS.includes(kind));
  if (unknown !== undefined) throw new Error(`"provides" has ${unknown}, which is unknown. Known: ${KINDS.join(', ')}`);
  if (!isRecord(contributions)) throw new Error('setup returned nothing');
  for (const kind of KINDS) {
    const name = CONTRIBUTION_LISTS[kind];
    const list: unknown = contributions[name];
    if (list !== undefined && !Array.isArray(list)) throw new Error(`setup returned ${name} that are not a list`);
    const isGiven = list !== undefined && list.length > 0;
    if (isGiven && !provides.includes(kind)) {
      throw new Error(`setup returned ${name}, which "provides" does not list`);
    }
    if (!isGiven && provides.includes(kind)) throw new Error(`"provides" lists ${kind}, but setup returned no ${name}`);
    for (const [index, contribution] of (list ?? []).entries()) {
      const at = `${name}.${index}`;
      if (!isRecord(contribution)) throw new Error(`${at} must be an object`);
      CHECKS[kind](contribution, at);
    }
  }
}

function checkExtractor(extractor: JsonRecord, at: string): void {
  const { platform, audio, requestOptions } = extractor;
  if (typeof platform !== 'string' || !PLATFORM.test(platform)) {
    throw new Error(`${at}.platform must have 1 to 40 small letters, digits and underscores, and begin with a letter`);
  }
  mustBeText(extractor.displayName, `${at}.displayName`);
  mustBeList(extractor.linkForms, `${at}.linkForms`, mustBeText);
  for (const name of ['match', 'extract'] as const) mustBeFunction(extractor, name, at);
  if (audio) mustBeFunction(extractor, 'resolveAudio', at);
  if (requestOptions !== undefined) checkRequestOptions(requestOptions, `${at}.requestOptions`);
}

const OPTION_NAME = /^[a-z][A-Za-z0-9]{0,39}$/;

function checkRequestOptions(schema: unknown, at: string): void {
  if (!isRecord(schema) || !isRecord(schema.properties)) throw new Error(`${at} must be a JSON schema of an object`);
  const wrong = Object.keys(schema.properties).find((name) => !OPTION_NAME.test(name));
  if (wrong !== undefined) throw new Error(`${at} has "${wrong}", but option names must be in camelCase`);
  const checked = createValidator(schema).check({});
  if (checked.ok) return;
  const { path = '', message = 'is not valid' } = checked.issues[0] ?? {};
  throw new Error(`${at} must give each option a default, or make it optional: ${path} ${message}`);
}

const IMAGE_FORMATS: ReadonlySet<unknown> = new Set<ImageFormat>(['png', 'jpeg', 'webp']);

function checkImageProvider(provider: JsonRecord, at: string): void {
  mustBeList(provider.models, `${at}.models`, (model, path) => {
    checkModel(model, path);
    const { maxReferences: max, takesMask = false } = model;
    if (!Number.isSafeInteger(max) || Number(max) < 0)
      throw new Error(`${path}.maxReferences must be a whole number from 0`);
    if (typeof takesMask !== 'boolean') throw new Error(`${path}.takesMask must be true or false`);
    mustBeList(model.formats, `${path}.formats`, (format, named) => {
      if (!IMAGE_FORMATS.has(format)) throw new Error(`${named} must be "png", "jpeg" or "webp"`);
    });
  });
  mustBeFunction(provider, 'generate', at);
}

function checkAudioProvider(provider: JsonRecord, at: string): void {
  mustBeList(provider.models, `${at}.models`, (model, path) => {
    checkModel(model, path);
    const { maxCharacters = 1 } = model;
    if (!Number.isSafeInteger(maxCharacters) || Number(maxCharacters) < 1)
      throw new Error(`${path}.maxCharacters must be a whole number from 1`);
    mustBeList(model.operations, `${path}.operations`, (operation, named) => {
      mustBeText(operation, named);
      mustBeFunction(provider, operation, at);
    });
  });
}

function checkTextProvider(provider: JsonRecord, at: string): void {
  mustBeList(provider.models, `${at}.models`, (model, path) => {
    checkModel(model, path);
    const { outputLimitField: field = 'max_tokens' } = model;
    for (const name of ['maxOutputTokens', 'contextLength'] as const) {
      const max = model[name] ?? 1;
      if (!(Number.isSafeInteger(max) && Number(max) > 0))
        throw new Error(`${path}.${name} must be a whole number above 0`);
    }
    mustBeText(field, `${path}.outputLimitField`);
    for (const name of ['routes', 'efforts'] as const) mustBeList(model[name], `${path}.${name}`, mustBeText, 0);
    mustBeList(model.translated ?? [], `${path}.translated`, mustBeText, 0);
    mustBeList(model.fallbacks ?? [], `${path}.fallbacks`, mustBeText, 0);
  });
  mustBeFunction(provider, 'send', at);
}

function checkModel(model: unknown, path: string): asserts model is JsonRecord {
  if (!isRecord(model)) throw new Error(`${path} must be an object`);
  mustBeText(model.id, `${path}.id`);
}

/** @throws Error naming what is wrong: plugins need not be written in a typed language. */
function checkMatch(match: LinkMatch): LinkMatch {
  if (match === undefined) return undefined;
  if (!isRecord(match)) throw new Error('match returned no object');
  if (match.unsupported !== undefined) mustBeText(match.unsupported, 'unsupported');
  else for (const name of ['kind', 'id', 'url']) mustBeText(match[name], `the match's ${name}`);
  if (match.access !== undefined) mustBeText(match.access, "the match's access");
  if (match.moves !== undefined && typeof match.moves !== 'boolean')
    throw new Error("the match's moves must be a boolean");
  return match;
}

function mustBeFunction(owner: JsonRecord, name: string, at: string): void {
  if (typeof owner[name] !== 'function') throw new Error(`${at}.${name} must be a function`);
}

function mustBeText(value: unknown, path: string): asserts value is string {
  if (typeof value !== 'string' || value === '') throw new Error(`${path} must be a text`);
}

function mustBeList(
  value: unknown,
  path: string,
  check: (element: unknown, path: string) => void,
  min = 1,
): asserts value is readonly unknown[] {
  if (!Array.isArray(value)) throw new Error(`${path} must be a list`);
  if (value.length < min) throw new Error(`${path} must not be empty`);
  for (const [index, element] of value.entries()) check(element, `${path}.${index}`);
}
