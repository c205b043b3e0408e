/*
 * Everything that bypasses the public interface of Koa, of its router or of Node's responses, to save CPU on each
 * request. All other code uses Koa as its documentation describes it. Each part says what it bypasses, why, and what it
 * gains. A part without a gain has no place here.
 *
 * The gains were measured with each part switched off in turn, in 100 pairs of 200 requests of 16 clients over
 * loopback. They are CPU time of one request, with that of its client: 45 µs for a chat that is answered whole, 41 µs
 * for a link from the cache (tenth percentile; two cores of an AMD EPYC, Node 24). A part that is switched off for
 * nothing shows up to 0.4 µs.
 */

import type { IncomingMessage, OutgoingHttpHeader, OutgoingHttpHeaders } from 'node:http';
import type Router from '@koa/router';
import Koa from 'koa';
import type { Next, RequestContext, RequestState } from './koa-app.js';

const { ServerResponse } = process.getBuiltinModule('node:http');

type Run = (context: RequestContext) => Promise<unknown>;

/** Koa's private method that runs the middleware and sends the body, which its types leave out. */
const { handleRequest } = Koa.prototype as unknown as {
  handleRequest(this: Koa<RequestState>, context: RequestContext, run: Run): Promise<void>;
};

/**
 * Bypasses: `handleRequest`, a private method of Koa, for requests whose route writes the response itself.
 * Why: Koa listens for the end of each response (on-finished), only to report errors that Node's server and the route's own
 * code report as well. For a small answer this takes longer than everything else that Koa does.
 * Gain: 4 µs (9 %) of a chat. A link is answered by Koa.
 */
export class App extends Koa<RequestState> {
  constructor() {
    super();
    takeJsonAsText(this.response);
  }

  async handleRequest(context: RequestContext, run: Run): Promise<void> {
    const { res: response } = context;
    response.statusCode = 404;
    try {
      await run(context);
    } catch (error) {
      context.onerror(error as Error);
      return;
    }
    if (context.respond === false) return;
    const { statusCode } = response;
    await handleRequest.call(this, context, async () => {
      response.statusCode = statusCode;
    });
  }
}

/**
 * Bypasses: Koa's setter of `context.body`, for plain objects, which it gets as the text that they become.
 * Why: Koa first asks of an object whether it is a `Response`, and for that question Node loads its HTTP client.
 * Gain: 5 % of the CPU of a start, as part of the first request.
 */
function takeJsonAsText(response: Koa.BaseResponse): void {
  const { get, set } = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(response), 'body') ?? {};
  Object.defineProperty(response, 'body', {
    get,
    set(this: Koa.BaseResponse, value: unknown) {
      const isPlain = typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
      if (isPlain && !/\bjson\b/i.test(this.type)) this.set('Content-Type', 'application/json; charset=utf-8');
      set?.call(this, isPlain ? JSON.stringify(value) : value);
    },
  });
}

/** `_matchedRoute`: the template of the route, for log lines and metrics. The router sets it, and so does {@link dispatch}. */
export type RoutedContext = RequestContext & { _matchedRoute?: string | RegExp };

type Step = (context: RequestContext, next: Next) => unknown;

interface FixedRoute {
  path: string;
  steps: readonly Step[];
}

/**
 * Bypasses: the middleware of @koa/router, for paths without parameters. It reads the routes from `router.stack`, and sets
 * `_matchedRoute` as the router does.
 * Why: the router tries the patterns of all routes, one after the other, which takes longer than most of the routes. A path
 * without parameters is found in a map by method and URL. The router handles all other requests, those without a route
 * included.
 * Gain: 4 µs (9 %) of a link and 3 µs (7 %) of a chat.
 */
export function dispatch(router: Router<RequestState>) {
  const fixed = fixedRoutes(router);
  const routed = router.routes() as Step;

  const find = (context: RoutedContext, next: Next): unknown => {
    const { method, url } = context.req;
    const route = fixed.get(`${method} ${url}`);
    if (!route) return routed(context, next);
    context._matchedRoute = route.path;
    return run(route.steps, 0, context, next);
  };
  // The router's own middleware has this property too: a caller with the app can list the routes.
  return Object.assign(find, { router });
}

/** Creates no promise per step, unlike asynchronous functions. */
function run(steps: readonly Step[], index: number, context: RequestContext, next: Next): Promise<unknown> {
  const step = steps[index];
  if (!step) return next();
  const begun = step(context, () => run(steps, index + 1, context, next));
  return begun instanceof Promise ? begun : Promise.resolve(begun);
}

/** By method and path: the routes with a path that no other route of that method matches. */
function fixedRoutes({ stack: routes }: Router<RequestState>): Map<string, FixedRoute> {
  const fixed = new Map<string, FixedRoute>();
  for (const { path, methods, paramNames, stack } of routes) {
    if (typeof path !== 'string' || paramNames.length > 0) continue;
    // Without parameters, a route has no other path than its own.
    const sharing = routes.filter((route) =>
      route.paramNames.length === 0 && typeof route.path === 'string' ? route.path === path : route.match(path),
    );
    // The router's context adds only the parameters to ours, and a fixed path has none.
    const steps = stack as unknown as readonly Step[];
    for (const method of methods) {
      const alone =
        sharing.filter((route) => route.methods.length === 0 || route.methods.includes(method)).length === 1;
      if (alone) fixed.set(`${method} ${path}`, { path, steps });
    }
  }
  return fixed;
}

/**
 * Bypasses: the header table of Node's response, for headers that no code reads again. They are kept in a list and written
 * with the head. As soon as code sets, reads or removes a header by the usual methods, the list is moved to the table.
 * Why: Node checks, lowercases and stores each header that is set by itself, which takes several times as long as writing it.
 * Gain: 2.5 µs (6 %) of a chat, which sets all its headers this way. None of a link, which sets some with `setHeader`.
 */
export class AnswerResponse<Request extends IncomingMessage = IncomingMessage> extends ServerResponse<Request> {
  /** Alternating names and values that are not in the table. */
  #fields: string[] = [];

  /** Adds a header, or replaces an added one of the same name. A header that was set has precedence. */
  addField(name: string, value: string): void {
    const fields = this.#fields;
    for (let index = 0; index < fields.length; index += 2) {
      if (!isSameName(fields[index] ?? '', name)) continue;
      fields[index + 1] = value;
      return;
    }
    fields.push(name, value);
  }

  /** Node calls this for every response, even if the code does not. */
  override writeHead(
    status: number,
    reason?: string | OutgoingHttpHeaders | OutgoingHttpHeader[],
    headers?: OutgoingHttpHeaders | OutgoingHttpHeader[],
  ): this {
    const isAlone = reason === undefined && headers === undefined && super.getHeaderNames().length === 0;
    if (isAlone && !this.headersSent) {
      const fields = this.#fields;
      this.#fields = [];
      return super.writeHead(status, fields);
    }
    this.#setFields();
    if (typeof reason === 'string') return super.writeHead(status, reason, headers);
    return super.writeHead(status, reason ?? headers);
  }

  override hasHeader(name: string): boolean {
    this.#setFields();
    return super.hasHeader(name);
  }

  override getHeader(name: string): number | string | string[] | undefined {
    this.#setFields();
    return super.getHeader(name);
  }

  override getHeaders(): OutgoingHttpHeaders {
    this.#setFields();
    return super.getHeaders();
  }

  override getHeaderNames(): string[] {
    this.#setFields();
    return super.getHeaderNames();
  }

  override removeHeader(name: string): void {
    this.#setFields();
    super.removeHeader(name);
  }

  #setFields(): void {
    if (this.#fields.length === 0) return;
    const fields = this.#fields;
    this.#fields = [];
    for (let index = 0; index < fields.length; index += 2) {
      const name = fields[index] ?? '';
      if (!super.hasHeader(name)) this.setHeader(name, fields[index + 1] ?? '');
    }
  }
}

function isSameName(one: string, other: string): boolean {
  return one.length === other.length && (one === other || one.toLowerCase() === other.toLowerCase());
}

/** Adds a header to a response that has not begun. Use `context.set` for a name that other code sets as well. */
export function addField(response: InstanceType<typeof ServerResponse>, name: string, value: string): void {
  if (response instanceof AnswerResponse) response.addField(name, value);
  else response.setHeader(name, value);
}

/**
 * Bypasses: `context.status`, `context.set` and `context.body`. From here on the route writes the response.
 * Why: for a stream, Koa would put two streams between the upstream and the client, and an upstream that fails before its
 * first bytes could no longer be answered with an error. An error whose request has an unread body is written before that
 * body is read. A whole answer skips the second half of Koa's `handleRequest`.
 * Gain: 3 µs (7 %) of a chat, besides that of {@link App}.
 */
export function takeResponse(
  context: RequestContext,
  status: number,
  headers: Readonly<Record<string, string>>,
): RequestContext['res'] {
  context.respond = false;
  const { res: response } = context;
  response.statusCode = status;
  for (const name in headers) {
    const value = headers[name];
    if (value !== undefined) addField(response, name, value);
  }
  return response;
}

/**
 * Bypasses: the answer of Koa, for a connection that a route takes over.
 * Why: after the handshake of a WebSocket there is no response that Koa could send.
 * Gain: none; there is no other way.
 */
export function leaveUnanswered(context: RequestContext): void {
  context.respond = false;
}

/** Bytes that are gathered at most in a turn of the event loop. */
const MAX_GATHERED = 64 * 1024;

/**
 * Bypasses: `write` and `end`, which send their bytes at once.
 * Why: what is ready in one turn of the event loop is sent at its end. Clients then wake up once for all of it, and send
 * their next requests together, which share a turn, a transaction and a write of the log.
 * Gain: about a sixth of the CPU of a chat under load. About 5 % of an event of 200 streams.
 */
export function endSoon(response: RequestContext['res'], body?: Uint8Array): void {
  gather({ response, bytes: body, isLast: true });
}

/** Part of {@link endSoon}, for a piece of an answer: its bytes do not count for `writableNeedDrain` before they are sent. */
export function writeSoon(response: RequestContext['res'], bytes: Uint8Array): void {
  gather({ response, bytes, isLast: false });
}

interface Ready {
  response: RequestContext['res'];
  bytes: Uint8Array | undefined;
  isLast: boolean;
}

/** What is ready in this turn of the event loop. */
let ready: Ready[] = [];
let gathered = 0;

function gather(piece: Ready): void {
  if (ready.length === 0) setImmediate(sendReady);
  ready.push(piece);
  gathered += piece.bytes?.length ?? 0;
  if (gathered > MAX_GATHERED) sendReady();
}

/** Sends what is ready at once, for a response that is destroyed next: its client gets what came before. */
export function sendReady(): void {
  const pieces = ready;
  ready = [];
  gathered = 0;
  for (const { response, bytes, isLast } of pieces) {
    if (isLast) response.end(bytes);
    else if (!response.destroyed) response.write(bytes);
  }
}
