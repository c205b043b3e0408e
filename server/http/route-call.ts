/*
 * Calls a route of this gateway inside the process, as an HTTP request without a connection. Tools of agents and questions
 * about links work only in this way, so each has the grants, rate limits, budgets, idempotency, usage, log lines,
 * metrics and errors of its routes, and none of its own. The request has the API key, the address and the id of the
 * request that it is part of, or in place of the key the id of one that was verified, which no client can send.
 * When the signal aborts, the route sees a client that has disconnected. An answer above the maximum is given up in the
 * same way. Libraries that are request handlers themselves are called likewise.
 */

import { EventEmitter } from 'node:events';
import type { IncomingMessage, OutgoingHttpHeaders, RequestListener } from 'node:http';
import type { Socket } from 'node:net';
import { ERRORS, type ErrorCode, GatewayError } from '../../core/runtime/index.js';
import { AnswerResponse, takeResponse } from './fast-path.js';
import type { RequestContext } from './koa-app.js';

const { IncomingMessage: Incoming } = process.getBuiltinModule('node:http');

/** Maximum bytes of an answer that a tool reads. */
const MAX_ANSWER_BYTES = 32 * 1024 * 1024;
const JSON_TYPE = 'application/json';

export interface RouteCall {
  method: 'GET' | 'POST' | 'DELETE';
  /** With its query. */
  path: string;
  /** Sent as JSON; a form as multipart. Default: none. */
  body?: object | FormBody;
  /** Names in lower case. Default: none. */
  headers?: Readonly<Record<string, string>>;
  /** Takes the bytes of a successful answer as they come; then the answer has none. Default: they are collected. */
  take?(bytes: Buffer): void;
  /** Whether the route may give what its answer is made from in place of the answer. Default false. */
  takesSource?: boolean;
}

/** Bytes of a form, and its media type with the boundary. */
export class FormBody {
  readonly bytes: Buffer;
  readonly type: string;

  constructor(bytes: Buffer, type: string) {
    this.bytes = bytes;
    this.type = type;
  }
}

export interface CallAnswer {
  status: number;
  /** A header of the answer. */
  header(name: string): string | undefined;
  /** All of them, by names in lower case. */
  headers: OutgoingHttpHeaders;
  bytes: Buffer;
  /** Undefined unless the answer is JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: the answers of all routes, which tools read field by field
  json: any;
  /** What the route gave in place of an answer, which then has no bytes. */
  source?: object | undefined;
}

/** The request that calls are part of. */
export interface CallOrigin {
  request: IncomingMessage;
  requestId: string;
  /** Aborts when the client has disconnected. */
  signal: AbortSignal;
  /** Id of a verified key, which the calls are made with. Default: the key of the request. */
  keyId?: string | undefined;
}

/** Calls a route. @throws what the route answers, as a {@link RouteFailure}; GatewayError `bad_request` after an abort. */
export type CallRoute = (call: RouteCall, signal?: AbortSignal) => Promise<CallAnswer>;

/** An error that a route answered. */
export class RouteFailure extends Error {
  readonly status: number;
  readonly code: string;
  readonly param: string | null;
  /** The words of a platform or a model. */
  readonly reason: string | undefined;
  readonly retryAfterSeconds: number | undefined;

  constructor({ status, json, header }: CallAnswer) {
    const { message, code, gateway_code: own, param, reason } = json?.error ?? {};
    super(typeof message === 'string' ? message : `The route answered with status ${status}.`);
    this.status = status;
    this.code = own ?? code ?? 'internal_error';
    this.param = param ?? null;
    this.reason = reason;
    const wait = Number(header('retry-after'));
    this.retryAfterSeconds = Number.isFinite(wait) ? wait : undefined;
  }

  /** Whether the same call may succeed later. */
  get isRetryable(): boolean {
    const known = Object.hasOwn(ERRORS, this.code) ? ERRORS[this.code as ErrorCode] : undefined;
    return this.retryAfterSeconds !== undefined || (known?.status ?? this.status) >= 500;
  }
}

/** Creates the function that calls routes of an app as part of a request. */
export function createCallRoute(handler: RequestListener, origin: CallOrigin): CallRoute {
  return async (call, signal = origin.signal) => {
    const answer = await exchange(handler, origin, call, signal);
    if (answer.status >= 400) throw new RouteFailure(answer);
    return answer;
  };
}

function exchange(
  handler: RequestListener,
  origin: CallOrigin,
  call: RouteCall,
  signal: AbortSignal,
): Promise<CallAnswer> {
  return callHandler(handler, encodeCall(call, origin), { from: origin.request, signal });
}

/** A request to a handler inside of the process. */
export interface HandlerCall {
  method: string;
  /** With its query. */
  path: string;
  /** Names in lower case. */
  headers: Readonly<Record<string, string>>;
  /** Default: none. */
  bytes?: Buffer | undefined;
  /** Id of the verified key that it is made with. Default: none. */
  keyId?: string | undefined;
  take?: RouteCall['take'];
  takesSource?: boolean | undefined;
}

/** Has a handler answer a request. @param options.from The request with the addresses of the client. */
export function callHandler(
  handler: RequestListener,
  call: HandlerCall,
  { from, signal }: { from: IncomingMessage; signal: AbortSignal },
): Promise<CallAnswer> {
  const socket = new QuietSocket(from.socket);
  const request = toRequest(call, socket);
  const response = new CollectedResponse(request, call);
  response.assignSocket(socket as unknown as Socket);
  const { promise, resolve, reject } = Promise.withResolvers<CallAnswer>();
  const leave = () => socket.destroy();
  response.once('finish', () => {
    signal.removeEventListener('abort', leave);
    resolve(response.collected());
    response.detachSocket(socket as unknown as Socket);
    response.emit('close');
  });
  socket.once('close', () => {
    signal.removeEventListener('abort', leave);
    const lost = () => new GatewayError('internal_error', 'A route ended without an answer.');
    reject(signal.aborted ? signal.reason : (response.failure ?? lost()));
  });
  if (signal.aborted) leave();
  else signal.addEventListener('abort', leave, { once: true });
  handler(request, response);
  return promise;
}

/** What is passed on of the request that a call is part of: its key, and the addresses of its client. */
const PASSED_ON = ['authorization', 'x-api-key', 'x-forwarded-for', 'host'] as const;
const KEY_HEADERS: ReadonlySet<string> = new Set(['authorization', 'x-api-key']);

function encodeCall({ method, path, body, headers, take, takesSource }: RouteCall, origin: CallOrigin): HandlerCall {
  const { keyId = innerKeyIdOf(origin.request) } = origin;
  const fields: Record<string, string> = { 'x-request-id': origin.requestId, ...headers };
  for (const name of PASSED_ON) {
    const value = origin.request.headers[name];
    if (typeof value === 'string' && (keyId === undefined || !KEY_HEADERS.has(name))) fields[name] = value;
  }
  const bytes = body instanceof FormBody ? body.bytes : body && Buffer.from(JSON.stringify(body));
  if (bytes) fields['content-type'] = body instanceof FormBody ? body.type : JSON_TYPE;
  return { method, path, headers: fields, bytes, keyId, take, takesSource };
}

const keyIds = new WeakMap<IncomingMessage, string>();

/** Id of the verified key that a request inside of the process is made with. Undefined for all others. */
export function innerKeyIdOf(request: IncomingMessage): string | undefined {
  return keyIds.get(request);
}

/**
 * Answers a call inside of the process with what its answer is made from, so that it is neither encoded nor parsed.
 * False if the request is from elsewhere, or its caller reads the answer.
 */
export function giveSource(context: RequestContext, source: object): boolean {
  const { res: response } = context;
  if (!(response instanceof CollectedResponse) || !response.takesSource) return false;
  response.source = source;
  takeResponse(context, 200, {}).end();
  return true;
}

function toRequest({ method, path, headers, bytes, keyId }: HandlerCall, socket: QuietSocket): IncomingMessage {
  const request = new InnerRequest(socket, bytes);
  const fields: Record<string, string> = bytes ? { ...headers, 'content-length': String(bytes.length) } : headers;
  request.method = method;
  request.url = path;
  request.httpVersion = '1.1';
  request.httpVersionMajor = 1;
  request.httpVersionMinor = 1;
  request.headers = fields;
  const raw: string[] = [];
  for (const name in fields) raw.push(name, fields[name] ?? '');
  request.rawHeaders = raw;
  request.complete = true;
  if (keyId !== undefined) keyIds.set(request, keyId);
  return request;
}

/** A request whose body is there from the beginning: as a stream, or whole for a reader that asks for it. */
class InnerRequest extends Incoming {
  #bytes: Buffer | undefined;

  constructor(socket: QuietSocket, bytes: Buffer | undefined) {
    super(socket as unknown as Socket);
    this.#bytes = bytes;
  }

  takeWhole(): Buffer | undefined {
    const bytes = this.#bytes;
    this.#bytes = undefined;
    return bytes;
  }

  override _read(): void {
    const bytes = this.takeWhole();
    if (bytes) this.push(bytes);
    this.push(null);
  }
}

/** Keeps what is sent; nothing leaves the process. */
class CollectedResponse extends AnswerResponse {
  failure: unknown;
  readonly takesSource: boolean;
  source: object | undefined;
  readonly #take: RouteCall['take'];
  readonly #chunks: Buffer[] = [];
  /** An answer that came as one text. */
  #text: string | undefined;
  #bytes = 0;

  constructor(request: IncomingMessage, { take, takesSource = false }: Pick<HandlerCall, 'take' | 'takesSource'>) {
    super(request);
    this.#take = take;
    this.takesSource = takesSource;
  }

  /** Keeps the headers in the table, where they can be read afterwards. */
  // biome-ignore lint/suspicious/noExplicitAny: the overloads of Node's method
  override writeHead(status: number, ...more: any[]): this {
    this.getHeaderNames();
    return super.writeHead(status, ...(more as []));
  }

  // biome-ignore lint/suspicious/noExplicitAny: the overloads of Node's method
  override write(chunk: any, ...more: any[]): boolean {
    this.#collect(chunk, more[0]);
    return super.write(chunk, ...(more as []));
  }

  /** What was kept is not written again to a connection without another end. */
  // biome-ignore lint/suspicious/noExplicitAny: the overloads of Node's method
  override end(chunk?: any, ...more: any[]): this {
    if (typeof chunk === 'function') return super.end(chunk);
    const isWhole = typeof chunk === 'string' && this.#chunks.length === 0 && this.#take === undefined;
    if (isWhole && (more[0] === undefined || more[0] === 'utf8' || typeof more[0] === 'function')) {
      if (this.#hasRoomFor(Buffer.byteLength(chunk))) this.#text = chunk;
    } else this.#collect(chunk, more[0]);
    const done = more.find((one) => typeof one === 'function');
    return done ? super.end(done) : super.end();
  }

  collected(): CallAnswer {
    const chunks = this.#chunks;
    let text = this.#text;
    const bytesOf = () => {
      if (text !== undefined) return Buffer.from(text);
      const [only, ...others] = chunks;
      return only && others.length === 0 ? only : Buffer.concat(chunks);
    };
    const header = (name: string) => {
      const value = this.getHeader(name);
      return value === undefined ? undefined : String(value);
    };
    if (/\bjson\b/.test(header('content-type') ?? '')) text ??= bytesOf().toString();
    else text = undefined;
    return {
      status: this.statusCode,
      header,
      headers: this.getHeaders(),
      get bytes() {
        return bytesOf();
      },
      json: text ? JSON.parse(text) : undefined,
      source: this.source,
    };
  }

  #collect(chunk: unknown, encoding: unknown): void {
    if (chunk === undefined || chunk === null) return;
    const bytes = typeof chunk === 'string' ? Buffer.from(chunk, encoding as BufferEncoding) : (chunk as Uint8Array);
    if (this.#take && this.statusCode < 400) {
      this.#take(Buffer.from(bytes));
      return;
    }
    // The writer may use its memory again.
    if (this.#hasRoomFor(bytes.length)) this.#chunks.push(Buffer.from(bytes));
  }

  #hasRoomFor(bytes: number): boolean {
    this.#bytes += bytes;
    if (this.#bytes <= MAX_ANSWER_BYTES) return true;
    const message = `The answer has more than ${MAX_ANSWER_BYTES} bytes.`;
    this.failure = new GatewayError('internal_error', message);
    this.socket?.destroy();
    return false;
  }
}

/**
 * A connection without another end: it has the address of a client, and discards what is written. It has what Node's
 * responses read of a socket, since a stream would take longer to make than the rest of a call.
 */
class QuietSocket extends EventEmitter {
  readonly remoteAddress: string | undefined;
  readonly localAddress: string | undefined;
  readonly readable = false;
  readonly writableLength = 0;
  readonly writableHighWaterMark = MAX_ANSWER_BYTES;
  readonly _writableState = { corked: 0 };
  destroyed = false;

  constructor({ remoteAddress, localAddress }: Socket) {
    super();
    this.remoteAddress = remoteAddress;
    this.localAddress = localAddress;
  }

  get writable(): boolean {
    return !this.destroyed;
  }

  write(_chunk: unknown, encoding?: unknown, done = encoding): boolean {
    if (typeof done === 'function') process.nextTick(done);
    return true;
  }

  cork(): void {}

  uncork(): void {}

  setTimeout(): this {
    return this;
  }

  destroy(): this {
    if (!this.destroyed) process.nextTick(() => this.emit('close'));
    this.destroyed = true;
    return this;
  }

  destroySoon(): void {
    this.destroy();
  }
}
