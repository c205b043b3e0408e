import type { HttpClient, HttpRequest, HttpResponse } from '../contracts/services.js';
import { type ErrorCode, GatewayError } from '../errors.js';

/** What a scripted upstream does with one request. */
export type FakeReply =
  | {
      /** Default 200. */
      status?: number;
      /** Names in lower case. */
      headers?: Readonly<Record<string, string>>;
      /** An object is sent as JSON, with its content type. Default: empty. */
      body?: string | Uint8Array | object;
      /** What follows the body: `break` a connection that breaks, `hang` nothing until the request's signal. Default: its end. */
      after?: 'break' | 'hang';
    }
  /** Fails as the real client does: `timeout` as at its deadline, `connection` as without an answer or a whole body. */
  | { fail: 'timeout' | 'connection' | 'address' }
  /** Never answers; ends with the request's signal. */
  | { hang: true };

export interface FakeHttp extends HttpClient {
  /** In the order they were made, their bodies read to the end. */
  readonly requests: readonly SentRequest[];
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
 * An HTTP client without a network: replies one after the other (the last one again and again), or what a function says.
 */
export function createFakeHttp(script: Script): FakeHttp {
  const requests: SentRequest[] = [];

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
    async request(request) {
      const { end, ...response } = await answer(request);
      await end();
      return response;
    },
    async stream(request) {
      const { status, headers, url, body, end } = await answer(request);
      return { status, headers, url, body: flow(body, end) };
    },
  };
}

/** What a body holds, wherever it lies. */
export async function wholeBody(body: HttpRequest['body']): Promise<string | Uint8Array | undefined> {
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

/** In a few pieces, as bodies come. */
async function* flow(body: Uint8Array, end: () => Promise<void>): AsyncGenerator<Uint8Array> {
  const size = Math.max(1, Math.ceil(body.length / 3));
  for (let from = 0; from < body.length; from += size) yield body.subarray(from, from + size);
  await end();
}

interface FakeAnswer extends HttpResponse {
  /** Resolves where the body ends in peace. */
  end(): Promise<void>;
}

/** A response as the real client hands it over. */
function toAnswer(
  request: HttpRequest,
  { status = 200, headers = {}, body = '', after }: Extract<FakeReply, { body?: unknown }>,
): FakeAnswer {
  const isData = typeof body === 'object' && !(body instanceof Uint8Array);
  const bytes = isData ? Buffer.from(JSON.stringify(body)) : Buffer.from(body as string | Uint8Array);
  return {
    status,
    headers: { ...(isData && { 'content-type': 'application/json' }), ...headers },
    url: String(request.url),
    body: bytes,
    text: () => bytes.toString('utf8'),
    async end() {
      if (after === 'break') throw new GatewayError(...FAILURES.connection);
      if (after === 'hang') await abortion(request.signal);
    },
    json() {
      try {
        return JSON.parse(bytes.toString('utf8'));
      } catch (cause) {
        throw new GatewayError('upstream_refused', 'The source answered something else than JSON.', { cause });
      }
    },
  };
}
