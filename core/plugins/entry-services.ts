import type { BrowserFaces, FaceOptions } from '../browser/index.js';
import type {
  Browser,
  BrowserCall,
  Cache,
  Clock,
  HttpClient,
  HttpRequest,
  HttpResponse,
  HttpStream,
  LogFields,
  Logger,
  Meter,
  Need,
  Plugin,
  PluginContext,
  SamplesCall,
  SoundFilters,
  Storage,
} from '../contracts/index.js';
import type { HttpFaces } from '../net/index.js';
import { inSpan, measureHttp, sendInSpan } from '../observability/index.js';
import { GatewayError } from '../runtime/index.js';
import 'reflect-metadata';
import {
  type ClassProvider,
  type DependencyContainer,
  injectable,
  inject as injectToken,
  Lifecycle,
  container as processContainer,
} from 'tsyringe';

/** What is particular to one entry. */
export interface EntryIdentity {
  id: string;
  options: Readonly<Record<string, unknown>>;
  /** What it needs and what it wants. */
  uses: readonly Need[];
  timeoutMs: number;
  trustedOrigins: readonly string[];
  /** Origins of its own servers, by the URLs in its options. */
  configuredOrigins: readonly string[];
  /** Told of its requests. Default: nobody is. */
  meter?: Meter;
  /** Aborts when the entry is disposed. */
  lifetime: AbortSignal;
}

export const HTTP = createToken<HttpFaces>('http');
export const BROWSER = createToken<BrowserFaces>('browser');
export const SOUND_FILTERS = createToken<SoundFilters>('sound filters');
export const CACHE = createToken<Cache>('cache');
export const STORAGE = createToken<Storage>('storage');
export const LOGGER = createToken<Logger>('logger');
export const CLOCK = createToken<Clock>('clock');
const ENTRY = createToken<EntryIdentity>('entry');
const ENTRY_HTTP = createToken<HttpClient>('entry http');
const ENTRY_BROWSER = createToken<Browser>('entry browser');
const ENTRY_FFMPEG = createToken<SoundFilters>('entry ffmpeg');
const ENTRY_CACHE = createToken<Cache>('entry cache');
const ENTRY_LOGGER = createToken<Logger>('entry logger');
const CONTEXT = createToken<PluginContext>('plugin context');

/** A request made after the entry is gone fails, whatever the plugin still holds. */
@injectable()
class EntryHttp implements HttpClient {
  readonly #client: HttpClient;
  readonly #entry: EntryIdentity;

  constructor(@inject(HTTP) faces: HttpFaces, @inject(ENTRY) entry: EntryIdentity) {
    const { id, meter, configuredOrigins } = entry;
    const client = faces.face({ ...limitsOf(entry), configuredOrigins });
    this.#client = meter ? measureHttp(client, id, meter) : client;
    this.#entry = entry;
  }

  request(request: HttpRequest): Promise<HttpResponse> {
    return sendInSpan(request, this.#entry, (sent) => this.#client.request(sent));
  }

  stream(request: HttpRequest): Promise<HttpStream> {
    return sendInSpan(request, this.#entry, (sent) => this.#client.stream(sent));
  }
}

@injectable()
class EntryBrowser implements Browser {
  readonly #browser: Browser;
  readonly #entry: EntryIdentity;

  constructor(@inject(BROWSER) faces: BrowserFaces, @inject(ENTRY) entry: EntryIdentity) {
    this.#browser = faces.face(limitsOf(entry));
    this.#entry = entry;
  }

  get available(): boolean {
    return this.#entry.uses.includes('browser') && this.#browser.available;
  }

  async run<Result>(call: BrowserCall<Result>): Promise<Result> {
    if (!this.#entry.uses.includes('browser')) {
      const message = `${this.#entry.id} used the browser without naming it in "needs" or "wants".`;
      throw new GatewayError('plugin_unavailable', message);
    }
    return inSpan({ name: 'browser', attributes: { 'mediagate.entry': this.#entry.id } }, () =>
      this.#browser.run(call),
    );
  }
}

@injectable()
class EntryFfmpeg implements SoundFilters {
  readonly #filters: SoundFilters;
  readonly #entry: EntryIdentity;

  constructor(@inject(SOUND_FILTERS) filters: SoundFilters, @inject(ENTRY) entry: EntryIdentity) {
    this.#filters = filters;
    this.#entry = entry;
  }

  get available(): boolean {
    return this.#entry.uses.includes('ffmpeg') && this.#filters.available;
  }

  async *samples(call: SamplesCall): AsyncGenerator<Uint8Array> {
    const { id, uses, lifetime } = this.#entry;
    if (!uses.includes('ffmpeg')) {
      throw new GatewayError('plugin_unavailable', `${id} used ffmpeg without naming it in "needs" or "wants".`);
    }
    yield* this.#filters.samples({ ...call, signal: AbortSignal.any([call.signal, lifetime]) });
  }
}

@injectable()
class EntryCache implements Cache {
  readonly #cache: Cache;
  readonly #prefix: string;

  constructor(@inject(CACHE) cache: Cache, @inject(ENTRY) entry: EntryIdentity) {
    this.#cache = cache;
    this.#prefix = `plugin:${entry.id}:`;
  }

  get<Value>(key: string): Promise<Value | undefined> {
    return this.#cache.get<Value>(this.#prefix + key);
  }

  set<Value>(key: string, value: Value, ttlMs: number): Promise<void> {
    return this.#cache.set(this.#prefix + key, value, ttlMs);
  }

  delete(key: string): Promise<void> {
    return this.#cache.delete(this.#prefix + key);
  }
}

@injectable()
class EntryLogger implements Logger {
  readonly #logger: Logger;
  readonly #entry: string;

  constructor(@inject(LOGGER) logger: Logger, @inject(ENTRY) entry: EntryIdentity) {
    this.#logger = logger;
    this.#entry = entry.id;
  }

  debug(message: string, fields?: LogFields): void {
    this.#logger.debug(message, { ...fields, entry: this.#entry });
  }

  info(message: string, fields?: LogFields): void {
    this.#logger.info(message, { ...fields, entry: this.#entry });
  }

  warn(message: string, fields?: LogFields): void {
    this.#logger.warn(message, { ...fields, entry: this.#entry });
  }

  error(message: string, fields?: LogFields): void {
    this.#logger.error(message, { ...fields, entry: this.#entry });
  }
}

@injectable()
class EntryContext implements PluginContext {
  readonly id: string;
  readonly options: Readonly<Record<string, never>>;

  constructor(
    @inject(ENTRY) entry: EntryIdentity,
    @inject(ENTRY_HTTP) readonly http: HttpClient,
    @inject(ENTRY_BROWSER) readonly browser: Browser,
    @inject(ENTRY_FFMPEG) readonly ffmpeg: SoundFilters,
    @inject(ENTRY_CACHE) readonly cache: Cache,
    @inject(STORAGE) readonly storage: Storage,
    @inject(ENTRY_LOGGER) readonly logger: Logger,
    @inject(CLOCK) readonly clock: Clock,
  ) {
    this.id = entry.id;
    // The plugin host has checked them against the plugin's own schema, which is what their type says there.
    this.options = entry.options as Readonly<Record<string, never>>;
  }
}

function limitsOf({ timeoutMs, trustedOrigins, lifetime }: EntryIdentity): FaceOptions {
  return { timeoutMs, trustedOrigins, signal: lifetime };
}

/** Names what every entry gets an own instance of. Before the first entry. */
export function registerEntryServices(root: RootScope): void {
  root.provideScoped(ENTRY_HTTP, EntryHttp);
  root.provideScoped(ENTRY_BROWSER, EntryBrowser);
  root.provideScoped(ENTRY_FFMPEG, EntryFfmpeg);
  root.provideScoped(ENTRY_CACHE, EntryCache);
  root.provideScoped(ENTRY_LOGGER, EntryLogger);
  root.provideScoped(CONTEXT, EntryContext);
}

/** An entry's scope and the context its plugin is set up with. */
export function createEntryContext(
  root: RootScope,
  identity: EntryIdentity,
): { scope: EntryScope; context: PluginContext } {
  const scope = root.createEntry();
  scope.provide(ENTRY, identity);
  return { scope, context: scope.get(CONTEXT) };
}

/**
 * Origins of the URLs in an entry's options: servers that the operator chose. The entry's own requests may go there although
 * the address is private, and they are told which trace a request belongs to. An extractor has none: links that users name
 * go through its client.
 */
export function configuredOriginsOf({ provides }: Plugin, options: unknown): readonly string[] {
  return provides.includes('extractor') ? [] : [...new Set(originsIn(options))];
}

function originsIn(value: unknown): string[] {
  if (typeof value === 'string') {
    const url = /^https?:\/\//i.test(value) ? URL.parse(value) : null;
    return url ? [url.origin] : [];
  }
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(originsIn) : [];
}

/** A name for a service that carries the service's type. */
export type Token<Service> = symbol & { readonly resolvesTo?: () => Service };

export function createToken<Service>(description: string): Token<Service> {
  return Symbol(description);
}

type Constructor<Instance = object> = new (...parameters: never[]) => Instance;

/** Where a service goes into a constructor. A token of another type than the parameter's does not compile. */
export function inject<Service>(token: Token<Service>) {
  return <Target extends Constructor, Index extends number>(
    target: Target,
    _member: undefined,
    index: Service extends ConstructorParameters<Target>[Index] ? Index : never,
  ): void => injectToken(token)(target, undefined, index);
}

export { injectable };

/** Services of one plugin entry: what the root has, and its own instance of each scoped class. */
export interface EntryScope {
  provide<Service>(token: Token<Service>, service: Service): void;
  get<Service>(token: Token<Service>): Service;
  dispose(): Promise<void>;
}

/** Services of one gateway. Never the process-wide container: two gateways in a process share nothing. */
export interface RootScope {
  /** @param close Ends the service when the scope closes. Default: it needs no end. */
  provide<Service>(token: Token<Service>, service: Service, close?: Close<Service>): void;
  /** Makes the service when it is first asked for. */
  provideFactory<Service>(token: Token<Service>, create: (get: Resolve) => Service, close?: Close<Service>): void;
  /** A class that every entry gets an instance of its own of. All of these come before the first `createEntry`. */
  provideScoped<Service>(token: Token<Service>, implementation: Constructor<Service & object>): void;
  readonly get: Resolve;
  createEntry(): EntryScope;
  /**
   * Closes the services in reverse order: each before those that it was made of. One that fails to close stops no other.
   * Idempotent.
   * @throws what the first of them threw.
   */
  close(): Promise<void>;
}

export type Resolve = <Service>(token: Token<Service>) => Service;
type Close<Service> = (service: Service) => Promise<void> | void;

/** The only place where a container is made or asked. */
export function createRootScope(): RootScope {
  const root = processContainer.createChildContainer();
  const get: Resolve = <Service>(token: Token<Service>) => root.resolve<Service>(token);
  // tsyringe disposes of nothing that a factory made.
  const closes: (() => Promise<void> | void)[] = [];
  let closing: Promise<void> | undefined;

  async function closeAll(): Promise<void> {
    const failures: unknown[] = [];
    for (const close of closes.reverse()) {
      try {
        await close();
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
  }

  return {
    provide(token, service, close) {
      root.register(token, { useValue: service });
      if (close) closes.push(() => close(service));
    },
    provideFactory<Service>(token: Token<Service>, create: (get: Resolve) => Service, close?: Close<Service>) {
      let made: { service: Service } | undefined;
      const make = () => {
        const service = create(get);
        if (close) closes.push(() => close(service));
        return { service };
      };
      root.register(token, {
        useFactory() {
          made ??= make();
          return made.service;
        },
      });
    },
    provideScoped: (token, implementation) =>
      void root.register(token, { useClass: implementation } as ClassProvider<unknown>, {
        lifecycle: Lifecycle.ContainerScoped,
      }),
    get,
    createEntry: () => createEntryScope(root.createChildContainer()),
    close() {
      closing ??= closeAll();
      return closing;
    },
  };
}

function createEntryScope(child: DependencyContainer): EntryScope {
  return {
    provide: (token, service) => void child.register(token, { useValue: service }),
    get: <Service>(token: Token<Service>) => child.resolve<Service>(token),
    dispose: async () => child.dispose(),
  };
}
