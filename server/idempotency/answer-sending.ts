import type { GatewayError } from 'mediagate';
import type { RequestContext } from '../http/index.js';
import { EVENTS, sendEvents, sendStream } from '../http/index.js';

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
