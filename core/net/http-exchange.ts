import { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import type { HttpRequest } from '../contracts/index.js';
import { GatewayError } from '../runtime/index.js';
import type { AddressGuard } from './address-guard.js';
import type { EgressDispatchers } from './egress-dispatcher.js';
import { type Answer, openAnswer } from './http-answer.js';
import { requestFields, responseFields } from './http-headers.js';
import { type Received, receive } from './http-receiver.js';
import { type Hop, nextHop } from './http-redirect.js';
import { isLoopbackHost } from './loopback-host.js';
import type { RequestLife } from './request-life.js';

/** A request with all that is needed to send it. */
export interface Exchange {
  request: HttpRequest;
  limits: { maxBytes?: number; trustedOrigins?: readonly string[] };
  /** Trusted as long as a request stays at the origin of its URL. */
  ownOrigins: readonly string[];
  life: RequestLife;
  guard: AddressGuard;
  /** At once where they are open. */
  open(): EgressDispatchers | Promise<EgressDispatchers>;
}

const DEFAULT_MAX_BYTES = 8 * 1024 * 1024;
const MAX_REDIRECTS = 5;

/** Sends the request and follows redirects as far as it allows; the body of the last answer is still to be read. */
export async function sendRequest(exchange: Exchange): Promise<Answer> {
  const { request, limits } = exchange;
  const { method = 'GET', body, maxRedirects = 0, maxBytes = DEFAULT_MAX_BYTES } = request;
  if (!(maxRedirects >= 0 && maxRedirects <= MAX_REDIRECTS)) throw new RangeError('maxRedirects must be 0 to 5.');
  const cap = Math.min(maxBytes, limits.maxBytes ?? Number.POSITIVE_INFINITY);
  const url = request.url instanceof URL ? request.url : URL.parse(request.url);
  if (!url) throw new GatewayError('upstream_refused', 'What was to be fetched is not a URL.', { retryable: false });

  let hop: Hop = { url, method, headers: requestFields(request.headers), body };
  let isAtHome = true;
  for (let redirects = 0; ; redirects++) {
    // A redirect to another origin, or back from one, is not the operator's choice.
    isAtHome &&= hop.url.origin === url.origin;
    const trustedOrigins = isAtHome ? exchange.ownOrigins : limits.trustedOrigins;
    const received = await dispatch(hop, exchange, trustedOrigins, cap);
    const headers = responseFields(received.headers);
    const next = maxRedirects > 0 ? nextHop(hop, received.status, headers.location) : undefined;
    if (!next) return openAnswer({ hop, received, headers, maxBytes: cap });
    received.body.close();
    if (redirects >= maxRedirects) throw new GatewayError('upstream_error', 'The origin redirects too often.');
    hop = next;
  }
}

function dispatch(
  hop: Hop,
  { life, guard, open }: Exchange,
  trustedOrigins: readonly string[] | undefined,
  maxBytes: number,
): Promise<Received> {
  const { origin, path, way } = destinationOf(hop.url, guard, trustedOrigins);
  const request = { origin, path, method: hop.method, ...contentOf(hop) };
  const send = (dispatchers: EgressDispatchers) => receive(dispatchers[way], request, { life, maxBytes });
  const opened = open();
  return opened instanceof Promise ? life.race(opened).then(send) : send(opened);
}

/** Where a URL leads, and that the guard lets requests go there. */
interface Destination {
  href: string;
  guard: AddressGuard;
  trustedOrigins: readonly string[] | undefined;
  origin: string;
  path: string;
  way: keyof EgressDispatchers;
}

/** Of URLs that their users keep: taking one apart, and judging it, takes longer than comparing it. */
const destinations = new WeakMap<URL, Destination>();

/** @throws GatewayError `upstream_refused` where the guard does not let it through. */
function destinationOf(url: URL, guard: AddressGuard, trustedOrigins: readonly string[] | undefined): Destination {
  const known = destinations.get(url);
  const { href } = url;
  if (known?.href === href && known.guard === guard && known.trustedOrigins === trustedOrigins) return known;
  guard.checkUrl(url, trustedOrigins);
  const { origin, pathname, search, hostname } = url;
  const isTrusted = guard.isTrusted(url, trustedOrigins);
  const way = !isTrusted ? 'guarded' : isLoopbackHost(hostname) ? 'local' : 'trusted';
  const found: Destination = { href, guard, trustedOrigins, origin, path: pathname + search, way };
  destinations.set(url, found);
  return found;
}

function contentOf({ headers, body }: Hop): Pick<Dispatcher.DispatchOptions, 'headers' | 'body'> {
  if (typeof body !== 'object' || body instanceof Uint8Array) return { headers, body };
  // With its length told, a body that is read piece by piece needs no chunked coding, which some upstreams refuse.
  return { headers: { ...headers, 'content-length': String(body.size) }, body: Readable.from(body.read()) };
}
