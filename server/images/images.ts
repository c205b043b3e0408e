/*
 * Image jobs: submit, poll, follow by events, cancel. A poll may wait up to a minute for the end of the job; if no
 * permit to wait is free, it answers at once. A poll with a current copy costs no read of the image. Events carry the
 * whole state and end with the job; a reader that reconnects after the last event gets 204. Images in base64 are
 * streamed. A replayed submission returns the answer of the first one.
 * Files of finished images are public by names that cannot be guessed, cost nothing, and are cached until they expire.
 */

import { Type } from '../../core/contracts/index.js';
import type { ImageJob } from '../../core/images/index.js';
import {
  encodeEvent,
  encodeLongEvent,
  encodeTypedEvent,
  isGatewayError,
  withKeepAlive,
} from '../../core/runtime/index.js';
import {
  clientSignal,
  defineRoute,
  type ErrorContext,
  EVENTS,
  encodeError,
  hasCurrentCopy,
  JSON_TYPE,
  MAX_WAIT_SECONDS,
  type ParamsContext,
  paramOf,
  type RequestContext,
  type Route,
  type RouteDeclaration,
  readWait,
  type ServerContext,
  sendBytes,
  sendEvents,
  sendFile,
} from '../http/index.js';
import { encodeAround, IDEMPOTENCY_HEADER, type LongBody, readIdempotencyKey } from '../idempotency/index.js';
import { type ApiKeyRecord, followKey, keyOf, pollingKeyOf, quotaSubject } from '../keys/index.js';
import {
  encodeFirstSubmitted,
  encodeImageJob,
  encodeSubmitted,
  imageJobTag,
  isOpen,
  JOB_ANSWER,
  POLL_AFTER_SECONDS,
  pollAfterSeconds,
  SUBMITTED_ANSWER,
  statusUrlOf,
} from './image-answers.js';
import { IMAGE_EXAMPLE, IMAGE_ROUTE, ImageJobBodySchema, SUBMISSION_ERRORS } from './image-request.js';
import { encodePartial, followPartials } from './image-stream.js';
import { type ImageServices, submitImage } from './image-submission.js';

const ROUTE = '/v1/images/jobs';
/** Milliseconds between two polls of an open job; its end is notified at once. */
const POLL_MS = 2_000;
/** For reconnecting readers: https://html.spec.whatwg.org/multipage/server-sent-events.html */
const RETRY = 'retry: 2000\n\n';
const PARTIAL_EVENT = 'image_generation.partial_image';

const SUBMIT: RouteDeclaration = {
  ...IMAGE_ROUTE,
  method: 'POST',
  path: ROUTE,
  endpoint: 'imageJobs',
  summary: 'Submit an image job',
  description:
    'Creates one image in a background job. Answers 202 at once; poll `status_url` at the pace of `Retry-After`.',
  headers: IDEMPOTENCY_HEADER,
  body: { schema: ImageJobBodySchema, example: IMAGE_EXAMPLE },
  answers: { 202: SUBMITTED_ANSWER },
  errors: SUBMISSION_ERRORS,
};

/** Declarations that the routes of one job share. */
const ONE_JOB = {
  ...IMAGE_ROUTE,
  path: `${ROUTE}/:id`,
  endpoint: 'imageJob',
  parameter: 'job_id',
  params: { id: { description: 'Id of the job.', example: 'imgjob_0123456789abcdef' } },
} as const;

const GET: RouteDeclaration = {
  ...ONE_JOB,
  method: 'GET',
  summary: 'Get an image job',
  description: 'Returns the status of an image job, and its image when it has completed. `?wait=` waits for its end.',
  query: {
    wait: {
      schema: Type.Integer({ minimum: 0, maximum: MAX_WAIT_SECONDS }),
      description: 'Seconds to wait for the end of the job.',
    },
  },
  headers: { 'If-None-Match': 'The ETag of an earlier answer: 304 where nothing changed.' },
  answers: { 200: JOB_ANSWER, 304: { description: 'Nothing changed.' } },
  errors: ['job_not_found', 'rate_limit_exceeded', 'invalid_value'],
};

const FOLLOW: RouteDeclaration = {
  ...ONE_JOB,
  method: 'GET',
  path: `${ROUTE}/:id/events`,
  endpoint: 'imageJobEvents',
  summary: 'Follow an image job',
  description:
    'Sends the status of an image job as server-sent events, until it has ended. Partial images, if the job asked for them, are events of the name `image_generation.partial_image`.',
  headers: { 'Last-Event-ID': 'Id of the last event that was received. 204 if it was the final one.' },
  answers: {
    200: {
      description: 'Server-sent events. The data of each is the job in its current state.',
      type: 'text/event-stream',
    },
    204: { description: 'The job has ended, and its last event was received.' },
  },
  errors: ['job_not_found', 'queue_full'],
};

const CANCEL: RouteDeclaration = {
  ...ONE_JOB,
  method: 'DELETE',
  summary: 'Cancel an image job',
  description: 'Cancels an image job that has not ended.',
  answers: { 200: JOB_ANSWER },
  errors: ['job_not_found', 'job_already_terminal'],
};

const CANCEL_BY_POST: RouteDeclaration = {
  ...CANCEL,
  method: 'POST',
  path: `${ROUTE}/:id/cancel`,
  endpoint: 'imageJobCancel',
  summary: 'Cancel an image job (POST)',
  description: 'Cancels an image job that has not ended, for clients that cannot send DELETE.',
};

/** Image jobs: submit, poll, stream events, cancel. `core/images/images.ts` describes the way of a job. */
export function imageRoutes(services: ImageServices): Route[] {
  const jobs = new ImageJobs(services);
  return [
    { ...SUBMIT, handler: (context) => jobs.submit(context) },
    { ...GET, handler: (context) => jobs.get(context) },
    { ...FOLLOW, handler: (context) => jobs.follow(context) },
    { ...CANCEL_BY_POST, handler: (context) => jobs.cancel(context) },
    { ...CANCEL, handler: (context) => jobs.cancel(context) },
  ];
}

interface JobEventsOptions {
  /** Resolves when the job has ended, or after {@link POLL_MS}. */
  wait(): Promise<ImageJob>;
  partials: ReturnType<typeof followPartials>;
  /** Ends the stream without a final event: the reader has disconnected or should reconnect. */
  signal: AbortSignal;
  request: ErrorContext;
}

class ImageJobs {
  readonly #services: ImageServices;

  constructor(services: ImageServices) {
    this.#services = services;
  }

  async submit(context: RequestContext): Promise<void> {
    const { id } = keyOf(context);
    const key = readIdempotencyKey(context.req.headers);
    const { job, replayed } = await submitImage(this.#services, context, {
      rememberAs: (fingerprint) => (key === undefined ? undefined : { scope: `${id} POST ${ROUTE}`, key, fingerprint }),
      renewsCancelled: false,
      takesWebhook: true,
    });
    nameMock(context, job);
    const submitted = replayed ? encodeFirstSubmitted(job) : encodeSubmitted(job, this.#services.clock.now());
    sendSubmitted(context, job.id, submitted);
  }

  async get(context: ParamsContext): Promise<void> {
    const key = pollingKeyOf(context, this.#services.polls);
    await this.#send(context, await this.#find(context, key, readWait(context) * 1000));
  }

  async cancel(context: ParamsContext): Promise<void> {
    const { gateway, polls } = this.#services;
    const { accountId } = pollingKeyOf(context, polls);
    await this.#send(context, await gateway.images.cancel(paramOf(context, 'id'), accountId));
  }

  async follow(context: ParamsContext): Promise<void> {
    const { gateway, polls, waiting, drain, keys } = this.#services;
    const caller = pollingKeyOf(context, polls);
    const { accountId } = caller;
    const job = await gateway.images.find(paramOf(context, 'id'), accountId);
    nameMock(context, job);
    // A reconnecting reader must stop after the last event.
    if (!isOpen(job) && context.req.headers['last-event-id'] === this.#tagOf(job)) {
      context.status = 204;
      return;
    }
    if (context.method === 'HEAD') {
      context.status = 200;
      context.type = EVENTS;
      return;
    }
    const leave = waiting.acquire(quotaSubject(caller));
    const key = followKey(keys, caller.id);
    try {
      const signal = AbortSignal.any([clientSignal(context.res), drain]);
      const untilEnded = AbortSignal.any([signal, key.ended]);
      const wait = () => gateway.images.wait(job.id, accountId, { timeoutMs: POLL_MS, signal: untilEnded });
      const partials = followPartials(gateway, job.id, isOpen(job) ? job.partialImages : 0);
      const request = { requestId: context.state.requestId };
      const events = this.#events(job, { wait, partials, signal, request });
      await sendEvents(context, { status: 200, headers: {} }, withKeepAlive(events));
    } finally {
      key.leave();
      leave();
    }
  }

  /**
   * The state of a job now, after each change, and at its end; the id of each event is the tag of its content. Partial
   * images are events of their own name, without an id. An event `error` ends them if the job can no longer be read.
   */
  async *#events(
    first: ImageJob,
    { wait, partials, signal, request }: JobEventsOptions,
  ): AsyncGenerator<string | AsyncIterable<Uint8Array>> {
    let job = first;
    let sent: string | undefined;
    yield RETRY;
    try {
      for (;;) {
        const tag = this.#tagOf(job);
        if (tag !== sent) {
          yield encodeLongEvent(`id: ${tag}`, this.#bytesOf(job));
          sent = tag;
        }
        if (!isOpen(job) || signal.aborted) return;
        const next = wait();
        for (let latest: ImageJob | undefined; !latest; ) {
          latest = await Promise.race([next, partials.arrived()]);
          for (const partial of partials.take()) yield encodeTypedEvent(PARTIAL_EVENT, encodePartial(partial));
          job = latest ?? job;
        }
      }
    } catch (error) {
      if (signal.aborted) return;
      if (!isGatewayError(error)) throw error;
      yield encodeEvent(encodeError(error, request), 'error');
    } finally {
      partials.stop();
    }
  }

  /** Answers at once if there is no permit to wait, or the gateway is shutting down. */
  async #find(context: ParamsContext, key: ApiKeyRecord, timeoutMs: number): Promise<ImageJob> {
    const { gateway, waiting, drain, keys } = this.#services;
    const { images } = gateway;
    const { accountId } = key;
    const id = paramOf(context, 'id');
    const leave = timeoutMs > 0 && !drain.aborted ? waiting.tryAcquire(quotaSubject(key)) : undefined;
    if (!leave) return images.find(id, accountId);
    const { ended, leave: unfollow } = followKey(keys, key.id);
    try {
      const signal = AbortSignal.any([clientSignal(context.res), drain, ended]);
      return await images.wait(id, accountId, { timeoutMs, signal });
    } catch (error) {
      if (drain.aborted && error === drain.reason) return images.find(id, accountId);
      throw error;
    } finally {
      unfollow();
      leave();
    }
  }

  async #send(context: RequestContext, job: ImageJob): Promise<void> {
    const { res: response } = context;
    nameMock(context, job);
    const answer = this.#answerNow();
    const etag = `"${imageJobTag(job, answer)}"`;
    // Before the head is written, so that an unreadable image becomes an error.
    const form = hasCurrentCopy(context, etag) ? undefined : await this.#encode(job, answer);
    response.setHeader('ETag', etag);
    response.setHeader('Cache-Control', 'private, no-cache');
    if (isOpen(job)) response.setHeader('Retry-After', pollAfterSeconds(job, answer.now));
    if (form === undefined) {
      context.status = 304;
      return;
    }
    response.setHeader('Content-Type', JSON_TYPE);
    if (typeof form === 'string') {
      context.body = form;
      return;
    }
    response.setHeader('Content-Length', form.length);
    sendBytes(context, form.bytes);
  }

  #answerNow() {
    const { baseUrl, clock } = this.#services;
    return { baseUrl: baseUrl(), now: clock.now() };
  }

  #tagOf(job: ImageJob): string {
    return imageJobTag(job, this.#answerNow());
  }

  /** Includes the image, if the job delivers it inline. */
  async #encode(job: ImageJob, answer = this.#answerNow()): Promise<string | LongBody> {
    const { image } = job;
    const file = image && job.delivery !== 'url' ? await this.#services.gateway.images.content(image) : undefined;
    if (!file) return JSON.stringify(encodeImageJob(job, answer));
    return encodeAround(file, (base64) => encodeImageJob(job, { ...answer, base64 }));
  }

  async *#bytesOf(job: ImageJob): AsyncGenerator<Uint8Array> {
    const form = await this.#encode(job);
    if (typeof form === 'string') yield Buffer.from(form);
    else yield* form.bytes;
  }
}

/** Names the plugin that makes or made an image, if it is a mock. */
export function nameMock({ res: response }: RequestContext, { standIn }: { standIn?: string }): void {
  if (standIn !== undefined) response.setHeader('x-mediagate-stand-in', standIn);
}

/** 202 with the submit form of a job. */
export function sendSubmitted(context: RequestContext, id: string, body: object): void {
  context.status = 202;
  context.res.setHeader('Location', statusUrlOf(id));
  context.res.setHeader('Retry-After', POLL_AFTER_SECONDS);
  context.res.setHeader('Content-Type', JSON_TYPE);
  context.body = JSON.stringify(body);
}

/** Finished images: public by their unguessable names, and free. */
export function imageFileRoutes({ gateway, clock }: Pick<ServerContext, 'gateway' | 'clock'>): Route[] {
  return [
    defineRoute({
      ...IMAGE_ROUTE,
      grant: 'none',
      method: 'GET',
      path: '/v1/images/files/:name',
      endpoint: 'imageFile',
      parameter: 'filename',
      params: { name: { description: 'Name of the file.', example: 'img_0123456789abcdef.png' } },
      summary: 'Download an image',
      description: 'The file of a finished image. The link is public, and its name cannot be guessed.',
      headers: { Range: 'Bytes of it.' },
      answers: {
        200: { description: 'The file: PNG, JPEG or WebP.', type: 'image/*' },
        206: { description: 'A part of it.', type: 'image/*' },
      },
      errors: ['file_not_found', 'file_expired'],
      async handler(context) {
        const { name = '' } = context.params;
        const image = await gateway.images.file(name);
        nameMock(context, image);
        const lifetimeMs = (image.file.expiresAt?.getTime() ?? 0) - clock.now();
        const maxAgeSeconds = Math.max(0, Math.floor(lifetimeMs / 1000));
        await sendFile(context, image, { downloadName: name, maxAgeSeconds, isInline: true });
      },
    }),
  ];
}
