import type { Audio } from './audio/index.js';
import type {
  AudioFile,
  AudioFileRequest,
  AudioOperation,
  AudioProvider,
  BatchItem,
  BatchRequest,
  ExtractionJob,
  Extractor,
  ExtractRequest,
  ExtractResult,
  HttpClient,
  HttpClientLimits,
  IdentityProvider,
  ImageProvider,
  LinkRef,
  Need,
  PlatformFeatures,
  PlatformInfo,
  PluginStatus,
  Submission,
  SubmitRequest,
  TextModel,
  TextProvider,
} from './contracts/index.js';
import type { ExtractionJobs } from './extraction/index.js';
import {
  AUDIO,
  AUDIO_FILES,
  CLIENT_LIFETIME,
  EXTRACTION,
  EXTRACTION_JOBS,
  type GatewayOptions,
  IMAGES,
  MEDIA,
  openBrowser,
  openHttp,
  PLUGIN_HOST,
  REGISTRY,
  registerServices,
  SUBMISSIONS,
  TEXTS,
} from './gateway-services.js';
import { absentImages, type Images } from './images/index.js';
import { BROWSER, createRootScope, createToken, HTTP, type Resolve } from './plugins/index.js';
import { GatewayError } from './runtime/index.js';
import type { Texts } from './text/index.js';

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
  /** Those of one platform, without asking its extractor for the state of its methods. Undefined where it is not ready. */
  platformFeatures(platform: string): PlatformFeatures | undefined;
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

const GATEWAY = createToken<Gateway>('gateway');

/**
 * The composition root: opens what is opened asynchronously, registers the services, loads the plugins, and returns the
 * facade. Two gateways in a process share nothing.
 * @throws PluginConfigError where an entry with `required: true` failed; every other failure shows in `plugins()`.
 */
export async function createGateway(options: GatewayOptions): Promise<Gateway> {
  const { plugins, trustedOrigins = [] } = options;
  for (const [name, list] of Object.entries({ plugins, trustedOrigins })) {
    if (!Array.isArray(list)) throw new TypeError(`createGateway takes a list as "${name}".`);
  }
  const [http, browser] = await Promise.all([openHttp(options), openBrowser(options)]);
  const services = createRootScope();
  services.provide(HTTP, http, () => http.close());
  services.provide(BROWSER, browser, () => browser.close());
  registerServices(services, options);
  services.provideFactory(
    GATEWAY,
    (get) => createFacade(get, () => services.close()),
    // Before the plugins go: a job that is cut off here is given back, not failed.
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
  const registry = get(REGISTRY);
  const host = get(PLUGIN_HOST);
  const extraction = get(EXTRACTION);
  const jobs = get(EXTRACTION_JOBS);
  const submissions = get(SUBMISSIONS);
  const audioFiles = get(AUDIO_FILES);
  const images = get(IMAGES);
  const { signal } = get(CLIENT_LIFETIME);
  const { ffmpeg } = get(MEDIA);

  const featuresOf = (extractor: Extractor): PlatformFeatures => ({
    async: jobs !== undefined && (extractor.background ?? false),
    batch: true,
    reviews: extractor.background ?? false,
    audio_mp3: (extractor.audio ?? false) && audioFiles !== undefined && ffmpeg !== undefined,
  });

  function offeredJobs(): ExtractionJobs {
    if (!jobs) throw new GatewayError('job_not_found', 'There is no such job.');
    return jobs;
  }

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
    audio: get(AUDIO),
    text: get(TEXTS),
    match(url) {
      const { extractor, link } = extraction.match(url);
      return { platform: extractor.contribution.platform, link };
    },
    platforms: () =>
      registry.extractors.map(({ entry, contribution }) => ({
        key: contribution.platform,
        name: contribution.displayName,
        linkForms: contribution.linkForms,
        features: featuresOf(contribution),
        // Asked of the extractor only where it is read.
        get methods() {
          return host.stateOf(entry, () => contribution.methods?.());
        },
        probeLinks: contribution.probeLinks ?? [],
      })),
    platformFeatures(platform) {
      const extractor = registry.extractor(platform);
      return extractor && featuresOf(extractor.contribution);
    },
    plugins: () => host.status(),
    meets: (need) => (need === 'browser' ? get(BROWSER).available : ffmpeg !== undefined),
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
    httpClient: ({ timeoutMs, trustedOrigins = [] }) => get(HTTP).face({ timeoutMs, trustedOrigins, signal }),
    async stopJobs() {
      await Promise.all([jobs?.stop(), images?.stop()]);
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}
