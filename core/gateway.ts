import { createRootScope } from './container.js';
import type { AudioOperation, AudioProvider } from './contracts/audio-provider.js';
import type { ExtractionData } from './contracts/documents.js';
import type { LinkRef } from './contracts/extractor.js';
import type { ImageProvider } from './contracts/image-provider.js';
import type { Plugin } from './contracts/plugin.js';
import type { Browser, Cache, Clock, HttpClient, Logger, Storage } from './contracts/services.js';
import type { TextModel, TextProvider } from './contracts/text-provider.js';
import {
  BROWSER,
  type BrowserFaces,
  CACHE,
  CLOCK,
  HTTP,
  type HttpFaces,
  LOGGER,
  registerEntryServices,
  STORAGE,
} from './entry-services.js';
import { createAudioLinks } from './extraction/audio-link.js';
import { createExtractionService } from './extraction/extraction.js';
import { createPluginHost } from './plugin-host.js';
import { createRegistry } from './registry.js';
import { absentBrowser, absentStorage, silentLogger } from './services/absent.js';
import type { BrowserExecutable } from './services/browser-process.js';
import { systemClock } from './services/clock.js';
import { createMemoryCache } from './services/memory-cache.js';

export type { BrowserExecutable } from './services/browser-process.js';

/** One configured instance of a plugin: one element of `plugins` in plugins.config.json. */
export interface PluginEntry {
  /** Default: the plugin's name. Unique in a gateway. */
  id?: string;
  /** The plugin itself, or what to import: a package specifier, or a path relative to the config file. */
  use: Plugin | string;
  /** Checked against the plugin's schema. Default `{}`. */
  options?: Readonly<Record<string, unknown>>;
  /** Default true. */
  enabled?: boolean;
  /** True makes createGateway reject when this entry fails. Default false. */
  required?: boolean;
  /** Deadline of each call in milliseconds, 1,000 to 600,000. Default 30,000. */
  timeoutMs?: number;
  /** Origins that the address guard lets this entry reach although they are private, e.g. `http://127.0.0.1:9000`. */
  trustedOrigins?: readonly string[];
}

export type PluginState = 'disabled' | 'loading' | 'ready' | 'failed' | 'disposed';

/** How an entry is doing; what `/health`, `doctor` and `mediagate plugins` show. */
export interface PluginStatus {
  id: string;
  /** Empty where the module could not be imported. */
  plugin: string;
  summary: string;
  state: PluginState;
  /** Why it failed, in words safe to show. */
  reason?: string;
  provides: readonly string[];
  /** Platform keys and model ids it serves. */
  serves: readonly string[];
  required: boolean;
}

/** Replacements for the gateway's own services. */
export interface GatewayServices {
  http?: HttpClient;
  browser?: Browser;
  cache?: Cache;
  storage?: Storage;
  logger?: Logger;
  clock?: Clock;
}

export interface GatewayOptions {
  plugins: readonly PluginEntry[];
  services?: GatewayServices;
  /** Forward proxy that all plugin traffic leaves through, e.g. `http://user:password@proxy:3128`. Default: none. */
  egressProxyUrl?: string;
  /** Origins that the address guard lets every plugin reach although they are private. Default: none. */
  trustedOrigins?: readonly string[];
  /** Milliseconds that an extraction is answered from the cache. Default 600,000. */
  cacheTtlMs?: number;
  /** Folder that relative `use` paths start from. Default: the working folder. */
  baseFolder?: string;
  /** Where hosted MP3 links point and how they are signed. Default: none, and no MP3 link is offered. */
  audioLinks?: AudioLinkOptions;
  /** The browser to run. Default: none, and what needs one is skipped. */
  browser?: BrowserOptions;
  /** The ffmpeg to run. Default: none, and plugins that need it fail at load. */
  ffmpegPath?: string;
}

export interface BrowserOptions {
  /** Finds a Chromium or Chrome, and gets it ready to run. Asked when one is about to be started, and not before. */
  executable(): Promise<BrowserExecutable>;
}

export interface AudioLinkOptions {
  /** Without a trailing slash, e.g. `http://127.0.0.1:8787`. */
  baseUrl: string;
  /** Signing secrets, newest first; links signed with any of them are honoured. At least 32 bytes each. */
  secrets: readonly Uint8Array[];
  /** Default 86,400,000 (24 hours). */
  ttlMs?: number;
}

/** As the service document's 2.4, in camelCase. */
export interface ExtractRequest {
  url: string;
  clipReviewLimit?: number;
  clipSort?: 'latest' | 'recommended';
  includeEmptyReviews?: boolean;
  /** Default true. */
  includeAudioMp3?: boolean;
  /** Waiting for an answer ends with it; work that others wait for goes on. */
  signal?: AbortSignal;
}

export interface ExtractResult {
  platform: string;
  /** The caller's own text. */
  inputUrl: string;
  link: LinkRef;
  method: string;
  data: ExtractionData;
  limitations: readonly string[];
  /** Present where a hosted MP3 is offered. */
  audioLink?: AudioLink;
  /** Milliseconds since the data was fetched; 0 where it was fetched for this call. */
  ageMs: number;
  /** Same object for the same cached extraction: lets an encoder remember its work. */
  identity: object;
}

export interface AudioLink {
  url: string;
  expiresAt: string;
}

export interface PlatformInfo {
  key: string;
  name: string;
  linkForms: readonly string[];
  features: { async: boolean; batch: boolean; reviews: boolean; audio_mp3: boolean };
}

/** The composed gateway: what the server, the CLI and embedders speak to. */
export interface Gateway extends AsyncDisposable {
  /** @throws GatewayError of any link-data code. */
  extract(request: ExtractRequest): Promise<ExtractResult>;
  /** Which platform a link belongs to, without any I/O. @throws GatewayError `invalid_url`, `unsupported_*`. */
  match(url: string): { platform: string; link: LinkRef };
  /** Platforms whose extractor is ready, in the order of the entries. */
  platforms(): readonly PlatformInfo[];
  /** Every entry of the configuration. */
  plugins(): readonly PluginStatus[];
  /** Models of every ready provider. */
  models(): readonly { id: string; kind: 'image' | 'audio' | 'text'; entry: string }[];
  imageProvider(model: string): ImageProvider | undefined;
  audioProvider(model: string, operation: AudioOperation): AudioProvider | undefined;
  textProvider(model: string): { provider: TextProvider; model: TextModel } | undefined;
  /** Ends running calls, disposes plugins in reverse order, closes services. Idempotent. */
  close(): Promise<void>;
}

const CACHE_TTL_MS = 600_000;

/**
 * The composition root: makes the services, loads the plugins, and returns the facade. Two gateways in a process share
 * nothing.
 * @throws Error where an entry with `required: true` failed; every other failure shows in `plugins()`.
 */
export async function createGateway(options: GatewayOptions): Promise<Gateway> {
  const { services = {} } = options;
  const clock = services.clock ?? systemClock;
  const logger = services.logger ?? silentLogger;
  const cache = services.cache ?? createMemoryCache();
  const [http, browser] = await Promise.all([
    services.http ? facesOf(services.http) : openTransport(options, clock),
    services.browser ? browserFacesOf(services.browser) : openBrowser(options, logger),
  ]);

  const root = createRootScope();
  root.provide(CLOCK, clock);
  root.provide(LOGGER, logger);
  root.provide(CACHE, cache);
  root.provide(STORAGE, services.storage ?? absentStorage);
  root.provide(BROWSER, browser);
  root.provide(HTTP, http);
  registerEntryServices(root);

  const registry = createRegistry(logger);
  const host = createPluginHost({
    root,
    registry,
    logger,
    trustedOrigins: options.trustedOrigins ?? [],
    baseFolder: options.baseFolder ?? process.cwd(),
    unmet: (need) => {
      if (need === 'browser') return browser.available ? undefined : 'none is configured or found';
      return options.ffmpegPath ? undefined : 'none is configured or found';
    },
  });
  const extraction = createExtractionService({
    registry,
    host,
    cache,
    clock,
    logger,
    cacheTtlMs: options.cacheTtlMs ?? CACHE_TTL_MS,
    ...(options.audioLinks && { audioLinks: createAudioLinks(options.audioLinks) }),
  });

  let closing: Promise<void> | undefined;
  const close = () => {
    closing ??= host.dispose().then(async () => void (await Promise.all([browser.close(), http.close()])));
    return closing;
  };

  try {
    await host.load(options.plugins);
  } catch (error) {
    await close();
    throw error;
  }

  return {
    extract: (request) => extraction.extract(request),
    match(url) {
      const { extractor, link } = extraction.match(url);
      return { platform: extractor.contribution.platform, link };
    },
    platforms: () =>
      registry.extractors.map(({ contribution }) => ({
        key: contribution.platform,
        name: contribution.displayName,
        linkForms: contribution.linkForms,
        features: {
          async: contribution.background ?? false,
          batch: false,
          reviews: contribution.background ?? false,
          audio_mp3: (contribution.audio ?? false) && options.audioLinks !== undefined,
        },
      })),
    plugins: () => host.status(),
    models: () => registry.models(),
    imageProvider: (model) => registry.imageProvider(model)?.contribution,
    audioProvider: (model, operation) => registry.audioProvider(model, operation)?.contribution,
    textProvider(model) {
      const found = registry.textProvider(model);
      return found && { provider: found.contribution, model: found.model };
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** Something to be closed with the gateway. */
interface Owned {
  close(): Promise<void>;
}

/** An embedder's own client carries its own limits. */
function facesOf(client: HttpClient): HttpFaces & Owned {
  return { face: () => client, close: async () => {} };
}

/** An embedder's own browser is still bound by the entry's deadline and end. */
function browserFacesOf(browser: Browser): BrowserFaces & Owned {
  return {
    get available() {
      return browser.available;
    },
    face: ({ timeoutMs, signal }) => ({
      get available() {
        return browser.available;
      },
      run: (call) =>
        browser.run({
          ...call,
          signal: call.signal ? AbortSignal.any([call.signal, signal]) : signal,
          timeoutMs: Math.min(call.timeoutMs ?? timeoutMs, timeoutMs),
        }),
    }),
    close: async () => {},
  };
}

async function openBrowser(options: GatewayOptions, logger: Logger): Promise<BrowserFaces & Owned> {
  if (!options.browser) return browserFacesOf(absentBrowser);
  const [{ createBrowserService }, { createAddressGuard }] = await Promise.all([
    import('./services/browser.js'),
    import('./services/address-guard.js'),
  ]);
  return createBrowserService({
    executable: options.browser.executable,
    guard: createAddressGuard({ trustedOrigins: options.trustedOrigins }),
    egressProxyUrl: options.egressProxyUrl,
    logger,
  });
}

async function openTransport(options: GatewayOptions, clock: Clock): Promise<HttpFaces & Owned> {
  const [{ createHttpTransport }, { createAddressGuard }] = await Promise.all([
    import('./services/http.js'),
    import('./services/address-guard.js'),
  ]);
  return createHttpTransport({
    guard: createAddressGuard({ trustedOrigins: options.trustedOrigins }),
    egressProxyUrl: options.egressProxyUrl,
    clock,
  });
}
