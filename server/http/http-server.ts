/*
 * A Node server that slow, broken and hostile clients cannot block, and its shutdown. A connection has time limits for
 * header, request and reading, at most 1,000 requests and 32 pipelined ones; one address has at most 1,000 sockets.
 * Pipelined requests start one after the other. Invalid HTTP gets an answer with a body, and the connection closes
 * after the client could read it. The shutdown stops accepting, lets requests finish until the timeout, and announces
 * the end of each connection; the remaining requests get an error that asks for a retry.
 */

import { once } from 'node:events';
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { closePort, ERRORS, endsWithin, GatewayError } from '../../core/runtime/index.js';
import { networkOf, plainAddress } from './addresses.js';
import { encodeError, errorHeaders } from './error-response.js';
import { AnswerResponse } from './fast-path.js';
import { IDLE_MS } from './file-response.js';
import { newRequestId, SECURITY_HEADERS } from './request.js';
import { asksForWebSocket } from './web-socket.js';

const { createServer, STATUS_CODES } = process.getBuiltinModule('node:http');

/** A connection without a time limit would keep its client on one node for ever. */
const MAX_REQUESTS_PER_CONNECTION = 1_000;
/** Maximum pipelined requests of a connection; it is closed beyond that. */
const MAX_WAITING = 32;
/** Milliseconds for a client to read a refusal and to close; closing at once could discard the answer. */
const LINGER_MS = 2_000;

export interface HttpServerOptions {
  handler: RequestListener;
  /** Maximum open sockets; more are closed at once. Default 10,000. */
  maxConnections?: number;
  /** Maximum open sockets of one address, or IPv6 /64. One more closes the oldest idle one. Default 1,000. */
  maxConnectionsPerAddress?: number;
  /** Addresses that are not limited: proxies, which carry all clients. Default: none. */
  isProxy?(address: string): boolean;
  /** Milliseconds for a request to arrive completely. Default 30,000. */
  requestMs?: number;
  /** Milliseconds for its header. Default 10,000. */
  headersMs?: number;
  /** Milliseconds that a client may read nothing of a complete answer. Default 120,000. */
  idleMs?: number;
}

interface Connection {
  /** Requests started so far. */
  requests: number;
  /** Requests received but not started. */
  waiting: number;
  /** The latest started request. */
  response: ServerResponse;
  /** The latest received request. */
  last: ServerResponse;
}

export interface HttpServer extends Server {
  /** Serves a connection that another process accepted and read nothing from. */
  take(socket: Socket): void;
  /** Open connections, however they came. */
  countConnections(): number;
  /** Resolves when there are no connections. */
  untilEmpty(): Promise<void>;
  /** Closes connections without a request: nothing was sent yet, or only a part of a header. */
  closeUnasked(): void;
  /** Sends this answer to all requests without one, and closes their connections. */
  refuseUnanswered(error: GatewayError): void;
}

/** A Node server that slow, broken and hostile clients cannot block. It does not listen yet. */
export function createHttpServer(options: HttpServerOptions): HttpServer {
  const { maxConnections = 10_000, requestMs = 30_000, headersMs = 10_000 } = options;
  // The types are those of the oldest Node, which has no such option.
  const choice: object = { shouldUpgradeCallback: isForWebSocket };
  const server = createServer({
    ...choice,
    ServerResponse: AnswerResponse,
    headersTimeout: Math.min(headersMs, requestMs),
    requestTimeout: requestMs,
    // Node's default of 30 s would let a slow header live that much longer than its timeout.
    connectionsCheckingInterval: Math.min(1_000, headersMs),
    // Longer than the 60 s after which common load balancers close an idle connection, so that they close first.
    keepAliveTimeout: 65_000,
    // The app refuses a missing Host like two of them, with an error body; Node's refusal has none.
    requireHostHeader: false,
  });
  server.maxHeadersCount = 100;
  server.maxConnections = maxConnections;
  const connections = new Connections(options);
  const handle: RequestListener = (request, response) => connections.receive(request, response);
  server.on('request', handle);
  // Without a listener Node sends "continue" to every client; here only the reader of the body does, after the key was
  // checked.
  server.on('checkContinue', handle);
  server.on('checkExpectation', handle);
  server.on('connect', (_request, socket) => connections.refuseTunnel(socket));
  if (CAN_CHOOSE_UPGRADES) {
    server.on('upgrade', (request, socket, head) => connections.upgrade(request, socket as Socket, head));
  }
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => connections.refuseBroken(socket, error.code));
  server.on('connection', (socket) => connections.open(socket));
  let isTracking = false;
  return Object.assign(server, {
    take(socket: Socket) {
      // Node tracks connections, and their time limits, from the event on which a server begins to listen.
      if (!isTracking) server.emit('listening');
      isTracking = true;
      if (connections.size >= maxConnections) {
        socket.destroy();
        return;
      }
      socket.allowHalfOpen = true;
      server.emit('connection', socket);
      socket.resume();
    },
    countConnections: () => connections.size,
    untilEmpty: () => connections.untilEmpty(),
    closeUnasked: () => connections.closeUnasked(),
    refuseUnanswered: (error: GatewayError) => connections.refuseUnanswered(error),
  });
}

/** The connections of a server, and what is sent on them. */
class Connections {
  readonly #options: HttpServerOptions;
  readonly #known = new WeakMap<Duplex, Connection>();
  readonly #sockets = new Set<Socket>();
  /** Who waits until there are no sockets. */
  readonly #waiting: (() => void)[] = [];
  /** Address → its sockets, oldest first. */
  readonly #socketsOf = new Map<string, Set<Socket>>();

  constructor(options: HttpServerOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#sockets.size;
  }

  untilEmpty(): Promise<void> {
    return new Promise((resolve) => (this.size === 0 ? resolve() : this.#waiting.push(resolve)));
  }

  open(socket: Socket): void {
    this.#sockets.add(socket);
    const { maxConnectionsPerAddress = 1_000, isProxy } = this.#options;
    const address = plainAddress(socket.remoteAddress ?? '');
    const name = networkOf(address);
    const own = this.#socketsOf.get(name) ?? new Set();
    if (!isProxy?.(address)) {
      if (own.size >= maxConnectionsPerAddress) {
        const idle = [...own].find((one) => this.#isIdle(one));
        (idle ?? socket).destroy();
        if (idle) own.delete(idle);
      }
      this.#socketsOf.set(name, own.add(socket));
    }
    socket.once('close', () => {
      this.#sockets.delete(socket);
      if (this.size === 0) for (const resolve of this.#waiting.splice(0)) resolve();
      own.delete(socket);
      if (own.size === 0 && this.#socketsOf.get(name) === own) this.#socketsOf.delete(name);
    });
  }

  /** Starts a request; a pipelined one after those before it. */
  receive(request: IncomingMessage, response: ServerResponse): void {
    const known = this.#known.get(request.socket);
    const connection = known ?? { requests: 0, waiting: 0, response, last: response };
    if (!known) this.#known.set(request.socket, connection);
    connection.last = response;
    // Started all at once, each could hold a file, a permit or a model while the client reads nothing.
    if (response.socket) this.#begin(request, response, connection);
    else if (connection.waiting === MAX_WAITING) request.socket.destroy();
    else {
      connection.waiting += 1;
      response.once('socket', () => {
        connection.waiting -= 1;
        // The timeout of the answer before; Node clears it only if no request waits.
        request.socket.setTimeout(0);
        this.#begin(request, response, connection);
      });
    }
  }

  /** A request for a WebSocket: its route takes the connection over, or answers as any other and closes. */
  upgrade(request: IncomingMessage, socket: Socket, head: Buffer): void {
    upgrades.set(request, { socket, head });
    const response = new AnswerResponse(request);
    response.shouldKeepAlive = false;
    response.assignSocket(socket);
    response.once('finish', () => {
      response.detachSocket(socket);
      endLingering(socket);
    });
    this.receive(request, response);
  }

  refuseTunnel(socket: Duplex): void {
    socket.on('error', () => undefined);
    const error = new GatewayError('method_not_allowed', 'CONNECT is not supported.');
    refuseBehind(this.#known.get(socket)?.last, socket, error);
  }

  /** Answers bytes that are no HTTP. @param code Of Node's parser. */
  refuseBroken(socket: Duplex, code: string | undefined): void {
    const last = this.#known.get(socket)?.last;
    if (!socket.writable || code === 'ECONNRESET') socket.destroy();
    else if (!last || last.req.complete) refuseBehind(last, socket, ...parserFailure(code));
    // The error is in the body of the latest request; if its answer has started, another one would be invalid.
    else if (last.socket && !last.headersSent) refuse(socket, ...parserFailure(code));
    else if (last.writableEnded) endLingering(socket);
    else socket.destroy();
  }

  closeUnasked(): void {
    for (const socket of this.#sockets) if (this.#isIdle(socket)) socket.destroy();
  }

  refuseUnanswered(error: GatewayError): void {
    for (const socket of this.#sockets) {
      const response = this.#known.get(socket)?.response;
      if (response && !response.headersSent && socket.writable) refuse(socket, error);
    }
  }

  #isIdle(socket: Socket): boolean {
    const response = this.#known.get(socket)?.response;
    return !response || response.writableFinished;
  }

  #begin(request: IncomingMessage, response: ServerResponse, connection: Connection): void {
    const { handler, idleMs = IDLE_MS } = this.#options;
    connection.requests += 1;
    connection.response = response;
    response.once('prefinish', () => {
      if (request.socket.writableLength > 0) request.socket.setTimeout(idleMs);
    });
    // Node's own limit asks the client to close and answers 503 if it does not; this closes.
    if (connection.requests >= MAX_REQUESTS_PER_CONNECTION) response.setHeader('Connection', 'close');
    if (isTarget(request.url ?? '')) {
      handler(request, response);
      return;
    }
    const { status, headers, body } = refusal(new GatewayError('bad_request', 'The request target is not a URL.'));
    response.writeHead(status, headers).end(body);
  }
}

interface Upgrade {
  socket: Socket;
  /** Bytes after the request. */
  head: Buffer;
}

/** Connections of requests for a WebSocket that no route has taken over. */
const upgrades = new WeakMap<IncomingMessage, Upgrade>();

/** Takes over the connection of a request for a WebSocket. Undefined for any other request. */
export function takeUpgrade(request: IncomingMessage, response: ServerResponse): Upgrade | undefined {
  const upgrade = upgrades.get(request);
  upgrades.delete(request);
  if (upgrade) response.detachSocket(upgrade.socket);
  return upgrade;
}

/** Paths whose route takes WebSockets. */
const WEB_SOCKETS: ReadonlySet<string> = new Set(['/v1/responses']);

function isForWebSocket(request: IncomingMessage): boolean {
  return WEB_SOCKETS.has(request.url ?? '') && asksForWebSocket(request);
}

/**
 * Whether Node asks for each request if it is an upgrade. An older one treats all of them as such or none, and clients of
 * HTTP/2 ask for an upgrade with any request, so there it is none.
 */
const CAN_CHOOSE_UPGRADES = isAtLeast(24, 9);

function isAtLeast(wantedMajor: number, wantedMinor: number): boolean {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  return major > wantedMajor || (major === wantedMajor && minor >= wantedMinor);
}

/** A path, an asterisk, or the absolute URL that servers must accept by RFC 9112 3.2.2. */
function isTarget(target: string): boolean {
  if (target.startsWith('/') || target === '*') return true;
  return /^https?:\/\//i.test(target) && URL.canParse(target);
}

function parserFailure(code: string | undefined): [GatewayError, number?] {
  switch (code) {
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return [new GatewayError('request_timeout', 'The request did not arrive in time.')];
    case 'HPE_HEADER_OVERFLOW':
      return [new GatewayError('request_too_large', 'The request header is too large.'), 431];
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return [new GatewayError('request_too_large', 'The chunk extensions are too large.')];
    default:
      return [new GatewayError('bad_request', 'The request is not valid HTTP.')];
  }
}

/** Bytes after a complete request are refused once that request is answered: the request itself is valid. */
function refuseBehind(before: ServerResponse | undefined, socket: Duplex, error: GatewayError, status?: number): void {
  if (!before || before.writableFinished) {
    refuse(socket, error, status);
    return;
  }
  // More bytes would be another failure.
  socket.pause();
  before.once('finish', () => {
    if (socket.writable) refuse(socket, error, status);
  });
}

/** Writes an answer without a response object. */
function refuse(socket: Duplex, error: GatewayError, given?: number): void {
  const { status, headers, body } = refusal(error, given);
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`);
  endLingering(socket);
}

/** Ends the connection: sends the end, and closes soon in any case. */
function endLingering(socket: Duplex): void {
  // Node has released this socket, so its errors need a listener.
  socket.on('error', () => undefined);
  socket.end();
  // Later bytes are discarded, but must be read to see the client's end.
  socket.resume();
  const timer = setTimeout(() => socket.destroy(), LINGER_MS).unref();
  socket.once('close', () => clearTimeout(timer));
}

function refusal(error: GatewayError, status = ERRORS[error.code].status) {
  const requestId = newRequestId();
  const body = encodeError(error, { requestId });
  const headers: Record<string, string | number> = {
    ...SECURITY_HEADERS,
    ...errorHeaders(error, { requestId }),
    'x-request-id': requestId,
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': Buffer.byteLength(body),
    Connection: 'close',
    ...(status === 405 && { Allow: 'GET, HEAD, POST' }),
  };
  return { status, headers, body };
}

const POLL_MS = 50;
const FAREWELL_MS = 300;
/** Milliseconds for a first request in transit; a busy machine takes more than one second. */
const FIRST_REQUEST_MS = 3_000;
/** Milliseconds for aborted requests to send their errors. */
const LAST_WORDS_MS = 1_000;

export interface DrainOptions {
  /** Milliseconds in which new connections are still accepted, so that balancers notice the shutdown. */
  acceptMs: number;
  /**
   * How long idle connections stay open after that, so that their next request is answered here and announces the end of
   * the connection: so many milliseconds, or until the signal aborts. Default: not at all.
   */
  idle?: { ms: number; until: AbortSignal };
  /** Stops to accept connections; those that are open stay. Default: closes the server's port. */
  stopAccepting?(): Promise<void>;
  /** Milliseconds for requests in flight to finish after that. */
  timeoutMs: number;
  /** Called when the time is over, so that requests can send an error. */
  cutOff(): void;
}

/**
 * Shuts down gracefully: stops accepting connections and lets requests in flight finish. For a while every answer
 * announces the end of its connection, since a connection closed without notice may be the one on which a client is
 * sending its next request.
 * @returns True if all of them finished in time. Of the others, those without an answer receive one that asks for a
 *   retry, and the rest is closed.
 */
export async function drain(server: HttpServer, options: DrainOptions): Promise<boolean> {
  const { acceptMs, idle, timeoutMs, cutOff, stopAccepting = () => closePort(server) } = options;
  const farewellMs = server.countConnections() > 0 ? Math.min(FAREWELL_MS, timeoutMs) : 0;
  await sleep(Math.max(acceptMs, farewellMs));
  await stopAccepting();
  const closed = server.untilEmpty();
  if (idle && !idle.until.aborted) await endsWithin(idle.ms, () => Promise.race([closed, once(idle.until, 'abort')]));
  if (server.countConnections() > 0) await endsWithin(Math.min(FAREWELL_MS, timeoutMs), () => closed);
  // A connection that was busy when the server closed becomes idle after its answer, and then nothing else closes it.
  const closedAt = performance.now();
  const poll = setInterval(() => {
    server.closeIdleConnections();
    if (performance.now() - closedAt > FIRST_REQUEST_MS) server.closeUnasked();
  }, POLL_MS);
  server.closeIdleConnections();
  const drained = await endsWithin(timeoutMs, () => closed);
  if (!drained) {
    cutOff();
    await endsWithin(LAST_WORDS_MS, () => closed);
    server.refuseUnanswered(new GatewayError('shutting_down', 'The gateway is shutting down. Retry the request.'));
    await endsWithin(FAREWELL_MS, () => closed);
    server.closeAllConnections();
  }
  clearInterval(poll);
  return drained;
}
