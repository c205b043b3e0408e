import { type Clock, GatewayError, type Logger, type Storage } from 'mediagate';
import { createDetachedTimeout } from '../detached-work.js';
import {
  type AnswerHead,
  clientSignal,
  createHandOver,
  createSemaphore,
  EVENTS,
  type RequestContext,
  sendEvents,
  sendStream,
  toGatewayError,
} from '../http/index.js';
import { keyOf, quotaSubject } from '../keys/index.js';
import { inProgress, markReplayed } from './idempotency-keys.js';
import {
  type AnswerClaim,
  type AnswerRequest,
  type AnswerWork,
  answerFileOf,
  type IdempotentResponse,
  type IdempotentResponses,
} from './idempotent-responses.js';

declare module '../http/server-context.js' {
  interface AppDependencies {
    answers: IdempotencyService;
  }
}

/** For a first request that is at work. */
const JOIN_MS = 300_000;
const UNREADABLE_SECONDS = 5;
/** What answers say beside their content type. What they say of the rate limit was true when they were made. */
const KEPT_HEADERS = ['x-ignored-params', 'x-mediagate-stand-in'] as const;

export interface KeyedRequest {
  /** Template: `/v1/audio/speech`. */
  route: string;
  /** The caller's Idempotency-Key. Undefined: the request is one of its own. */
  key: string | undefined;
  /** SHA-256 of what it says; empty without a key. */
  fingerprint: string;
}

export interface Answering {
  /** Aborts when nobody wants the answer any more: without a key, when the client has gone. */
  signal: AbortSignal;
  /** To be called once, and waited for. */
  send(answer: OutgoingAnswer): Promise<void>;
}

/** Does each request with an Idempotency-Key once, and gives the same answer to those that repeat it. */
export interface IdempotencyService {
  /**
   * Has the answer made and sent, unless there is one already. With a key, a client that hangs up ends nothing: the work goes
   * on for five minutes at most, and its answer is there for the client's next try; where 64 others go on like that, it ends
   * at once. What fails is not kept.
   * @throws GatewayError `idempotency_key_reused`, `idempotency_in_progress`, `queue_full` where too many wait,
   * `upstream_unavailable` where the database does not answer, or a kept answer cannot be read; what the work throws.
   */
  answer(context: RequestContext, request: KeyedRequest, work: (answering: Answering) => Promise<void>): Promise<void>;
  /** Ends the work whose clients have left, and resolves when it has ended. */
  close(): Promise<void>;
}

export interface IdempotencyServiceOptions {
  answers: IdempotentResponses;
  /** Where bodies are kept. */
  files: Storage;
  clock: Clock;
  logger: Logger;
  /** Aborts when the gateway begins to finish. */
  drain: AbortSignal;
  /** Milliseconds that work without a client may still take from then on. Default 0. */
  graceMs?: number;
}

export function createIdempotencyService(options: IdempotencyServiceOptions): IdempotencyService {
  const { answers, files, clock, logger, drain, graceMs = 0 } = options;
  const waiting = createSemaphore();
  const stopping = new AbortController();
  const working = new Set<Promise<void>>();
  const outlive = createDetachedTimeout(stopping.signal);
  let grace: NodeJS.Timeout | undefined;

  const stop = () => stopping.abort(new GatewayError('shutting_down', 'The gateway is shutting down; ask again.'));
  drain.addEventListener('abort', () => {
    grace = setTimeout(stop, graceMs);
  });

  /** Waits where another request is at it. */
  async function claim(request: AnswerRequest, holder: string, gone: AbortSignal) {
    const until = clock.monotonic() + JOIN_MS;
    let leave: (() => void) | undefined;
    try {
      for (;;) {
        const claimed: AnswerClaim = await answers.claim(request);
        if (claimed.state !== 'running') return claimed;
        const timeoutMs = until - clock.monotonic();
        if (timeoutMs <= 0) throw inProgress();
        leave ??= waiting.demand(holder);
        const failure = await answers.waitFor(claimed.id, { timeoutMs, signal: AbortSignal.any([gone, drain]) });
        if (failure) throw failure;
      }
    } finally {
      leave?.();
    }
  }

  async function replay(context: RequestContext, { status, headers, file }: IdempotentResponse): Promise<void> {
    const { res: response } = context;
    const body = await files.read(file);
    if (!body) {
      // Not done anew: it was charged.
      const message = 'The answer to this Idempotency-Key cannot be read now. Ask again, or send another key.';
      throw new GatewayError('upstream_unavailable', message, { retryAfterSeconds: UNREADABLE_SECONDS });
    }
    markReplayed(response);
    const head = { status, headers: { ...headers, 'content-length': String(body.size) } };
    await sendStream(context, head, body.body);
  }

  async function begin(
    context: RequestContext,
    work: AnswerWork,
    gone: AbortSignal,
    answer: (answering: Answering) => Promise<void>,
  ): Promise<void> {
    const { res: response } = context;
    const life = outlive(gone);
    let isSending = false;
    try {
      await answer({
        signal: life.signal,
        async send(outgoing) {
          const headers: Record<string, string> = { 'content-type': outgoing.contentType };
          for (const name of KEPT_HEADERS) {
            const value = response.getHeader(name);
            if (value !== undefined) headers[name] = String(value);
          }
          const size = outgoing.body instanceof Uint8Array ? outgoing.body.length : 0;
          if (work.room === 0 || size > work.room) response.setHeader('Idempotency-Kept', 'false');
          const keeping = keepWhileSending({ outgoing, head: { status: 200, headers }, work, answers, files, logger });
          isSending = true;
          try {
            await sendAnswer(context, await keeping.toSend);
          } finally {
            keeping.leave();
            await keeping.ended;
          }
        },
      });
    } catch (error) {
      if (!isSending) await release(work, error);
      throw error;
    } finally {
      life.end();
    }
  }

  /** Before anybody hears of the failure, so that whoever asks again does not get it a second time. */
  async function release(work: AnswerWork, error: unknown): Promise<void> {
    try {
      await answers.release(work, toGatewayError(error));
    } catch (failure) {
      logger.warn('an Idempotency-Key is not free until its lease is over', { error: failure });
    }
  }

  return {
    async answer(context, { route, key, fingerprint }, work) {
      const gone = clientSignal(context.res);
      if (key === undefined) {
        await work({ signal: gone, send: (answer) => sendAnswer(context, answer) });
        return;
      }
      const caller = keyOf(context);
      const { id: keyId, accountId } = caller;
      const request = { accountId, scope: `${keyId} POST ${route}`, key, fingerprint };
      const claimed = await claim(request, quotaSubject(caller), gone);
      if (claimed.state === 'answered') {
        await replay(context, claimed.answer);
        return;
      }
      const over = begin(context, claimed.work, gone, work);
      working.add(over);
      try {
        await over;
      } finally {
        working.delete(over);
      }
    },
    async close() {
      if (!drain.aborted || graceMs === 0) stop();
      await Promise.allSettled(working);
      clearTimeout(grace);
    },
  };
}

/** A file goes after the key that leads to it. */
const FILE_LONGER_MS = 3_600_000;
const FILE_TYPE = 'application/octet-stream';

export interface KeepingOptions {
  outgoing: OutgoingAnswer;
  head: AnswerHead;
  work: AnswerWork;
  answers: IdempotentResponses;
  files: Storage;
  logger: Logger;
}

export interface Keeping {
  /** What the client is to be sent in the place of the answer. It ends once the answer is kept, or is known not to be. */
  toSend: OutgoingAnswer | Promise<OutgoingAnswer>;
  /** The client has gone; the rest is for the file alone. */
  leave(): void;
  /** Resolves when it is written down how the work has ended; never rejects. */
  ended: Promise<void>;
}

/**
 * Keeps an answer while it is sent. The client paces both for as long as it reads; its last byte goes out when the answer
 * is safe, so that whoever has heard all of it hears the same again. What cannot be kept is sent all the same.
 */
export function keepWhileSending({ outgoing, head, work, answers, files, logger }: KeepingOptions): Keeping {
  const { body, ended: told, ...rest } = outgoing;
  const file = answerFileOf(work);
  const copy = createHandOver();
  const client = createHandOver();
  let bytes = 0;
  const stored = work.room === 0 ? Promise.reject(new NoRoom()) : store();
  const isStored = stored.then(
    () => true,
    (error: unknown) => {
      copy.leave();
      if (!(error instanceof NoRoom)) report(error);
      return false;
    },
  );

  async function store(): Promise<void> {
    const expiresAt = new Date(work.expiresAt + FILE_LONGER_MS);
    await files.write({ name: file, contentType: FILE_TYPE, expiresAt, body: copy.pieces });
  }

  function report(error: unknown): void {
    logger.warn('an answer could not be kept for its Idempotency-Key', { error });
  }

  async function put(piece: Uint8Array): Promise<void> {
    bytes += piece.length;
    const isRoom = bytes <= work.room;
    if (!isRoom) copy.end({ error: new NoRoom() });
    await Promise.all([client.put(piece), isRoom && copy.put(piece)]);
  }

  /** The answer was all there is of it. */
  async function keep(): Promise<void> {
    copy.end();
    const isStorable = (await isStored) && (await answers.keep(work, { ...head, bytes }));
    if (isStorable) return;
    await answers.release(work);
    await files.delete(file);
  }

  async function giveUp(failure: GatewayError): Promise<void> {
    copy.end({ error: new NoRoom() });
    await isStored;
    await answers.release(work, failure);
  }

  async function pump(pieces: AsyncIterable<Uint8Array> | Uint8Array[]): Promise<void> {
    let broken: { error: unknown } | undefined;
    try {
      for await (const piece of pieces) await put(piece);
    } catch (error) {
      broken = { error };
    }
    const failure = broken ? toGatewayError(broken.error) : (await told)?.failure;
    await (failure ? giveUp(failure) : keep()).catch(report);
    client.end(broken);
  }

  if (body instanceof Uint8Array) {
    // It is not sent in pieces, so that nobody reads them.
    client.leave();
    const ended = pump([body]);
    return { toSend: ended.then(() => outgoing), leave: client.leave, ended };
  }
  const toSend = { ...rest, body: client.pieces, ...(told && { ended: told }) };
  return { toSend, leave: client.leave, ended: pump(body) };
}

/** Ends the writing of a file that is not wanted. */
class NoRoom extends Error {}

/** An answer that goes out as it comes, or as a whole. */
export interface OutgoingAnswer {
  contentType: string;
  body: Uint8Array | AsyncIterable<Uint8Array>;
  /** Of a body that tells its readers by itself where it breaks off: resolves when it has ended, with why it is not whole. */
  ended?: Promise<{ failure?: GatewayError }>;
}

/** Answers with 200. A body that breaks off cuts the connection, unless it says so itself. */
export async function sendAnswer(context: RequestContext, { contentType, body, ended }: OutgoingAnswer): Promise<void> {
  const { res: response, state } = context;
  const head = { status: 200, headers: { 'content-type': contentType } };
  if (body instanceof Uint8Array) {
    // Sent once the route has cleared up.
    response.setHeader('Content-Type', contentType);
    context.body = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
    return;
  }
  await (contentType === EVENTS ? sendEvents(context, head, body) : sendStream(context, head, body));
  const failure = (await ended)?.failure;
  if (failure) state.errorCode = failure.code;
}
