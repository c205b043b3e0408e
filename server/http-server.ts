import { createServer, type RequestListener, type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { GatewayError } from 'mediagate';
import { AnswerResponse } from './answer-response.js';
import { newRequestId } from './middleware/request-id.js';
import { SECURITY_HEADERS } from './middleware/response-headers.js';
import { ERROR_CLASSES, encodeError } from './wire/errors.js';

/** A connection that lives for ever keeps its client on one node for ever. */
const MAX_REQUESTS_PER_CONNECTION = 1_000;

export interface HttpServerOptions {
  handler: RequestListener;
  /** Sockets open at the same time; more are closed at once. Default 10,000. */
  maxConnections?: number;
  /** Milliseconds for a request to arrive whole. Default 30,000. */
  requestMs?: number;
  /** Milliseconds for its header. Default 10,000. */
  headersMs?: number;
}

/** A Node server that slow, broken and hostile clients cannot hold up. Not listening yet. */
export function createHttpServer(options: HttpServerOptions): Server {
  const { handler, maxConnections = 10_000, requestMs = 30_000, headersMs = 10_000 } = options;
  const server = createServer({
    ServerResponse: AnswerResponse,
    headersTimeout: Math.min(headersMs, requestMs),
    requestTimeout: requestMs,
    // Node's default of 30 s would let a slow header live that much longer than its timeout says.
    connectionsCheckingInterval: Math.min(1_000, headersMs),
    // Longer than the 60 s after which common load balancers close an idle connection, so that they are the ones to do it.
    keepAliveTimeout: 65_000,
    // A missing Host is refused by the app like two of them, with an error body; Node's refusal has none.
    requireHostHeader: false,
  });
  server.maxHeadersCount = 100;
  server.maxConnections = maxConnections;

  const connections = new WeakMap<Duplex, { requests: number; response: ServerResponse }>();
  const handle: RequestListener = (request, response) => {
    const connection = connections.get(request.socket);
    const requests = (connection?.requests ?? 0) + 1;
    if (connection) {
      connection.requests = requests;
      connection.response = response;
    } else connections.set(request.socket, { requests, response });
    // Node's own limit asks the client to close and answers 503 to one that does not; this closes.
    if (requests >= MAX_REQUESTS_PER_CONNECTION) response.setHeader('Connection', 'close');
    return handler(request, response);
  };
  server.on('request', handle);
  // Without a listener Node says "continue" to anybody; here only a reader of the body does, after the key was checked.
  server.on('checkContinue', handle);
  server.on('checkExpectation', handle);
  server.on('connect', (_request, socket) => {
    refuse(socket, new GatewayError('method_not_allowed', 'CONNECT is not supported.'));
  });
  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    const response = connections.get(socket)?.response;
    // An answer is under way on this socket: another one in the middle of it would be garbage.
    const busy = response?.headersSent && !response.writableFinished;
    if (busy || !socket.writable || error.code === 'ECONNRESET') socket.destroy();
    else refuse(socket, ...parserFailure(error.code));
  });
  return server;
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

/** An answer where there is no response object to write it to. */
function refuse(socket: Duplex, error: GatewayError, status = ERROR_CLASSES[error.code].status): void {
  const requestId = newRequestId();
  const body = encodeError(error, { requestId });
  const headers: Record<string, string | number> = {
    ...SECURITY_HEADERS,
    'x-request-id': requestId,
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': Buffer.byteLength(body),
    Connection: 'close',
    ...(status === 405 && { Allow: 'GET, HEAD, POST' }),
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`);
}
