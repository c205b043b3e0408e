import type { HttpResponse, HttpStream } from '../contracts/index.js';
import { parseJson } from '../extraction/scraping/index.js';
import { GatewayError } from '../runtime/index.js';
import type { HeaderFields, Hop } from './http-client.js';
import type { Received, ReceivedBody } from './http-receiver.js';
import { decodeBody, httpFailure, overCap } from './http-receiver.js';
import type { RequestLife } from './request-life.js';

/** An answer whose body is still to be read. */
export interface Answer {
  status: number;
  headers: HeaderFields;
  url: string;
  /** As it comes, the cap enforced. */
  received: ReceivedBody;
  /** The same, codings undone. */
  body: AsyncIterable<Uint8Array>;
}

export interface AnswerOptions {
  hop: Hop;
  received: Received;
  headers: HeaderFields;
  maxBytes: number;
}

/** A body that cannot be read fails once somebody reads it: the status says what there is to say without it. */
export function openAnswer({ hop, received: { status, body: received }, headers, maxBytes }: AnswerOptions): Answer {
  // Answers to HEAD and "not modified" tell the length of a body that does not follow.
  const announcesBody = hop.method !== 'HEAD' && status !== 304;
  const isOver = announcesBody && Number(headers['content-length']) > maxBytes;
  const body = isOver
    ? failing(overCap())
    : decoded(received, { contentEncoding: headers['content-encoding'], maxBytes });
  received.conclude();
  return { status, headers, url: hop.url.href, received, body };
}

function decoded(...[received, options]: Parameters<typeof decodeBody>): AsyncIterable<Uint8Array> {
  try {
    return decodeBody(received, options);
  } catch (error) {
    return failing(error);
  }
}

// biome-ignore lint/correctness/useYield: there is nothing to be had
async function* failing(error: unknown): AsyncGenerator<Uint8Array> {
  throw error;
}

export async function readResponse({ status, headers, url, received, body }: Answer): Promise<HttpResponse> {
  const chunks: Uint8Array[] = [];
  try {
    for await (const chunk of body) chunks.push(chunk);
  } finally {
    received.close();
  }
  const bytes = Buffer.concat(chunks);
  const text = () => bytes.toString('utf8').replace(/^\ufeff/, '');
  return { status, headers, url, body: bytes, text, json: () => readJson(text()) };
}

/** @throws GatewayError `upstream_refused` where it is no JSON. */
export function readJson(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    // The parser's own error is not kept as cause: it quotes the text, and no log shall hold an upstream's body.
    throw new GatewayError('upstream_refused', 'The origin answered with something that is not JSON.');
  }
}

/** The body can be read once. Its deadline goes on; leaving the loop closes the connection. */
export function readStream({ status, headers, url, received, body }: Answer, life: RequestLife): HttpStream {
  return { status, headers, url, body: body === received ? body : readDecoded(received, body, life) };
}

function readDecoded(
  received: ReceivedBody,
  body: AsyncIterable<Uint8Array>,
  life: RequestLife,
): AsyncIterable<Uint8Array> {
  const read = async function* () {
    try {
      yield* body;
    } catch (error) {
      throw httpFailure(error, life);
    } finally {
      received.close();
    }
  };
  const chunks = read();
  return {
    [Symbol.asyncIterator]: () => ({
      next: () => chunks.next(),
      return() {
        // A generator that waits for a chunk, or was never asked for one, would not notice.
        received.close();
        return chunks.return(undefined);
      },
    }),
  };
}
