import type { IncomingMessage, ServerResponse } from 'node:http';
import type { GatewayError, Logger } from 'mediagate';
import { endsWithin } from '../../core/runtime/index.js';
import { areTooSmall, freeMemory } from './body.js';
import { encodeError, encodeProblem, errorClassOf, errorHeaders, toGatewayError } from './error-response.js';
import { takeResponse } from './fast-path.js';
import type { Next, RequestContext, RequestState } from './koa-app.js';
import { setPageHeaders } from './pages.js';
import { checkRawHeaders, isFramed } from './request.js';

interface DrainLimits {
  bytes: number;
  ms: number;
}

const DRAIN_LIMITS: DrainLimits = { bytes: 65_536, ms: 1_000 };
/** Whoever has a key is told why the largest of bodies is not wanted, rather than cut off while sending it. */
const KEY_DRAIN_LIMITS: DrainLimits = { bytes: 64 * 1024 * 1024, ms: 10_000 };
/** A client that sends nothing for so long waits for us. */
const DRAIN_IDLE_MS = 1_000;
/** Bytes of one body that are read over in one turn of the event loop. */
const DRAIN_TURN_BYTES = 512 * 1024;

/** Renders an error as the page that a browser shows. */
export type RenderFailure = (error: GatewayError, requestId: string) => string;

/** Checks the raw headers, and turns whatever is thrown from there on into the one error shape. */
export function answerErrors(logger: Logger, renderFailure?: RenderFailure) {
  async function answer(context: RequestContext, thrown: unknown): Promise<void> {
    const error = toGatewayError(thrown);
    context.state.errorCode = error.code;
    logFailure(logger, error, context.state);
    if (context.headerSent) return;
    // Also where nobody is left to read it: the log line says how it ended.
    context.status = errorClassOf(error.code, context.state).status;
    if (!context.writable) return;
    const body = writeHead(context, error, renderFailure);
    if (hasUnreadBody(context.req)) await endAfterDraining(context, body);
    else context.body = body;
  }

  return (context: RequestContext, next: Next): Promise<unknown> => {
    try {
      checkRawHeaders(context.req);
      return next().catch((thrown: unknown) => answer(context, thrown));
    } catch (thrown) {
      return answer(context, thrown);
    }
  };
}

/** What the client is not told: why something of ours failed. */
function logFailure(logger: Logger, error: GatewayError, state: RequestState): void {
  if (error.cause === undefined) return;
  const fields = { requestId: state.requestId, code: error.code, error: error.cause };
  if (error.code === 'internal_error') logger.error('a request failed in a way nobody foresaw', fields);
  else if (errorClassOf(error.code, state).status >= 500) logger.warn('a request failed', fields);
  // Told to a person as their failure; it may be that of the provider, or of how the gateway is set up with it.
  else if (error.code === 'sign_in_failed') logger.warn('a sign-in failed', fields);
}

function writeHead(context: RequestContext, error: GatewayError, renderFailure?: RenderFailure): string {
  const { requestId, link, imageJob, model, anthropic, oauth, loginUrl, isPage } = context.state;
  const problem = !anthropic && !oauth && wantsProblem(context.req);
  const overWindow = error.code === 'rate_limit_exceeded' && context.res.hasHeader('RateLimit-Policy');
  const details = { requestId, path: context.path, link, imageJob, model, anthropic, oauth, loginUrl, overWindow };
  context.set(errorHeaders(error, details));
  if (isPage && renderFailure && context.accepts('json', 'html') === 'html') {
    setPageHeaders(context.res);
    context.set('Content-Type', 'text/html; charset=utf-8');
    return renderFailure(error, requestId);
  }
  context.set('Content-Type', problem ? 'application/problem+json' : 'application/json; charset=utf-8');
  return problem ? encodeProblem(error, details) : encodeError(error, details);
}

/** Only a client that names the type gets it; wildcards mean the usual shape. */
function wantsProblem(request: IncomingMessage): boolean {
  const accept = request.headers.accept;
  if (!accept?.includes('application/problem+json')) return false;
  return accept
    .split(',')
    .map((part) => part.split(';').map((piece) => piece.trim()))
    .some(
      ([type, ...parameters]) =>
        type === 'application/problem+json' && !parameters.some((one) => /^q=0(\.0*)?$/.test(one)),
    );
}

function hasUnreadBody(request: IncomingMessage): boolean {
  if (request.complete || request.destroyed) return false;
  return request.headers['transfer-encoding'] !== undefined || Number(request.headers['content-length'] ?? 0) > 0;
}

/**
 * Answers a request whose body was not read. Closing at once would reset the connection, and a client that is still
 * sending would then never see why; reading on without end would let anybody send for ever. So the answer goes out, at
 * most 64 KB more are read in at most a second (64 MiB in ten, of whoever has a key), and then the connection ends.
 */
async function endAfterDraining(context: RequestContext, body: string): Promise<void> {
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

/** Errors of these routes say `ok: false`, and which link it was where one is known. */
export function markLinkData(context: RequestContext, next: Next): Promise<unknown> {
  context.state.link = {};
  return next();
}

/** Failures of these routes are classed as the vendors of models do it. */
export function markModel(context: RequestContext, next: Next): Promise<unknown> {
  context.state.model = true;
  return next();
}

/** Errors of these routes have the shape that Anthropic's SDK knows, and every answer the header field that it reads. */
export function markAnthropic(context: RequestContext, next: Next): Promise<unknown> {
  context.state.model = true;
  context.state.anthropic = true;
  context.set('request-id', context.state.requestId);
  return next();
}

/** Errors of these routes have the shape that clients of OAuth know. */
export function markOauth(context: RequestContext, next: Next): Promise<unknown> {
  context.state.oauth = true;
  return next();
}
