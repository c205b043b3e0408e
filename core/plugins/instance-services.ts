/*
 * Gives each plugin instance services of its own: HTTP client, browser, ffmpeg, cache, logger, hints. Each is limited
 * to the instance's deadline, trusted origins and declared needs, tagged with its id, and aborted when the instance is
 * disposed, even if the plugin still holds the client. Origins of the URLs in an instance's options count as chosen by
 * the operator, except for extractors, which request links of clients. This is the only file that uses the dependency
 * container. Scopes close their services in reverse order of creation, so each closes before its dependencies.
 */

import type { BrowserClients, ScopeOptions } from '../browser/index.js';
import type {
  AudioFilters,
  Browser,
  BrowserCall,
  Cache,
  Clock,
  Hints,
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
  Storage,
} from '../contracts/index.js';
import type { HttpClients } from '../net/index.js';
import { inSpan, measureHttp, sendInSpan } from '../observability/index.js';
import { GatewayError } from '../runtime/index.js';
import {
  type ClassProvider,
  type DependencyContainer,
  injectable,
  injectToken,
  Lifecycle,
  processContainer,
} from './tsyringe.js';

/** What distinguishes the services of one plugin instance. */
export interface InstanceIdentity {
  id: string;
  options: Readonly<Record<string, unknown>>;
  /** What it needs and what it wants. */
  uses: readonly Need[];
  timeoutMs: number;
  trustedOrigins: readonly string[];
  /** Origins of its own servers, from the URLs in its options. */
  configuredOrigins: readonly string[];
  /** Receives its requests for metrics. Default: none. */
  meter?: Meter;
  /** Aborts when the instance is disposed. */
  lifetime: AbortSignal;
}

export const HTTP = createToken<HttpClients>('http');
export const BROWSER = createToken<BrowserClients>('browser');
export const AUDIO_FILTERS = createToken<AudioFilters>('sound filters');
export const CACHE = createToken<Cache>('cache');
export const STORAGE = createToken<Storage>('storage');
export const LOGGER = createToken<Logger>('logger');
export const CLOCK = createToken<Clock>('clock');
export const HINTS = createToken<Hints>('hints');
const ENTRY = createToken<InstanceIdentity>('entry');
const INSTANCE_HTTP = createToken<HttpClient>('entry http');
const INSTANCE_BROWSER = createToken<Browser>('entry browser');
const INSTANCE_FFMPEG = createToken<AudioFilters>('entry ffmpeg');
const INSTANCE_CACHE = createToken<Cache>('entry cache');
const INSTANCE_LOGGER = createToken<Logger>('entry logger');
const INSTANCE_HINTS = createToken<Hints>('entry hints');
const CONTEXT = createToken<PluginContext>('plugin context');

/** A request after the instance is disposed fails, even if the plugin still holds the client. */
@injectable()
class InstanceHttp implements HttpClient {
  readonly #client: HttpClient;
  readonly #entry: InstanceIdentity;

  constructor(@inject(HTTP) clients: HttpClients, @inject(ENTRY) entry: InstanceIdentity) {
    const { id, meter, configuredOrigins } = entry;
    const client = clients.scoped({ ...limitsOf(entry), configuredOrigins });
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
class InstanceBrowser implements Browser {
  readonly #browser: Browser;
  readonly #entry: InstanceIdentity;

  constructor(@inject(BROWSER) clients: BrowserClients, @inject(ENTRY) entry: InstanceIdentity) {
    this.#browser = clients.scoped(limitsOf(entry));
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
class InstanceFfmpeg implements AudioFilters {
  readonly #filters: AudioFilters;
  readonly #entry: InstanceIdentity;

  constructor(@inject(AUDIO_FILTERS) filters: AudioFilters, @inject(ENTRY) entry: InstanceIdentity) {
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
class InstanceCache implements Cache {
  readonly #cache: Cache;
  readonly #prefix: string;

  constructor(@inject(CACHE) cache: Cache, @inject(ENTRY) entry: InstanceIdentity) {
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
class InstanceLogger implements Logger {
  readonly #logger: Logger;
  readonly #entry: string;

  constructor(@inject(LOGGER) logger: Logger, @inject(ENTRY) entry: InstanceIdentity) {
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
class InstanceHints implements Hints {
  readonly #hints: Hints;
  readonly #prefix: string;

  constructor(@inject(HINTS) hints: Hints, @inject(ENTRY) entry: InstanceIdentity) {
    this.#hints = hints;
    this.#prefix = `plugin ${entry.id} `;
  }

  post(topic: string, payload?: unknown): void {
    this.#hints.post(this.#prefix + topic, payload);
  }

  on(topic: string, listener: (payload: unknown) => void): void {
    this.#hints.on(this.#prefix + topic, listener);
  }
}

@injectable()
class InstanceContext implements PluginContext {
  readonly id: string;
  readonly options: Readonly<Record<string, never>>;

  constructor(
    @inject(ENTRY) entry: InstanceIdentity,
    @inject(INSTANCE_HTTP) readonly http: HttpClient,
    @inject(INSTANCE_BROWSER) readonly browser: Browser,
    @inject(INSTANCE_FFMPEG) readonly ffmpeg: AudioFilters,
    @inject(INSTANCE_CACHE) readonly cache: Cache,
    @inject(STORAGE) readonly storage: Storage,
    @inject(INSTANCE_LOGGER) readonly logger: Logger,
    @inject(CLOCK) readonly clock: Clock,
    @inject(INSTANCE_HINTS) readonly hints: Hints,
  ) {
    this.id = entry.id;
    // The plugin host has checked them against the plugin's own schema, which determines their type there.
    this.options = entry.options as Readonly<Record<string, never>>;
  }
}

function limitsOf({ timeoutMs, trustedOrigins, lifetime }: InstanceIdentity): ScopeOptions {
  return { timeoutMs, trustedOrigins, signal: lifetime };
}

/** Registers the services that every instance has its own copy of. Call it before the first instance. */
export function registerInstanceServices(root: RootScope): void {
  root.provideScoped(INSTANCE_HTTP, InstanceHttp);
  root.provideScoped(INSTANCE_BROWSER, InstanceBrowser);
  root.provideScoped(INSTANCE_FFMPEG, InstanceFfmpeg);
  root.provideScoped(INSTANCE_CACHE, InstanceCache);
  root.provideScoped(INSTANCE_LOGGER, InstanceLogger);
  root.provideScoped(INSTANCE_HINTS, InstanceHints);
  root.provideScoped(CONTEXT, InstanceContext);
}

/** A scope for one instance, and the context for its plugin's `setup`. */
export function createInstanceContext(
  root: RootScope,
  identity: InstanceIdentity,
): { scope: InstanceScope; context: PluginContext } {
  const scope = root.createInstance();
  scope.provide(ENTRY, identity);
  return { scope, context: scope.get(CONTEXT) };
}

/**
 * Origins of the URLs in an instance's options: servers that the operator chose. The instance's own requests may go
 * there although the address is private, and they carry the trace context. An extractor has none: links of clients go
 * through its HTTP client.
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

/** A token for a service that carries the service's type. */
export type Token<Service> = symbol & { readonly resolvesTo?: () => Service };

export function createToken<Service>(description: string): Token<Service> {
  return Symbol(description);
}

type Constructor<Instance = object> = new (...parameters: never[]) => Instance;

/** Injects a service into a constructor. A token of another type than the parameter's does not compile. */
export function inject<Service>(token: Token<Service>) {
  return <Target extends Constructor, Index extends number>(
    target: Target,
    _member: undefined,
    index: Service extends ConstructorParameters<Target>[Index] ? Index : never,
  ): void => injectToken(token)(target, undefined, index);
}

export { injectable };

/** Services of one plugin instance: those of the root, and its own copy of each scoped class. */
export interface InstanceScope {
  provide<Service>(token: Token<Service>, service: Service): void;
  get<Service>(token: Token<Service>): Service;
  dispose(): Promise<void>;
}

export type Resolve = <Service>(token: Token<Service>) => Service;
type Close<Service> = (service: Service) => Promise<void> | void;

/**
 * Services of one gateway. Never the process-wide container: two gateways in a process share nothing. The only file
 * that uses the container.
 */
export class RootScope {
  readonly #root = processContainer.createChildContainer();
  // tsyringe does not dispose what a factory made.
  readonly #closes: (() => Promise<void> | void)[] = [];
  #closing: Promise<void> | undefined;

  /** @param close Ends the service when the scope closes. Default: it needs no end. */
  provide<Service>(token: Token<Service>, service: Service, close?: Close<Service>): void {
    this.#root.register(token, { useValue: service });
    if (close) this.#closes.push(() => close(service));
  }

  /** Creates the service on first use. */
  provideFactory<Service>(token: Token<Service>, create: (get: Resolve) => Service, close?: Close<Service>): void {
    let made: { service: Service } | undefined;
    const make = () => {
      const service = create((token) => this.get(token));
      if (close) this.#closes.push(() => close(service));
      return { service };
    };
    this.#root.register(token, {
      useFactory() {
        made ??= make();
        return made.service;
      },
    });
  }

  /** A class that every instance gets its own copy of. Register all of them before the first `createInstance`. */
  provideScoped<Service>(token: Token<Service>, implementation: Constructor<Service & object>): void {
    void this.#root.register(token, { useClass: implementation } as ClassProvider<unknown>, {
      lifecycle: Lifecycle.ContainerScoped,
    });
  }

  get<Service>(token: Token<Service>): Service {
    return this.#root.resolve<Service>(token);
  }

  createInstance(): InstanceScope {
    return createInstanceScope(this.#root.createChildContainer());
  }

  /**
   * Closes the services in reverse order: each before its dependencies. A failure does not stop the others. Idempotent.
   * @throws the first error.
   */
  close(): Promise<void> {
    this.#closing ??= this.#closeAll();
    return this.#closing;
  }

  async #closeAll(): Promise<void> {
    const failures: unknown[] = [];
    for (const close of this.#closes.reverse()) {
      try {
        await close();
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
  }
}

function createInstanceScope(child: DependencyContainer): InstanceScope {
  return {
    provide: (token, service) => void child.register(token, { useValue: service }),
    get: <Service>(token: Token<Service>) => child.resolve<Service>(token),
    dispose: async () => child.dispose(),
  };
}
