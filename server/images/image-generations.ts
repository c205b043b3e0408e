/*
 * The routes that wait for their image: generations and edits. Each submits a job and waits at most five minutes for
 * its end, so a shutdown or a disconnect never loses an image that is paid for. `Prefer: respond-async` or `wait=`
 * answers with the job instead. Without an `Idempotency-Key`, a request that an SDK marks as a retry gets the image of
 * its first request for ten minutes. If the client leaves without a key, a queued job is cancelled; a running one is
 * finished, since the model probably bills it. The wait ends when the key is revoked.
 */

import type { Gateway } from 'mediagate';
import type { ImageJob } from '../../core/images/index.js';
import { GatewayError } from '../../core/runtime/index.js';
import {
  clientSignal,
  JSON_TYPE,
  type RequestContext,
  type Route,
  type RouteDeclaration,
  readPreferences,
  sendBytes,
} from '../http/index.js';
import {
  encodeAround,
  IDEMPOTENCY_HEADER,
  type Idempotency,
  inProgress,
  readIdempotencyKey,
  readRetryCount,
} from '../idempotency/index.js';
import { followKey, keyOf, quotaSubject } from '../keys/index.js';
import { sendCost } from '../prices/index.js';
import { costOfImage } from '../usage/index.js';
import {
  encodeFirstSubmitted,
  encodeImageResult,
  encodeSubmitted,
  failureOf,
  IMAGE_ANSWER,
  isOpen,
  SUBMITTED_ANSWER,
} from './image-answers.js';
import { EDIT_EXAMPLE, EDIT_FORM_EXAMPLE, EditBodySchema, EditFormSchema, useEditBody } from './image-edits.js';
import { IMAGE_EXAMPLE, IMAGE_ROUTE, ImageBodySchema, SUBMISSION_ERRORS } from './image-request.js';
import { sendImageStream } from './image-stream.js';
import {
  type ImageServices,
  type Submitted,
  submitImage,
  type UseImageBody,
  useWaitingBody,
} from './image-submission.js';
import { nameMock, sendSubmitted } from './images.js';

/** A route that waits for its image. */
interface WaitingRoute {
  path: string;
  /** The names of its events begin with it. */
  events: string;
  use: UseImageBody;
}

const GENERATIONS: WaitingRoute = { path: '/v1/images/generations', events: 'image_generation', use: useWaitingBody };
const EDITS: WaitingRoute = { path: '/v1/images/edits', events: 'image_edit', use: useEditBody };
const MAX_WAIT_MS = 300_000;
/** Period in which an SDK's own retry without a key receives the image of its first request. */
const RETRY_MS = 600_000;

/** Declarations that the two routes share. */
const WAITING_ROUTE = {
  ...IMAGE_ROUTE,
  method: 'POST',
  headers: { ...IDEMPOTENCY_HEADER, Prefer: '`respond-async` or `wait=<seconds>`: a job where it takes longer.' },
  answers: { 200: IMAGE_ANSWER, 202: SUBMITTED_ANSWER },
  errors: [
    ...SUBMISSION_ERRORS,
    'moderation_blocked',
    'failed_to_download_image',
    'upstream_error',
    'upstream_timeout',
    'upstream_unavailable',
    'job_timeout',
    'idempotency_in_progress',
  ],
} as const;

const GENERATE: RouteDeclaration = {
  ...WAITING_ROUTE,
  path: GENERATIONS.path,
  endpoint: 'imageGenerations',
  summary: 'Create an image',
  description:
    'Creates one image and answers when it is ready, in the format of OpenAI clients. With `stream`, server-sent events `image_generation.partial_image` and `image_generation.completed`.',
  body: { schema: ImageBodySchema, example: IMAGE_EXAMPLE },
};

const EDIT: RouteDeclaration = {
  ...WAITING_ROUTE,
  path: EDITS.path,
  endpoint: 'imageEdits',
  summary: 'Edit an image',
  description:
    'Creates one image from up to four input images, a form with files or JSON, and answers when it is ready. A `mask` limits the change to a part of the first one.',
  body: { schema: EditBodySchema, form: EditFormSchema, example: EDIT_EXAMPLE, formExample: EDIT_FORM_EXAMPLE },
};

/** The synchronous routes: each submits a job and waits for it. */
export function imageGenerationRoutes(services: ImageServices): Route[] {
  const images = new AwaitedImages(services);
  return [
    { ...GENERATE, handler: (context) => images.generate(context, GENERATIONS) },
    { ...EDIT, handler: (context) => images.generate(context, EDITS) },
  ];
}

/** How a request waits for its job. */
interface Wait {
  accountId: string;
  /** The idempotency key; undefined without one. */
  key: string | undefined;
  timeoutMs: number;
  /** Aborts when the client has gone. */
  gone: AbortSignal;
  /** Aborts when the key is revoked or its account is suspended. */
  ended: AbortSignal;
}

class AwaitedImages {
  readonly #services: ImageServices;
  /** Number of waiting requests by the id of their job. */
  readonly #waiters = new Map<string, number>();

  constructor(services: ImageServices) {
    this.#services = services;
  }

  async generate(context: RequestContext, route: WaitingRoute): Promise<void> {
    const { waiting, keys } = this.#services;
    const { req: request, res: response } = context;
    const { id: keyId, accountId } = keyOf(context);
    const key = readIdempotencyKey(request.headers);
    const { respondAsync, wait } = readPreferences(request.headers);
    const askedMs = wait === undefined ? undefined : Math.min(wait * 1000, MAX_WAIT_MS);
    const timeoutMs = askedMs ?? (respondAsync ? 0 : MAX_WAIT_MS);
    const gone = clientSignal(response);
    const leave = waiting.acquire(quotaSubject(keyOf(context)));
    const { ended, leave: unfollow } = followKey(keys, keyId);
    try {
      const submitted = await submitImage(this.#services, context, {
        rememberAs: (fingerprint) => rememberAs(context, route, key, fingerprint),
        // A client without a key does not want the image of a request that broke off.
        renewsCancelled: key === undefined,
        takesWebhook: false,
        use: route.use,
      });
      nameMock(context, submitted.job);
      await this.#answer(context, route, submitted, { accountId, key, timeoutMs, gone, ended });
    } finally {
      unfollow();
      leave();
    }
  }

  /** Waits for the job; answers with its image, its events, or the job if the wait ends first and the client asked for it. */
  async #answer(context: RequestContext, route: WaitingRoute, submitted: Submitted, wait: Wait): Promise<void> {
    const { drain, clock } = this.#services;
    const { res: response } = context;
    const { job: first, replayed, streamed } = submitted;
    const { timeoutMs } = wait;
    if (streamed && timeoutMs > 0) {
      const untilEnd = () => this.#waitFor(first, { ...wait, timeoutMs: MAX_WAIT_MS });
      const stream = { job: first, image: streamed, events: route.events, wait: untilEnd };
      return sendImageStream(this.#services, context, stream);
    }
    const job = timeoutMs === 0 ? first : await this.#waitFor(first, wait);
    if (!isOpen(job)) return this.#sendEnded(context, job);
    const { respondAsync, wait: waitSeconds } = readPreferences(context.req.headers);
    if (respondAsync || waitSeconds !== undefined) {
      const applied = waitSeconds === undefined ? 'respond-async' : `wait=${timeoutMs / 1000}`;
      response.setHeader('Preference-Applied', applied);
      const form = replayed ? encodeFirstSubmitted(job) : encodeSubmitted(job, clock.now());
      return sendSubmitted(context, job.id, form);
    }
    context.state.imageJob = { id: job.id, failed: false };
    if (drain.aborted) throw drain.reason;
    if (replayed && wait.key !== undefined) throw inProgress();
    throw new GatewayError('upstream_timeout', `The image is not ready after ${timeoutMs / 1000} s; poll its job.`);
  }

  /** The current state of the job, also if the gateway is shutting down. */
  async #waitFor(job: ImageJob, { accountId, key, timeoutMs, gone, ended }: Wait): Promise<ImageJob> {
    const { gateway, drain } = this.#services;
    const waiters = this.#waiters;
    waiters.set(job.id, (waiters.get(job.id) ?? 0) + 1);
    try {
      const signal = AbortSignal.any([gone, drain, ended]);
      return await gateway.images.wait(job.id, accountId, { timeoutMs, signal });
    } catch (error) {
      if (drain.aborted && error === drain.reason) return await gateway.images.find(job.id, accountId);
      // A client with a key may return, and others may wait as well.
      if (gone.aborted && key === undefined && waiters.get(job.id) === 1) await giveUp(gateway, job.id, accountId);
      throw error;
    } finally {
      const left = (waiters.get(job.id) ?? 1) - 1;
      if (left > 0) waiters.set(job.id, left);
      else waiters.delete(job.id);
    }
  }

  async #sendEnded(context: RequestContext, job: ImageJob): Promise<void> {
    const { gateway, prices, baseUrl, clock } = this.#services;
    const { res: response, state } = context;
    nameMock(context, job);
    const { image, delivery } = job;
    if (!image) {
      state.imageJob = { id: job.id, failed: job.state === 'failed' };
      // The same request would return the same job.
      response.setHeader('x-should-retry', 'false');
      throw failureOf(job);
    }
    response.setHeader('Content-Type', JSON_TYPE);
    if (prices) sendCost(response, prices, costOfImage(prices, job.model, image));
    const result = { delivery, baseUrl: baseUrl(), createdAt: job.finishedAt ?? clock.now() };
    if (delivery === 'url') {
      context.body = JSON.stringify(encodeImageResult(image, result));
      return;
    }
    const file = await gateway.images.content(image);
    if (!file) throw new GatewayError('file_expired', 'This image has expired.');
    const { bytes, length } = encodeAround(file, (base64) => encodeImageResult(image, { ...result, base64 }));
    response.setHeader('Content-Length', length);
    sendBytes(context, bytes);
  }
}

/** Without a key, only a request that an SDK marks as a retry is the same request. */
function rememberAs(
  context: RequestContext,
  { path }: WaitingRoute,
  key: string | undefined,
  fingerprint: string,
): Idempotency {
  const { id } = keyOf(context);
  if (key !== undefined) return { scope: `${id} POST ${path}`, key, fingerprint };
  return {
    scope: `${id} retry of POST ${path}`,
    key: fingerprint,
    fingerprint,
    retentionMs: RETRY_MS,
    replay: readRetryCount(context.req.headers) > 0,
  };
}

/** A queued job is cancelled; a job that the model has received is probably billed, and is kept for a retry. */
async function giveUp({ images }: Gateway, id: string, accountId: string): Promise<void> {
  const { state } = await images.find(id, accountId);
  if (state === 'queued') await images.cancel(id, accountId);
}
