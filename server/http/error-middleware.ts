import type { IncomingMessage, ServerResponse } from 'node:http';
import { endsWithin, type GatewayError, type Logger } from '../../core/runtime/index.js';
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
/** A client with a key gets the reason for refusing a very large body, rather than a reset while sending. */
const KEY_DRAIN_LIMITS: DrainLimits = { bytes: 64 * 1024 * 1024, ms: 10_000 };
/** A client that sends nothing for this time waits for the answer. */
const DRAIN_IDLE_MS = 1_000;
/** Bytes of one body that are discarded per turn of the event loop. */
const DRAIN_TURN_BYTES = 512 * 1024;

/** Renders an error as an HTML page. */
export type RenderFailure = (error: GatewayError, requestId: string) => string;

/** Checks the raw headers, and converts every error of the following middleware to the error format. */
export function answerErrors(logger: Logger, renderFailure?: RenderFailure) {
  async function answer(context: RequestContext, thrown: unknown): Promise<void> {
    const error = toGatewayError(thrown);
    context.state.errorCode = error.code;
    logFailure(logger, error, context.state);
    if (context.headerSent) return;
    // Also after a disconnect: the log line states the result.
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

/** Not sent to the client: the cause of an internal failure. */
function logFailure(logger: Logger, error: GatewayError, state: RequestState): void {
  if (error.cause === undefined) return;
  const fields = { requestId: state.requestId, code: error.code, error: error.cause };
  if (error.code === 'internal_error') logger.error('a request failed unexpectedly', fields);
  else if (errorClassOf(error.code, state).status >= 500) logger.warn('a request failed', fields);
  // Shown to a person as their failure; the cause may be the provider, or its configuration here.
  else if (error.code === 'sign_in_failed') logger.warn('a sign-in failed', fields);
}

function writeHead(context: RequestContext, error: GatewayError, renderFailure?: RenderFailure): string {
  const { requestId, link, imageJob, model, anthropic, oauth, loginUrl, isPage } = context.state;
  const problem = !anthropic && !oauth && wantsProblem(context.req);
  const isRateLimit = error.code === 'rate_limit_exceeded' && context.res.hasHeader('RateLimit-Policy');
  const details = { requestId, path: context.path, link, imageJob, model, anthropic, oauth, loginUrl, isRateLimit };
  context.set(errorHeaders(error, details));
  if (isPage && renderFailure && context.accepts('json', 'html') === 'html') {
    setPageHeaders(context.res);
    context.set('Content-Type', 'text/html; charset=utf-8');
    return renderFailure(error, requestId);
  }
  context.set('Content-Type', problem ? 'application/problem+json' : 'application/json; charset=utf-8');
  return problem ? encodeProblem(error, details) : encodeError(error, details);
}

/** Only for a client that names the type; wildcards mean the usual format. */
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
 * Answers a request without reading its body. Closing at once would reset the connection, and a client that is still
 * sending would never see the reason; reading without limit would let clients send for ever. So the answer is sent, at
 * most 64 KB more are read in at most a second (64 MiB in ten for clients with a key), and then the connection is
 * closed.
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

/** Errors of these routes contain `ok: false`, and the link if it is known. */
export function markLinkData(context: RequestContext, next: Next): Promise<unknown> {
  context.state.link = {};
  return next();
}

/** Failures of these routes are classified as by model vendors. */
export function markModel(context: RequestContext, next: Next): Promise<unknown> {
  context.state.model = true;
  return next();
}

/** Errors of these routes have the format of Anthropic's SDK, and every answer has the header that it reads. */
export function markAnthropic(context: RequestContext, next: Next): Promise<unknown> {
  context.state.model = true;
  context.state.anthropic = true;
  context.set('request-id', context.state.requestId);
  return next();
}

/** Errors of these routes have the OAuth format. */
export function markOauth(context: RequestContext, next: Next): Promise<unknown> {
  context.state.oauth = true;
  return next();
}
