/*
 * What every request needs besides its route: the request id, security headers, the log line, the check of raw headers,
 * the signal of a disconnect, parameters of the path, and the list of ignored fields. The check refuses requests that
 * Node's parser accepts although two readers could see two different requests in them. Semaphores limit requests that
 * are held open. A request that is answered without reading its body may send at most 64 KB more in a second, or 64 MiB
 * in ten seconds with a key, so that the client sees the error instead of a reset.
 */

import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { drawRandomBytes, endsWithin, GatewayError, type Issue, type Logger } from '../../core/runtime/index.js';
import { areTooSmall, freeMemory } from './bodies/body-bytes.js';
import { addField, takeResponse } from './fast-path.js';
import type { ParamsContext, RequestContext } from './koa-app.js';

const { ServerResponse: UnsentResponse } = process.getBuiltinModule('node:http');

const SANE = /^[A-Za-z0-9._-]{1,64}$/;
const BYTES = 12;

/** The caller's own `x-request-id` if it is 1 to 64 characters of `A-Za-z0-9._-`; a new one otherwise. */
export function requestIdOf(request: IncomingMessage): string {
  const given = request.headers['x-request-id'];
  return typeof given === 'string' && SANE.test(given) ? given : newRequestId();
}

const OWN_ID = /^req_[\w-]{16}$/;

/** `req_`, the second in which it was made in 32 bits, and 64 random bits: a search by it reads the log around that time. */
export function newRequestId(): string {
  const bytes = drawRandomBytes(BYTES);
  bytes.writeUInt32BE(Math.floor(Date.now() / 1_000), 0);
  return `req_${bytes.toString('base64url')}`;
}

/** When an id of {@link newRequestId} was made, in milliseconds since 1970; of an older or invented one any time. */
export function timeOfRequestId(id: string): number | undefined {
  return OWN_ID.test(id) ? Buffer.from(id.slice('req_'.length), 'base64url').readUInt32BE(0) * 1_000 : undefined;
}

/** On every answer, including errors of the parser. */
export const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  'X-Content-Type-Options': 'nosniff',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'Referrer-Policy': 'no-referrer',
  'Cache-Control': 'no-store',
};

/** Set if clients reach the gateway by https. Subdomains are excluded, since they belong to the operator. */
const STRICT_TRANSPORT = 'max-age=31536000';

const SECURITY_FIELDS = Object.entries(SECURITY_HEADERS);

/** @param isHttps Whether the public address is https. */
export function setSecurityHeaders(response: ServerResponse, isHttps: boolean): void {
  for (const [name, value] of SECURITY_FIELDS) addField(response, name, value);
  if (isHttps) addField(response, 'Strict-Transport-Security', STRICT_TRANSPORT);
}

/** One line per request: names and numbers only, never a header, a query or a body. */
export function logRequest(logger: Logger, context: RequestContext, route: string | undefined, ms: number): void {
  const { requestId, upstreamRequestId, key, errorCode, span } = context.state;
  logger.info('request', {
    requestId,
    method: context.req.method,
    route: route ?? '(none)',
    status: context.res.statusCode,
    ms: Math.round(ms * 10) / 10,
    keyId: key?.id,
    code: errorCode,
    ...(upstreamRequestId !== undefined && { upstreamRequestId }),
    ...(span && { traceId: span.traceId, spanId: span.spanId }),
  });
}

/** Fields that could make two readers see two different requests if they are repeated. */
const SINGLE = new Set([
  'host',
  'authorization',
  'x-api-key',
  'content-type',
  'content-length',
  'idempotency-key',
  'transfer-encoding',
]);
const LENGTHS = new Set([...SINGLE].map((name) => name.length));

/** Whether the end of the request is well-defined (RFC 9112 6.1). */
function isFramed({ headers, httpVersionMinor }: IncomingMessage): boolean {
  const coding = headers['transfer-encoding'];
  return coding === undefined || (coding.toLowerCase() === 'chunked' && httpVersionMinor > 0);
}

/** A name or an address (IPv6 in brackets), and a port. RFC 9112 3.2 allows an empty field. */
function isHost(text: string): boolean {
  return /^(?:[a-z0-9._~%!$&'()*+;=-]*|\[[0-9a-f:.%]+\])(?::\d{0,5})?$/i.test(text);
}

/**
 * Refuses requests that Node's parser accepts although RFC 9112 or common sense does not: no Host field or two, two
 * Authorization fields (it keeps the first), two X-API-Key fields (it joins them), codings besides `chunked`, another
 * HTTP version in the request line, and methods that reflect or tunnel.
 * @throws GatewayError `bad_request`, `method_not_allowed`.
 */
export function checkRawHeaders(request: IncomingMessage): void {
  const { method, httpVersionMajor, httpVersionMinor, rawHeaders } = request;
  if (method === 'TRACE' || method === 'CONNECT') {
    throw new GatewayError('method_not_allowed', `${method} is not supported.`);
  }
  if (httpVersionMajor !== 1 || httpVersionMinor > 1) {
    throw new GatewayError('bad_request', 'Only HTTP/1.1 and HTTP/1.0 are supported.');
  }
  let seen: Set<string> | undefined;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const raw = rawHeaders[index] ?? '';
    if (!LENGTHS.has(raw.length)) continue;
    const name = raw.toLowerCase();
    if (!SINGLE.has(name)) continue;
    seen ??= new Set();
    if (seen.has(name)) throw new GatewayError('bad_request', `The ${name} header is sent twice.`);
    seen.add(name);
  }
  if (httpVersionMinor === 1 && !seen?.has('host'))
    throw new GatewayError('bad_request', 'The host header is missing.');
  const { host } = request.headers;
  if (host !== undefined && !isHost(host)) {
    throw new GatewayError('bad_request', 'The host header must name one host, with or without a port.');
  }
  const { 'transfer-encoding': coding, expect } = request.headers;
  if (coding !== undefined && !isFramed(request)) {
    throw new GatewayError('bad_request', 'The only transfer coding accepted is chunked, and HTTP/1.0 has none.');
  }
  if (expect !== undefined && expect.toLowerCase() !== '100-continue') {
    throw new GatewayError('bad_request', 'The only expectation accepted is 100-continue.');
  }
}

/** Aborts when the client closes the connection before the answer is complete. */
export function clientSignal(response: ServerResponse): AbortSignal {
  const gone = new AbortController();
  const leave = () => {
    if (!response.writableFinished) gone.abort(new GatewayError('bad_request', 'The client closed the connection.'));
  };
  if (response.destroyed) leave();
  else response.once('close', leave);
  return gone.signal;
}

/** The supported preferences of a client in `Prefer` (RFC 7240). */
export interface Preferences {
  respondAsync: boolean;
  /** Seconds. */
  wait?: number;
}

/** Other preferences are ignored, as the RFC says; of two equal ones, the first counts. */
export function readPreferences({ prefer }: IncomingHttpHeaders): Preferences {
  const preferences: Preferences = { respondAsync: false };
  for (const part of String(prefer ?? '').split(',')) {
    const [name = '', value = ''] = (part.split(';')[0] ?? '').split('=').map((piece) => piece.trim());
    if (name.toLowerCase() === 'respond-async') preferences.respondAsync = true;
    const [, seconds] = /^"?(\d+)"?$/.exec(value) ?? [];
    if (name.toLowerCase() === 'wait' && seconds !== undefined) preferences.wait ??= Number(seconds);
  }
  return preferences;
}

const RETRY_SECONDS = 5;

export interface SemaphoreOptions {
  /** Default 2,000. */
  permits?: number;
  /** Permits of one holder. Default 500. */
  permitsEach?: number;
}

/**
 * Limits requests that are held open until something ends, so that they cannot use up the connections, in total and per
 * holder.
 */
export class Semaphore {
  readonly #permitsEach: number;
  readonly #taken = new Map<string, number>();
  #free: number;

  constructor({ permits = 2_000, permitsEach = 500 }: SemaphoreOptions = {}) {
    this.#permitsEach = permitsEach;
    this.#free = permits;
  }

  /** Takes a permit; call the result to release it. Undefined if none is free. */
  tryAcquire(holder: string): (() => void) | undefined {
    const own = this.#taken.get(holder) ?? 0;
    if (this.#free === 0 || own === this.#permitsEach) return undefined;
    this.#free -= 1;
    this.#taken.set(holder, own + 1);
    return () => {
      this.#free += 1;
      const left = (this.#taken.get(holder) ?? 1) - 1;
      if (left === 0) this.#taken.delete(holder);
      else this.#taken.set(holder, left);
    };
  }

  /** Takes a permit. @throws GatewayError `queue_full` if none is free. */
  acquire(holder: string): () => void {
    const leave = this.tryAcquire(holder);
    if (leave) return leave;
    throw new GatewayError('queue_full', 'Too many requests wait for their answers.', {
      retryAfterSeconds: RETRY_SECONDS,
    });
  }
}

/** The error of a path without a route. @param hint A further sentence. Default: none. */
export function routeNotFound({ method, path }: Pick<RequestContext, 'method' | 'path'>, hint?: string): GatewayError {
  return new GatewayError('route_not_found', `There is no ${method} ${path}.${hint ? ` ${hint}` : ''}`);
}

export const MAX_WAIT_SECONDS = 60;

/**
 * Seconds that an answer may be held back, from `?wait=` or `Prefer: wait=`; 0 by default.
 * @throws GatewayError `invalid_value`.
 */
export function readWait({ query: { wait }, req }: RequestContext): number {
  if (wait === undefined) return Math.min(readPreferences(req.headers).wait ?? 0, MAX_WAIT_SECONDS);
  const seconds = typeof wait === 'string' && /^\d{1,6}$/.test(wait) ? Number(wait) : Number.NaN;
  if (seconds <= MAX_WAIT_SECONDS) return seconds;
  const message = `wait must be a whole number of seconds from 0 to ${MAX_WAIT_SECONDS}.`;
  throw new GatewayError('invalid_value', message, { param: 'wait' });
}

/** Own fields that the schema knows; `null` counts as not sent. */
export function knownFields(
  sent: Readonly<Record<string, unknown>>,
  { properties }: { properties: object },
): Record<string, unknown> {
  const known: Record<string, unknown> = {};
  for (const member of Object.keys(properties)) {
    if (Object.hasOwn(sent, member) && sent[member] !== null) known[member] = sent[member];
  }
  return known;
}

/**
 * The error for an invalid field of a body.
 * @param accepted The accepted values of each field, as text.
 */
export function fieldError(
  { path = '', keyword }: Partial<Issue> = {},
  accepted: Readonly<Record<string, string>>,
): GatewayError {
  const [param = ''] = path.split('.');
  return keyword === 'required'
    ? new GatewayError('missing_required_parameter', `${param} is missing: send ${accepted[param]}.`, { param })
    : new GatewayError('invalid_value', `${param} must be ${accepted[param]}.`, { param });
}

interface DrainLimits {
  bytes: number;
  ms: number;
}

const DRAIN_LIMITS: DrainLimits = { bytes: 65_536, ms: 1_000 };
/** A client with a key gets the reason for refusing a very large body, rather than a reset while sending. */
const KEY_DRAIN_LIMITS: DrainLimits = { bytes: 64 * 1024 * 1024, ms: 10_000 };
/** A client that sends nothing for this time waits for the answer. */
const DRAIN_IDLE_MS = 1_000;
/** Bytes of one body that are discarded per turn of the event loop. */
const DRAIN_TURN_BYTES = 512 * 1024;

/** Whether the client may still be sending a body that no handler reads. */
export function hasUnreadBody(request: IncomingMessage): boolean {
  if (request.complete || request.destroyed) return false;
  return request.headers['transfer-encoding'] !== undefined || Number(request.headers['content-length'] ?? 0) > 0;
}

/**
 * Answers a request without reading its body. Closing at once would reset the connection, and a client that is still
 * sending would never see the reason; reading without limit would let clients send for ever. So the answer is sent, at
 * most 64 KB more are read in at most a second (64 MiB in ten for clients with a key), and then the connection is
 * closed.
 */
export async function endAfterDraining(context: RequestContext, body: string): Promise<void> {
  const { req: request } = context;
  const response = takeResponse(context, context.status, { 'Content-Length': String(Buffer.byteLength(body)) });
  const unasked = request.headers.expect !== undefined || !isFramed(request);
  const limits = context.state.key ? KEY_DRAIN_LIMITS : DRAIN_LIMITS;
  const tooLong = unasked || Number(request.headers['content-length'] ?? Number.POSITIVE_INFINITY) > limits.bytes;
  if (tooLong) context.set('Connection', 'close');
  if (context.method !== 'HEAD') response.write(body);
  else response.flushHeaders();
  if (!unasked) await drain(request, limits);
  response.end();
  if (!request.complete) closeWhenSent(request, response);
}

async function drain(request: IncomingMessage, limits: DrainLimits): Promise<void> {
  let bytes = 0;
  const { promise: enough, resolve } = Promise.withResolvers<void>();
  const idle = setTimeout(resolve, DRAIN_IDLE_MS);
  let bytesOfTurn = 0;
  let chunks = 0;
  let isEnough = false;
  const endTurn = () => {
    bytesOfTurn = 0;
    if (!isEnough) request.resume();
  };
  request.on('data', (chunk: Buffer<ArrayBuffer>) => {
    idle.refresh();
    bytes += chunk.length;
    bytesOfTurn += chunk.length;
    freeMemory(chunk);
    chunks += 1;
    isEnough = bytes > limits.bytes || areTooSmall(chunks, bytes);
    if (!isEnough && bytesOfTurn < DRAIN_TURN_BYTES) return;
    request.pause();
    if (isEnough) resolve();
    else setImmediate(endTurn);
  });
  request
    .once('end', resolve)
    .once('close', resolve)
    .once('error', () => resolve());
  request.resume();
  await endsWithin(limits.ms, () => enough);
  clearTimeout(idle);
}

function closeWhenSent(request: IncomingMessage, response: ServerResponse): void {
  const { socket } = request;
  if (response.writableFinished) socket.destroySoon();
  else response.once('finish', () => socket.destroySoon());
}

/** A parameter of the path. */
/** A part of a request with a response of its own: its headers and status do not reach the client. */
export function partOf(context: RequestContext): RequestContext {
  return Object.create(context, { res: { value: new UnsentResponse(context.req) } });
}

export function paramOf({ params }: ParamsContext, name: string): string {
  return params[name] ?? '';
}

/** Maximum of names in the header. */
const MAX_NAMES = 20;

/** Lists ignored fields besides those that are listed already; the names are those of the open format, or the client's own. */
export function nameIgnored({ res: response }: RequestContext, ignored: readonly string[]): void {
  const listed = String(response.getHeader('x-ignored-params') ?? '').split(', ');
  const names = [...new Set([...listed, ...ignored])].filter((name) => /^[\w.[\]-]{1,64}$/.test(name));
  if (names.length > 0) response.setHeader('x-ignored-params', names.slice(0, MAX_NAMES).join(', '));
}
