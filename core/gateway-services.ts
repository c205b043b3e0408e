/*
 * Registers the services of one gateway: how each is created from others, and how it ends. Services are created on
 * first use and closed in reverse order; the token counter outlives the plugins, because answers that end with them
 * are still counted. An embedder may replace HTTP, browser, cache, storage, log and clock; what is not configured is
 * replaced by a service that refuses. HTTP, the browser and their address guard are loaded on demand. Two gateways in
 * a process share nothing.
 */

import { tmpdir } from 'node:os';
import { Audio } from './audio/index.js';
import type { BrowserClients, BrowserExecutable } from './browser/index.js';
import type {
  AudioLinkOptions,
  Browser,
  Cache,
  Clock,
  HttpClient,
  HttpClientLimits,
  Logger,
  MediaLinkOptions,
  Meter,
  Need,
  PluginEntry,
  Storage,
} from './contracts/index.js';
import {
  AudioFiles,
  AudioLinks,
  ExtractionJobs,
  ExtractionService,
  type JobsOptions,
  LinkLimits,
  MediaChecks,
  MediaFiles,
  MediaLinks,
  MediaSources,
  Submissions,
  VideoFiles,
  VideoLinks,
  VideoSpools,
} from './extraction/index.js';
import { ImageService, type ImagesOptions, References } from './images/index.js';
import { absentAudioFilters, createAudioFilters, Ffmpeg, ImageFiles, ScratchFolders } from './media/index.js';
import type { HttpClients } from './net/index.js';
import { writeInSpans } from './observability/index.js';
import {
  AUDIO_FILTERS,
  BROWSER,
  CACHE,
  CLOCK,
  createToken,
  HINTS,
  HTTP,
  LOGGER,
  PluginHost,
  Registry,
  type RootScope,
  registerInstanceServices,
  STORAGE,
} from './plugins/index.js';
import { GatewayError, noSiblings, type Siblings, silentLogger, systemClock } from './runtime/index.js';
import { createMemoryCache } from './storage/index.js';
import { TextService, type TextsOptions, TokenCounter } from './text/index.js';

/** Replacements for the gateway's own services. */
export interface GatewayServices {
  http?: HttpClient;
  browser?: Browser;
  cache?: Cache;
  storage?: Storage;
  logger?: Logger;
  clock?: Clock;
  /** Default: no metrics. */
  meter?: Meter;
  /** Other processes of this machine that serve the same port. Default: none. */
  siblings?: Siblings;
  /** Whether an item, by its canonical URL, is taken down: it is not read, and its files are not sent. Default: none is. */
  isBlocked?(url: string): boolean;
}

/** Options of a gateway; everything but the plugins has a default. */
export interface GatewayOptions {
  plugins: readonly PluginEntry[];
  services?: GatewayServices;
  /** Forward proxy for all plugin traffic, e.g. `http://user:password@proxy:3128`. Default: none. */
  egressProxyUrl?: string;
  /** Private origins that the address guard allows for every plugin. Default: none. */
  trustedOrigins?: readonly string[];
  /** Milliseconds that an extraction is served from the cache. Default 600,000. */
  cacheTtlMs?: number;
  /** Base folder of relative `use` paths. Default: the working folder. */
  baseFolder?: string;
  /** Base URL and signing of hosted MP3 links. Default: none. Without it and `ffmpegPath` no link is offered. */
  audioLinks?: AudioLinkOptions;
  /** Base URL, signing and limits of media links. Default: none, and no media file is passed on. */
  mediaLinks?: MediaLinkOptions;
  /** The browser to run. Default: none, and methods that need one are skipped. */
  browser?: BrowserOptions;
  /** The ffmpeg to run. Default: none; plugins that need it fail at load, and no MP3 is made. */
  ffmpegPath?: string;
  /** Folder for temporary files. Default: the system's own. */
  scratchFolder?: string;
  /** Background jobs. Default: none, and everything is extracted at once. */
  jobs?: JobsOptions;
  /** Image jobs. They need jobs and a storage. */
  images?: ImagesOptions;
  /** Text models. */
  text?: TextsOptions;
}

export interface BrowserOptions {
  /** Finds and prepares a Chromium or Chrome. Called when one is about to be started, and not before. */
  executable(): Promise<BrowserExecutable>;
  /** Maximum resident memory of the browser of one visit, all its processes together; Linux only. Default 1.5 GiB. */
  maxMemoryBytes?: number;
}

const CACHE_TTL_MS = 600_000;
/** Longer than any link to a video works. */
const SPOOL_MS = 7 * 3_600_000;
/** Deadline in milliseconds for the download of an input image. */
const REFERENCE_MS = 15_000;

/** Produces and converts audio. */
interface MediaTools {
  scratch: ScratchFolders;
  /** Undefined if none is configured. */
  ffmpeg?: Ffmpeg;
}

export const REGISTRY = createToken<Registry>('registry');
export const PLUGIN_HOST = createToken<PluginHost>('plugin host');
export const MEDIA = createToken<MediaTools>('media tools');
/** Ends the HTTP clients that are not a plugin's. */
export const CLIENT_LIFETIME = createToken<AbortController>('client lifetime');
const AUDIO_LINKS = createToken<AudioLinks | undefined>('audio links');
export const AUDIO_FILES = createToken<AudioFiles | undefined>('audio files');
export const MEDIA_SOURCES = createToken<MediaSources>('media sources');
const MEDIA_CHECKS = createToken<MediaChecks>('media checks');
const MEDIA_LINKS = createToken<MediaLinks | undefined>('media links');
export const MEDIA_FILES = createToken<MediaFiles | undefined>('media files');
const VIDEO_LINKS = createToken<VideoLinks | undefined>('video links');
export const VIDEO_FILES = createToken<VideoFiles | undefined>('video files');
const LINK_LIMITS = createToken<LinkLimits>('limits of media links');
export const EXTRACTION = createToken<ExtractionService>('extraction');
export const EXTRACTION_JOBS = createToken<ExtractionJobs | undefined>('extraction jobs');
export const SUBMISSIONS = createToken<Submissions>('submissions');
export const AUDIO = createToken<Audio>('audio');
export const IMAGES = createToken<ImageService | undefined>('images');
const TOKEN_COUNTER = createToken<TokenCounter>('token counter');
export const TEXTS = createToken<TextService>('texts');

/**
 * Registers each service of a gateway: how it is created from others, and how it ends. An undefined service is not
 * configured. HTTP and the browser are registered already.
 */
export function registerServices(root: RootScope, options: GatewayOptions): void {
  registerTools(root, options);
  registerInstanceServices(root);
  registerPlugins(root, options);
  registerExtraction(root, options);
  registerModels(root, options);
}

function registerTools(root: RootScope, options: GatewayOptions): void {
  const { services = {} } = options;
  root.provide(CLOCK, services.clock ?? systemClock);
  root.provide(HINTS, services.siblings ?? noSiblings);
  root.provide(LOGGER, services.logger ?? silentLogger);
  root.provide(STORAGE, services.storage ? writeInSpans(services.storage) : absentStorage);
  // Answers that end with the plugins are still counted, so it is closed after them.
  const tokens = new TokenCounter();
  root.provide(TOKEN_COUNTER, tokens, () => tokens.close());
  root.provideFactory(CACHE, (get) => services.cache ?? createMemoryCache(get(CLOCK)));
  root.provideFactory(MEDIA, () => ({
    scratch: new ScratchFolders(options.scratchFolder ?? tmpdir()),
    ...(options.ffmpegPath !== undefined && { ffmpeg: new Ffmpeg(options.ffmpegPath) }),
  }));
  root.provideFactory(AUDIO_FILTERS, (get) => {
    const { ffmpeg } = get(MEDIA);
    return ffmpeg ? createAudioFilters(ffmpeg) : absentAudioFilters;
  });
}

function registerPlugins(root: RootScope, options: GatewayOptions): void {
  root.provideFactory(REGISTRY, (get) => new Registry(get(LOGGER)));
  root.provideFactory(
    PLUGIN_HOST,
    (get) => {
      const isMet = (need: Need) => (need === 'browser' ? get(BROWSER).available : get(MEDIA).ffmpeg !== undefined);
      return new PluginHost({
        root,
        registry: get(REGISTRY),
        logger: get(LOGGER),
        trustedOrigins: options.trustedOrigins ?? [],
        baseFolder: options.baseFolder ?? process.cwd(),
        meter: options.services?.meter,
        unmet: (need) => (isMet(need) ? undefined : 'none is configured or found'),
      });
    },
    (host) => host.dispose(),
  );
  root.provideFactory(
    CLIENT_LIFETIME,
    () => new AbortController(),
    (lifetime) => lifetime.abort(new GatewayError('shutting_down', 'The gateway is shutting down.')),
  );
}

function registerExtraction(root: RootScope, options: GatewayOptions): void {
  const { jobs } = options;
  root.provideFactory(AUDIO_LINKS, () => options.audioLinks && new AudioLinks(options.audioLinks));
  root.provideFactory(MEDIA_LINKS, () => options.mediaLinks && new MediaLinks(options.mediaLinks));
  root.provideFactory(MEDIA_SOURCES, (get) => {
    return new MediaSources({
      extraction: get(EXTRACTION),
      host: get(PLUGIN_HOST),
      http: get(HTTP),
      clock: get(CLOCK),
    });
  });
  root.provideFactory(MEDIA_CHECKS, (get) => {
    return new MediaChecks({ sources: get(MEDIA_SOURCES), extraction: get(EXTRACTION), clock: get(CLOCK) });
  });
  root.provideFactory(LINK_LIMITS, (get) => {
    const { bytesPerSecond, keyBytesPerSecond } = options.mediaLinks ?? {};
    return new LinkLimits({ clock: get(CLOCK), bytesPerSecond, keyBytesPerSecond });
  });
  root.provideFactory(MEDIA_FILES, (get) => {
    const links = get(MEDIA_LINKS);
    const services = { sources: get(MEDIA_SOURCES), limits: get(LINK_LIMITS), clock: get(CLOCK) };
    return links && new MediaFiles({ links, ...services });
  });
  root.provideFactory(VIDEO_LINKS, (get) => {
    const { mediaLinks } = options;
    return mediaLinks && get(MEDIA).ffmpeg && new VideoLinks(mediaLinks);
  });
  root.provideFactory(
    VIDEO_FILES,
    (get) => {
      const links = get(VIDEO_LINKS);
      const { ffmpeg } = get(MEDIA);
      const services = { sources: get(MEDIA_SOURCES), limits: get(LINK_LIMITS), clock: get(CLOCK) };
      const { scratchFolder = tmpdir(), mediaLinks } = options;
      const folders = new ScratchFolders(scratchFolder, { prefix: 'mediagate-video-', abandonedMs: SPOOL_MS });
      const spools = new VideoSpools({ folders, maxBytes: mediaLinks?.spoolBytes ?? 0, clock: get(CLOCK) });
      const exactSeconds = mediaLinks?.exactCutSeconds ?? 0;
      return links && ffmpeg && new VideoFiles({ links, ffmpeg, spools, exactSeconds, ...services });
    },
    (files) => files?.close(),
  );
  root.provideFactory(
    AUDIO_FILES,
    (get) => {
      const links = get(AUDIO_LINKS);
      return (
        links &&
        new AudioFiles({
          links,
          extraction: get(EXTRACTION),
          host: get(PLUGIN_HOST),
          storage: get(STORAGE),
          http: get(HTTP),
          ...get(MEDIA),
          clock: get(CLOCK),
          logger: get(LOGGER),
        })
      );
    },
    (files) => files?.close(),
  );
  root.provideFactory(EXTRACTION, (get) => {
    const links = get(AUDIO_LINKS);
    return new ExtractionService({
      registry: get(REGISTRY),
      host: get(PLUGIN_HOST),
      cache: get(CACHE),
      clock: get(CLOCK),
      cacheTtlMs: options.cacheTtlMs ?? CACHE_TTL_MS,
      ...(links && get(MEDIA).ffmpeg && { audioLinks: links }),
      mediaLinks: get(MEDIA_LINKS),
      videoLinks: get(VIDEO_LINKS),
      audioExpected: links !== undefined,
      verify: (...found) => get(MEDIA_CHECKS).verify(...found),
      meter: options.services?.meter,
      siblings: options.services?.siblings,
      isBlocked: options.services?.isBlocked,
    });
  });
  root.provideFactory(
    EXTRACTION_JOBS,
    (get) =>
      jobs &&
      new ExtractionJobs({
        ...jobs,
        extraction: get(EXTRACTION),
        registry: get(REGISTRY),
        clock: get(CLOCK),
        logger: get(LOGGER),
      }),
  );
  root.provideFactory(
    SUBMISSIONS,
    (get) =>
      new Submissions({
        extraction: get(EXTRACTION),
        jobs: get(EXTRACTION_JOBS),
        clock: get(CLOCK),
        logger: get(LOGGER),
      }),
  );
}

function registerModels(root: RootScope, options: GatewayOptions): void {
  const { services = {}, trustedOrigins = [], jobs } = options;
  root.provideFactory(AUDIO, (get) => new Audio({ registry: get(REGISTRY), host: get(PLUGIN_HOST), ...get(MEDIA) }));
  root.provideFactory(IMAGES, (get) => {
    if (!jobs || !services.storage) return undefined;
    const { signal } = get(CLIENT_LIFETIME);
    const imageFiles = new ImageFiles();
    const http = get(HTTP).scoped({ timeoutMs: REFERENCE_MS, trustedOrigins, signal });
    return new ImageService({
      ...options.images,
      store: jobs.store,
      storage: get(STORAGE),
      registry: get(REGISTRY),
      host: get(PLUGIN_HOST),
      references: new References({ http, images: imageFiles, trustedOrigins }),
      imageFiles,
      siblings: services.siblings ?? noSiblings,
      clock: get(CLOCK),
      logger: get(LOGGER),
    });
  });
  root.provideFactory(
    TEXTS,
    (get) =>
      new TextService({
        ...options.text,
        registry: get(REGISTRY),
        host: get(PLUGIN_HOST),
        tokens: get(TOKEN_COUNTER),
        clock: get(CLOCK),
        logger: get(LOGGER),
      }),
    (texts) => texts.stop(),
  );
}

/** Replaces the browser if a gateway has none: methods that need one are skipped. */
export const absentBrowser: Browser = {
  available: false,
  run: () => Promise.reject(new GatewayError('plugin_unavailable', 'This gateway has no browser.')),
};

const noStorage = () => Promise.reject(new GatewayError('plugin_unavailable', 'This gateway has no file storage.'));

/** Replaces the storage if a gateway has none. */
export const absentStorage: Storage = { write: noStorage, read: noStorage, stat: noStorage, delete: noStorage };

/** A resource that is closed with the gateway. */
interface Owned {
  close(): Promise<void>;
}

/** The HTTP clients of all instances: the embedder's own, otherwise the gateway's. */
export async function openHttp(options: GatewayOptions): Promise<HttpClients & Owned> {
  return options.services?.http ? httpClientsOf(options.services.http) : openTransport(options);
}

/** The browser of all instances: the embedder's own, otherwise the gateway's. */
export async function openBrowser(options: GatewayOptions): Promise<BrowserClients & Owned> {
  return options.services?.browser ? browserClientsOf(options.services.browser) : openBrowserService(options);
}

/** An embedder's own client has its own limits. */
function httpClientsOf(client: HttpClient): HttpClients & Owned {
  return { scoped: () => client, close: async () => {} };
}

/** An embedder's own browser is still bound by the instance's deadline and disposal. */
function browserClientsOf(browser: Browser): BrowserClients & Owned {
  return {
    get available() {
      return browser.available;
    },
    scoped: ({ timeoutMs, signal }) => ({
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

async function openBrowserService(options: GatewayOptions): Promise<BrowserClients & Owned> {
  if (!options.browser) return browserClientsOf(absentBrowser);
  const [{ BrowserService }, { createAddressGuard }] = await Promise.all([
    import('./browser/browser.js'),
    import('./net/egress.js'),
  ]);
  return new BrowserService({
    ...options.browser,
    guard: createAddressGuard({ trustedOrigins: options.trustedOrigins }),
    egressProxyUrl: options.egressProxyUrl,
    logger: options.services?.logger ?? silentLogger,
  });
}

/**
 * A separate guarded HTTP client, for requests that must not reach the private origins of plugins, or that continue
 * after a gateway has closed.
 */
export async function openHttpClient(
  limits: HttpClientLimits & Pick<GatewayOptions, 'egressProxyUrl'>,
): Promise<Owned & { client: HttpClient }> {
  const { timeoutMs, trustedOrigins = [], egressProxyUrl } = limits;
  const transport = await openTransport({ egressProxyUrl });
  const closing = new AbortController();
  return {
    client: transport.scoped({ timeoutMs, trustedOrigins, signal: closing.signal }),
    async close() {
      closing.abort(new GatewayError('shutting_down', 'The gateway is closing.'));
      await transport.close();
    },
  };
}

async function openTransport(
  options: Pick<GatewayOptions, 'trustedOrigins' | 'egressProxyUrl'>,
): Promise<HttpClients & Owned> {
  const [{ createHttpTransport }, { createAddressGuard }] = await Promise.all([
    import('./net/http-client.js'),
    import('./net/egress.js'),
  ]);
  return createHttpTransport({
    guard: createAddressGuard({ trustedOrigins: options.trustedOrigins }),
    egressProxyUrl: options.egressProxyUrl,
  });
}
