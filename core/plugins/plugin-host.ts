/*
 * The plugins of a gateway: they are loaded, found by their id or by what they serve, and disposed. Entries load
 * concurrently but are registered in the order of the configuration, so timing does not decide which one gets a name; a
 * failed entry is reported and the others continue, unless it is required. Upstream checks run all at once. Disposal
 * runs in reverse order.
 *
 * The registry holds platforms, models, their aliases, and sign-in. It is written while plugins load and read for every
 * request, so its lists are rebuilt at each change and a look-up of a text model is one map access. A platform or model
 * has exactly one instance; a second one is refused before anything is added. An extractor that throws in `match`
 * counts as no match, so one platform does not hide the others.
 *
 * Models are absent that no server has: those that the plugins file presumes, that the operator has not named, and that
 * the lists of all their upstreams lack. Clients do not see them in the list of models. A request for one is still
 * sent, and a model that has answered is never absent again, because some servers have models that they do not list.
 */

import type {
  AudioOperation,
  AudioProvider,
  CheckedUpstream,
  ContributionKind,
  Contributions,
  Extractor,
  IdentityProvider,
  ImageModel,
  ImageProvider,
  LinkMatch,
  LinkRef,
  Logger,
  PluginEntry,
  PluginStatus,
  ReadyModel,
  TextModel,
  TextProvider,
} from '../contracts/index.js';
import { GatewayError } from '../runtime/index.js';
import { checkFallbacks, checkMatch, claimed, modelsOf, modelsServed, namesServed } from './contributions.js';
import { PluginConfigError, resolveAliases } from './plugin-config.js';
import { asError, type HideOptions } from './plugin-failure.js';
import { type InstanceOptions, type InstancePolicy, PluginInstance } from './plugin-instance.js';

interface PluginHostOptions extends InstanceOptions {
  registry: Registry;
}

export class PluginHost {
  /** Models that their upstreams do not list, by the latest check. */
  readonly absent = new AbsentModels(() => performance.now());
  readonly #options: PluginHostOptions;
  readonly #registry: Registry;
  /** In the order of the configuration. */
  #all: readonly PluginInstance[] = [];
  /** By id. */
  readonly #ready = new Map<string, PluginInstance>();

  constructor(options: PluginHostOptions) {
    this.#options = options;
    this.#registry = options.registry;
  }

  /** Loads all entries concurrently. @throws PluginConfigError naming the entry if a required one failed. */
  async load(entries: readonly PluginEntry[]): Promise<void> {
    this.#all = entries.map((entry) => new PluginInstance(entry, entries, this.#options));
    const wanted = this.#all.filter(({ state }) => state === 'loading');
    const outcomes = await Promise.allSettled(wanted.map((instance) => instance.prepare()));
    for (const [index, instance] of wanted.entries()) {
      const outcome = outcomes[index];
      try {
        if (outcome?.status === 'rejected') throw outcome.reason;
        this.#register(instance);
      } catch (error) {
        instance.fail(error, this.#all);
      }
    }
    this.#warnOfFallbacks();
    const missing = wanted.find(({ entry, state }) => entry.required && state === 'failed');
    if (missing) throw new PluginConfigError(`The required plugin entry "${missing.id}" failed: ${missing.reason}`);
  }

  #register(instance: PluginInstance): void {
    const { id, entry, contributions, hideOptions } = instance;
    if (this.#ready.has(id)) throw new Error(`the id "${id}" is used by an earlier instance`);
    this.#registry.add(id, contributions, hideOptions, entry);
    instance.becomeReady(this.#registry.servedBy(id));
    this.#ready.set(id, instance);
  }

  #warnOfFallbacks(): void {
    const registry = this.#registry;
    for (const { contribution } of registry.texts) {
      for (const { id: model, fallbacks = [] } of contribution.models) {
        const unknown = fallbacks.filter((name) => !registry.textProvider(registry.resolve(name)));
        if (unknown.length > 0)
          this.#options.logger.warn(`a fallback is no text model that is ready: ${unknown.join()}`, { model });
      }
    }
  }

  status(): readonly PluginStatus[] {
    return this.#all.map((instance) => instance.status(this.#registry.servedBy(instance.id)));
  }

  /** Asks the upstreams of every ready instance, all at once. Rejects with the signal's reason only. */
  async checkUpstreams(signal?: AbortSignal): Promise<readonly CheckedUpstream[]> {
    const ready = this.#all.filter(({ isReady }) => isReady);
    const checks = await Promise.all(
      ready.map((instance) => instance.checkUpstreams(this.#registry.servedBy(instance.id), signal)),
    );
    const presumed = ready.map(({ hasPresumedModels }, index) => (hasPresumedModels ? (checks[index] ?? []) : []));
    this.absent.read(presumed.flat());
    return checks.flat();
  }

  /**
   * Runs a plugin's code under the instance's deadline.
   * @throws GatewayError as {@link InstancePolicy.failureOf} returns it, or the signal's reason.
   */
  async call<Result>(
    kind: ContributionKind,
    entry: string,
    signal: AbortSignal | undefined,
    work: (signal: AbortSignal) => Promise<Result>,
  ): Promise<Result> {
    return this.#find(entry).call(kind, signal, work);
  }

  /** The policy for calls of an instance that {@link call} does not make, since they continue after their answer. */
  policy(entry: string): InstancePolicy {
    return this.#find(entry).policy;
  }

  /** @throws GatewayError `plugin_unavailable` */
  #find(entry: string): PluginInstance {
    const instance = this.#ready.get(entry);
    if (!instance) throw new GatewayError('plugin_unavailable', `The plugin entry "${entry}" is not ready.`);
    return instance;
  }

  /** Logs, at most once a minute for each instance, if an aborted call of it has not ended 5 s later. */
  watchAborted(entry: string, work: Promise<unknown>): void {
    this.#ready.get(entry)?.watchAborted(work);
  }

  /** The state that a plugin reports; empty if it throws, so that one plugin does not hide the states of others. */
  stateOf<State>(entry: string, ask: () => readonly State[] | undefined): readonly State[] {
    return this.#ready.get(entry)?.stateOf(ask) ?? [];
  }

  /** Private origins that this instance may reach. */
  trustedOriginsOf(entry: string): readonly string[] {
    return this.#ready.get(entry)?.trustedOrigins ?? [];
  }

  /** In reverse order of the configuration. */
  async dispose(): Promise<void> {
    for (const instance of [...this.#all].reverse()) {
      if (!instance.isDisposable) continue;
      this.#registry.remove(instance.id);
      await instance.dispose();
    }
  }
}

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

const RECHECK_MS = 60_000;

class AbsentModels {
  readonly #monotonic: () => number;
  readonly #absent = new Set<string>();
  readonly #proven = new Set<string>();
  #checkedAt: number;

  constructor(monotonic: () => number) {
    this.#monotonic = monotonic;
    this.#checkedAt = monotonic();
  }

  /** Reads the results of a check of all upstreams. */
  read(checks: readonly CheckedUpstream[]): void {
    this.#checkedAt = this.#monotonic();
    this.#absent.clear();
    for (const { models, result } of checks)
      if (result === 'unknown_model') for (const id of models) this.#absent.add(id);
    for (const { models, result } of checks)
      if (result !== 'unknown_model') for (const id of models) this.#absent.delete(id);
    for (const id of this.#proven) this.#absent.delete(id);
  }

  has(id: string): boolean {
    return this.#absent.size > 0 && this.#absent.has(id);
  }

  /** Called for each answer, so that it must be cheap. */
  answered(id: string): void {
    if (this.#absent.size > 0 && this.#absent.delete(id)) this.#proven.add(id);
  }

  /** Whether it is time for another check, since a server may have got a model. True at most once a minute. */
  isDue(): boolean {
    if (this.#absent.size === 0 || this.#monotonic() - this.#checkedAt < RECHECK_MS) return false;
    this.#checkedAt = this.#monotonic();
    return true;
  }
}
