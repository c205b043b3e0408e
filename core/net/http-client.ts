import { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import type { HttpClient, HttpRequest, HttpResponse, HttpStream } from '../contracts/index.js';
import { parseJson } from '../extraction/scraping/index.js';
import { GatewayError } from '../runtime/index.js';
import { type AddressGuard, isLoopbackHost } from './address-guard.js';
import { type EgressDispatchers, openDispatchers, readProxyUrl } from './egress.js';
import { decodeBody, httpFailure, overCap, type Received, type ReceivedBody, receive } from './http-receiver.js';
import { RequestLife, RequestLives } from './request-life.js';

export interface HttpTransportOptions {
  guard: AddressGuard;
  /** Forward proxy that every request leaves through, e.g. `http://user:password@proxy:3128`. Default: none. */
  egressProxyUrl?: string;
}

/** Limits of one user of the transport; no request of its client can go beyond them. */
export interface HttpFaceLimits {
  /** Deadline of each request in milliseconds. */
  timeoutMs: number;
  /** Highest cap a request may ask for, in decoded bytes. Default: none; a request that asks for none gets 8 MiB. */
  maxBytes?: number;
  /** Origins that the guard lets this client reach although they are private. Default: none. */
  trustedOrigins?: readonly string[];
  /** The same for a request's own URL alone: no redirect from elsewhere leads there. Default: none. */
  configuredOrigins?: readonly string[];
  /** Ends every request of the client. */
  signal?: AbortSignal;
}

/** What clients are made of, each with limits of its own. */
export interface HttpFaces {
  face(limits: HttpFaceLimits): HttpClient;
}

/** Connections to the outside, shared by all clients. */
export interface HttpTransport extends HttpFaces {
  /** Cuts what is under way. Idempotent. */
  close(): Promise<void>;
}

/**
 * Makes the transport. Nothing is loaded or opened before the first request.
 * @throws Error where `egressProxyUrl` is no http or https URL.
 */
export function createHttpTransport({ guard, egressProxyUrl }: HttpTransportOptions): HttpTransport {
  const proxy = egressProxyUrl === undefined ? undefined : readProxyUrl(egressProxyUrl);
  const closing = new AbortController();
  let opening: Promise<EgressDispatchers> | undefined;
  let opened: EgressDispatchers | undefined;
  const open = () => {
    if (opened) return opened;
    opening ??= openDispatchers({ guard, proxy, signal: closing.signal }).then((dispatchers) => (opened = dispatchers));
    return opening;
  };

  return {
    face(limits) {
      const lives = new RequestLives(limits.signal ? [limits.signal, closing.signal] : [closing.signal]);
      const exchange = {
        limits,
        // Made once: what the guard said of a URL is kept for the list that it was asked with.
        ownOrigins: [...(limits.trustedOrigins ?? []), ...(limits.configuredOrigins ?? [])],
        guard,
        open,
      };
      const start = ({ timeoutMs = limits.timeoutMs, signal }: HttpRequest) =>
        new RequestLife({ timeoutMs: Math.min(timeoutMs, limits.timeoutMs), signal, lives });
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

/** Fields that are between two neighbours (RFC 9110 7.6.1), what older clients send in their place, and the host. */
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
/** Fields that describe the connection or the framing, which are the transport's business. */
const OURS = new Set([...HOP_FIELDS, 'content-length', 'expect']);

/** What the transport can undo. */
const ACCEPT_ENCODING = 'gzip, deflate, br, zstd';

/** Fields by which a caller proves who it is; only the origin they were meant for may see them. */
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

/** For a request that has lost its body. */
export function withoutContentFields(headers: HeaderFields): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !name.startsWith('content-')));
}

/** Fields of one name in one string. Commas occur inside cookies, so those are kept apart by line feeds. */
export function responseFields(received: Readonly<Record<string, string | string[] | undefined>>): HeaderFields {
  const fields: Record<string, string> = {};
  for (const name in received) {
    const value = received[name];
    fields[name] = Array.isArray(value) ? value.join(name === 'set-cookie' ? '\n' : ', ') : (value ?? '');
  }
  return fields;
}

/** One request on its way, possibly after redirects. */
export interface Hop {
  url: URL;
  method: string;
  headers: HeaderFields;
  body?: HttpRequest['body'];
}

const REDIRECTS = new Set([301, 302, 303, 307, 308]);

/**
 * Where an answer sends its reader, or undefined where it is no redirect. What may be sent there follows the Fetch
 * Standard (HTTP-redirect fetch), but that every field that looks like a credential is dropped across origins.
 * @throws GatewayError `upstream_error` where the target is no URL.
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

/** Lets go of an answer whose body is not wanted, as of one on the way. */
export function discard(reply: HttpStream): void {
  void reply.body[Symbol.asyncIterator]().return?.();
}

function becomesGet(method: string, status: number): boolean {
  if (status === 303) return method !== 'GET' && method !== 'HEAD';
  return method === 'POST' && (status === 301 || status === 302);
}

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
