/*
 * Image jobs: submit, poll, follow by events, cancel, with the forms of their answers. A poll may wait up to a minute
 * for the end of the job; if no permit to wait is free, it answers at once. The ETag of a job is computed without its
 * form, so a poll with a current copy costs no read of the image. Events carry the whole state and end with the job; a
 * reader that reconnects after the last event gets 204. Images in base64 are streamed. A replayed submission returns
 * the answer of the first one.
 */

import { hash } from 'node:crypto';
import { type JobState, Type, type Usage } from '../../core/contracts/index.js';
import type { FinishedImage, ImageDelivery, ImageJob } from '../../core/images/index.js';
import { encodeEvent, encodeLongEvent, GatewayError, isGatewayError, withKeepAlive } from '../../core/runtime/index.js';
import { isoTime } from '../format/index.js';
import {
  clientSignal,
  defineRoute,
  describeFailure,
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
import { PACKAGE_VERSION } from '../version.js';
import { JOB_ANSWER, SUBMITTED_ANSWER } from './image-answers.js';
import {
  IMAGE_EXAMPLE,
  IMAGE_ROUTE,
  ImageJobBodySchema,
  type ImageServices,
  SUBMISSION_ERRORS,
  submitImage,
} from './image-request.js';

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

/** Seconds between two polls of an open job. */
export const POLL_AFTER_SECONDS = 5;
/** Likewise, for a job that will take longer. */
const SLOW_POLL_AFTER_SECONDS = 10;
const SLOW_AFTER_MS = 60_000;
const DEEP_IN_QUEUE = 20;

/** State of a job → state in the API. */
export const STATUS: Readonly<Record<JobState, string>> = {
  queued: 'queued',
  running: 'generating',
  completed: 'completed',
  failed: 'failed',
  cancelled: 'cancelled',
};

const ITEM_STATUS: Readonly<Record<JobState, string>> = { ...STATUS, running: 'running' };

export function isOpen({ state }: Pick<ImageJob, 'state'>): boolean {
  return state === 'queued' || state === 'running';
}

export function statusUrlOf(id: string): string {
  return `/v1/images/jobs/${id}`;
}

/** Seconds until the next poll; 0 if there is nothing to wait for. */
export function pollAfterSeconds(job: Pick<ImageJob, 'state' | 'createdAt' | 'queuePosition'>, now: number): number {
  if (!isOpen(job)) return 0;
  const slow = now - job.createdAt > SLOW_AFTER_MS || (job.queuePosition ?? 0) > DEEP_IN_QUEUE;
  return slow ? SLOW_POLL_AFTER_SECONDS : POLL_AFTER_SECONDS;
}

/** The submit form: exactly these eight fields. */
export function encodeSubmitted(job: ImageJob, now: number) {
  const { id, state } = job;
  return {
    id,
    status: STATUS[state],
    status_url: statusUrlOf(id),
    poll_after_seconds: pollAfterSeconds(job, now),
    requested: 1,
    // A cancelled job has none of the three.
    succeeded: state === 'completed' ? 1 : 0,
    failed: state === 'failed' ? 1 : 0,
    pending: isOpen(job) ? 1 : 0,
  };
}

/** A replay returns the answer of the first submission, in any state of the job. */
export function encodeFirstSubmitted(job: ImageJob) {
  const { createdAt } = job;
  return encodeSubmitted({ ...job, state: 'queued', queuePosition: undefined }, createdAt);
}

export interface JobAnswer {
  baseUrl: string;
  /** Milliseconds since 1970. */
  now: number;
  /** The image in base64, if the job delivers it inline and it still exists. */
  base64?: string | null;
}

/** The poll form. */
export function encodeImageJob(job: ImageJob, { baseUrl, now, base64 }: JobAnswer) {
  const { state, image, attempts, queuePosition } = job;
  const completed = state === 'completed' ? 1 : 0;
  const error = job.error && {
    ...describeFailure(job.error),
    request_id: job.requestId,
  };
  return {
    ...encodeSubmitted(job, now),
    progress: { completed, total: 1, percent: completed * 100 },
    data: image
      ? [
          {
            index: 1,
            ...encodeImageEntry(image, { delivery: job.delivery, baseUrl, base64 }),
            width: image.width,
            height: image.height,
            bytes: image.bytes,
            content_type: image.contentType,
            ...(image.seed !== undefined && { seed: image.seed }),
          },
        ]
      : [],
    items: [{ index: 1, status: ITEM_STATUS[state], attempts, ...(error && { error }) }],
    error,
    created_at: isoTime(job.createdAt),
    started_at: isoTime(job.startedAt),
    finished_at: isoTime(job.finishedAt),
    expires_at: isoTime(job.expiresAt),
    queue_seconds: secondsBetween(job.createdAt, job.startedAt),
    run_seconds: secondsBetween(job.startedAt, job.finishedAt),
    ...(queuePosition !== undefined && { queue_position: queuePosition }),
  };
}

/** Null if one of the two is not known yet. */
function secondsBetween(from: number | null, to: number | null): number | null {
  return from === null || to === null ? null : Math.max(0, to - from) / 1000;
}

/**
 * The ETag of the poll form, computed without the form: from everything that changes during the job. Error and image
 * come with the end and do not change.
 */
export function imageJobTag(job: ImageJob, { baseUrl, now }: Pick<JobAnswer, 'baseUrl' | 'now'>): string {
  const { id, state, attempts, queuePosition, startedAt, finishedAt } = job;
  const times = [startedAt, finishedAt, pollAfterSeconds(job, now)];
  // Another version may encode the form differently.
  const changing = [id, state, attempts, queuePosition, ...times, baseUrl, PACKAGE_VERSION];
  return hash('sha1', changing.join(' '), 'base64url');
}

/** The synchronous result (service document 2.3); `usage` if the model's vendor reported it. */
export function encodeImageResult(image: FinishedImage, options: EntryOptions & { createdAt: number }) {
  return {
    created: Math.floor(options.createdAt / 1000),
    data: [encodeImageEntry(image, options)],
    requested: 1,
    succeeded: 1,
    failed: 0,
    ...(image.usage && { usage: encodeUsage(image.usage) }),
  };
}

/** In the vendor's form: clients of the format read the input details whenever there is a usage. */
export function encodeUsage(usage: Usage) {
  const { inputTokens, outputTokens, totalTokens, cachedTokens } = usage;
  const { inputTextTokens, inputImageTokens, outputTextTokens, outputImageTokens } = usage;
  return {
    input_tokens: inputTokens,
    output_tokens: outputTokens,
    total_tokens: totalTokens,
    input_tokens_details: known({
      text_tokens: inputTextTokens,
      image_tokens: inputImageTokens,
      cached_tokens: cachedTokens,
    }),
    output_tokens_details: known({ text_tokens: outputTextTokens, image_tokens: outputImageTokens }),
  };
}

/** The failure of a job that has ended without an image. */
export function failureOf({ error }: ImageJob): GatewayError {
  if (!error) return new GatewayError('internal_error', 'The image could not be made.');
  const { code, message, ...details } = error;
  return new GatewayError(code, message, details);
}

/** Undefined, and so omitted, if nothing is known. */
function known<Counts extends Record<string, number | undefined>>(counts: Counts): Counts | undefined {
  return Object.values(counts).some((count) => count !== undefined) ? counts : undefined;
}

/** An internal file name is omitted: clients cannot use it. */
const INLINE = /^inline_/;

export interface EntryOptions {
  delivery: ImageDelivery;
  /** Without a trailing slash. */
  baseUrl: string;
  /** The image in base64; null if it has expired. */
  base64?: string | null;
}

/** One image in `data`: as public links, in base64, or both. */
export function encodeImageEntry(image: FinishedImage, { delivery, baseUrl, base64 = null }: EntryOptions) {
  const { name, rawName, source, contentType } = image;
  const links = {
    url: fileUrl(baseUrl, name),
    raw_url: fileUrl(baseUrl, rawName),
    filename: name,
    source,
  };
  if (delivery === 'url') return links;
  const filename = name.replace(INLINE, 'img_');
  const inline = { b64_json: base64, filename, source: 'inline', mime_type: contentType };
  return delivery === 'inline' ? inline : { ...inline, ...links };
}

function fileUrl(baseUrl: string, name: string): string {
  return `${baseUrl}/v1/images/files/${name}`;
}

/** Milliseconds between two polls of an open job; its end is notified at once. */
const POLL_MS = 2_000;
/** For reconnecting readers: https://html.spec.whatwg.org/multipage/server-sent-events.html */
const RETRY = 'retry: 2000\n\n';

export interface JobEventsOptions {
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
