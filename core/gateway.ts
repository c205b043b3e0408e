import { tmpdir } from 'node:os';
import type { Audio } from './audio/index.js';
import { createAudio } from './audio/index.js';
import type { BrowserExecutable } from './browser/index.js';
import type {
  AudioOperation,
  AudioProvider,
  Browser,
  Cache,
  CanaryLink,
  Clock,
  HttpClient,
  IdentityProvider,
  ImageProvider,
  LinkRef,
  Logger,
  Meter,
  Need,
  Plugin,
  RungState,
  Storage,
  TextModel,
  TextProvider,
  UpstreamState,
} from './contracts/index.js';
import type {
  AudioFile,
  AudioFileRequest,
  BatchItem,
  BatchRequest,
  ExtractionJob,
  ExtractRequest,
  ExtractResult,
  Submission,
  SubmitRequest,
} from './extraction/index.js';
import {
  createAudioFiles,
  createAudioLinks,
  createExtractionJobs,
  createExtractionService,
  createSubmissions,
  type ExtractionJobs,
} from './extraction/index.js';
import { openBrowser, openHttp } from './gateway-services.js';
import type { Images } from './images/index.js';
import { absentImages, createImages, createReferences, type ImagesOptions } from './images/index.js';
import type { Jobs } from './jobs/index.js';
import { createFfmpeg, createImageFiles, createScratchFolders, createSoundFilters } from './media/index.js';
import { writeInSpans } from './observability/index.js';
import {
  BROWSER,
  CACHE,
  CLOCK,
  createPluginHost,
  createRegistry,
  createRootScope,
  HTTP,
  LOGGER,
  registerEntryServices,
  SOUND_FILTERS,
  STORAGE,
} from './plugins/index.js';
import { absentSoundFilters, absentStorage, GatewayError, silentLogger, systemClock } from './runtime/index.js';
import { createMemoryCache } from './storage/index.js';
import type { Texts } from './text/index.js';
import { createTexts, type TextsOptions } from './text/index.js';

export type * from './audio/audio.js';
export type { BrowserExecutable } from './browser/index.js';
export type * from './images/images.js';
export type { ImagesOptions } from './images/index.js';
export { MAX_REFERENCES, type ReferenceInput } from './images/index.js';
export type { TextsOptions } from './text/index.js';
export type * from './text/requests.js';

/** One configured instance of a plugin: one element of `plugins` in plugins.config.json. */
export interface PluginEntry {
  /** Default: the plugin's name. Unique in a gateway. */
  id?: string;
  /**
   * The plugin itself, or what to import: a package specifier, or the path of a module, or of a folder with an `index.js`,
   * relative to the config file.
   */
  use: Plugin | string;
  /** Checked against the plugin's schema. Default `{}`. */
  options?: Readonly<Record<string, unknown>>;
  /** Default true. */
  enabled?: boolean;
  /** True makes createGateway reject when this entry fails. Default false. */
  required?: boolean;
  /** Deadline of each call in milliseconds, at most 600,000; of a sound or a stream, until it begins. Default 30,000. */
  timeoutMs?: number;
  /** Origins that the address guard lets this entry reach although they are private, e.g. `http://127.0.0.1:9000`. */
  trustedOrigins?: readonly string[];
  /** Variables that the entry names where it was read from a file. Default: none. */
  variables?: EntryVariables;
}

/** Environment variables that an entry of plugins.config.json names. */
export interface EntryVariables {
  /** All of them, set or not. */
  names: readonly string[];
  /** Dotted path of an option → variable that its value was taken from. A message about the option then names the variable. */
  ofOptions: Readonly<Record<string, string>>;
  /** Each of these, set to anything, switches the entry off. */
  switchOff: readonly string[];
}

export type PluginState = 'disabled' | 'loading' | 'ready' | 'failed' | 'disposed';

/** How an entry is doing; what `/health`, `doctor` and `mediagate plugins` show. */
export interface PluginStatus {
  id: string;
  /** Where the module was not imported, as far as the configuration tells: the last part of its path. */
  plugin: string;
  summary: string;
  state: PluginState;
  /** Why it failed, in words safe to show. */
  reason?: string;
  /** Environment variable whose value is why it failed. */
  badVariable?: string;
  /** Environment variables that its entry names, and those of them that switch it off when they are set. */
  variables: Readonly<Pick<EntryVariables, 'names' | 'switchOff'>>;
  provides: readonly string[];
  /** Platform keys and model ids it serves. */
  serves: readonly string[];
  /** Whether it only stands for something better that is not configured. */
  standIn: boolean;
  required: boolean;
  /** Whom its providers ask, where they tell. */
  upstreams: readonly UpstreamState[];
}

/** Replacements for the gateway's own services. */
export interface GatewayServices {
  http?: HttpClient;
  browser?: Browser;
  cache?: Cache;
  storage?: Storage;
  logger?: Logger;
  clock?: Clock;
  /** Default: nobody counts. */
  meter?: Meter;
}

/** What a gateway is made of; everything but the plugins has a default. */
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
  /** Where hosted MP3 links point and how they are signed. Default: none. Without it and `ffmpegPath` no link is offered. */
  audioLinks?: AudioLinkOptions;
  /** The browser to run. Default: none, and what needs one is skipped. */
  browser?: BrowserOptions;
  /** The ffmpeg to run. Default: none, plugins that need it fail at load, and no MP3 is made. */
  ffmpegPath?: string;
  /** Folder for files in the making. Default: the system's own. */
  scratchFolder?: string;
  /** Background work. Default: none is offered, and everything is extracted at once. */
  jobs?: JobsOptions;
  /** Images. They are offered where there are jobs and a storage. */
  images?: ImagesOptions;
  /** Text models. */
  text?: TextsOptions;
}

/** Where background jobs are kept, and how many there may be. */
export interface JobsOptions {
  store: Jobs;
  /** Jobs that this process runs at the same time; 0 leaves them to others. Default 4. */
  workers?: number;
  /** Jobs that may be queued or running at the same time, over all processes. Default 1,000. */
  maxActive?: number;
}

export interface BrowserOptions {
  /** Finds a Chromium or Chrome, and gets it ready to run. Asked when one is about to be started, and not before. */
  executable(): Promise<BrowserExecutable>;
  /** Resident memory that the browser of one visit may take, all its processes together; Linux only. Default 1.5 GiB. */
  maxMemoryBytes?: number;
}

export interface AudioLinkOptions {
  /** Without a trailing slash, e.g. `http://127.0.0.1:8787`. */
  baseUrl: string;
  /** Signing secrets, newest first; links signed with any of them are honoured. At least 32 bytes each. */
  secrets: readonly Uint8Array[];
  /** Default 86,400,000 (24 hours). */
  ttlMs?: number;
}

/** Limits of a client of {@link Gateway.httpClient}; no request of it can go beyond them. */
export interface HttpClientLimits {
  /** Milliseconds for each request. */
  timeoutMs: number;
  /** Origins that it may reach although they are private. Default: those of the gateway alone. */
  trustedOrigins?: readonly string[];
}

/** A platform that links are extracted of. */
export interface PlatformInfo {
  key: string;
  /** For people. */
  name: string;
  /** Patterns or words, for people. */
  linkForms: readonly string[];
  features: { async: boolean; batch: boolean; reviews: boolean; audio_mp3: boolean };
  /** Its ways to the platform as they are now, best first; empty where its extractor does not tell. */
  rungs: readonly RungState[];
  /** Links to try it with. */
  canaries: readonly CanaryLink[];
}

/** The composed gateway: what the server, the CLI and embedders speak to. */
export interface Gateway extends AsyncDisposable {
  /** @throws GatewayError of any link-data code. */
  extract(request: ExtractRequest): Promise<ExtractResult>;
  /**
   * Answers from the cache, else with a job where the platform allows it, else by extracting at once.
   * @throws GatewayError of any link-data code, `queue_full`.
   */
  submitExtraction(request: SubmitRequest): Promise<Submission>;
  /**
   * Submits several links at once: an item for each, in their order. Links that are not jobs have 30 seconds together;
   * those to the same item share one piece of work. Rejects with nothing but the reason of the request's signal.
   */
  extractBatch(request: BatchRequest): Promise<readonly BatchItem[]>;
  /** @throws GatewayError `job_not_found` where there is none, or none of this owner. */
  extractionJob(id: string, owner: string): Promise<ExtractionJob>;
  /**
   * Ends a job that is queued or running. Where other owners asked for it as well, it goes on for them, and this one has it no
   * more. One that was cancelled before is answered the same again.
   * @throws GatewayError `job_not_found`, `job_already_terminal`.
   */
  cancelExtractionJob(id: string, owner: string): Promise<ExtractionJob>;
  /**
   * Whether there is room for any of it, without any request to a source: for those who take slots before the work.
   * @throws GatewayError `queue_full` where every link would need a place in the queue, which has none.
   */
  checkQueue(request: BatchRequest): Promise<void>;
  /** Background jobs that may be queued or running, over all processes; null where none are offered. */
  readonly maxActiveJobs: number | null;
  /**
   * The MP3 behind a signed link.
   * @throws GatewayError `file_not_found` for a name that was not signed here, `link_expired`, `audio_unavailable` or what
   * else the source said, `audio_timeout`, `queue_full`, `upstream_unavailable` where it cannot be stored.
   */
  audioFile(request: AudioFileRequest): Promise<AudioFile>;
  /** Pictures. Without jobs and a storage, each method fails with `plugin_unavailable`. */
  readonly images: Images;
  /** Speech and sounds: hearing them, and making them. */
  readonly audio: Audio;
  /** Text models. */
  readonly text: Texts;
  /** Which platform a link belongs to, without any I/O. @throws GatewayError `invalid_url`, `unsupported_*`. */
  match(url: string): { platform: string; link: LinkRef };
  /** Platforms whose extractor is ready, in the order of the entries. */
  platforms(): readonly PlatformInfo[];
  /** Every entry of the configuration. */
  plugins(): readonly PluginStatus[];
  /** Whether plugins that need it can have it. */
  meets(need: Need): boolean;
  /** Models of every ready provider. */
  models(): readonly { id: string; kind: 'image' | 'audio' | 'text'; entry: string }[];
  imageProvider(model: string): ImageProvider | undefined;
  audioProvider(model: string, operation: AudioOperation): AudioProvider | undefined;
  textProvider(model: string): { provider: TextProvider; model: TextModel } | undefined;
  /** With which people sign in where no issuer is configured. */
  identityProvider(): { provider: IdentityProvider; entry: string; standIn: boolean } | undefined;
  /** A way out for whoever serves the gateway; guarded as those of plugins are, and cut when the gateway closes. */
  httpClient(limits: HttpClientLimits): HttpClient;
  /**
   * Takes no more background jobs and lets pictures in the making finish; what still runs after their time of grace goes back
   * to the queue, for others at once. Idempotent.
   */
  stopJobs(): Promise<void>;
  /** Ends running calls, disposes plugins in reverse order, closes services. Idempotent. */
  close(): Promise<void>;
}

const CACHE_TTL_MS = 600_000;
/** For one input image of a request. */
const REFERENCE_MS = 15_000;

/**
 * The composition root: makes the services, loads the plugins, and returns the facade. Two gateways in a process share
 * nothing.
 * @throws PluginConfigError where an entry with `required: true` failed; every other failure shows in `plugins()`.
 */
export async function createGateway(options: GatewayOptions): Promise<Gateway> {
  const { services = {} } = options;
  for (const [name, list] of Object.entries({
    plugins: options.plugins,
    trustedOrigins: options.trustedOrigins ?? [],
  })) {
    if (!Array.isArray(list)) throw new TypeError(`createGateway takes a list as "${name}".`);
  }
  const clock = services.clock ?? systemClock;
  const logger = services.logger ?? silentLogger;
  const cache = services.cache ?? createMemoryCache(clock);
  const storage = services.storage && writeInSpans(services.storage);
  const [http, browser] = await Promise.all([openHttp(options), openBrowser(options, logger)]);

  const root = createRootScope();
  root.provide(CLOCK, clock);
  root.provide(LOGGER, logger);
  root.provide(CACHE, cache);
  root.provide(STORAGE, storage ?? absentStorage);
  const ffmpeg = options.ffmpegPath === undefined ? undefined : createFfmpeg(options.ffmpegPath);
  root.provide(BROWSER, browser);
  root.provide(SOUND_FILTERS, ffmpeg ? createSoundFilters(ffmpeg) : absentSoundFilters);
  root.provide(HTTP, http);
  registerEntryServices(root);

  const meets = (need: Need) => (need === 'browser' ? browser.available : options.ffmpegPath !== undefined);
  const registry = createRegistry(logger);
  const host = createPluginHost({
    root,
    registry,
    logger,
    trustedOrigins: options.trustedOrigins ?? [],
    baseFolder: options.baseFolder ?? process.cwd(),
    meter: services.meter,
    unmet: (need) => (meets(need) ? undefined : 'none is configured or found'),
  });
  const scratch = createScratchFolders(options.scratchFolder ?? tmpdir());
  const media = { scratch, ...(ffmpeg && { ffmpeg }) };
  const links = options.audioLinks && createAudioLinks(options.audioLinks);
  const offersAudio = links !== undefined && options.ffmpegPath !== undefined;
  const audioFiles =
    links &&
    createAudioFiles({
      links,
      registry,
      host,
      storage: storage ?? absentStorage,
      http,
      ...media,
      clock,
      logger,
    });
  const extraction = createExtractionService({
    registry,
    host,
    cache,
    clock,
    cacheTtlMs: options.cacheTtlMs ?? CACHE_TTL_MS,
    ...(offersAudio && { audioLinks: links }),
    audioExpected: links !== undefined,
    meter: services.meter,
  });

  const jobs = options.jobs && createExtractionJobs({ ...options.jobs, extraction, registry, clock, logger });
  const submissions = createSubmissions({ extraction, jobs, logger });

  const audio = createAudio({ registry, host, ...media });

  const clientsEnd = new AbortController();
  const images = openImages();

  function openImages() {
    const { trustedOrigins = [], jobs } = options;
    if (!jobs || !storage) return undefined;
    const imageFiles = createImageFiles();
    const face = http.face({ timeoutMs: REFERENCE_MS, trustedOrigins, signal: clientsEnd.signal });
    return createImages({
      ...options.images,
      store: jobs.store,
      storage,
      registry,
      host,
      references: createReferences({ http: face, images: imageFiles, trustedOrigins }),
      imageFiles,
      clock,
      logger,
    });
  }

  const text = createTexts({ ...options.text, registry, host, clock, logger });

  async function stopJobs(): Promise<void> {
    await Promise.all([jobs?.stop(), images?.stop()]);
  }

  async function closeAll(): Promise<void> {
    // Before the plugins go: a job that is cut off here is given back, not failed.
    await stopJobs();
    clientsEnd.abort(new GatewayError('shutting_down', 'The gateway is shutting down.'));
    await Promise.all([text.stop(), audioFiles?.close()]);
    await host.dispose();
    await Promise.all([browser.close(), http.close(), text.close()]);
  }
  let closing: Promise<void> | undefined;
  const close = () => {
    closing ??= closeAll();
    return closing;
  };

  function offeredJobs(): ExtractionJobs {
    if (!jobs) throw new GatewayError('job_not_found', 'There is no such job.');
    return jobs;
  }

  try {
    await host.load(options.plugins);
  } catch (error) {
    await close();
    throw error;
  }
  text.start();
  jobs?.start();
  images?.start();

  return {
    extract: (request) => extraction.extract(request),
    submitExtraction: (request) => submissions.submit(request),
    extractBatch: (request) => submissions.submitBatch(request),
    extractionJob: async (id, owner) => offeredJobs().find(id, owner),
    cancelExtractionJob: async (id, owner) => offeredJobs().cancel(id, owner),
    checkQueue: (request) => submissions.checkQueue(request),
    maxActiveJobs: jobs?.maxActive ?? null,
    async audioFile(request) {
      if (!audioFiles) throw new GatewayError('file_not_found', 'This gateway makes no MP3 files.');
      return audioFiles.open(request);
    },
    images: images ?? absentImages,
    audio,
    text,
    match(url) {
      const { extractor, link } = extraction.match(url);
      return { platform: extractor.contribution.platform, link };
    },
    platforms: () =>
      registry.extractors.map(({ entry, contribution }) => ({
        key: contribution.platform,
        name: contribution.displayName,
        linkForms: contribution.linkForms,
        features: {
          async: jobs !== undefined && (contribution.background ?? false),
          batch: true,
          reviews: contribution.background ?? false,
          audio_mp3: (contribution.audio ?? false) && offersAudio,
        },
        rungs: host.stateOf(entry, () => contribution.rungs?.()),
        canaries: contribution.canaries ?? [],
      })),
    plugins: () => host.status(),
    meets,
    models: () => registry.models(),
    imageProvider: (model) => registry.imageProvider(model)?.contribution,
    audioProvider: (model, operation) => registry.audioProvider(model, operation)?.contribution,
    textProvider(model) {
      const found = registry.textProvider(model);
      return found && { provider: found.contribution, model: found.model };
    },
    identityProvider() {
      const found = registry.identityProvider();
      if (!found) return undefined;
      const { entry, contribution } = found;
      return { provider: contribution, entry, standIn: host.terms(entry).standIn !== undefined };
    },
    httpClient: ({ timeoutMs, trustedOrigins = [] }) =>
      http.face({ timeoutMs, trustedOrigins, signal: clientsEnd.signal }),
    stopJobs,
    close,
    [Symbol.asyncDispose]: close,
  };
}
