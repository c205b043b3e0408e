/*
 * Link data: the list of platforms, extraction of one link, and background jobs. The order is fixed: body, link, rate
 * limit and budget, then work, so an invalid link costs nothing. A request that may become a job consumes the rate
 * limit in the transaction that accepts the job. Links are counted in memory and written into the totals of the day;
 * the platform stands in the column of the model. Under a budget of money the highest cost of a link is reserved before
 * the work and settled by the method that succeeded. An answer from the cache has its age in the headers.
 */

import type { Gateway } from 'mediagate';
import {
  type BatchItem,
  type ExtractionJob,
  type ExtractRequest,
  type ExtractResult,
  type RequestOptions,
  type TObject,
  Type,
} from '../../core/contracts/index.js';
import {
  createValidator,
  DEFINITIVE_CODES,
  GatewayError,
  type Issue,
  TRANSIENT_CODES,
  type Validator,
} from '../../core/runtime/index.js';
import {
  clientSignal,
  defineRoute,
  fieldError,
  knownFields,
  type RequestContext,
  type Route,
  readJsonBody,
  type ServerContext,
} from '../http/index.js';
import type { IdempotencyService } from '../idempotency/index.js';
import { type ApiKeyRecord, keyOf, queueShareOf, quotaSubject } from '../keys/index.js';
import {
  consumeRateLimit,
  consumeRequest,
  type RateLimitResult,
  type RateLimits,
  sendRateLimit,
} from '../limits/index.js';
import { type Prices, sendCost } from '../prices/index.js';
import { type SettleLinks, toJobTerms, type UsageLog, type UsageService } from '../usage/index.js';
import { API_VERSION } from '../version.js';
import { CAPABILITIES_ANSWER, EXTRACTION } from './answer-schemas.js';
import { encodeExtraction, encodeJob, isOpen, POLL_AFTER_SECONDS } from './answers.js';
import {
  ACCEPTED,
  acceptedBy,
  type BatchBody,
  batchFields,
  type ExtractBody,
  extractFields,
  fieldOf,
  fieldsOf,
  furtherFields,
  isDocumented,
  MAX_BATCH_BYTES,
  MAX_BATCH_URLS,
  MAX_BODY_BYTES,
  MAX_URL_LENGTH,
  offersReviews,
  REVIEW_LIMIT,
} from './extract-fields.js';
import { encodeInfoDict, INFO_ANSWER, INFO_QUERY, INFO_TYPE, wantsInfoDict } from './yt-dlp.js';

const FAMILY = 'link_data';

/** Why a link may be refused or fail. */
export const REFUSALS = [
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

/** What the routes of links work with. */
export interface LinkServices extends ServerContext {
  answers: IdempotencyService;
  rateLimits: RateLimits;
  usage: UsageService;
  usageLog: UsageLog;
  /** Default: none. */
  prices?: Prices;
  /** Share of a queue, above 0 to 1, that open jobs of a site account may take. */
  accountQueueShare: number;
}

/** Link data: supported platforms, extraction, and background jobs. */
export function extractRoutes(server: LinkServices): Route[] {
  const { gateway, rateLimits, bodies, polls, accountQueueShare } = server;
  const requests = createExtractRequests(gateway);
  const usage = createLinkUsage(server, '/v1/extract');

  async function extract(context: RequestContext): Promise<void> {
    const { req: request, res: response, state } = context;
    const owner = quotaSubject(keyOf(context));
    const sent = await readJsonBody(request, response, { maxBytes: MAX_BODY_BYTES, budget: bodies, owner });
    if (typeof sent.url === 'string' && sent.url.length <= MAX_URL_LENGTH) state.link = { inputUrl: sent.url };
    const body = requests.checkExtract(sent);
    const isInfo = context.querystring !== '' && wantsInfoDict(context.query, body);
    const wanted = requests.decode(body, clientSignal(response));
    if (body.async_mode || body.force_async) return submit(context, body, wanted);
    const { platform } = match(context, body);
    const settle = await usage.admit(context, { platforms: () => [platform] });
    sendResult(context, body, await usage.counted(context, platform, gateway.extract(wanted), settle), isInfo);
  }

  /** Every later error names the platform. */
  function match({ state }: RequestContext, { url }: ExtractBody) {
    const matched = gateway.match(url);
    state.link = { inputUrl: url, platform: matched.platform };
    return matched;
  }

  /**
   * If the request may become a job, the acceptance of that job consumes the rate limit; otherwise it is consumed before
   * any work. The link is charged at its submission.
   */
  async function submit(context: RequestContext, body: ExtractBody, wanted: ExtractRequest): Promise<void> {
    const matched = match(context, body);
    const settle = await usage.admit(context, { platforms: () => [matched.platform], isLimited: false });
    try {
      await submitAdmitted(context, { body, wanted, settle, ...matched });
    } finally {
      settle(0);
    }
  }

  async function submitAdmitted(
    context: RequestContext,
    { body, wanted, settle, platform, link }: Submitted & ReturnType<Gateway['match']>,
  ): Promise<void> {
    const key = keyOf(context);
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
    usage.count(context, platform, { methods: [method] }, settle);
    if ('result' in submission) sendResult(context, body, submission.result);
    else if ('job' in submission) sendJob(context, submission.job, body);
  }

  function sendResult(context: RequestContext, body: ExtractBody, result: ExtractResult, isInfo = false): void {
    context.res.setHeader('Content-Type', isInfo ? INFO_TYPE : 'application/json; charset=utf-8');
    context.res.setHeader('X-Cache', result.cache);
    if (result.cache !== 'miss') context.res.setHeader('Age', Math.floor(result.ageMs / 1000));
    context.body = isInfo
      ? encodeInfoDict(result)
      : encodeExtraction(result, { notes: requests.ignoredOptions(body, result.platform) });
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
      query: INFO_QUERY,
      body: { schema: requests.extractSchema, example: { url: EXAMPLE_LINK } },
      answers: {
        200: {
          description: 'The document; with `async_mode` or `force_async` it may be a job.',
          ...EXTRACTION,
          also: INFO_ANSWER,
        },
      },
      errors: [...REFUSALS, 'insufficient_quota', 'unsupported_value'],
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

interface Submitted {
  body: ExtractBody;
  wanted: ExtractRequest;
  settle: SettleLinks;
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

interface AdmittedLinks {
  /** Of each link; called only for keys with budgets. */
  platforms(): readonly string[];
  /** Number of links. Default 1. */
  count?: number;
  /** Whether the rate limit is consumed. Default true. */
  isLimited?: boolean;
}

/** Without a budget nothing is settled. */
const NOT_RESERVED: SettleLinks = () => undefined;

/**
 * Admits requests of link data, and counts them in the usage log, where the platform stands in place of the model. They
 * count in budgets of money, if any link has a price.
 */
export function createLinkUsage({ usage, usageLog, rateLimits, clock, prices }: LinkUsageParts, route: string) {
  function count(context: RequestContext, platform: string, { methods = [], failed = 0 }: CountedLinks): Costs {
    const { id, accountId } = keyOf(context);
    const requests = methods.length + failed;
    const latencyMs = requests * Math.max(0, clock.monotonic() - context.state.startedAt);
    const costs = prices ? costsOf(prices, platform, { methods, failed }) : NO_COSTS;
    const { priced, cost } = costs;
    const row = { keyId: id, accountId, route, model: platform, requests, failed, latencyMs, priced, cost };
    usageLog.count({ ...row, at: clock.now() });
    return costs;
  }

  return {
    /**
     * Consumes the rate limit, and reserves the highest cost of the links in the key's budgets of money.
     * @throws GatewayError `rate_limit_exceeded`, `insufficient_quota`.
     */
    async admit(
      context: RequestContext,
      { platforms, count: links = 1, isLimited = true }: AdmittedLinks,
    ): Promise<SettleLinks> {
      const key = keyOf(context);
      const request = { key, family: FAMILY, count: links } as const;
      if (prices?.hasLinkPrices && (key.budgetId !== null || key.furtherBudgets)) {
        const rateLimit = isLimited ? consumeRequest(request) : undefined;
        return usage.admitLinks(context, { route, platforms: platforms(), rateLimit });
      }
      if (isLimited) await consumeRateLimit(rateLimits, context.res, request);
      return NOT_RESERVED;
    },
    /** Of a request with one link; sets the header of its cost, unless it failed. */
    count(context: RequestContext, platform: string, links: CountedLinks, settle: SettleLinks): void {
      const { priced, cost, charged } = count(context, platform, links);
      settle(charged);
      if (prices && priced > 0 && !links.failed) sendCost(context.res, prices, cost);
    },
    /** Counts the request when the work has ended. */
    async counted(
      context: RequestContext,
      platform: string,
      work: Promise<ExtractResult>,
      settle: SettleLinks,
    ): Promise<ExtractResult> {
      let links: CountedLinks = { failed: 1 };
      try {
        const result = await work;
        links = { methods: [result.method] };
        return result;
      } finally {
        this.count(context, platform, links, settle);
      }
    },
    /** Each link of a batch is a request, as for the rate limit. Sets the header if each has a known price. */
    countBatch(
      context: RequestContext,
      items: readonly BatchItem[],
      platformOf: (url: string) => string,
      settle: SettleLinks,
    ): void {
      const ofPlatform = Map.groupBy(items, ({ url }) => platformOf(url));
      const all = Array.from(ofPlatform, ([platform, group]) => {
        const methods = group.flatMap((item) => ('error' in item ? [] : [methodOf(item)]));
        return count(context, platform, { methods, failed: group.length - methods.length });
      });
      const sum = (part: keyof Costs) => all.reduce((total, costs) => total + costs[part], 0);
      settle(sum('charged'));
      if (prices && sum('priced') === items.length) sendCost(context.res, prices, sum('cost'));
    },
  };
}

type LinkUsageParts = Pick<LinkServices, 'usage' | 'usageLog' | 'rateLimits' | 'clock' | 'prices'>;

/** Of several links, in millionths of the currency: how many have a known price, and the sum of theirs. */
interface Costs {
  priced: number;
  cost: number;
  /** What budgets are charged: those without a known price cost what was reserved for them. */
  charged: number;
}

const NO_COSTS: Costs = { priced: 0, cost: 0, charged: 0 };

function costsOf(prices: Prices, platform: string, { methods, failed }: Required<CountedLinks>): Costs {
  const costs = [...methods, ...Array.from({ length: failed }, () => undefined)].flatMap(
    (method) => prices.linkCostOf(platform, method) ?? [],
  );
  const cost = costs.reduce((sum, each) => sum + each, 0);
  const unpriced = methods.length + failed - costs.length;
  const highest = unpriced === 0 ? 0 : (prices.highestCostOf({ model: platform, links: [platform] }) ?? 0);
  return { priced: costs.length, cost, charged: cost + unpriced * highest };
}

function methodOf(item: BatchItem): string {
  return 'result' in item ? item.result.method : BACKGROUND;
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

/** Reads the bodies for one gateway: its extractors decide which options there are. */
export interface ExtractRequests {
  /** Schema of the body of `POST /v1/extract`. Other fields are ignored. */
  extractSchema: TObject;
  /** Schema of the body of `POST /v1/extract/batch`. Other fields are ignored. */
  batchSchema: TObject;
  /**
   * Checks a body. Types are strict: `"true"` is no boolean, `5.5` no whole number. `null` counts as not sent.
   * @throws GatewayError `missing_required_parameter`, `invalid_value` with `param`.
   */
  checkExtract(body: Readonly<Record<string, unknown>>): ExtractBody;
  /** Checks a body of a batch, with strict types. Each link is checked later and gets its own error. */
  checkBatch(body: Readonly<Record<string, unknown>>): BatchBody;
  decode(body: ExtractBody, signal?: AbortSignal): ExtractRequest;
  /** Everything but the links. */
  decodeOptions(body: Omit<ExtractBody, 'url'>): Pick<ExtractRequest, 'options' | 'optionName' | 'includeAudioMp3'>;
  /** Fields that were sent but have no effect on this platform, as notes for `limitations`. */
  ignoredOptions(body: Omit<ExtractBody, 'url'>, platform: string): string[];
}

export function createExtractRequests(gateway: Pick<Gateway, 'platforms' | 'platformFeatures'>): ExtractRequests {
  const platforms = gateway.platforms();
  const declaredBy = new Map(platforms.map((platform) => [platform.key, fieldsOf(platform)]));
  /** Public field → option. */
  const options = new Map([...declaredBy.values()].flatMap((fields) => [...fields]));
  const further = furtherFields(platforms);
  const forms = Object.entries(further).map(([name, schema]) => [name, acceptedBy(schema)] as const);
  const accepted = { ...ACCEPTED, ...Object.fromEntries(forms) };
  const extractSchema = Type.Object({ ...extractFields, ...further });
  const batchSchema = Type.Object({ ...batchFields, ...further });
  const extractValidator = createValidator(extractSchema) as Validator<ExtractBody>;
  const batchValidator = createValidator(batchSchema) as Validator<BatchBody>;

  function check<Body>(validator: Validator<Body>, schema: TObject, body: Readonly<Record<string, unknown>>): Body {
    const checked = validator.check(knownFields(body, schema));
    if (checked.ok) return checked.value;
    throw toError(checked.issues[0], accepted);
  }

  function decodeOptions(body: Omit<ExtractBody, 'url'>) {
    const sent = Object.entries(body).flatMap(([field, value]) => {
      const option = options.get(field);
      return option === undefined || value === undefined ? [] : [[option, value] as const];
    });
    const wanted: RequestOptions | undefined = sent.length > 0 ? Object.fromEntries(sent) : undefined;
    return { ...(wanted && { options: wanted, optionName: fieldOf }), includeAudioMp3: body.include_audio_mp3 };
  }

  return {
    extractSchema,
    batchSchema,
    checkExtract: (body) => check(extractValidator, extractSchema, body),
    checkBatch: (body) => check(batchValidator, batchSchema, body),
    decode: (body, signal) => ({ url: body.url, ...decodeOptions(body), signal }),
    decodeOptions,
    ignoredOptions(body, platform) {
      const notes: string[] = [];
      if (!gateway.platformFeatures(platform)?.async) {
        if (body.async_mode) notes.push('async_mode_ignored: the link was extracted at once');
        if (body.force_async) notes.push('force_async_ignored: the link was extracted at once');
      }
      const declared = declaredBy.get(platform);
      const ignored = Object.entries(body).flatMap(([field, value]) =>
        value !== undefined && (isDocumented(field) || options.has(field)) && !declared?.has(field) ? [field] : [],
      );
      const hasReviews = declared !== undefined && [...declared.keys()].some(isDocumented);
      if (!hasReviews && ignored.some(isDocumented)) {
        notes.push('review_options_ignored: only shop links have reviews');
      }
      const others = ignored.filter((field) => hasReviews || !isDocumented(field));
      return [...notes, ...others.map((field) => `${field}_ignored: the platform has no such option`)];
    },
  };
}

function toError(issue: Issue | undefined, accepted: Readonly<Record<string, string>>): GatewayError {
  const [param = '', index] = issue?.path.split('.') ?? [];
  if (index === undefined || param !== 'urls') return fieldError(issue, accepted);
  return new GatewayError('invalid_value', `${param}[${index}] is no string: ${param} must be ${ACCEPTED.urls}.`, {
    param,
  });
}
