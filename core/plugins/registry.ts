import type {
  AudioOperation,
  AudioProvider,
  Contributions,
  Extractor,
  IdentityProvider,
  ImageProvider,
  LinkRef,
  Logger,
  TextModel,
  TextProvider,
} from '../contracts/index.js';
import { GatewayError, isGatewayError } from '../runtime/index.js';

/** What one entry contributed, under the entry's id. */
export interface Registered<Contribution> {
  entry: string;
  contribution: Contribution;
}

/** Who serves what. Filled while loading, read for every request. */
export interface Registry {
  /**
   * @param failureOf What a client is told where an extractor's `match` threw this.
   * @throws Error where a platform or a model is served already; nothing is added then.
   */
  add(entry: string, contributions: Contributions, failureOf: (thrown: unknown) => GatewayError): void;
  remove(entry: string): void;
  readonly extractors: readonly Registered<Extractor>[];
  /** @throws GatewayError `unsupported_platform`, or the `unsupported_link` of the platform whose host it is. */
  matchLink(url: URL): { extractor: Registered<Extractor>; link: LinkRef };
  imageProvider(model: string): Registered<ImageProvider> | undefined;
  audioProvider(model: string, operation: AudioOperation): Registered<AudioProvider> | undefined;
  /** Ids of those that do this. */
  audioModels(operation: AudioOperation): string[];
  textProvider(model: string): (Registered<TextProvider> & { model: TextModel }) | undefined;
  readonly texts: readonly Registered<TextProvider>[];
  identityProvider(): Registered<IdentityProvider> | undefined;
  models(): { id: string; kind: 'image' | 'audio' | 'text'; entry: string }[];
  /** Platform keys and model ids of one entry, and `sign-in` where people sign in with it. */
  servedBy(entry: string): string[];
}

export function createRegistry(logger: Logger): Registry {
  const entries = new Map<string, Contributions>();
  const failures = new Map<string, (thrown: unknown) => GatewayError>();
  let extractors: Registered<Extractor>[] = [];
  let images: Registered<ImageProvider>[] = [];
  let audio: Registered<AudioProvider>[] = [];
  let text: Registered<TextProvider>[] = [];
  let identity: Registered<IdentityProvider>[] = [];

  /** Every request asks these lists, loading changes them: they are made anew then, not on each request. */
  function relist(): void {
    const collect = <Contribution>(pick: (contributions: Contributions) => readonly Contribution[] | undefined) =>
      [...entries].flatMap(([entry, contributions]) =>
        (pick(contributions) ?? []).map((contribution) => ({ entry, contribution })),
      );
    extractors = collect((contributions) => contributions.extractors);
    images = collect((contributions) => contributions.imageProviders);
    audio = collect((contributions) => contributions.audioProviders);
    text = collect((contributions) => contributions.textProviders);
    identity = collect((contributions) => contributions.identityProviders);
  }

  /** What one entry alone may have: of an audio model, each operation. */
  const claimed = (contributions: Contributions): string[] => [
    ...(contributions.extractors ?? []).map((extractor) => extractor.platform),
    ...(contributions.imageProviders ?? []).flatMap((provider) => provider.models),
    ...(contributions.audioProviders ?? []).flatMap((provider) =>
      provider.models.flatMap((model) => model.operations.map((operation) => `${model.id} (${operation})`)),
    ),
    ...(contributions.textProviders ?? []).flatMap((provider) => provider.models.map((model) => model.id)),
    ...(contributions.identityProviders ?? []).map(() => 'sign-in'),
  ];

  const models: Registry['models'] = () => [
    ...images.flatMap(({ entry, contribution }) =>
      contribution.models.map((id) => ({ id, kind: 'image' as const, entry })),
    ),
    ...audio.flatMap(({ entry, contribution }) =>
      contribution.models.map(({ id }) => ({ id, kind: 'audio' as const, entry })),
    ),
    ...text.flatMap(({ entry, contribution }) =>
      contribution.models.map(({ id }) => ({ id, kind: 'text' as const, entry })),
    ),
  ];

  return {
    add(entry, contributions, failureOf) {
      const taken = new Map([...entries].flatMap(([id, other]) => claimed(other).map((name) => [name, id] as const)));
      const fresh = new Set<string>();
      for (const name of claimed(contributions)) {
        const holder = fresh.has(name) ? entry : taken.get(name);
        if (holder !== undefined) throw new Error(`${name} is served by the entry "${holder}" already`);
        fresh.add(name);
      }
      entries.set(entry, contributions);
      failures.set(entry, failureOf);
      relist();
    },
    remove(entry) {
      entries.delete(entry);
      failures.delete(entry);
      relist();
    },
    get extractors() {
      return extractors;
    },
    matchLink(url) {
      let refusal: GatewayError | undefined;
      for (const extractor of extractors) {
        try {
          const link = extractor.contribution.match(url);
          if (link) return { extractor, link };
        } catch (error) {
          if (isGatewayError(error) && error.code === 'unsupported_link') {
            const told = failures.get(extractor.entry)?.(error) ?? error;
            refusal ??= told.with({ platform: extractor.contribution.platform, param: 'url' });
          } else {
            logger.warn('match threw; counted as no match', { entry: extractor.entry, error });
          }
        }
      }
      if (refusal) throw refusal;
      const names = extractors.map((extractor) => extractor.contribution.displayName);
      throw new GatewayError(
        'unsupported_platform',
        `No platform is known for this link. Supported: ${names.join(', ') || 'none, since no extractor is ready'}.`,
        { param: 'url' },
      );
    },
    imageProvider: (model) => images.find(({ contribution }) => contribution.models.includes(model)),
    audioProvider: (model, operation) =>
      audio.find(
        ({ contribution }) =>
          typeof contribution[operation] === 'function' &&
          contribution.models.some((known) => known.id === model && known.operations.includes(operation)),
      ),
    audioModels: (operation) =>
      audio.flatMap(({ contribution }) =>
        contribution.models.filter(({ operations }) => operations.includes(operation)).map(({ id }) => id),
      ),
    textProvider(model) {
      for (const registered of text) {
        const known = registered.contribution.models.find((candidate) => candidate.id === model);
        if (known) return { ...registered, model: known };
      }
      return undefined;
    },
    get texts() {
      return text;
    },
    identityProvider: () => identity[0],
    models,
    servedBy: (entry) => [
      ...extractors.filter((one) => one.entry === entry).map(({ contribution }) => contribution.platform),
      ...models()
        .filter((one) => one.entry === entry)
        .map(({ id }) => id),
      ...identity.filter((one) => one.entry === entry).map(() => 'sign-in'),
    ],
  };
}
