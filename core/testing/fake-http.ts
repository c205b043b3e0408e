import type { HttpClient, HttpRequest, HttpResponse } from '../contracts/services.js';
import { type ErrorCode, GatewayError } from '../errors.js';
import { oneChunk } from './memory-services.js';

/** What a scripted upstream does with one request. */
export type FakeReply =
  | {
      /** Default 200. */
      status?: number;
      /** Names in lower case. */
      headers?: Readonly<Record<string, string>>;
      /** An object is sent as JSON, with its content type. Default: empty. */
      body?: string | Uint8Array | object;
    }
  /** Fails as the real client does: `timeout` as at its deadline, `connection` as without an answer or a whole body. */
  | { fail: 'timeout' | 'connection' | 'address' }
  /** Never answers; ends with the request's signal. */
  | { hang: true };

export interface FakeHttp extends HttpClient {
  /** In the order they were made. */
  readonly requests: readonly HttpRequest[];
}

type Script = readonly FakeReply[] | ((request: HttpRequest) => FakeReply | Promise<FakeReply>);

const FAILURES: Readonly<Record<'timeout' | 'connection' | 'address', [ErrorCode, string]>> = {
  timeout: ['upstream_timeout', 'The source did not answer in time.'],
  connection: ['upstream_error', 'The connection to the source failed.'],
  address: ['upstream_refused', 'The address is not allowed.'],
};

/**
 * An HTTP client without a network: replies one after the other (the last one again and again), or what a function says.
 */
export function createFakeHttp(script: Script): FakeHttp {
  const requests: HttpRequest[] = [];

  async function answer(request: HttpRequest): Promise<HttpResponse> {
    request.signal?.throwIfAborted();
    requests.push(request);
    const reply =
      typeof script === 'function' ? await script(request) : script[Math.min(requests.length, script.length) - 1];
    if (!reply) throw new GatewayError('upstream_error', 'The script of the fake has no reply.');
    if ('hang' in reply) return await abortion(request.signal);
    if ('fail' in reply) throw new GatewayError(...FAILURES[reply.fail]);
    const response = toResponse(request, reply);
    const { location } = response.headers;
    const { maxRedirects = 0 } = request;
    if (response.status < 300 || response.status > 399 || !location || maxRedirects === 0) return response;
    return answer({ ...request, url: new URL(location, request.url), maxRedirects: maxRedirects - 1 });
  }

  return {
    requests,
    request: answer,
    async stream(request) {
      const { status, headers, url, body } = await answer(request);
      return { status, headers, url, body: oneChunk(body) };
    },
  };
}

function abortion(signal: AbortSignal | undefined): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal?.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}

/** A response as the real client hands it over. */
function toResponse(
  request: HttpRequest,
  { status = 200, headers = {}, body = '' }: Extract<FakeReply, { body?: unknown }>,
): HttpResponse {
  const isData = typeof body === 'object' && !(body instanceof Uint8Array);
  const bytes = isData ? Buffer.from(JSON.stringify(body)) : Buffer.from(body as string | Uint8Array);
  return {
    status,
    headers: { ...(isData && { 'content-type': 'application/json' }), ...headers },
    url: String(request.url),
    body: bytes,
    text: () => bytes.toString('utf8'),
    json() {
      try {
        return JSON.parse(bytes.toString('utf8'));
      } catch (cause) {
        throw new GatewayError('upstream_refused', 'The source answered something else than JSON.', { cause });
      }
    },
  };
}
