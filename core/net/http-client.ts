/*
 * The HTTP client for requests to the outside. Each client of the transport has limits of its own: deadline, size,
 * trusted origins. Redirects are followed only on request, at most five; every hop is checked by the address guard,
 * and credentials are dropped at another origin. Trust in a configured origin ends at the first redirect away from it.
 * Bodies are limited and decoded while they stream. Nothing is loaded or opened before the first request. Checked URLs
 * are cached by their object, since parsing and checking cost more than comparing.
 */

import { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import type { HttpClient, HttpRequest, HttpResponse, HttpStream } from '../contracts/index.js';
import { ArrivedBody, GatewayError, MAX_ARRIVED_BYTES, parseJson } from '../runtime/index.js';
import { type AddressGuard, type EgressDispatchers, isLoopbackHost, openDispatchers, readProxyUrl } from './egress.js';
import { decodeBody, httpFailure, overCap, type Received, type ReceivedBody, receive } from './http-receiver.js';
import { RequestLifetime, RequestLifetimes } from './request-lifetime.js';

export interface HttpTransportOptions {
  guard: AddressGuard;
  /** Forward proxy for every request, e.g. `http://user:password@proxy:3128`. Default: none. */
  egressProxyUrl?: string;
}

/** Limits of one client of the transport; its requests cannot exceed them. */
export interface HttpClientLimits {
  /** Deadline of each request in milliseconds. */
  timeoutMs: number;
  /** Maximum limit that a request may set, in decoded bytes. Default: none; a request without a limit gets 8 MiB. */
  maxBytes?: number;
  /** Private origins that the guard allows for this client. Default: none. */
  trustedOrigins?: readonly string[];
  /** Private origins allowed for a request's own URL only: no redirect from elsewhere reaches them. Default: none. */
  configuredOrigins?: readonly string[];
  /** Aborts every request of the client. */
  signal?: AbortSignal;
}

/** Creates scoped clients, each with limits of its own. */
export interface HttpClients {
  scoped(limits: HttpClientLimits): HttpClient;
}

/** Connections to the outside, shared by all clients. */
export interface HttpTransport extends HttpClients {
  /** Aborts running requests. Idempotent. */
  close(): Promise<void>;
}

/**
 * Creates the transport. Nothing is loaded or opened before the first request.
 * @throws Error if `egressProxyUrl` is no http or https URL.
 */
export function createHttpTransport({ guard, egressProxyUrl }: HttpTransportOptions): HttpTransport {
  const proxy = egressProxyUrl === undefined ? undefined : readProxyUrl(egressProxyUrl);
  const closing = new AbortController();
  let opening: Promise<EgressDispatchers> | undefined;
  let opened: EgressDispatchers | undefined;
  const open = () => {
    opening ??= openDispatchers({ guard, proxy, signal: closing.signal }).then((dispatchers) => (opened = dispatchers));
    return opening;
  };

  return {
    scoped(limits) {
      const lives = new RequestLifetimes(limits.signal ? [limits.signal, closing.signal] : [closing.signal]);
      const exchange = {
        limits,
        // Created once: the guard's results for a URL are cached by the identity of the list.
        ownOrigins: [...(limits.trustedOrigins ?? []), ...(limits.configuredOrigins ?? [])],
        guard,
        opened: () => opened,
        open,
      };
      const start = ({ timeoutMs = limits.timeoutMs, signal }: HttpRequest) =>
        new RequestLifetime({ timeoutMs: Math.min(timeoutMs, limits.timeoutMs), signal, lives });
      return {
        async request(request) {
          const life = start(request);
          try {
            return await readResponse(await sendRequest({ ...exchange, request, life }));
          } catch (error) {
            throw httpFailure(error, life);
          } finally {
            life.finish();
          }
        },
        stream(request) {
          const life = start(request);
          const opened = (answer: Answer) => {
            if (request.idleMs !== undefined) life.allowSilence(request.idleMs);
            return readStream(answer, life);
          };
          const failed = (error: unknown): never => {
            const failure = httpFailure(error, life);
            life.finish();
            throw failure;
          };
          return sendRequest({ ...exchange, request, life }).then(opened, failed);
        },
      };
    },
    async close() {
      closing.abort(new GatewayError('shutting_down', 'The gateway is closing.'));
      const dispatchers = await opening;
      if (dispatchers) await Promise.all([...new Set(Object.values(dispatchers))].map((one) => one.destroy()));
    },
  };
}

/** A request with everything that is needed to send it. */
export interface Exchange {
  request: HttpRequest;
  limits: { maxBytes?: number; trustedOrigins?: readonly string[] };
  /** Trusted as long as a request stays at the origin of its URL. */
  ownOrigins: readonly string[];
  life: RequestLifetime;
  guard: AddressGuard;
  /** Undefined before the first {@link open} has ended. */
  opened(): EgressDispatchers | undefined;
  open(): Promise<EgressDispatchers>;
}

const DEFAULT_MAX_BYTES = 8 * 1024 * 1024;
const MAX_REDIRECTS = 5;

/** Sends the request and follows the allowed redirects; the body of the last answer is still unread. */
export async function sendRequest(exchange: Exchange): Promise<Answer> {
  const { request, limits } = exchange;
  const { method = 'GET', body, maxRedirects = 0, maxBytes = DEFAULT_MAX_BYTES } = request;
  if (!(maxRedirects >= 0 && maxRedirects <= MAX_REDIRECTS)) throw new RangeError('maxRedirects must be 0 to 5.');
  const cap = Math.min(maxBytes, limits.maxBytes ?? Number.POSITIVE_INFINITY);
  const url = request.url instanceof URL ? request.url : URL.parse(request.url);
  if (!url) throw new GatewayError('upstream_refused', 'The address to fetch is not a URL.', { retryable: false });

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
  { life, guard, opened, open }: Exchange,
  trustedOrigins: readonly string[] | undefined,
  maxBytes: number,
): Promise<Received> {
  const { origin, path, way } = destinationOf(hop.url, guard, trustedOrigins);
  const request = { origin, path, method: hop.method, ...contentOf(hop) };
  const dispatchers = opened();
  if (dispatchers) return receive(dispatchers[way], request, { life, maxBytes });
  return life.race(open()).then((first) => receive(first[way], request, { life, maxBytes }));
}

/** A parsed URL that the guard allows. */
interface Destination {
  href: string;
  guard: AddressGuard;
  trustedOrigins: readonly string[] | undefined;
  origin: string;
  path: string;
  way: keyof EgressDispatchers;
}

/** Caches repeated URLs: parsing and checking one takes longer than comparing it. */
const destinations = new WeakMap<URL, Destination>();

/** @throws GatewayError `upstream_refused` if the guard refuses it. */
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
  // With a known length, a streamed body needs no chunked coding, which some upstreams refuse.
  return { headers: { ...headers, 'content-length': String(body.size) }, body: Readable.from(body.read()) };
}

/** Hop-by-hop fields (RFC 9110 7.6.1), their older equivalents, and the host. */
export const HOP_FIELDS: ReadonlySet<string> = new Set([
  'connection',
  'host',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);
/** Fields that describe the connection or the framing, which the transport sets. */
const OURS = new Set([...HOP_FIELDS, 'content-length', 'expect']);

/** The codings that the transport can decode. */
const ACCEPT_ENCODING = 'gzip, deflate, br, zstd';

/** Credential fields; only their own origin may receive them. */
const CREDENTIAL = /auth|cookie|token|secret|session|signature|credential|passw|(?:^|[-_])key(?:$|[-_])|apikey/;

export type HeaderFields = Readonly<Record<string, string>>;

/** The caller's fields as they will be sent. */
export function requestFields(headers: HeaderFields = {}): Record<string, string> {
  const fields: Record<string, string> = { 'accept-encoding': ACCEPT_ENCODING };
  for (const name in headers) {
    const value = headers[name];
    const lower = name.toLowerCase();
    if (value !== undefined && !OURS.has(lower)) fields[lower] = value;
  }
  return fields;
}

export function withoutCredentials(headers: HeaderFields): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !CREDENTIAL.test(name)));
}

/** Removes the fields that describe a body, for a request that has lost it. */
export function withoutContentFields(headers: HeaderFields): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !name.startsWith('content-')));
}

/** Joins fields of one name. Commas occur inside cookies, so those are separated by line feeds. */
export function responseFields(received: Readonly<Record<string, string | string[] | undefined>>): HeaderFields {
  const fields: Record<string, string> = {};
  for (const name in received) {
    const value = received[name];
    fields[name] = Array.isArray(value) ? value.join(name === 'set-cookie' ? '\n' : ', ') : (value ?? '');
  }
  return fields;
}

/** One request, possibly after redirects. */
export interface Hop {
  url: URL;
  method: string;
  headers: HeaderFields;
  body?: HttpRequest['body'];
}

const REDIRECTS = new Set([301, 302, 303, 307, 308]);

/**
 * The target of a redirect, or undefined if the answer is none. What may be sent there follows the Fetch Standard
 * (HTTP-redirect fetch), except that every credential field is dropped across origins.
 * @throws GatewayError `upstream_error` if the target is no URL.
 */
export function nextHop(hop: Hop, status: number, location: string | undefined): Hop | undefined {
  if (!REDIRECTS.has(status) || location === undefined) return undefined;
  const url = URL.parse(location, hop.url);
  if (!url) throw new GatewayError('upstream_error', 'The origin redirects to something that is not a URL.');
  const next = becomesGet(hop.method, status)
    ? { url, method: 'GET', headers: withoutContentFields(hop.headers) }
    : { ...hop, url };
  return url.origin === hop.url.origin ? next : { ...next, headers: withoutCredentials(next.headers) };
}

/** Releases an answer without reading its body, e.g. of a redirect. */
export function discard(reply: HttpStream): void {
  void reply.body[Symbol.asyncIterator]().return?.();
}

function becomesGet(method: string, status: number): boolean {
  if (status === 303) return method !== 'GET' && method !== 'HEAD';
  return method === 'POST' && (status === 301 || status === 302);
}

/** An answer with an unread body. */
export interface Answer {
  status: number;
  headers: HeaderFields;
  url: string;
  /** The body as it arrives, with the limit enforced. */
  received: ReceivedBody;
  /** The body with its codings decoded. */
  body: AsyncIterable<Uint8Array>;
}

export interface AnswerOptions {
  hop: Hop;
  received: Received;
  headers: HeaderFields;
  maxBytes: number;
}

/** An undecodable body fails when it is read: its status is useful without it. */
export function openAnswer({ hop, received: { status, body: received }, headers, maxBytes }: AnswerOptions): Answer {
  // Answers to HEAD and "not modified" state the length of a body that does not follow.
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

// biome-ignore lint/correctness/useYield: the generator only throws
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

/** @throws GatewayError `upstream_refused` if it is no JSON. */
export function readJson(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    // The parser's own error is not kept as cause: it quotes the text, and logs must not contain an upstream's body.
    throw new GatewayError('upstream_refused', 'The origin answered with something that is not JSON.');
  }
}

/** The body can be read once. Its deadline continues; leaving the loop closes the connection. */
export function readStream({ status, headers, url, received, body }: Answer, life: RequestLifetime): HttpStream {
  if (body !== received) return { status, headers, url, body: readDecoded(received, body, life) };
  const arrived = received.takeArrived(MAX_ARRIVED_BYTES);
  return { status, headers, url, body: arrived ? new ArrivedBody(arrived) : received };
}

function readDecoded(
  received: ReceivedBody,
  body: AsyncIterable<Uint8Array>,
  life: RequestLifetime,
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
        // A generator that waits for a chunk, or was never started, would not notice.
        received.close();
        return chunks.return(undefined);
      },
    }),
  };
}
