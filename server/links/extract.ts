import type { Gateway } from 'mediagate';
import type {
  AudioLink,
  BatchItem,
  ExtractionData,
  ExtractionJob,
  ExtractRequest,
  ExtractResult,
  JobState,
} from '../../core/contracts/index.js';
import { DEFINITIVE_CODES, TRANSIENT_CODES } from '../../core/runtime/index.js';
import { isoTime } from '../format/index.js';
import {
  clientSignal,
  defineRoute,
  describeFailure,
  type RequestContext,
  type Route,
  readJsonBody,
  type ServerContext,
} from '../http/index.js';
import { type ApiKeyRecord, keyOf, queueShareOf, quotaSubject } from '../keys/index.js';
import { consumeRateLimit, consumeRequest, type RateLimitResult, sendRateLimit } from '../limits/index.js';
import { type Prices, sendCost, toJobTerms } from '../usage/index.js';
import { API_VERSION } from '../version.js';
import { CAPABILITIES_ANSWER, EXTRACTION } from './answer-schemas.js';
import { frameDocument } from './document-frame.js';
import {
  createExtractRequests,
  type ExtractBody,
  MAX_BATCH_BYTES,
  MAX_BATCH_URLS,
  MAX_BODY_BYTES,
  MAX_URL_LENGTH,
  offersReviews,
  REVIEW_LIMIT,
} from './extract-requests.js';

const FAMILY = 'link_data';

const REFUSALS = [
  'invalid_url',
  'unsupported_platform',
  'unsupported_link',
  ...DEFINITIVE_CODES,
  ...TRANSIENT_CODES,
  'plugin_unavailable',
  'queue_full',
  'rate_limit_exceeded',
  'too_many_open_jobs',
] as const;

/** Declarations that all link-data routes share. */
export const LINK_ROUTE = { grant: 'extract', apiKeyHeader: true, format: 'link', tag: 'Link data' } as const;
export const EXAMPLE_LINK = 'https://youtu.be/Tugs0fOst3n';

/** Link data: supported platforms, extraction, and background jobs. */
export function extractRoutes(server: ServerContext): Route[] {
  const { gateway, rateLimits, bodies, polls, accountQueueShare } = server;
  const requests = createExtractRequests(gateway);
  const usage = createLinkUsage(server, '/v1/extract');

  async function extract(context: RequestContext): Promise<void> {
    const { req: request, res: response, state } = context;
    const owner = quotaSubject(keyOf(context));
    const sent = await readJsonBody(request, response, { maxBytes: MAX_BODY_BYTES, budget: bodies, owner });
    if (typeof sent.url === 'string' && sent.url.length <= MAX_URL_LENGTH) state.link = { inputUrl: sent.url };
    const body = requests.checkExtract(sent);
    const wanted = requests.decode(body, clientSignal(response));
    if (body.async_mode || body.force_async) return submit(context, body, wanted);
    const { platform } = match(context, body);
    await consumeRateLimit(rateLimits, response, { key: keyOf(context), family: FAMILY });
    sendResult(context, body, await usage.counted(context, platform, gateway.extract(wanted)));
  }

  /** Every later error names the platform. */
  function match({ state }: RequestContext, { url }: ExtractBody) {
    const matched = gateway.match(url);
    state.link = { inputUrl: url, platform: matched.platform };
    return matched;
  }

  /**
   * The job consumes the rate limit if the link alone shows that there may be one; otherwise it is consumed before any
   * work.
   */
  async function submit(context: RequestContext, body: ExtractBody, wanted: ExtractRequest): Promise<void> {
    const key = keyOf(context);
    const { platform, link } = match(context, body);
    const isJob = link.kind !== 'short_link' && gateway.platformFeatures(platform)?.async;
    const rateLimit = isJob ? consumeRequest({ key, family: FAMILY }) : undefined;
    const { requestId } = context.state;
    const submitted = {
      ...wanted,
      owner: key.accountId,
      ...queueShareOf(key, accountQueueShare),
      requestId,
      refresh: body.force_async,
      terms: toJobTerms({ rateLimit }),
    };
    if (!isJob) {
      await gateway.checkQueue({ ...submitted, urls: [body.url] });
      await consumeRateLimit(rateLimits, context.res, { key, family: FAMILY });
    }
    const submission = await gateway.submitExtraction(submitted);
    if (rateLimit && 'answer' in submission)
      sendRateLimit(context.res, rateLimit, submission.answer as RateLimitResult);
    else if (rateLimit) await consumeRateLimit(rateLimits, context.res, { key, family: FAMILY });
    if ('refusal' in submission) throw submission.refusal;
    const { method } = 'result' in submission ? submission.result : { method: BACKGROUND };
    usage.count(context, platform, { methods: [method] });
    if ('result' in submission) sendResult(context, body, submission.result);
    else if ('job' in submission) sendJob(context, submission.job, body);
  }

  function sendResult(context: RequestContext, body: ExtractBody, result: ExtractResult): void {
    context.res.setHeader('Content-Type', 'application/json; charset=utf-8');
    context.res.setHeader('X-Cache', result.cache);
    if (result.cache !== 'miss') context.res.setHeader('Age', Math.floor(result.ageMs / 1000));
    context.body = encodeExtraction(result, { notes: requests.ignoredOptions(body, result.platform) });
  }

  function sendJob(context: RequestContext, job: ExtractionJob, body?: ExtractBody): void {
    context.res.setHeader('Content-Type', 'application/json; charset=utf-8');
    if (isOpen(job)) context.res.setHeader('Retry-After', POLL_AFTER_SECONDS);
    const asked = body && { inputUrl: body.url, notes: requests.ignoredOptions(body, job.platform) };
    context.body = encodeJob(job, asked);
  }

  return [
    defineRoute({
      ...LINK_ROUTE,
      method: 'GET',
      path: '/v1/capabilities',
      endpoint: 'capabilities',
      summary: 'List platforms',
      description: 'Returns the platforms, their link forms and features, and the limits of the API key.',
      answers: { 200: CAPABILITIES_ANSWER },
      handler(context) {
        context.body = encodeCapabilities(gateway, keyOf(context));
      },
    }),
    defineRoute({
      ...LINK_ROUTE,
      method: 'POST',
      path: '/v1/extract',
      endpoint: 'extract',
      summary: 'Extract a link',
      description: 'Returns structured data of a public link; for shop links also as a background job.',
      body: { schema: requests.extractSchema, example: { url: EXAMPLE_LINK } },
      answers: {
        200: { description: 'The document; with `async_mode` or `force_async` it may be a job.', ...EXTRACTION },
      },
      errors: REFUSALS,
      handler: extract,
    }),
    defineRoute({
      ...LINK_ROUTE,
      method: 'GET',
      path: '/v1/extract/jobs/:id',
      endpoint: 'extractJob',
      parameter: 'job_id',
      params: { id: 'Id of the job.' },
      summary: 'Get an extraction job',
      description: 'Returns the status of a background job, and its document when it has completed.',
      answers: {
        200: { description: 'The job, with its document when it has completed.', ...EXTRACTION },
      },
      errors: ['job_not_found', 'rate_limit_exceeded'],
      async handler(context) {
        const { id, accountId } = keyOf(context);
        polls.admit(id);
        sendJob(context, await gateway.extractionJob(context.params.id ?? '', accountId));
      },
    }),
    defineRoute({
      ...LINK_ROUTE,
      method: 'DELETE',
      path: '/v1/extract/jobs/:id',
      endpoint: 'extractJob',
      parameter: 'job_id',
      params: { id: 'Id of the job.' },
      summary: 'Cancel an extraction job',
      description: 'Cancels a background job that has not ended, for the account that asks.',
      answers: {
        200: {
          description:
            'The cancelled job. If other accounts wait for it, it continues for them, and is 404 for this one.',
          ...EXTRACTION,
        },
      },
      errors: ['job_not_found', 'job_already_terminal', 'rate_limit_exceeded'],
      async handler(context) {
        const { id, accountId } = keyOf(context);
        polls.admit(id);
        sendJob(context, await gateway.cancelExtractionJob(context.params.id ?? '', accountId));
      },
    }),
  ];
}

/** `extraction_method` of a job without a result. */
const BACKGROUND = 'background_job';

/** Links of one platform. */
interface CountedLinks {
  /** `extraction_method` of those that were extracted. Default: none. */
  methods?: readonly string[];
  /** Number of those that failed. Default 0. */
  failed?: number;
}

/** Counts admitted requests of link data in the usage log, where the platform stands in place of the model. */
export function createLinkUsage(
  { usageLog, clock, prices }: Pick<ServerContext, 'usageLog' | 'clock' | 'prices'>,
  route: string,
) {
  function count(context: RequestContext, platform: string, { methods = [], failed = 0 }: CountedLinks): Costs {
    const { id, accountId } = keyOf(context);
    const requests = methods.length + failed;
    const latencyMs = requests * Math.max(0, clock.monotonic() - context.state.startedAt);
    const costs = prices ? costsOf(prices, platform, { methods, failed }) : NO_COSTS;
    const row = { keyId: id, accountId, route, model: platform, requests, failed, latencyMs, ...costs };
    usageLog.count({ ...row, at: clock.now() });
    return costs;
  }

  return {
    /** Of a request with one link; sets the header of its cost, unless it failed. */
    count(context: RequestContext, platform: string, links: CountedLinks): void {
      const { priced, cost } = count(context, platform, links);
      if (prices && priced > 0 && !links.failed) sendCost(context.res, prices, cost);
    },
    /** Counts the request when the work has ended. */
    async counted(context: RequestContext, platform: string, work: Promise<ExtractResult>): Promise<ExtractResult> {
      let links: CountedLinks = { failed: 1 };
      try {
        const result = await work;
        links = { methods: [result.method] };
        return result;
      } finally {
        this.count(context, platform, links);
      }
    },
    /** Each link of a batch is a request, as for the rate limit. Sets the header if each has a known price. */
    countBatch(context: RequestContext, items: readonly BatchItem[], platformOf: (url: string) => string): void {
      const ofPlatform = Map.groupBy(items, ({ url }) => platformOf(url));
      const all = Array.from(ofPlatform, ([platform, group]) => {
        const methods = group.flatMap((item) => ('error' in item ? [] : [methodOf(item)]));
        return count(context, platform, { methods, failed: group.length - methods.length });
      });
      const sum = (part: keyof Costs) => all.reduce((total, costs) => total + costs[part], 0);
      if (prices && sum('priced') === items.length) sendCost(context.res, prices, sum('cost'));
    },
  };
}

/** Of several links, in millionths of the currency: how many have a known price, and the sum of theirs. */
interface Costs {
  priced: number;
  cost: number;
}

const NO_COSTS: Costs = { priced: 0, cost: 0 };

function costsOf(prices: Prices, platform: string, { methods, failed }: Required<CountedLinks>): Costs {
  const costs = [...methods, ...Array.from({ length: failed }, () => undefined)].flatMap(
    (method) => prices.linkCostOf(platform, method) ?? [],
  );
  return { priced: costs.length, cost: costs.reduce((sum, cost) => sum + cost, 0) };
}

function methodOf(item: BatchItem): string {
  return 'result' in item ? item.result.method : BACKGROUND;
}

/** A document in JSON, split at the position of the MP3 link. */
interface EncodedDocument {
  before: Buffer;
  /** Undefined for documents without an MP3 link. */
  after?: Buffer;
}

/** Encoding is the most expensive part of a cached answer, so it is cached by the identity of the extraction. */
const encoded = new WeakMap<object, EncodedDocument>();

export interface Additions {
  /** Added to the result's own limitations. */
  notes?: readonly string[];
  /** Precedes the fields of the document, in `data`. */
  data?: object;
}

/** The extraction response (service document 2.5) in UTF-8. */
export function encodeExtraction(result: ExtractResult, { notes = [], data }: Additions = {}): Buffer {
  const head = Buffer.from(
    `{"ok":true,"platform":${JSON.stringify(result.platform)},"input_url":${JSON.stringify(result.inputUrl)},` +
      `"extraction_method":${JSON.stringify(result.method)},"data":`,
  );
  const tail = Buffer.from(`,"limitations":${JSON.stringify([...result.limitations, ...notes])}}`);
  const { before: document, after } = encodedDocument(result);
  const before = data ? joinObjects(data, document) : document;
  if (!after) return Buffer.concat([head, before, tail]);
  return Buffer.concat([head, before, Buffer.from(encodeAudioLink(result.audioLink)), after, tail]);
}

/** The encoded document has fields of its own. */
function joinObjects(first: object, encodedSecond: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${JSON.stringify(first).slice(0, -1)},`), encodedSecond.subarray(1)]);
}

function encodedDocument(result: ExtractResult): EncodedDocument {
  const known = encoded.get(result.identity);
  if (known) return known;
  const made = encodeDocument(result.data);
  encoded.set(result.identity, made);
  return made;
}

function encodeDocument(data: ExtractionData): EncodedDocument {
  const framed = frameDocument(data);
  if (!('media' in framed)) return { before: Buffer.from(JSON.stringify(framed)) };
  const { common, ids, metrics, media, ...rest } = framed;
  const start = JSON.stringify({ common, ids, metrics });
  const mediaText = JSON.stringify({ ...media, download_links: { video: media.video_urls[0] ?? null } });
  return {
    // Without the braces that close download_links, media and the document.
    before: Buffer.from(`${start.slice(0, -1)},"media":${mediaText.slice(0, -2)},`),
    after: Buffer.from(`},${JSON.stringify(rest).slice(1)}`),
  };
}

/** The rest of `download_links`, and `audio_download_links`; both name the same URL. */
function encodeAudioLink(link: AudioLink | undefined): string {
  const url = JSON.stringify(link?.url ?? null);
  const details = link
    ? `"status":"generated_on_first_download","content_type":"audio/mpeg","expires_at":${JSON.stringify(link.expiresAt)}`
    : '"status":null,"content_type":null,"expires_at":null';
  return `"mp3":${url}},"audio_download_links":{"mp3":${url},${details}}`;
}

/** Seconds between two polls of an open job: `Retry-After` and `poll_after_seconds`. */
export const POLL_AFTER_SECONDS = 3;

const STATUS: Readonly<Record<JobState, string>> = {
  queued: 'queued',
  running: 'processing',
  completed: 'completed',
  failed: 'failed',
  cancelled: 'cancelled',
};

export function isOpen({ state }: ExtractionJob): boolean {
  return state === 'queued' || state === 'running';
}

export interface JobAnswer {
  /** Default: the item's canonical URL. */
  inputUrl?: string;
  /** Added to the result's own limitations. Default: none. */
  notes?: readonly string[];
}

/**
 * An extraction job in UTF-8: the extraction response with `data.job` and `data.queue`; `data.product` and
 * `data.reviews` are empty until there is a result. A failed job is `ok: false`, with its failure at the same position
 * as link-data errors.
 */
export function encodeJob(job: ExtractionJob, { inputUrl = job.link.url, notes = [] }: JobAnswer = {}): Buffer {
  const error = job.error && describeFailure(job.error);
  const data = {
    job: {
      job_id: job.id,
      status: STATUS[job.state],
      product_id: job.link.id,
      created_at: isoTime(job.createdAt),
      started_at: isoTime(job.startedAt),
      finished_at: isoTime(job.finishedAt),
      attempts: job.attempts,
      error,
      status_url: `/v1/extract/jobs/${job.id}`,
      poll_after_seconds: isOpen(job) ? POLL_AFTER_SECONDS : 0,
    },
    queue: { active: job.queue.active, max_active: job.queue.maxActive },
  };
  if (job.result) return encodeExtraction({ ...job.result, inputUrl }, { notes, data });
  return Buffer.from(
    JSON.stringify({
      ok: error === null,
      ...(error && { error }),
      platform: job.platform,
      input_url: inputUrl,
      extraction_method: BACKGROUND,
      data: { ...data, product: null, reviews: { five_star: [], one_star: [] } },
      limitations: notes,
    }),
  );
}

/** The supported platforms, with the limits of the calling key. */
export function encodeCapabilities(gateway: Pick<Gateway, 'platforms' | 'maxActiveJobs'>, key: ApiKeyRecord) {
  const platforms = gateway.platforms();
  return {
    ok: true,
    platforms: platforms.map((platform) => platform.key),
    details: platforms.map((platform) => ({
      key: platform.key,
      name: platform.name,
      link_forms: platform.linkForms,
      features: { ...platform.features, reviews: offersReviews(platform) },
    })),
    limits: {
      clip_review_limit: REVIEW_LIMIT,
      url_max_length: MAX_URL_LENGTH,
      body_max_bytes: MAX_BODY_BYTES,
      batch_max_urls: MAX_BATCH_URLS,
      batch_body_max_bytes: MAX_BATCH_BYTES,
      /** Maximum number of queued and running background jobs; null if there are none. */
      max_active: gateway.maxActiveJobs,
      /** Requests per rolling minute; null is unlimited. */
      rpm: key.rpm,
    },
    version: API_VERSION,
  };
}
