import type { HttpClient, HttpRequest, HttpResponse } from '../contracts/index.js';
import { readJson } from '../net/index.js';
import { type ErrorCode, GatewayError } from '../runtime/index.js';

/** The reaction of a scripted upstream to one request. */
export type FakeReply =
  | {
      /** Default 200. */
      status?: number;
      /** Names in lower case. */
      headers?: Readonly<Record<string, string>>;
      /** An object is sent as JSON, with its content type. Default: empty. */
      body?: string | Uint8Array | object;
      /**
       * What follows the body: `break` a connection that breaks, `hang` nothing until the request's signal. Default:
       * its end.
       */
      after?: 'break' | 'hang';
      /** Bytes per streamed chunk. Default: a third of the body. */
      pieceLength?: number;
    }
  /**
   * Fails as the real client does: `timeout` as at its deadline, `connection` as without an answer or with an
   * incomplete body.
   */
  | { fail: 'timeout' | 'connection' | 'address' }
  /** Never answers; ends with the request's signal. */
  | { hang: true };

export interface FakeHttp extends HttpClient {
  /** In the order they were sent, with complete bodies. */
  readonly requests: readonly SentRequest[];
  /** Streamed bodies that were neither read to their end nor released: connections that stay open. */
  readonly openBodies: number;
}

export interface SentRequest extends HttpRequest {
  body?: string | Uint8Array;
}

type Script = readonly FakeReply[] | ((request: SentRequest) => FakeReply | Promise<FakeReply>);

const FAILURES: Readonly<Record<'timeout' | 'connection' | 'address', [ErrorCode, string]>> = {
  timeout: ['upstream_timeout', 'The source did not answer in time.'],
  connection: ['upstream_error', 'The connection to the source failed.'],
  address: ['upstream_refused', 'The address is not allowed.'],
};

/**
 * An HTTP client without a network: answers with replies in order (the last one repeatedly), or with the result of a
 * function.
 */
export function createFakeHttp(script: Script): FakeHttp {
  const requests: SentRequest[] = [];
  let openBodies = 0;

  async function answer(request: HttpRequest): Promise<FakeAnswer> {
    request.signal?.throwIfAborted();
    const sent = { ...request, body: await wholeBody(request.body) };
    requests.push(sent);
    const reply =
      typeof script === 'function' ? await script(sent) : script[Math.min(requests.length, script.length) - 1];
    if (!reply) throw new GatewayError('upstream_error', 'The script of the fake has no reply.');
    if ('hang' in reply) return await abortion(request.signal);
    if ('fail' in reply) throw new GatewayError(...FAILURES[reply.fail]);
    const response = toAnswer(request, reply);
    const { location } = response.headers;
    const { maxRedirects = 0 } = request;
    if (response.status < 300 || response.status > 399 || !location || maxRedirects === 0) return response;
    return answer({ ...request, url: new URL(location, request.url), maxRedirects: maxRedirects - 1 });
  }

  return {
    requests,
    get openBodies() {
      return openBodies;
    },
    async request(request) {
      const { end, pieceLength: _unused, ...response } = await answer(request);
      await end();
      return response;
    },
    async stream(request) {
      const { status, headers, url, body, end, pieceLength } = await answer(request);
      openBodies++;
      const flowing = flow(body, { pieceLength, signal: request.signal, end, close: () => void openBodies-- });
      return { status, headers, url, body: flowing };
    },
  };
}

/** The content of a body, wherever it comes from. */
async function wholeBody(body: HttpRequest['body']): Promise<string | Uint8Array | undefined> {
  if (typeof body !== 'object' || body instanceof Uint8Array) return body;
  const chunks: Uint8Array[] = [];
  for await (const chunk of body.read()) chunks.push(chunk);
  return Buffer.concat(chunks);
}

function abortion(signal: AbortSignal | undefined): Promise<never> {
  return new Promise((_resolve, reject) => {
    if (signal?.aborted) reject(signal.reason);
    signal?.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}

interface Flow {
  pieceLength?: number;
  signal?: AbortSignal;
  end(): Promise<void>;
  /** Called once: it was read to its end, or released. */
  close(): void;
}

/** In chunks, as bodies arrive. Leaving the loop ends it at once, as with the real client, even if it hangs. */
function flow(body: Uint8Array, { pieceLength, signal, end, close }: Flow): AsyncIterable<Uint8Array> {
  const size = pieceLength ?? Math.max(1, Math.ceil(body.length / 3));
  let from = 0;
  let isClosed = false;
  const finish = () => {
    if (!isClosed) close();
    isClosed = true;
  };
  return {
    [Symbol.asyncIterator]: () => ({
      async next() {
        if (isClosed) return { done: true, value: undefined };
        try {
          signal?.throwIfAborted();
          if (from < body.length) {
            from += size;
            return { done: false, value: body.subarray(from - size, from) };
          }
          await end();
        } catch (error) {
          finish();
          throw error;
        }
        finish();
        return { done: true, value: undefined };
      },
      async return() {
        finish();
        return { done: true, value: undefined };
      },
    }),
  };
}

interface FakeAnswer extends HttpResponse {
  pieceLength?: number;
  /** Resolves if the body ends without an error. */
  end(): Promise<void>;
}

/** A response in the form of the real client. */
function toAnswer(
  request: HttpRequest,
  { status = 200, headers = {}, body = '', after, pieceLength }: Extract<FakeReply, { body?: unknown }>,
): FakeAnswer {
  const isData = typeof body === 'object' && !(body instanceof Uint8Array);
  const bytes = isData ? Buffer.from(JSON.stringify(body)) : Buffer.from(body as string | Uint8Array);
  return {
    status,
    headers: { ...(isData && { 'content-type': 'application/json' }), ...headers },
    url: String(request.url),
    body: bytes,
    text: () => bytes.toString('utf8'),
    pieceLength,
    async end() {
      if (after === 'break') throw new GatewayError(...FAILURES.connection);
      if (after === 'hang') await abortion(request.signal);
    },
    json: () => readJson(bytes.toString('utf8')),
  };
}
