import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { addField } from './answer-response.js';
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
/** Shorter ones are copied to what stands around them and written with it, which takes less than handing over each. */
const SHORT_BYTES = 8_192;

/** Answers that were ready in this turn of the event loop, and in the latest one before it that had any. */
let ready = 0;
let readyBefore = 0;

/** Whether answers are ready several at a time. */
function areMany(): boolean {
  if (ready === 0) setImmediate(endTurn);
  ready += 1;
  return readyBefore > 1;
}

function endTurn(): void {
  readyBefore = ready;
  ready = 0;
}

/**
 * Answers with bytes that are all here. Where several answers are ready in one turn of the event loop they go out at its end,
 * one right after the other: each that goes out by itself has to wake whoever waits for it, which takes the sender longer
 * than the writing.
 */
export function sendWhole(context: RequestContext, { status, headers }: AnswerHead, body: Uint8Array): void {
  const { res: response } = context;
  open(context, status, headers);
  addField(response, 'Content-Length', String(body.length));
  const end = body.length <= SHORT_BYTES ? endShort : endLong;
  if (areMany()) setImmediate(end, response, body);
  else end(response, body);
}

/** Node puts a text behind the head, which is one; in this coding each character of it is a byte. */
function endShort(response: ServerResponse, body: Uint8Array): void {
  response.end(Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('latin1'), 'latin1');
}

function endLong(response: ServerResponse, body: Uint8Array): void {
  response.end(body);
}

/** Answers with events as they come: as {@link sendStream}. */
export async function sendEvents(
  context: RequestContext,
  { status, headers }: AnswerHead,
  events: AsyncIterable<Uint8Array>,
): Promise<void> {
  const { res: response } = context;
  response.setHeader('Cache-Control', 'no-store, no-transform');
  // Proxies of the nginx kind would gather events before they pass them on.
  response.setHeader('X-Accel-Buffering', 'no');
  await sendStream(context, { status, headers: { ...headers, 'content-type': EVENTS } }, events);
}

/**
 * Answers with bytes as they come, no faster than the client takes them. Koa's own way would put two streams between.
 * Resolves when the last is handed over, or the client has gone. Rejects with what `stream` throws: whoever has the beginning
 * by then is cut off, and others can be told.
 */
export async function sendStream(
  context: RequestContext,
  { status, headers }: AnswerHead,
  stream: AsyncIterable<Uint8Array>,
): Promise<void> {
  const { res: response } = context;
  open(context, status, headers);
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
      if (!writePiece(response, bytes)) await drained(response);
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

function open(context: RequestContext, status: number, headers: Readonly<Record<string, string>>): void {
  context.respond = false;
  const { res: response } = context;
  response.statusCode = status;
  for (const name in headers) {
    const value = headers[name];
    if (value !== undefined) addField(response, name, value);
  }
}

/**
 * Node writes a piece in four: its length, itself and two line ends. Of an event, which is short, that is the dearest part.
 * @returns Whether there is room for more.
 */
function writePiece(response: ServerResponse, bytes: Uint8Array): boolean {
  const isShort = bytes.length > 0 && bytes.length <= SHORT_BYTES;
  // The first goes out with the head, which tells whether there are chunks.
  if (!isShort || !response.headersSent || !response.chunkedEncoding) return response.write(bytes);
  response.chunkedEncoding = false;
  try {
    return response.write(asChunk(bytes));
  } finally {
    response.chunkedEncoding = true;
  }
}

/** In the chunked coding: RFC 9112, 7.1. */
function asChunk(bytes: Uint8Array): Buffer {
  const length = `${bytes.length.toString(16)}\r\n`;
  const chunk = Buffer.allocUnsafe(length.length + bytes.length + 2);
  chunk.write(length, 'latin1');
  chunk.set(bytes, length.length);
  chunk.write('\r\n', length.length + bytes.length, 'latin1');
  return chunk;
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
