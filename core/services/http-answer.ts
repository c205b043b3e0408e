import type { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import type { HttpResponse, HttpStream } from '../contracts/services.js';
import { GatewayError } from '../errors.js';
import { parseJson } from '../extraction/json-text.js';
import type { Lifetime } from '../lifetime.js';
import { decodeBody, overCap } from './http-decoding.js';
import { httpFailure } from './http-failure.js';
import type { HeaderFields } from './http-headers.js';
import type { Hop } from './http-redirect.js';

/** An answer whose body is still to be read. */
export interface Answer {
  status: number;
  headers: HeaderFields;
  url: string;
  /** Codings undone, the cap enforced. */
  body: AsyncIterable<Uint8Array>;
  /** Closes the connection unless the body was read to its end. */
  discard(): void;
}

export interface AnswerOptions {
  hop: Hop;
  response: Dispatcher.ResponseData;
  headers: HeaderFields;
  maxBytes: number;
}

export function openAnswer({ hop, response, headers, maxBytes }: AnswerOptions): Answer {
  const discard = () => discardBody(response.body);
  try {
    if (announcesBody(hop, response) && Number(headers['content-length']) > maxBytes) throw overCap();
    const body = decodeBody(response.body, { contentEncoding: headers['content-encoding'], maxBytes });
    return { status: response.statusCode, headers, url: hop.url.href, body, discard };
  } catch (error) {
    discard();
    throw error;
  }
}

/** Answers to HEAD and "not modified" tell the length of a body that does not follow. */
function announcesBody(hop: Hop, response: Dispatcher.ResponseData): boolean {
  return hop.method !== 'HEAD' && response.statusCode !== 304;
}

/** Closes the connection, unless the body has been read. */
export function discardBody(body: Readable): void {
  // Nobody reads this body any more, so nobody else can be told.
  body.on('error', () => {}).destroy();
}

export async function readResponse({ status, headers, url, body, discard }: Answer): Promise<HttpResponse> {
  const chunks: Uint8Array[] = [];
  try {
    for await (const chunk of body) chunks.push(chunk);
  } finally {
    discard();
  }
  const bytes = Buffer.concat(chunks);
  const text = () => bytes.toString('utf8').replace(/^\ufeff/, '');
  return { status, headers, url, body: bytes, text, json: () => readJson(text()) };
}

function readJson(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    // The parser's own error is not kept as cause: it quotes the text, and no log shall hold an upstream's body.
    throw new GatewayError('upstream_refused', 'The origin answered with something that is not JSON.');
  }
}

/** The body can be read once. Its deadline goes on; leaving the loop closes the connection. */
export function readStream({ body, discard, ...answer }: Answer, lifetime: Lifetime): HttpStream {
  const leave = () => {
    lifetime.end();
    discard();
  };
  const read = async function* () {
    try {
      yield* body;
    } catch (error) {
      throw httpFailure(error, lifetime.signal);
    } finally {
      leave();
    }
  };
  const chunks = read();
  return {
    ...answer,
    body: {
      [Symbol.asyncIterator]: () => ({
        next: () => chunks.next(),
        return() {
          // A generator that waits for a chunk, or was never asked for one, would not notice.
          leave();
          return chunks.return(undefined);
        },
      }),
    },
  };
}
