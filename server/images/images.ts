import type Router from '@koa/router';
import type { Clock, Gateway, ImageJob } from 'mediagate';
import type { ParamsContext, PollGuard, RequestContext, RequestState, WaitingRoom } from '../http/index.js';
import { clientSignal, EVENTS, hasCurrentCopy, readWait, sendBytes, sendEvents } from '../http/index.js';
import { encodeAround, type LongBody, readIdempotencyKey } from '../idempotency/index.js';
import { type createAuth, holderOf, keyOf } from '../keys/index.js';
import {
  encodeFirstSubmitted,
  encodeImageJob,
  encodeSubmitted,
  imageJobTag,
  isOpen,
  POLL_AFTER_SECONDS,
  pollAfterSeconds,
  statusUrlOf,
} from './image-job.js';
import { imageJobEvents } from './image-job-events.js';
import type { ImageSubmitter } from './image-submission.js';

export interface ImageRoutes {
  gateway: Gateway;
  auth: ReturnType<typeof createAuth>;
  submit: ImageSubmitter;
  polls: PollGuard;
  waiting: WaitingRoom;
  /** Aborts when the gateway begins to finish. */
  drain: AbortSignal;
  clock: Clock;
  /** Public address of this gateway, without a trailing slash. */
  baseUrl(): string;
}

const ROUTE = '/v1/images/jobs';

/** Images as jobs: submitted, looked at, listened to, cancelled. */
export function addImageRoutes(router: Router<RequestState>, options: ImageRoutes): void {
  const { gateway, auth, submit, polls, waiting, drain, clock, baseUrl } = options;
  const authenticate = auth({ grant: 'images' });

  router.post(ROUTE, authenticate, async (context: RequestContext) => {
    const { id } = keyOf(context);
    const key = readIdempotencyKey(context.req.headers);
    const { job, replayed } = await submit(context, {
      rememberAs: (fingerprint) => (key === undefined ? undefined : { scope: `${id} POST ${ROUTE}`, key, fingerprint }),
      renewsCancelled: false,
      takesWebhook: true,
    });
    sendSubmitted(context, job.id, replayed ? encodeFirstSubmitted(job) : encodeSubmitted(job, clock.now()));
  });

  router.get(`${ROUTE}/:id`, authenticate, async (context: ParamsContext) => {
    polls.admit(keyOf(context).id);
    await sendJob(context, await look(context, readWait(context) * 1000));
  });

  router.get(`${ROUTE}/:id/events`, authenticate, async (context: ParamsContext) => {
    const { id: keyId, accountId } = keyOf(context);
    polls.admit(keyId);
    const { images } = gateway;
    const job = await images.find(context.params.id ?? '', accountId);
    // A reader that comes back by itself is to stop where it has heard everything.
    if (!isOpen(job) && context.req.headers['last-event-id'] === tagOf(job)) {
      context.status = 204;
      return;
    }
    if (context.method === 'HEAD') {
      context.status = 200;
      context.type = EVENTS;
      return;
    }
    const leave = waiting.demand(holderOf(keyOf(context)));
    try {
      const signal = AbortSignal.any([clientSignal(context.res), drain]);
      const events = imageJobEvents({
        job,
        wait: (timeoutMs) => images.wait(job.id, accountId, { timeoutMs, signal }),
        tagOf,
        encode: formOf,
        signal,
        request: { requestId: context.state.requestId },
      });
      await sendEvents(context, { status: 200, headers: {} }, events);
    } finally {
      leave();
    }
  });

  const cancel = async (context: ParamsContext) => {
    const { id, accountId } = keyOf(context);
    polls.admit(id);
    await sendJob(context, await gateway.images.cancel(context.params.id ?? '', accountId));
  };
  router.post(`${ROUTE}/:id/cancel`, authenticate, cancel);
  router.delete(`${ROUTE}/:id`, authenticate, cancel);

  /** At once where there is no room to wait, or the gateway is about to end. */
  async function look(context: ParamsContext, timeoutMs: number): Promise<ImageJob> {
    const { images } = gateway;
    const key = keyOf(context);
    const { accountId } = key;
    const id = context.params.id ?? '';
    const leave = timeoutMs > 0 && !drain.aborted ? waiting.enter(holderOf(key)) : undefined;
    if (!leave) return images.find(id, accountId);
    try {
      const signal = AbortSignal.any([clientSignal(context.res), drain]);
      return await images.wait(id, accountId, { timeoutMs, signal });
    } catch (error) {
      if (drain.aborted && error === drain.reason) return images.find(id, accountId);
      throw error;
    } finally {
      leave();
    }
  }

  function answerNow() {
    return { baseUrl: baseUrl(), now: clock.now() };
  }

  function tagOf(job: ImageJob): string {
    return imageJobTag(job, answerNow());
  }

  /** With the picture in it, where the job delivers it so. */
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
    const answer = answerNow();
    const etag = `"${imageJobTag(job, answer)}"`;
    // Before the head is written, which is not that of a picture which cannot be read.
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
}

/** 202 with a job's submit form. */
export function sendSubmitted(context: RequestContext, id: string, body: object): void {
  context.status = 202;
  context.res.setHeader('Location', statusUrlOf(id));
  context.res.setHeader('Retry-After', POLL_AFTER_SECONDS);
  context.res.setHeader('Content-Type', 'application/json; charset=utf-8');
  context.body = JSON.stringify(body);
}
