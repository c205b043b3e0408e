import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { RequestContext } from './middleware/request-state.js';

/** A client that takes nothing for so long has gone without saying so. */
const IDLE_MS = 120_000;
const BUFFERED_BYTES = 64 * 1024;

export interface StreamedAnswer {
  body: AsyncIterable<Uint8Array>;
  contentType: string;
  /** Aborts when the client has gone. */
  gone: AbortSignal;
}

/**
 * Answers with bytes as they come and as the client takes them. Resolves when the last one is sent; what the body throws
 * cuts the connection, which is how a client sees that not all is there.
 * @throws what the body throws; the reason of `gone`.
 */
export async function streamAnswer(
  context: RequestContext,
  { body, contentType, gone }: StreamedAnswer,
): Promise<void> {
  const { res: response } = context;
  gone.throwIfAborted();
  context.respond = false;
  response.statusCode = 200;
  response.setHeader('Content-Type', contentType);
  response.setTimeout(IDLE_MS, () => response.destroy());
  try {
    await pipeline(Readable.from(body, { objectMode: false, highWaterMark: BUFFERED_BYTES }), response);
  } catch (error) {
    gone.throwIfAborted();
    throw error;
  }
}
