import { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import type { HttpRequest } from '../contracts/services.js';
import { GatewayError } from '../errors.js';
import type { Lifetime } from '../lifetime.js';
import type { AddressGuard } from './address-guard.js';
import type { EgressDispatchers } from './egress-dispatcher.js';
import { type Answer, discardBody, openAnswer } from './http-answer.js';
import { requestFields, responseFields } from './http-headers.js';
import { type Hop, nextHop } from './http-redirect.js';

/** A request with all that is needed to send it. */
export interface Exchange {
  request: HttpRequest;
  limits: { maxBytes?: number; trustedOrigins?: readonly string[] };
  lifetime: Lifetime;
  guard: AddressGuard;
  open(): Promise<EgressDispatchers>;
}

const DEFAULT_MAX_BYTES = 8 * 1024 * 1024;
const MAX_REDIRECTS = 5;

/** Sends the request and follows redirects as far as it allows; the body of the last answer is still to be read. */
export async function sendRequest(exchange: Exchange): Promise<Answer> {
  const { request, limits } = exchange;
  const { method = 'GET', body, maxRedirects = 0, maxBytes = DEFAULT_MAX_BYTES } = request;
  if (!(maxRedirects >= 0 && maxRedirects <= MAX_REDIRECTS)) throw new RangeError('maxRedirects must be 0 to 5.');
  const cap = Math.min(maxBytes, limits.maxBytes ?? Number.POSITIVE_INFINITY);
  const url = URL.parse(request.url);
  if (!url) throw new GatewayError('upstream_refused', 'What was to be fetched is not a URL.', { retryable: false });

  let hop: Hop = { url, method, headers: requestFields(request.headers), body };
  for (let redirects = 0; ; redirects++) {
    const response = await dispatch(hop, exchange);
    const headers = responseFields(response.headers);
    const next = maxRedirects > 0 ? nextHop(hop, response.statusCode, headers.location) : undefined;
    if (!next) return openAnswer({ hop, response, headers, maxBytes: cap });
    discardBody(response.body);
    if (redirects >= maxRedirects) throw new GatewayError('upstream_error', 'The origin redirects too often.');
    hop = next;
  }
}

async function dispatch(hop: Hop, { limits, lifetime, guard, open }: Exchange): Promise<Dispatcher.ResponseData> {
  guard.checkUrl(hop.url, limits.trustedOrigins);
  const { guarded, trusted } = await lifetime.race(open());
  const dispatcher = guard.isTrusted(hop.url, limits.trustedOrigins) ? trusted : guarded;
  const response = dispatcher.request({
    origin: hop.url.origin,
    path: hop.url.pathname + hop.url.search,
    method: hop.method,
    ...contentOf(hop),
    signal: lifetime.signal,
  });
  // undici notices an abort only once it has a connection, which may take longer than the request has.
  return lifetime.race(response);
}

function contentOf({ headers, body }: Hop): Pick<Dispatcher.RequestOptions, 'headers' | 'body'> {
  if (typeof body !== 'object' || body instanceof Uint8Array) return { headers, body };
  // With its length told, a body that is read piece by piece needs no chunked coding, which some upstreams refuse.
  return { headers: { ...headers, 'content-length': String(body.size) }, body: Readable.from(body.read()) };
}
