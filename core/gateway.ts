/*
 * The composition root and the facade of a gateway. `createGateway` opens HTTP and the browser, registers the
 * services, loads the plugins, starts the workers and returns the interface for the server, the command line and
 * embedders. If a required plugin fails, everything that was opened is closed again; any other failure is listed in
 * `plugins()`. At closing, jobs stop before plugins are disposed, so an interrupted job is queued again instead of
 * failing. The facade only delegates; each method names the errors that it throws.
 */

import type { Audio, UploadedAudio } from './audio/index.js';
import type {
  AudioFile,
  AudioFileRequest,
  AudioOperation,
  AudioProvider,
  BatchItem,
  BatchRequest,
  CheckedUpstream,
  Cue,
  ExtractionJob,
  Extractor,
  ExtractRequest,
  ExtractResult,
  HttpClient,
  HttpClientLimits,
  IdentityProvider,
  ImageProvider,
  JobAnswerTerms,
  LinkAudioRequest,
  LinkRef,
  MediaArchive,
  MediaEntry,
  MediaFile,
  MediaFileRequest,
  MediaLink,
  ModelUpstreams,
  Need,
  PlatformFeatures,
  PlatformInfo,
  PluginEntry,
  PluginStatus,
  ReadyModel,
  StoredResult,
  Submission,
  SubmitRequest,
  TextModel,
  TextProvider,
  VideoFile,
  VideoFileRequest,
} from './contracts/index.js';
import type { ExtractionJobs, MediaFiles, VideoFiles } from './extraction/index.js';
import {
  AUDIO,
  AUDIO_FILES,
  CLIENT_LIFETIME,
  EXTRACTION,
  EXTRACTION_JOBS,
  type GatewayOptions,
  IMAGES,
  MEDIA,
  MEDIA_FILES,
  MEDIA_SOURCES,
  openBrowser,
  openHttp,
  PLUGIN_HOST,
  REGISTRY,
  registerServices,
  SUBMISSIONS,
  TEXTS,
  VIDEO_FILES,
} from './gateway-services.js';
import { absentImages, type Images } from './images/index.js';
import type { JobFilter } from './jobs/index.js';
import { BROWSER, createToken, HTTP, type Resolve, RootScope } from './plugins/index.js';
import { GatewayError } from './runtime/index.js';
import type { Texts } from './text/index.js';

/** The composed gateway: the interface for the server, the CLI and embedders. */
export interface Gateway extends AsyncDisposable {
  /** @throws GatewayError of any link-data code. */
  extract(request: ExtractRequest): Promise<ExtractResult>;
  /** As `extract`, for a caller that stores the result and answers with `storedResult` later. */
  extractToStore(request: ExtractRequest): Promise<StoredResult>;
  /**
   * The answer to a request from a stored result, with new links.
   * @throws GatewayError `link_blocked`, `plugin_unavailable` if its platform is not ready.
   */
  storedResult(stored: StoredResult, request: ExtractRequest): ExtractResult;
  /**
   * Answers from the cache, otherwise with a job if the platform supports jobs, otherwise by extracting at once.
   * @throws GatewayError of any link-data code, `queue_full`.
   */
  submitExtraction(request: SubmitRequest): Promise<Submission>;
  /**
   * Submits several links at once: returns an item for each, in order. Links that are not jobs have 30 seconds
   * together; those to the same item share one extraction. Rejects only with the reason of the request's signal.
   */
  extractBatch(request: BatchRequest): Promise<readonly BatchItem[]>;
  /**
   * @param terms With which links its result is answered. Default: with those that need no key.
   * @throws GatewayError `job_not_found` if there is none, or it belongs to another owner.
   */
  extractionJob(id: string, owner: string, terms?: JobAnswerTerms): Promise<ExtractionJob>;
  /**
   * The extraction jobs that the owner submitted first, newest first, without their results; at most `limit`.
   * @throws GatewayError `job_not_found` if the owner has no job `after`.
   */
  extractionJobs(
    owner: string,
    limit: number,
    filter?: Pick<JobFilter, 'state' | 'after'>,
  ): Promise<readonly ExtractionJob[]>;
  /**
   * Ends a queued or running job. If other owners joined it, it continues for them, and this owner is removed. A job
   * that was cancelled before is returned again.
   * @throws GatewayError `job_not_found`, `job_already_terminal`.
   */
  cancelExtractionJob(id: string, owner: string): Promise<ExtractionJob>;
  /**
   * Whether the queue has room for any of it, without a request to a source: for callers that consume the rate limit
   * before the work.
   * @throws GatewayError `queue_full` if every link would need a job and the queue is full.
   */
  checkQueue(request: BatchRequest): Promise<void>;
  /** Maximum number of queued and running background jobs, over all processes; null if there are none. */
  readonly maxActiveJobs: number | null;
  /**
   * The MP3 behind a signed link.
   * @throws GatewayError `file_not_found` for a name that was not signed here, `link_expired`, `audio_unavailable` or
   *   another error of the source, `audio_timeout`, `queue_full`, `upstream_unavailable` if it cannot be stored.
   */
  audioFile(request: AudioFileRequest): Promise<AudioFile>;
  /** What a media link was made for, without any request. @throws GatewayError `file_not_found`, `link_expired`. */
  mediaLink(name: string): MediaLink;
  /**
   * The media file behind a link, from the platform. Read it or release it.
   * @throws GatewayError as `mediaLink`; `rate_limit_exceeded` above the limits of the link, `media_unavailable`, what
   *   the platform answers about the item.
   */
  mediaFile(request: MediaFileRequest): Promise<MediaFile>;
  /** As {@link mediaLink}, of a link to a video. */
  videoLink(name: string): MediaLink;
  /**
   * The video behind a link, merged while it is read. Read it or release it.
   * @throws GatewayError as `mediaFile`; `invalid_value` for a cut outside of the video, `queue_full`.
   */
  videoFile(request: VideoFileRequest): Promise<VideoFile>;
  /** The archive behind a link of a carousel, made while it is read. Read it or release it. @throws GatewayError as `mediaFile`. */
  mediaArchive(request: MediaFileRequest): Promise<MediaArchive>;
  /**
   * The text of a subtitle track of an extracted item: one of the entries of its document.
   * @throws GatewayError `media_unavailable`, what the platform answers about the item; the signal's reason.
   */
  captions(result: ExtractResult, track: MediaEntry, signal: AbortSignal): Promise<readonly Cue[]>;
  /**
   * The audio of an item, as a file for audio models. Remove it.
   * @throws GatewayError as `audioFile`; `request_too_large`.
   */
  linkAudio(request: LinkAudioRequest): Promise<UploadedAudio>;
  /** Image jobs. Without jobs and a storage, each method fails with `plugin_unavailable`. */
  readonly images: Images;
  /** Audio models: transcription, speech, sound effects. */
  readonly audio: Audio;
  /** Text models. */
  readonly text: Texts;
  /** The platform of a link, without any I/O. @throws GatewayError `invalid_url`, `unsupported_*`. */
  match(url: string): { platform: string; link: LinkRef };
  /** Platforms with a ready extractor, in the order of the configuration. */
  platforms(): readonly PlatformInfo[];
  /** The capabilities of one platform, without the state of its methods. Undefined if it is not ready. */
  platformFeatures(platform: string): PlatformFeatures | undefined;
  /** The platform's own player of a video, for oEmbed. Undefined if it has none, or is not ready. */
  embed(platform: string, link: LinkRef): ReturnType<NonNullable<Extractor['embed']>>;
  /** Every entry of the configuration. */
  plugins(): readonly PluginStatus[];
  /**
   * Asks the upstreams of every ready instance that can, by requests that cost nothing: at most 5 seconds. Never
   * rejects but with the reason of the signal.
   */
  checkUpstreams(signal?: AbortSignal): Promise<readonly CheckedUpstream[]>;
  /** Whether the needs of plugins are met on this machine. */
  meets(need: Need): boolean;
  /** Models of every ready provider, and then their further names. */
  models(): readonly ReadyModel[];
  /** As {@link models}, with those that {@link adjustModels} has switched off. */
  allModels(): readonly ReadyModel[];
  /**
   * Changes models while the gateway runs: those of an earlier call that are left out are as configured again. Calls
   * must not overlap. An entry that cannot be loaded is listed in `plugins()`.
   */
  adjustModels(changes: ModelAdjustments): Promise<void>;
  /** Called with the id of a model that has answered: it is not absent, see {@link ReadyModel.isAbsent}. */
  noteAnswered(id: string): void;
  /** The id of the model with this name; the name itself if it is an id, or unknown. */
  resolveModel(name: string): string;
  imageProvider(model: string): ImageProvider | undefined;
  audioProvider(model: string, operation: AudioOperation): AudioProvider | undefined;
  textProvider(model: string): { provider: TextProvider; model: TextModel } | undefined;
  /** The upstreams of a model of any kind, and whether their weights can be changed. */
  upstreamsOf(model: string): ModelUpstreams;
  /** The identity provider of a plugin, used if no issuer is configured. */
  identityProvider(): { provider: IdentityProvider; entry: string; standIn: boolean } | undefined;
  /** An HTTP client for the embedder; guarded like those of plugins, and aborted when the gateway closes. */
  httpClient(limits: HttpClientLimits): HttpClient;
  /**
   * Stops claiming background jobs and lets running images finish; runs that exceed the grace period are queued again,
   * for other processes at once. Idempotent.
   */
  stopJobs(): Promise<void>;
  /** Ends running calls, disposes plugins in reverse order, closes services. Idempotent. */
  close(): Promise<void>;
}

/** What is other than configured. */
export interface ModelAdjustments {
  /** Ids of models that are switched off: in no list, and without new requests. */
  closed: ReadonlySet<string>;
  /** Weights of the upstreams of text models, by model and name of the upstream. */
  weights: ReadonlyMap<string, Readonly<Record<string, number>>>;
  /** Further entries. */
  entries: readonly PluginEntry[];
}

const GATEWAY = createToken<Gateway>('gateway');

/**
 * The composition root: opens what is opened asynchronously, registers the services, loads the plugins, and returns the
 * facade. Two gateways in a process share nothing.
 * @throws PluginConfigError if an entry with `required: true` failed; every other failure is listed in `plugins()`.
 */
export async function createGateway(options: GatewayOptions): Promise<Gateway> {
  const { plugins, trustedOrigins = [] } = options;
  for (const [name, list] of Object.entries({ plugins, trustedOrigins })) {
    if (!Array.isArray(list)) throw new TypeError(`createGateway takes a list as "${name}".`);
  }
  const [http, browser] = await Promise.all([openHttp(options), openBrowser(options)]);
  const services = new RootScope();
  services.provide(HTTP, http, () => http.close());
  services.provide(BROWSER, browser, () => browser.close());
  registerServices(services, options);
  services.provideFactory(
    GATEWAY,
    (get) => createFacade(get, () => services.close()),
    // Before the plugins are disposed: an interrupted job is queued again, not failed.
    (gateway) => gateway.stopJobs(),
  );
  try {
    const gateway = services.get(GATEWAY);
    await services.get(PLUGIN_HOST).load(plugins);
    services.get(TEXTS).start();
    services.get(EXTRACTION_JOBS)?.start();
    services.get(IMAGES)?.start();
    return gateway;
  } catch (error) {
    await services.close();
    throw error;
  }
}

function createFacade(get: Resolve, close: () => Promise<void>): Gateway {
  const host = get(PLUGIN_HOST);
  // Services close in reverse order of their creation: MP3 files before the plugins that read their sources.
  const links = createLinkFacade(get);
  const images = get(IMAGES);
  const { signal } = get(CLIENT_LIFETIME);
  return {
    ...links,
    ...createPlatformFacade(get),
    ...createModelFacade(get),
    images: images ?? absentImages,
    audio: get(AUDIO),
    text: get(TEXTS),
    plugins: () => host.status(),
    checkUpstreams: (given) => host.checkUpstreams(given),
    meets: (need) => (need === 'browser' ? get(BROWSER).available : get(MEDIA).ffmpeg !== undefined),
    identityProvider() {
      const found = get(REGISTRY).identityProvider();
      if (!found) return undefined;
      const { entry, contribution } = found;
      return { provider: contribution, entry, standIn: host.policy(entry).standIn !== undefined };
    },
    httpClient: ({ timeoutMs, trustedOrigins = [] }) => get(HTTP).scoped({ timeoutMs, trustedOrigins, signal }),
    async stopJobs() {
      await Promise.all([get(EXTRACTION_JOBS)?.stop(), images?.stop()]);
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

function createLinkFacade(get: Resolve) {
  const extraction = get(EXTRACTION);
  const jobs = get(EXTRACTION_JOBS);
  const submissions = get(SUBMISSIONS);
  const audioFiles = get(AUDIO_FILES);
  const mediaFiles = get(MEDIA_FILES);
  const mediaSources = get(MEDIA_SOURCES);
  const audio = get(AUDIO);
  const videoFiles = get(VIDEO_FILES);

  function offeredJobs(): ExtractionJobs {
    if (!jobs) throw new GatewayError('job_not_found', 'There is no such job.');
    return jobs;
  }

  return {
    extract: (request) => extraction.extract(request),
    extractToStore: (request) => extraction.extractToStore(request),
    storedResult: (stored, request) => extraction.storedResult(stored, request),
    submitExtraction: (request) => submissions.submit(request),
    extractBatch: (request) => submissions.submitBatch(request),
    async extractionJob(id, owner, terms) {
      const job = await offeredJobs().find(id, owner, terms);
      extraction.checkAllowed(job.link);
      return job;
    },
    extractionJobs: async (owner, limit, filter) => (jobs ? jobs.list(owner, limit, filter) : []),
    cancelExtractionJob: async (id, owner) => offeredJobs().cancel(id, owner),
    checkQueue: (request) => submissions.checkQueue(request),
    maxActiveJobs: jobs?.maxActive ?? null,
    mediaLink: (name) => offered(mediaFiles).link(name),
    mediaFile: async (request) => offered(mediaFiles).open(request),
    mediaArchive: async (request) => offered(mediaFiles).openArchive(request),
    videoLink: (name) => offered(videoFiles).link(name),
    videoFile: async (request) => offered(videoFiles).open(request),
    captions: (result, track, signal) => mediaSources.cuesOf(result, track, signal),
    async linkAudio({ link, maxBytes, signal }) {
      if (!audioFiles) throw new GatewayError('audio_unavailable', 'This gateway cannot create MP3 files.');
      const { body } = await audioFiles.read(link, signal);
      return audio.receiveMp3({ chunks: body, maxBytes, param: 'url', signal });
    },
    async audioFile(request) {
      if (!audioFiles) throw new GatewayError('file_not_found', 'This gateway cannot create MP3 files.');
      return audioFiles.open(request);
    },
    match(url) {
      const { extractor, link } = extraction.match(url);
      return { platform: extractor.contribution.platform, link };
    },
  } satisfies Partial<Gateway>;
}

function offered<Files extends MediaFiles | VideoFiles>(files: Files | undefined): Files {
  if (!files) throw new GatewayError('file_not_found', 'This gateway passes no media files on.');
  return files;
}

function createPlatformFacade(get: Resolve) {
  const registry = get(REGISTRY);
  const host = get(PLUGIN_HOST);
  const hasJobs = get(EXTRACTION_JOBS) !== undefined;
  const makesAudio = get(AUDIO_FILES) !== undefined && get(MEDIA).ffmpeg !== undefined;

  const featuresOf = ({ background = false, audio = false }: Extractor): PlatformFeatures => ({
    async: hasJobs && background,
    batch: true,
    audio_mp3: makesAudio && audio,
  });

  return {
    platforms: () =>
      registry.extractors.map(({ entry, contribution }) => ({
        key: contribution.platform,
        name: contribution.displayName,
        linkForms: contribution.linkForms,
        ...(contribution.requestOptions && { requestOptions: contribution.requestOptions }),
        features: featuresOf(contribution),
        // The extractor is only called when it is read.
        get methods() {
          return host.stateOf(entry, () => contribution.methods?.());
        },
        probeLinks: contribution.probeLinks ?? [],
      })),
    platformFeatures(platform) {
      const extractor = registry.extractor(platform);
      return extractor && featuresOf(extractor.contribution);
    },
    embed(platform, link) {
      const found = registry.extractor(platform);
      return found && host.stateOf(found.entry, () => [found.contribution.embed?.(link)])[0];
    },
  } satisfies Partial<Gateway>;
}

function createModelFacade(get: Resolve) {
  const registry = get(REGISTRY);
  const host = get(PLUGIN_HOST);

  function withAbsence(models: readonly ReadyModel[]): readonly ReadyModel[] {
    if (host.absent.isDue()) void host.checkUpstreams().catch(() => undefined);
    const isAbsent = ({ id, aliasOf = id }: ReadyModel) => host.absent.has(aliasOf);
    return models.some(isAbsent) ? models.map((one) => (isAbsent(one) ? { ...one, isAbsent: true } : one)) : models;
  }

  return {
    models: () => withAbsence(registry.models()),
    allModels: () => withAbsence(registry.allModels()),
    async adjustModels({ closed, weights, entries }) {
      await host.adjust(entries);
      registry.close(closed);
      host.weigh(weights);
    },
    noteAnswered: (id) => host.absent.answered(id),
    resolveModel: (name) => registry.resolve(name),
    imageProvider: (model) => registry.imageProvider(registry.resolve(model))?.contribution,
    audioProvider: (model, operation) => registry.audioProvider(registry.resolve(model), operation)?.contribution,
    textProvider(model) {
      const found = registry.textProvider(registry.resolve(model));
      return found && { provider: found.contribution, model: found.model };
    },
    upstreamsOf: (model) => registry.upstreamsOf(registry.resolve(model)),
  } satisfies Partial<Gateway>;
}
