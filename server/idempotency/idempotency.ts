/*
 * Runs each request for audio, or for a batch of links, with an `Idempotency-Key` once and returns the same answer to
 * repetitions. With a key, a disconnect does not end the work: it continues for at most five minutes, and its answer is
 * stored while it is sent. If 64 works go on without a client, the next one ends with its client. The last byte is sent
 * when the answer is durable, so a client that has a complete answer receives the same one again. Failures are not
 * stored. A repetition waits up to five minutes for the first request. An answer that cannot be stored is sent anyway.
 */

import type { Storage } from '../../core/contracts/index.js';
import { type Clock, GatewayError, type Logger } from '../../core/runtime/index.js';
import {
  type AnswerHead,
  clientSignal,
  EVENTS,
  HandOver,
  type RequestContext,
  Semaphore,
  sendEvents,
  sendStream,
  toGatewayError,
} from '../http/index.js';
import { keyOf, quotaSubject } from '../keys/index.js';
import { type AnswerWork, answerFileOf } from './answer-table.js';
import { inProgress, markReplayed } from './idempotency-keys.js';
import type { AnswerClaim, AnswerRequest, IdempotentResponse, IdempotentResponses } from './idempotent-responses.js';

/** Longest wait for the first request, in milliseconds. */
const JOIN_MS = 300_000;
const UNREADABLE_SECONDS = 5;
/** Stored headers besides the content type. Rate-limit headers would be outdated. */
const STORED_HEADERS = ['x-ignored-params', 'x-mediagate-stand-in', 'x-mediagate-cost'] as const;

export interface KeyedRequest {
  /** Template: `/v1/audio/speech`. */
  route: string;
  /** The caller's Idempotency-Key. Undefined: every request is new. */
  key: string | undefined;
  /** SHA-256 of the request; empty without a key. */
  fingerprint: string;
  /** Ends waits and work with its reason, also work that outlives its client. Default: nothing does. */
  ended?: AbortSignal;
}

export interface Answering {
  /** Aborts when the answer is no longer needed: without a key, when the client has disconnected. */
  signal: AbortSignal;
  /** Call it once, and await it. */
  send(answer: OutgoingAnswer): Promise<void>;
}

export interface IdempotencyServiceOptions {
  answers: IdempotentResponses;
  /** Storage of the bodies. */
  files: Storage;
  clock: Clock;
  logger: Logger;
  /** Aborts when the shutdown begins. */
  drain: AbortSignal;
  /** Milliseconds that work without a client may take after that. Default 0. */
  graceMs?: number;
}

/** Runs each request with an Idempotency-Key once, and returns the same answer to repetitions. */
export class IdempotencyService {
  readonly #options: IdempotencyServiceOptions;
  readonly #waiting = new Semaphore();
  readonly #stopping = new AbortController();
  readonly #working = new Set<Promise<void>>();
  readonly #outlive: DetachedTimeout;
  #grace: NodeJS.Timeout | undefined;

  constructor(options: IdempotencyServiceOptions) {
    this.#options = options;
    const { drain, graceMs = 0 } = options;
    this.#outlive = createDetachedTimeout(this.#stopping.signal);
    drain.addEventListener('abort', () => {
      this.#grace = setTimeout(() => this.#stop(), graceMs);
    });
  }

  /**
   * Makes and sends the answer, unless there is one already. With a key, a disconnect ends nothing: the work continues
   * for at most five minutes, and its answer is stored for the client's next attempt; if 64 others continue like that,
   * it ends at once. Failures are not stored.
   * @throws GatewayError `idempotency_key_reused`, `idempotency_in_progress`, `queue_full` if too many wait,
   *   `upstream_unavailable` if the database does not answer, or a stored answer cannot be read; what the work throws.
   */
  async answer(
    context: RequestContext,
    { route, key, fingerprint, ended }: KeyedRequest,
    work: (answering: Answering) => Promise<void>,
  ): Promise<void> {
    const client = clientSignal(context.res);
    const gone = eitherOf(client, ended);
    if (key === undefined) {
      await work({ signal: gone, send: (answer) => sendAnswer(context, answer) });
      return;
    }
    const caller = keyOf(context);
    const { id: keyId, accountId } = caller;
    const request = { accountId, scope: `${keyId} POST ${route}`, key, fingerprint };
    const claimed = await this.#claim(request, quotaSubject(caller), gone);
    if (claimed.state === 'answered') {
      await this.#replay(context, claimed.answer);
      return;
    }
    const over = this.#begin(context, claimed.work, { client, ended }, work);
    this.#working.add(over);
    try {
      await over;
    } finally {
      this.#working.delete(over);
    }
  }

  /** Ends work without a connected client, and resolves when it has ended. */
  async close(): Promise<void> {
    const { drain, graceMs = 0 } = this.#options;
    if (!drain.aborted || graceMs === 0) this.#stop();
    await Promise.allSettled(this.#working);
    clearTimeout(this.#grace);
  }

  #stop(): void {
    this.#stopping.abort(new GatewayError('shutting_down', 'The gateway is shutting down. Retry the request.'));
  }

  /** Waits if another request is running. */
  async #claim(request: AnswerRequest, holder: string, gone: AbortSignal) {
    const { answers, clock, drain } = this.#options;
    const until = clock.monotonic() + JOIN_MS;
    let leave: (() => void) | undefined;
    try {
      for (;;) {
        const claimed: AnswerClaim = await answers.claim(request);
        if (claimed.state !== 'running') return claimed;
        const timeoutMs = until - clock.monotonic();
        if (timeoutMs <= 0) throw inProgress();
        leave ??= this.#waiting.acquire(holder);
        const failure = await answers.waitFor(claimed.id, { timeoutMs, signal: AbortSignal.any([gone, drain]) });
        if (failure) throw failure;
      }
    } finally {
      leave?.();
    }
  }

  async #replay(context: RequestContext, { status, headers, file }: IdempotentResponse): Promise<void> {
    const body = await this.#options.files.read(file);
    if (!body) {
      // Not repeated: it was charged.
      const message = 'The stored answer of this Idempotency-Key cannot be read now. Retry, or send another key.';
      throw new GatewayError('upstream_unavailable', message, { retryAfterSeconds: UNREADABLE_SECONDS });
    }
    markReplayed(context.res);
    const head = { status, headers: { ...headers, 'content-length': String(body.size) } };
    await sendStream(context, head, body.body);
  }

  async #begin(
    context: RequestContext,
    work: AnswerWork,
    { client, ended }: { client: AbortSignal; ended?: AbortSignal },
    answer: (answering: Answering) => Promise<void>,
  ): Promise<void> {
    const life = this.#outlive(client);
    let isSending = false;
    try {
      await answer({
        signal: eitherOf(life.signal, ended),
        send: async (outgoing) => {
          const keeping = this.#keep(context, work, outgoing);
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
      if (!isSending) await this.#release(work, error);
      throw error;
    } finally {
      life.end();
    }
  }

  #keep({ res: response }: RequestContext, work: AnswerWork, outgoing: OutgoingAnswer): Keeping {
    const { answers, files, logger } = this.#options;
    const headers: Record<string, string> = { 'content-type': outgoing.contentType };
    for (const name of STORED_HEADERS) {
      const value = response.getHeader(name);
      if (value !== undefined) headers[name] = String(value);
    }
    const size = outgoing.body instanceof Uint8Array ? outgoing.body.length : 0;
    if (work.room === 0 || size > work.room) response.setHeader('Idempotency-Kept', 'false');
    return keepWhileSending({ outgoing, head: { status: 200, headers }, work, answers, files, logger });
  }

  /** Before the failure is sent, so that a retry does not receive it again. */
  async #release(work: AnswerWork, error: unknown): Promise<void> {
    const { answers, logger } = this.#options;
    try {
      await answers.release(work, toGatewayError(error));
    } catch (failure) {
      logger.warn('an Idempotency-Key is not free until its lease is over', { error: failure });
    }
  }
}

function eitherOf(one: AbortSignal, other: AbortSignal | undefined): AbortSignal {
  return other ? AbortSignal.any([one, other]) : one;
}

/** The file is deleted after the row that names it. */
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
  /** What the client receives in place of the answer. It ends once the answer is stored, or is known not to be. */
  toSend: OutgoingAnswer | Promise<OutgoingAnswer>;
  /** The client has disconnected; the rest is only written to the file. */
  leave(): void;
  /** Resolves when the end of the work is stored; never rejects. */
  ended: Promise<void>;
}

/**
 * Stores an answer while it is sent. The client sets the pace of both while it reads. Its last byte is sent when the
 * answer is durable, so that a client with the complete answer receives the same again. An answer that cannot be stored
 * is sent anyway.
 */
export function keepWhileSending({ outgoing, head, work, answers, files, logger }: KeepingOptions): Keeping {
  const { body, ended: completion, ...rest } = outgoing;
  const file = answerFileOf(work);
  const copy = new HandOver();
  const client = new HandOver();
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
    logger.warn('an answer could not be stored for its Idempotency-Key', { error });
  }

  async function put(piece: Uint8Array): Promise<void> {
    bytes += piece.length;
    const isRoom = bytes <= work.room;
    if (!isRoom) copy.end({ error: new NoRoom() });
    await Promise.all([client.put(piece), isRoom && copy.put(piece)]);
  }

  /** The answer was complete. */
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
    const failure = broken ? toGatewayError(broken.error) : (await completion)?.failure;
    await (failure ? giveUp(failure) : keep()).catch(report);
    client.end(broken);
  }

  if (body instanceof Uint8Array) {
    // It is not streamed, so it has no reader.
    client.leave();
    const ended = pump([body]);
    return { toSend: ended.then(() => outgoing), leave: () => client.leave(), ended };
  }
  const toSend = { ...rest, body: client.pieces, ...(completion && { ended: completion }) };
  return { toSend, leave: () => client.leave(), ended: pump(body) };
}

/** Stops writing a file that is not needed. */
class NoRoom extends Error {}

/** An answer that is streamed, or complete. */
export interface OutgoingAnswer {
  contentType: string;
  body: Uint8Array | AsyncIterable<Uint8Array>;
  /**
   * For a body that reports its own failures to its readers: resolves at its end, with the failure if it is incomplete.
   */
  ended?: Promise<{ failure?: GatewayError }>;
}

/** Answers with 200. A body that breaks off closes the connection, unless it reports that itself. */
export async function sendAnswer(context: RequestContext, { contentType, body, ended }: OutgoingAnswer): Promise<void> {
  const { res: response, state } = context;
  const head = { status: 200, headers: { 'content-type': contentType } };
  if (body instanceof Uint8Array) {
    // Sent after the route has cleaned up.
    response.setHeader('Content-Type', contentType);
    context.body = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
    return;
  }
  await (contentType === EVENTS ? sendEvents(context, head, body) : sendStream(context, head, body));
  const failure = (await ended)?.failure;
  if (failure) state.errorCode = failure.code;
}

/** Milliseconds that work may continue without its client. */
const TIME_MS = 300_000;
/** Maximum concurrent detached work: no open connections limit it. */
const MAX = 64;

/** Maximum duration of detached work. */
export interface WorkLife {
  /** Aborts when the work has exceeded the time without its client. */
  readonly signal: AbortSignal;
  /** The work has ended. */
  end(): void;
}

/** Work that continues after its client has disconnected, with limits. */
export type DetachedTimeout = (gone: AbortSignal) => WorkLife;

/** @param stopping Ends all of it. */
export function createDetachedTimeout(stopping: AbortSignal): DetachedTimeout {
  let unobserved = 0;

  return (gone) => {
    const life = new AbortController();
    let timer: NodeJS.Timeout | undefined;
    const stop = () => life.abort(new GatewayError('upstream_timeout', 'No client waited for the answer any more.'));
    const leave = () => {
      if (unobserved >= MAX) return stop();
      unobserved += 1;
      timer = setTimeout(stop, TIME_MS);
    };
    if (gone.aborted) leave();
    else gone.addEventListener('abort', leave, { once: true });
    return {
      signal: AbortSignal.any([life.signal, stopping]),
      end() {
        gone.removeEventListener('abort', leave);
        if (timer) unobserved -= 1;
        clearTimeout(timer);
      },
    };
  };
}
