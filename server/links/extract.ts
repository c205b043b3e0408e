/*
 * Link data: the list of platforms, extraction of one link, and background jobs. The order is fixed: body, link, rate
 * limit and budget, then work, so an invalid link costs nothing. A request that may become a job consumes the rate
 * limit in the transaction that accepts the job. An answer from the cache has its age in the headers.
 */

import type { Gateway } from 'mediagate';
import type { ExtractionJob, ExtractRequest, ExtractResult } from '../../core/contracts/index.js';
import {
  clientSignal,
  giveSource,
  JSON_TYPE,
  type RequestContext,
  type Route,
  type RouteDeclaration,
  readJsonBody,
} from '../http/index.js';
import { type ApiKeyRecord, keyOf, queueShareOf, quotaSubject, rateLimitOf } from '../keys/index.js';
import { consumeRateLimit, type RateLimitResult, sendRateLimit } from '../limits/index.js';
import { addCost } from '../prices/index.js';
import { LinkTranscripts } from '../transcripts/index.js';
import { type SettleLinks, toJobTerms } from '../usage/index.js';
import { API_VERSION } from '../version.js';
import { CAPABILITIES_ANSWER, EXTRACTION } from './answer-schemas.js';
import { encodeExtraction, type LinkAnswer, setCacheHeaders } from './answers.js';
import {
  type ExtractBody,
  ExtractRequests,
  isDeferred,
  jobAnswerFields,
  MAX_BATCH_BYTES,
  MAX_BATCH_URLS,
  MAX_BODY_BYTES,
  MAX_URL_LENGTH,
  offersReviews,
  REVIEW_LIMIT,
} from './extract-fields.js';
import { sendJob } from './extract-jobs.js';
import { EXAMPLE_LINK, LINK_ROUTE, REFUSALS } from './link-route.js';
import { BACKGROUND, FAMILY, type LinkServices, LinkUsage } from './link-usage.js';
import { mediaIssuer } from './media.js';
import { encodeInfoDict, INFO_ANSWER, INFO_QUERY, INFO_TYPE, wantsInfoDict } from './yt-dlp.js';

const ROUTE = '/v1/extract';

const CAPABILITIES: RouteDeclaration = {
  ...LINK_ROUTE,
  method: 'GET',
  path: '/v1/capabilities',
  endpoint: 'capabilities',
  summary: 'List platforms',
  description: 'Returns the platforms, their link forms and features, and the limits of the API key.',
  answers: { 200: CAPABILITIES_ANSWER },
};

/** Its body depends on the extractors. */
const EXTRACT: RouteDeclaration = {
  ...LINK_ROUTE,
  method: 'POST',
  path: ROUTE,
  endpoint: 'extract',
  summary: 'Extract a link',
  description: 'Returns structured data of a public link, or the background job that fetches it.',
  query: INFO_QUERY,
  answers: {
    200: {
      description: 'The document; with `background`, `async_mode` or `force_async` it may be a job.',
      ...EXTRACTION,
      also: INFO_ANSWER,
    },
  },
  errors: [...REFUSALS, 'insufficient_quota', 'unsupported_value'],
};

/** Link data: supported platforms and extraction. */
export function extractRoutes(services: LinkServices): Route[] {
  const requests = new ExtractRequests(services.gateway);
  const links = new Links(services, requests);
  const body = { schema: requests.extractSchema, example: { url: EXAMPLE_LINK } };
  return [
    { ...CAPABILITIES, handler: (context) => links.listPlatforms(context) },
    { ...EXTRACT, body, handler: (context) => links.extract(context) },
  ];
}

/** A request that may become a job. */
interface Submitted extends ReturnType<Gateway['match']> {
  body: ExtractBody;
  wanted: ExtractRequest;
  /** Whether the answer is an info dict, if it is no job. */
  isInfo: boolean;
  settle: SettleLinks;
}

class Links {
  readonly #services: LinkServices;
  readonly #requests: ExtractRequests;
  readonly #usage: LinkUsage;
  readonly #transcripts: LinkTranscripts;

  constructor(services: LinkServices, requests: ExtractRequests) {
    this.#transcripts = new LinkTranscripts(services);
    this.#services = services;
    this.#requests = requests;
    this.#usage = new LinkUsage(services, ROUTE);
  }

  listPlatforms(context: RequestContext): void {
    context.body = encodeCapabilities(this.#services.gateway, keyOf(context));
  }

  async extract(context: RequestContext): Promise<void> {
    const { gateway, bodies } = this.#services;
    const { req: request, res: response, state } = context;
    const owner = quotaSubject(keyOf(context));
    const sent = await readJsonBody(request, response, { maxBytes: MAX_BODY_BYTES, budget: bodies, owner });
    if (typeof sent.url === 'string' && sent.url.length <= MAX_URL_LENGTH) state.link = { inputUrl: sent.url };
    const body = this.#requests.checkExtract(sent);
    const isInfo = context.querystring !== '' && wantsInfoDict(context.query, body);
    const mediaLinksFor = mediaIssuer(context, this.#services.mediaProxy, body.include_media_links, isInfo);
    const wanted = { ...this.#requests.decode(body, clientSignal(response)), mediaLinksFor };
    if (body.async_mode || body.force_async || isDeferred(body)) return this.#submit(context, body, wanted, isInfo);
    const { platform } = matchLink(context, gateway, body.url);
    const settle = await this.#usage.admit(context, { platforms: () => [platform] });
    const result = await this.#usage.counted(context, platform, gateway.extract(wanted), settle);
    await this.#sendResult(context, body, result, isInfo);
  }

  /**
   * If the request may become a job, the acceptance of that job consumes the rate limit; otherwise it is consumed before
   * any work. The link is charged at its submission.
   */
  async #submit(context: RequestContext, body: ExtractBody, wanted: ExtractRequest, isInfo: boolean): Promise<void> {
    const matched = matchLink(context, this.#services.gateway, body.url);
    const settle = await this.#usage.admit(context, { platforms: () => [matched.platform], isLimited: false });
    try {
      await this.#submitAdmitted(context, { body, wanted, isInfo, settle, ...matched });
    } finally {
      settle(0);
    }
  }

  async #submitAdmitted(context: RequestContext, sent: Submitted): Promise<void> {
    const { gateway, rateLimits, accountQueueShare, webhooks } = this.#services;
    const { body, wanted, isInfo, settle, platform, link } = sent;
    const key = keyOf(context);
    const consume = () => consumeRateLimit(rateLimits, context.res, rateLimitOf(key, FAMILY));
    const background = isDeferred(body);
    const isJob = link.kind !== 'short_link' && (background || gateway.platformFeatures(platform)?.async);
    const rateLimit = isJob ? rateLimitOf(key, FAMILY) : undefined;
    const submitted = {
      ...wanted,
      owner: key.accountId,
      ...queueShareOf(key, accountQueueShare),
      requestId: context.state.requestId,
      background,
      fields: jobAnswerFields(body),
      refresh: body.force_async,
      webhookUrl: body.webhook_url === undefined ? undefined : webhooks?.targets.check(body.webhook_url),
      terms: toJobTerms({ rateLimit }),
    };
    if (!isJob) {
      await gateway.checkQueue({ ...submitted, urls: [body.url] });
      await consume();
    }
    const submission = await gateway.submitExtraction(submitted);
    if (rateLimit && 'answer' in submission)
      sendRateLimit(context.res, rateLimit, submission.answer as RateLimitResult);
    else if (rateLimit) await consume();
    if ('refusal' in submission) throw submission.refusal;
    const method = 'result' in submission ? submission.result.method : BACKGROUND;
    this.#usage.count(context, platform, { method }, settle);
    if ('result' in submission) await this.#sendResult(context, body, submission.result, isInfo);
    else if ('job' in submission) this.#sendJob(context, submission.job, body);
  }

  async #sendResult(context: RequestContext, body: ExtractBody, result: ExtractResult, isInfo: boolean): Promise<void> {
    const { include_transcript: isWanted, transcript_languages: languages } = body;
    const words =
      isWanted && !isInfo
        ? await this.#transcripts.find(context, result, {
            languages,
            signal: clientSignal(context.res),
            waits: !isDeferred(body),
          })
        : undefined;
    const { prices } = this.#services;
    if (prices && words?.cost !== undefined) addCost(context.res, prices, words.cost);
    context.res.setHeader('Content-Type', isInfo ? INFO_TYPE : JSON_TYPE);
    setCacheHeaders(context.res, result);
    if (isInfo) {
      context.body = encodeInfoDict(result);
      return;
    }
    const additions = {
      notes: [...this.#requests.ignoredOptions(body, result.platform), ...noWebhook(body), ...(words?.notes ?? [])],
      ...(words && { data: { transcript: words.transcript } }),
    };
    if (giveSource(context, { result, additions } satisfies LinkAnswer)) return;
    context.body = encodeExtraction(result, additions);
  }

  #sendJob(context: RequestContext, job: ExtractionJob, body: ExtractBody): void {
    const notes = [...this.#requests.ignoredOptions(body, job.platform), ...transcriptByPoll(body)];
    sendJob(context, job, { inputUrl: body.url, notes });
  }
}

/** Speech recognition is a request of the key that polls. */
function transcriptByPoll({ include_transcript: isWanted }: ExtractBody): string[] {
  return isWanted ? ['transcript_pending: poll the job'] : [];
}

/** A document that is answered at once has no webhook. */
function noWebhook({ webhook_url: url }: ExtractBody): string[] {
  return url === undefined ? [] : ['webhook_url_ignored: the link was extracted at once'];
}

/** Finds the platform of a link. Every later error names it. */
export function matchLink({ state }: RequestContext, gateway: Pick<Gateway, 'match'>, url: string) {
  const matched = gateway.match(url);
  state.link = { inputUrl: url, platform: matched.platform };
  return matched;
}

/** The supported platforms, with the limits of the calling key. */
function encodeCapabilities(gateway: Pick<Gateway, 'platforms' | 'maxActiveJobs'>, key: ApiKeyRecord) {
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
