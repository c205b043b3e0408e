/*
 * Reads and submits image requests, the same way for jobs and for the routes that wait. The memory of the body stays
 * reserved until the job is accepted. Only settings that the model takes are passed on; the others are named in
 * `x-ignored-params`. The job's cost (rate limit, daily quota, budgets) is checked in the transaction that accepts it;
 * budgets of money hold the largest cost that the image can have.
 */

import type { ImageJob, ImageRequest, ImageSubmission } from '../../core/images/index.js';
import { GatewayError } from '../../core/runtime/index.js';
import { nameIgnored, type RequestContext, type Semaphore, type ServerContext, useJsonBody } from '../http/index.js';
import { type Idempotency, markReplayed } from '../idempotency/index.js';
import { isSiteAccount, type KeyTable, keyOf, queueShareOf, quotaSubject, rateLimitOf } from '../keys/index.js';
import { type RateLimitResult, sendRateLimit } from '../limits/index.js';
import type { HighestUse, Prices } from '../prices/index.js';
import { jobBudgetsOf, toJobTerms, type UsageService } from '../usage/index.js';
import {
  decodeImage,
  decodeStreamed,
  FURTHER_SETTINGS,
  IMAGE_FIELDS,
  MAX_IMAGE_BODY_BYTES,
  unknownFields,
} from './image-request.js';

export interface Submitted {
  job: ImageJob;
  /** The settings of a request that asks for events. */
  streamed?: ImageRequest;
  /** Whether an earlier request created the job. */
  replayed: boolean;
}

interface SubmitTerms {
  /** The idempotency key of a body fingerprint; undefined without one. */
  rememberAs(fingerprint: string): Idempotency | undefined;
  /** Whether a replay of a cancelled job is a new request. */
  renewsCancelled: boolean;
  /** Whether the body may contain a webhook URL. */
  takesWebhook: boolean;
  /** Reads the request. Default: as JSON in the form of the service document. */
  use?: UseImageBody;
}

/** What the image routes work with. */
export interface ImageServices extends ServerContext {
  keys: KeyTable;
  /** Stores the prompts of accounts that keep them. */
  usage: Pick<UsageService, 'inputOf' | 'keepInput'>;
  /** Default: none. */
  prices?: Prices;
  /** Default: `webhook_url` is ignored. */
  webhooks?: { targets: { check(url: unknown): string } };
  /** Permits of requests that wait for an image. */
  waiting: Semaphore;
  /** Whether other image sizes than the named ones are accepted. */
  anyImageSize: boolean;
  /** Images per account and UTC day, of operators' keys. Default: unlimited. */
  imageDailyLimit?: number;
  /** Images per site account and UTC day, if its plan names no limit. Default: unlimited. */
  accountImageDailyLimit?: number;
  /** Share of a queue, above 0 to 1, that open jobs of a site account may take. */
  accountQueueShare: number;
}

/** An image request as a client sent it. */
interface SentImage {
  image: ImageRequest;
  fingerprint: string;
  webhookUrl?: unknown;
  /** Whether the client asks for events. Default false. */
  stream?: boolean;
  /** Names of fields that no model reads. */
  ignored: readonly string[];
}

/** Reads an image request, and holds the memory of its body until `submit` has ended. */
export type UseImageBody = (
  server: ImageServices,
  context: RequestContext,
  submit: (sent: SentImage) => Promise<ImageSubmission>,
) => Promise<ImageSubmission>;

const useImageBody: UseImageBody = (server, context, submit) =>
  useJsonBody(context.req, context.res, imageBodyLimits(server, context, IMAGE_FIELDS), ({ value, fingerprint }) =>
    submit({
      image: decodeImage(value, { anySize: server.anyImageSize }),
      fingerprint,
      webhookUrl: value.webhook_url,
      ignored: unknownFields(value),
    }),
  );

/** Reads the JSON body of a request that waits for its images, and which may ask for a stream. */
export const useWaitingBody: UseImageBody = (server, context, submit) =>
  useJsonBody(context.req, context.res, imageBodyLimits(server, context, IMAGE_FIELDS), ({ value, fingerprint }) =>
    submit({ ...decodeStreamed(value, { anySize: server.anyImageSize }), fingerprint }),
  );

/** @param fields The fields that are read of a large body. */
export function imageBodyLimits(
  { bodies }: Pick<ServerContext, 'bodies'>,
  context: RequestContext,
  fields: readonly string[],
) {
  return { maxBytes: MAX_IMAGE_BODY_BYTES, budget: bodies, owner: quotaSubject(keyOf(context)), fields, exact: fields };
}

/**
 * Reads and submits an image request, and sets the rate-limit and replay headers.
 * @throws GatewayError of body, fields, input images, idempotency, quota, rate limit and queue.
 */
export async function submitImage(
  server: ImageServices,
  context: RequestContext,
  { rememberAs, renewsCancelled, takesWebhook, use = useImageBody }: SubmitTerms,
): Promise<Submitted> {
  const { gateway, webhooks, accountQueueShare } = server;
  const { res: response, state } = context;
  const key = keyOf(context);
  const rateLimit = rateLimitOf(key, 'image');
  const imagesPerDay =
    key.imageDailyLimit ?? (isSiteAccount(key.accountId) ? server.accountImageDailyLimit : server.imageDailyLimit);
  let streamed: ImageRequest | undefined;
  let prompt: string | undefined;
  const submission = await use(server, context, async (sent) => {
    const { fingerprint, webhookUrl: target = null } = sent;
    const model = gateway.resolveModel(sent.image.model);
    const provider = gateway.imageProvider(model);
    const { takes = [] } = provider?.models.find(({ id }) => id === model) ?? {};
    const fitted = fitSettings(sent.image.options, takes);
    const image = { ...sent.image, options: fitted.options };
    nameIgnored(context, [...sent.ignored, ...fitted.ignored]);
    prompt = server.usage.inputOf(context, () => sent.image.prompt);
    if (sent.stream) streamed = { ...image, references: [] };
    const webhookUrl = takesWebhook && target !== null ? webhooks?.targets.check(target) : undefined;
    const share = queueShareOf(key, accountQueueShare);
    // Pages of the site show their own requests again.
    const keepsRequest = state.playedKey !== undefined;
    const wanted = { ...image, webhookUrl, owner: key.accountId, keepsRequest, ...share };
    const submit = (idempotency: Idempotency | undefined) =>
      gateway.images.submit({
        ...wanted,
        requestId: state.requestId,
        terms: toJobTerms({
          rateLimit,
          idempotency,
          ...(imagesPerDay !== undefined && { quota: { limit: imagesPerDay } }),
          budgets: jobBudgetsOf(key, 'images', highestUseOf({ ...image, model })),
        }),
      });
    const idempotency = rememberAs(fingerprint);
    const first = await submit(idempotency);
    const renews = renewsCancelled && 'job' in first && first.replayed && first.job.state === 'cancelled';
    return idempotency && renews ? submit({ ...idempotency, replay: false }) : first;
  });
  if (rateLimit && submission.answer) sendRateLimit(response, rateLimit, submission.answer as RateLimitResult);
  if (!('job' in submission)) throw new GatewayError('rate_limit_exceeded', 'This API key has no free slot.');
  const { job, replayed } = submission;
  if (replayed) markReplayed(response);
  else if (prompt !== undefined) {
    const { id: keyId, accountId } = key;
    server.usage.keepInput({ keyId, accountId, requestId: job.id, at: server.keys.clock.now(), text: prompt });
  }
  return { job, replayed, ...(streamed && { streamed }) };
}

/** Upper estimates for models that are billed by tokens: of the prompt, of each input image, and pixels of a token. */
const PROMPT_TOKENS = 32_000;

const REFERENCE_TOKENS = 8_192;

const PIXELS_PER_TOKEN = 160;

const LARGEST = { width: 3840, height: 2160 };

/** What an image costs at most. */
function highestUseOf({ model, size, references, options: { quality } }: ImageRequest): HighestUse {
  const { width, height } = size === 'auto' ? LARGEST : size;
  return {
    model,
    inputTokens: PROMPT_TOKENS + references.length * REFERENCE_TOKENS,
    outputTokens: Math.ceil((width * height) / PIXELS_PER_TOKEN),
    image: {
      ...(size !== 'auto' && { size: `${size.width}x${size.height}` }),
      ...(typeof quality === 'string' && quality !== 'auto' && { quality }),
    },
  };
}

/** The settings that the model takes, and the names of the others. */
function fitSettings(
  options: ImageRequest['options'],
  takes: readonly string[],
): { options: ImageRequest['options']; ignored: string[] } {
  const isTaken = (name: string) => !FURTHER_SETTINGS.includes(name) || takes.includes(name);
  const all = Object.entries(options);
  return {
    options: Object.fromEntries(all.filter(([name]) => isTaken(name))),
    ignored: all.map(([name]) => name).filter((name) => !isTaken(name)),
  };
}
