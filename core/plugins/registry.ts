/*
 * The registry holds platforms, models, their aliases, and sign-in. It is written while plugins load and read for every
 * request, so its lists are rebuilt at each change and a look-up of a text model is one map access. A platform or model
 * has exactly one instance; a second one is refused before anything is added. An extractor that throws in `match`
 * counts as no match, so one platform does not hide the others. A model that the operator has switched off is in no list
 * and takes no new request; what was submitted before is finished.
 */

import type {
  AudioOperation,
  AudioProvider,
  Contributions,
  Extractor,
  IdentityProvider,
  ImageModel,
  ImageProvider,
  LinkMatch,
  LinkRef,
  Logger,
  ModelUpstreams,
  PluginEntry,
  ReadyModel,
  TextModel,
  TextProvider,
} from '../contracts/index.js';
import { GatewayError } from '../runtime/index.js';
import { checkFallbacks, checkMatch, claimed, modelsOf, modelsServed, namesServed } from './contributions.js';
import { resolveAliases } from './plugin-config.js';
import { asError, type HideOptions } from './plugin-failure.js';

/** What one plugin instance contributed, with the instance's id. */
export interface Registered<Contribution> {
  entry: string;
  contribution: Contribution;
}

/** A text provider, with one of its models. */
export type RegisteredText = Registered<TextProvider> & { model: TextModel };

/** What the plugins file says of the models of an entry. */
type ModelWords = Pick<PluginEntry, 'aliases' | 'descriptions'>;

/** What one instance contributed, how its texts are redacted, and the words of its models. */
interface Entry extends ModelWords {
  contributions: Contributions;
  hideOptions: HideOptions;
}

/** The registry of contributions. Filled while loading, read for every request. */
export class Registry {
  readonly #logger: Logger;
  readonly #entries = new Map<string, Entry>();
  #aliases = new Map<string, string>();
  /** Ids of models that the operator has switched off. */
  #closed: ReadonlySet<string> = new Set();
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
   * @param words Further names and descriptions of its models. Default: none.
   * @throws Error if a platform or a model is served already; nothing is added then.
   */
  add(entry: string, contributions: Contributions, hideOptions: HideOptions, words: ModelWords = {}): void {
    const taken = new Map(
      [...this.#entries].flatMap(([id, other]) => claimed(other.contributions).map((name) => [name, id] as const)),
    );
    for (const name of claimed(contributions)) {
      const holder = taken.get(name);
      if (holder !== undefined) throw new Error(`${name} is served by the entry "${holder}" already`);
      taken.set(name, entry);
    }
    checkFallbacks([...this.#texts.flatMap(({ contribution }) => contribution.models), ...modelsOf(contributions)]);
    const { aliases, descriptions } = words;
    this.#entries.set(entry, {
      contributions,
      hideOptions,
      ...(aliases && { aliases }),
      ...(descriptions && { descriptions }),
    });
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

  get images(): readonly Registered<ImageProvider>[] {
    return this.#images;
  }

  get audio(): readonly Registered<AudioProvider>[] {
    return this.#audio;
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

  /** Switches off these models, and all others on. */
  close(ids: ReadonlySet<string>): void {
    this.#closed = ids;
  }

  /** @throws GatewayError `model_not_supported` if the operator has switched the model off. */
  checkOpen(model: string): void {
    if (!this.#closed.has(model)) return;
    const message = 'The operator of this gateway has switched this model off.';
    throw new GatewayError('model_not_supported', message, { param: 'model' });
  }

  isOpen(model: string): boolean {
    return !this.#closed.has(model);
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
      contribution.models
        .filter(({ id, operations }) => operations.includes(operation) && this.isOpen(id))
        .map(({ id }) => id),
    );
  }

  textProvider(model: string): RegisteredText | undefined {
    return this.#textModels.get(model);
  }

  /** The upstreams of a model; none if its provider does not name them. */
  upstreamsOf(model: string): ModelUpstreams {
    for (const { contribution } of [...this.#texts, ...this.#images, ...this.#audio]) {
      const found = contribution.models.find(({ id }) => id === model);
      if (found?.upstreams) return { upstreams: found.upstreams, canWeigh: contribution.weigh !== undefined };
    }
    return { upstreams: [], canWeigh: false };
  }

  identityProvider(): Registered<IdentityProvider> | undefined {
    for (const [entry, { contributions }] of this.#entries) {
      const [contribution] = contributions.identityProviders ?? [];
      if (contribution) return { entry, contribution };
    }
    return undefined;
  }

  /** The models, and then their aliases; without those that are switched off. */
  models(): ReadyModel[] {
    const all = this.allModels();
    return this.#closed.size === 0 ? all : all.filter(({ id, aliasOf = id }) => this.isOpen(aliasOf));
  }

  /** As {@link models}, with those that are switched off. */
  allModels(): ReadyModel[] {
    const own = [
      ...this.#images.flatMap(imageModelsOf),
      ...this.#audio.flatMap(audioModelsOf),
      ...this.#texts.flatMap(textModelsOf),
    ].map((model) => {
      const description = this.#entries.get(model.entry)?.descriptions?.[model.id];
      return description === undefined ? model : { ...model, description };
    });
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
