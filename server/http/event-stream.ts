import { hash } from 'node:crypto';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { TextAnswer, TextExchange } from 'mediagate';
import { addField, takeResponse } from './fast-path.js';
import { hasCurrentCopy } from './file-response.js';
import { IDLE_MS } from './http-server.js';
import type { RequestContext } from './koa-app.js';

/** What an answer begins with. */
export interface AnswerHead {
  status: number;
  /** Names in lower case. */
  headers: Readonly<Record<string, string>>;
}

/** Media type of server-sent events. */
export const EVENTS = 'text/event-stream; charset=utf-8';

/** Answers with bytes that are all here. */
export function sendWhole(context: RequestContext, { status, headers }: AnswerHead, body: Uint8Array): void {
  const response = takeResponse(context, status, headers);
  addField(response, 'Content-Length', String(body.length));
  response.end(body);
}

/** Answers with events as they come: as {@link sendStream}. */
export async function sendEvents(
  context: RequestContext,
  { status, headers }: AnswerHead,
  events: AsyncIterable<Uint8Array>,
): Promise<void> {
  context.set('Cache-Control', 'no-store, no-transform');
  // Proxies of the nginx kind would gather events before they pass them on.
  context.set('X-Accel-Buffering', 'no');
  await sendStream(context, { status, headers: { ...headers, 'content-type': EVENTS } }, events);
}

/**
 * Answers with bytes as they come, no faster than the client takes them.
 * Resolves when the last is handed over, or the client has gone. Rejects with what `stream` throws: whoever has the beginning
 * by then is cut off, and others can be told.
 */
export async function sendStream(
  context: RequestContext,
  { status, headers }: AnswerHead,
  stream: AsyncIterable<Uint8Array>,
): Promise<void> {
  const response = takeResponse(context, status, headers);
  response.setTimeout(IDLE_MS, () => response.destroy());
  let begun = false;
  // The first bytes mostly are here already, and then go out with the head.
  const hurry = setImmediate(() => {
    if (!begun && !response.destroyed) response.flushHeaders();
  });
  try {
    for await (const bytes of stream) {
      begun = true;
      if (response.destroyed) return;
      if (!response.write(bytes)) await drained(response);
    }
    response.end();
  } catch (error) {
    if (response.headersSent) response.destroy();
    else context.respond = true;
    throw error;
  } finally {
    clearImmediate(hurry);
  }
}

/** Resolves when there is room again, or nobody left to write to. */
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

/** Hands a body to one reader, piece by piece: no more of it is in memory than the reader has not taken yet. */
export interface HandOver {
  /** To be read once, to its end or until it is told to return. */
  readonly pieces: AsyncIterable<Uint8Array>;
  /** Resolves when the reader wants the next piece, or wants none any more. */
  put(piece: Uint8Array): Promise<void>;
  /** There is no more; or, with an error, there never will be. */
  end(failure?: { error: unknown }): void;
  /** Nobody will read on. */
  leave(): void;
}

export function createHandOver(): HandOver {
  let offered: { piece: Uint8Array; taken: () => void } | undefined;
  let ended: { failure?: { error: unknown } } | undefined;
  let hasLeft = false;
  let wake: () => void = () => undefined;

  function leave(): void {
    hasLeft = true;
    offered?.taken();
    offered = undefined;
  }

  async function* read(): AsyncGenerator<Uint8Array> {
    try {
      for (;;) {
        const { promise: change, resolve } = Promise.withResolvers<void>();
        wake = resolve;
        if (offered) {
          const { piece, taken } = offered;
          yield piece;
          offered = undefined;
          taken();
        } else if (ended?.failure) throw ended.failure.error;
        else if (ended) return;
        else await change;
      }
    } finally {
      leave();
    }
  }

  return {
    pieces: read(),
    put(piece) {
      if (hasLeft) return Promise.resolve();
      const { promise, resolve: taken } = Promise.withResolvers<void>();
      offered = { piece, taken };
      wake();
      return promise;
    },
    end(failure) {
      ended = failure ? { failure } : {};
      wake();
    },
    leave,
  };
}

/** Answers with what a text model said. Resolves when it is handed over, or the client has gone. */
export async function sendText(context: RequestContext, answer: TextAnswer): Promise<void> {
  const { body, standIn } = answer;
  if (standIn !== undefined) addField(context.res, 'x-mediagate-stand-in', standIn);
  if (body instanceof Uint8Array) sendWhole(context, answer, body);
  else await sendEvents(context, answer, body);
}

/** Whoever closes the connection before the answer is out is told to the exchange at once. */
export function leaveWithClient(response: ServerResponse, exchange: TextExchange): void {
  if (response.destroyed) exchange.leave();
  else response.once('close', () => exchange.leave());
}

/** Who may keep an answer: anybody for five minutes, or whoever asked, to be asked about each time. */
export type Keeping = 'public' | 'private';

const CACHE_CONTROL: Readonly<Record<Keeping, string>> = {
  public: 'public, max-age=300',
  private: 'private, no-cache',
};

const JSON_TYPE = 'application/json; charset=utf-8';

/** Answers with JSON under a tag of its bytes; 304 where the client has them. */
export function sendJson(context: RequestContext, body: object, keeping: Keeping): void {
  sendTagged(context, JSON.stringify(body), { type: JSON_TYPE, keeping });
}

/** As {@link sendJson}, for any text. */
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
