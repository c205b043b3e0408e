/*
 * Sends answers: whole ones, streams of bytes, server-sent events, and the answer of a text model with its headers. A
 * stream is sent no faster than the client reads. A client that reads nothing for two minutes is disconnected, and
 * counts as one that left. A stream that throws before the head is sent still becomes an error; after it, the
 * connection is closed. A stream of a text model never throws: it ends with the error event of its route. JSON with an
 * ETag is answered with 304 if the client has it.
 */

import { hash } from 'node:crypto';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { TextAnswer, TextExchange } from '../../core/text/index.js';
import { vendorLimitsOf } from '../../core/upstreams/index.js';
import { addField, endSoon, sendReady, takeResponse, writeSoon } from './fast-path.js';
import { hasCurrentCopy, IDLE_MS } from './file-response.js';
import type { RequestContext } from './koa-app.js';
import { nameIgnored } from './request.js';

/** Status and headers of an answer. */
export interface AnswerHead {
  status: number;
  /** Names in lower case. */
  headers: Readonly<Record<string, string>>;
}

/** Media type of server-sent events. */
export const EVENTS = 'text/event-stream; charset=utf-8';

/** Sends an answer with complete bytes. */
export function sendWhole(context: RequestContext, { status, headers }: AnswerHead, body: Uint8Array): void {
  const response = takeResponse(context, status, headers);
  addField(response, 'Content-Length', String(body.length));
  endSoon(response, body);
}

/** Sends events as they come, no faster than the client reads. Proxies neither store nor gather them. */
export async function sendEvents(
  context: RequestContext,
  { status, headers }: AnswerHead,
  events: AsyncIterable<Uint8Array>,
): Promise<void> {
  context.set('Cache-Control', 'no-store, no-transform');
  // Proxies such as nginx would buffer events.
  context.set('X-Accel-Buffering', 'no');
  await sendStream(context, { status, headers: { ...headers, 'content-type': EVENTS } }, events);
}

/**
 * Sends bytes as they come, no faster than the client reads. Resolves when the last is ready, or the client has
 * disconnected. Rejects with what `stream` throws: once the head is sent the connection is closed, before that an error
 * can be sent.
 */
export async function sendStream(
  context: RequestContext,
  { status, headers }: AnswerHead,
  stream: AsyncIterable<Uint8Array>,
): Promise<void> {
  const response = takeResponse(context, status, headers);
  response.setTimeout(IDLE_MS, () => response.destroy());
  let begun = false;
  // The first bytes are usually ready, and then are sent with the head.
  const hurry = setImmediate(() => {
    if (!begun && !response.destroyed) response.flushHeaders();
  });
  try {
    for await (const bytes of stream) {
      begun = true;
      if (response.destroyed) return;
      writeSoon(response, bytes);
      if (response.writableNeedDrain) await drained(response);
    }
    endSoon(response);
  } catch (error) {
    if (begun) sendReady();
    if (begun || response.headersSent) response.destroy();
    else context.respond = true;
    throw error;
  } finally {
    clearImmediate(hurry);
  }
}

/** Resolves when there is room again, or the connection is closed. */
async function drained(response: ServerResponse): Promise<void> {
  if (response.destroyed) return;
  const gone = new AbortController();
  const close = () => gone.abort();
  response.once('close', close);
  try {
    await once(response, 'drain', { signal: gone.signal });
  } catch (error) {
    if (!gone.signal.aborted) throw error;
  } finally {
    response.off('close', close);
  }
}

/** Passes a body to one reader in chunks: only the current chunk is in memory. */
export class HandOver {
  /** Must be read once, to its end or until `return` is called. */
  readonly pieces: AsyncIterable<Uint8Array> = this.#read();
  #offered: { piece: Uint8Array; taken: () => void } | undefined;
  #ended: { failure?: { error: unknown } } | undefined;
  #hasLeft = false;
  #wake: () => void = () => undefined;

  /** Resolves when the reader wants the next chunk, or has stopped. */
  put(piece: Uint8Array): Promise<void> {
    if (this.#hasLeft) return Promise.resolve();
    const { promise, resolve: taken } = Promise.withResolvers<void>();
    this.#offered = { piece, taken };
    this.#wake();
    return promise;
  }

  /** Ends the body; or, with an error, fails it. */
  end(failure?: { error: unknown }): void {
    this.#ended = failure ? { failure } : {};
    this.#wake();
  }

  /** The reader has stopped. */
  leave(): void {
    this.#hasLeft = true;
    this.#offered?.taken();
    this.#offered = undefined;
  }

  async *#read(): AsyncGenerator<Uint8Array> {
    try {
      for (;;) {
        const { promise: change, resolve } = Promise.withResolvers<void>();
        this.#wake = resolve;
        if (this.#offered) {
          const { piece, taken } = this.#offered;
          yield piece;
          this.#offered = undefined;
          taken();
        } else if (this.#ended?.failure) throw this.#ended.failure.error;
        else if (this.#ended) return;
        else await change;
      }
    } finally {
      this.leave();
    }
  }
}

/**
 * Sends the answer of a text model.
 * @returns Resolves when its events are written, or the client has disconnected. Undefined for a whole answer.
 */
export function sendText(context: RequestContext, answer: TextAnswer): Promise<void> | undefined {
  const { body, standIn, upstreamRequestId, ignored, vendorHeaders, tries } = answer;
  if (ignored !== undefined) nameIgnored(context, ignored);
  if (tries !== undefined && tries > 1) addField(context.res, 'x-mediagate-attempts', String(tries));
  if (vendorHeaders && context.state.vendorLimits) sendVendorLimits(context, vendorLimitsOf(vendorHeaders));
  if (standIn !== undefined) addField(context.res, 'x-mediagate-stand-in', standIn);
  if (upstreamRequestId !== undefined) {
    context.state.upstreamRequestId = upstreamRequestId;
    addField(context.res, 'x-upstream-request-id', upstreamRequestId);
  }
  if (!(body instanceof Uint8Array)) return sendEvents(context, answer, body);
  sendWhole(context, answer, body);
  return undefined;
}

/** Passes on what the model vendor says about its limits, to the keys that may read it. */
export function sendVendorLimits(
  { res: response, state }: RequestContext,
  limits: Readonly<Record<string, string>> = {},
): void {
  for (const [name, value] of Object.entries(limits)) {
    if (state.vendorLimits === 'all' || !name.startsWith('x-')) addField(response, name, value);
  }
}

/** If the client disconnects before the answer is complete, the exchange is notified at once. */
export function leaveWithClient(response: ServerResponse, exchange: TextExchange): void {
  if (response.destroyed) exchange.leave();
  else response.once('close', () => exchange.leave());
}

/** Cache policy: public for five minutes, or private with revalidation. */
export type Keeping = 'public' | 'private';

const CACHE_CONTROL: Readonly<Record<Keeping, string>> = {
  public: 'public, max-age=300',
  private: 'private, no-cache',
};

export const JSON_TYPE = 'application/json; charset=utf-8';

/** Sends JSON with an ETag of its bytes; 304 if the client has them. */
export function sendJson(context: RequestContext, body: object, keeping: Keeping): void {
  sendTagged(context, JSON.stringify(body), { type: JSON_TYPE, keeping });
}

/** Sends a text with an ETag of its bytes; 304 if the client has them. */
export function sendTagged(
  context: RequestContext,
  text: string,
  { type, keeping }: { type: string; keeping: Keeping },
): void {
  const etag = `"${hash('sha256', text, 'base64url')}"`;
  context.set({ ETag: etag, 'Cache-Control': CACHE_CONTROL[keeping] });
  if (keeping === 'private') context.vary(['Authorization', 'Cookie']);
  if (hasCurrentCopy(context, etag)) {
    context.status = 304;
    return;
  }
  context.set('Content-Type', type);
  context.body = text;
}
