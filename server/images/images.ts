/*
 * Image jobs: submit, poll, follow by events, cancel. A poll may wait up to a minute for the end of the job; if no
 * permit to wait is free, it answers at once. A poll with a current copy costs no read of the image. Events carry the
 * whole state and end with the job; a reader that reconnects after the last event gets 204. Images in base64 are
 * streamed. A replayed submission returns the answer of the first one.
 */

import { Type } from '../../core/contracts/index.js';
import type { ImageJob } from '../../core/images/index.js';
import { encodeEvent, encodeLongEvent, isGatewayError, withKeepAlive } from '../../core/runtime/index.js';
import {
  clientSignal,
  defineRoute,
  type ErrorContext,
  EVENTS,
  encodeError,
  hasCurrentCopy,
  MAX_WAIT_SECONDS,
  type ParamsContext,
  type RequestContext,
  type Route,
  readWait,
  sendBytes,
  sendEvents,
} from '../http/index.js';
import { encodeAround, IDEMPOTENCY_HEADER, type LongBody, readIdempotencyKey } from '../idempotency/index.js';
import { followKey, keyOf, quotaSubject } from '../keys/index.js';
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
import { type ImageServices, submitImage } from './image-submission.js';

const ROUTE = '/v1/images/jobs';

/** Image jobs: submit, poll, stream events, cancel. `core/images/images.ts` describes the way of a job. */
export function imageRoutes(server: ImageServices): Route[] {
  const { gateway, polls, waiting, drain, clock, baseUrl, keys } = server;

  async function submitJob(context: RequestContext): Promise<void> {
    const { id } = keyOf(context);
    const key = readIdempotencyKey(context.req.headers);
    const { job, replayed } = await submitImage(server, context, {
      rememberAs: (fingerprint) => (key === undefined ? undefined : { scope: `${id} POST ${ROUTE}`, key, fingerprint }),
      renewsCancelled: false,
      takesWebhook: true,
    });
    nameMock(context, job);
    sendSubmitted(context, job.id, replayed ? encodeFirstSubmitted(job) : encodeSubmitted(job, clock.now()));
  }

  async function sendJobEvents(context: ParamsContext): Promise<void> {
    const { id: keyId, accountId } = keyOf(context);
    polls.admit(keyId);
    const { images } = gateway;
    const job = await images.find(context.params.id ?? '', accountId);
    nameMock(context, job);
    // A reconnecting reader must stop after the last event.
    if (!isOpen(job) && context.req.headers['last-event-id'] === tagOf(job)) {
      context.status = 204;
      return;
    }
    if (context.method === 'HEAD') {
      context.status = 200;
      context.type = EVENTS;
      return;
    }
    const leave = waiting.acquire(quotaSubject(keyOf(context)));
    const key = followKey(keys, keyId);
    try {
      const signal = AbortSignal.any([clientSignal(context.res), drain]);
      const untilEnded = AbortSignal.any([signal, key.ended]);
      const events = imageJobEvents({
        job,
        wait: (timeoutMs) => images.wait(job.id, accountId, { timeoutMs, signal: untilEnded }),
        tagOf,
        encode: formOf,
        signal,
        request: { requestId: context.state.requestId },
      });
      await sendEvents(context, { status: 200, headers: {} }, withKeepAlive(events));
    } finally {
      key.leave();
      leave();
    }
  }

  async function cancel(context: ParamsContext): Promise<void> {
    const { id, accountId } = keyOf(context);
    polls.admit(id);
    await sendJob(context, await gateway.images.cancel(context.params.id ?? '', accountId));
  }

  /** Answers at once if there is no permit to wait, or the gateway is shutting down. */
  async function find(context: ParamsContext, timeoutMs: number): Promise<ImageJob> {
    const { images } = gateway;
    const key = keyOf(context);
    const { accountId } = key;
    const id = context.params.id ?? '';
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

  function answerNow() {
    return { baseUrl: baseUrl(), now: clock.now() };
  }

  function tagOf(job: ImageJob): string {
    return imageJobTag(job, answerNow());
  }

  /** Includes the image, if the job delivers it inline. */
  async function encode(job: ImageJob, answer = answerNow()): Promise<string | LongBody> {
    const { image } = job;
    const file = image && job.delivery !== 'url' ? await gateway.images.content(image) : undefined;
    if (!file) return JSON.stringify(encodeImageJob(job, answer));
    return encodeAround(file, (base64) => encodeImageJob(job, { ...answer, base64 }));
  }

  async function* formOf(job: ImageJob): AsyncGenerator<Uint8Array> {
    const form = await encode(job);
    if (typeof form === 'string') yield Buffer.from(form);
    else yield* form.bytes;
  }

  async function sendJob(context: RequestContext, job: ImageJob): Promise<void> {
    const { res: response } = context;
    nameMock(context, job);
    const answer = answerNow();
    const etag = `"${imageJobTag(job, answer)}"`;
    // Before the head is written, so that an unreadable image becomes an error.
    const form = hasCurrentCopy(context, etag) ? undefined : await encode(job, answer);
    response.setHeader('ETag', etag);
    response.setHeader('Cache-Control', 'private, no-cache');
    if (isOpen(job)) response.setHeader('Retry-After', pollAfterSeconds(job, answer.now));
    if (form === undefined) {
      context.status = 304;
      return;
    }
    response.setHeader('Content-Type', 'application/json; charset=utf-8');
    if (typeof form === 'string') {
      context.body = form;
      return;
    }
    response.setHeader('Content-Length', form.length);
    sendBytes(context, form.bytes);
  }

  return [
    defineRoute({
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
      handler: submitJob,
    }),
    defineRoute({
      ...IMAGE_ROUTE,
      method: 'GET',
      path: `${ROUTE}/:id`,
      endpoint: 'imageJob',
      parameter: 'job_id',
      params: { id: 'Id of the job.' },
      summary: 'Get an image job',
      description:
        'Returns the status of an image job, and its image when it has completed. `?wait=` waits for its end.',
      query: {
        wait: {
          schema: Type.Integer({ minimum: 0, maximum: MAX_WAIT_SECONDS }),
          description: 'Seconds to wait for the end of the job.',
        },
      },
      headers: { 'If-None-Match': 'The ETag of an earlier answer: 304 where nothing changed.' },
      answers: { 200: JOB_ANSWER, 304: { description: 'Nothing changed.' } },
      errors: ['job_not_found', 'rate_limit_exceeded', 'invalid_value'],
      async handler(context) {
        polls.admit(keyOf(context).id);
        await sendJob(context, await find(context, readWait(context) * 1000));
      },
    }),
    defineRoute({
      ...IMAGE_ROUTE,
      method: 'GET',
      path: `${ROUTE}/:id/events`,
      endpoint: 'imageJobEvents',
      parameter: 'job_id',
      params: { id: 'Id of the job.' },
      summary: 'Follow an image job',
      description: 'Sends the status of an image job as server-sent events, until it has ended.',
      headers: { 'Last-Event-ID': 'Id of the last event that was received. 204 if it was the final one.' },
      answers: {
        200: {
          description: 'Server-sent events. The data of each is the job in its current state.',
          type: 'text/event-stream',
        },
        204: { description: 'The job has ended, and its last event was received.' },
      },
      errors: ['job_not_found', 'queue_full'],
      handler: sendJobEvents,
    }),
    defineRoute({
      ...IMAGE_ROUTE,
      method: 'POST',
      path: `${ROUTE}/:id/cancel`,
      endpoint: 'imageJobCancel',
      parameter: 'job_id',
      params: { id: 'Id of the job.' },
      summary: 'Cancel an image job (POST)',
      description: 'Cancels an image job that has not ended, for clients that cannot send DELETE.',
      answers: { 200: JOB_ANSWER },
      errors: ['job_not_found', 'job_already_terminal'],
      handler: cancel,
    }),
    defineRoute({
      ...IMAGE_ROUTE,
      method: 'DELETE',
      path: `${ROUTE}/:id`,
      endpoint: 'imageJob',
      parameter: 'job_id',
      params: { id: 'Id of the job.' },
      summary: 'Cancel an image job',
      description: 'Cancels an image job that has not ended.',
      answers: { 200: JOB_ANSWER },
      errors: ['job_not_found', 'job_already_terminal'],
      handler: cancel,
    }),
  ];
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
  context.res.setHeader('Content-Type', 'application/json; charset=utf-8');
  context.body = JSON.stringify(body);
}

/** Milliseconds between two polls of an open job; its end is notified at once. */
const POLL_MS = 2_000;
/** For reconnecting readers: https://html.spec.whatwg.org/multipage/server-sent-events.html */
const RETRY = 'retry: 2000\n\n';

interface JobEventsOptions {
  /** The job when the events begin. */
  job: ImageJob;
  /** Resolves when the job has ended, or after so many milliseconds. */
  wait(timeoutMs: number): Promise<ImageJob>;
  /** Changes with the form of the job. One line. */
  tagOf(job: ImageJob): string;
  /** The form of the job, JSON in one line. */
  encode(job: ImageJob): AsyncIterable<Uint8Array>;
  /** Ends the stream without a final event: the reader has disconnected or should reconnect. */
  signal: AbortSignal;
  request: ErrorContext;
}

/**
 * The state of a job now, after each change, and at its end; the id of each event is the tag of its content. An event
 * `error` ends them if the job can no longer be read. Throws what `encode` throws.
 */
async function* imageJobEvents(options: JobEventsOptions): AsyncGenerator<string | AsyncIterable<Uint8Array>> {
  const { wait, tagOf, encode, signal, request } = options;
  let { job } = options;
  let sent: string | undefined;
  yield RETRY;
  for (;;) {
    const tag = tagOf(job);
    if (tag !== sent) {
      yield encodeLongEvent(`id: ${tag}`, encode(job));
      sent = tag;
    }
    if (!isOpen(job) || signal.aborted) return;
    try {
      job = await wait(POLL_MS);
    } catch (error) {
      if (signal.aborted) return;
      if (!isGatewayError(error)) throw error;
      yield encodeEvent(encodeError(error, request), 'error');
      return;
    }
  }
}
