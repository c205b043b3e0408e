/*
 * Converts everything that a handler throws into an answer. One table maps each error code to its HTTP status and
 * `error.type`; model routes differ in a few codes. The body has the format of the route: the usual one, Anthropic's,
 * OAuth's, RFC 9457 for clients that ask for it, or a page for browsers. An unexpected error becomes `internal_error`;
 * its cause is in the log, never in the answer. `x-should-retry: false` and `Retry-After` tell SDKs whether to repeat.
 * On text routes the vendor's own code, message and status reach the client. If the request has an unread body, the
 * answer is sent before the body is drained.
 */

import type { IncomingMessage } from 'node:http';
import type { JobFailure } from '../../core/contracts/index.js';
import {
  ERRORS,
  type ErrorClass,
  type ErrorCode,
  GatewayError,
  isGatewayError,
  type Logger,
  OVERLOADED,
} from '../../core/runtime/index.js';
import { sendVendorLimits } from './event-stream.js';
import type { Next, RequestContext, RequestState } from './koa-app.js';
import { setPageHeaders } from './pages.js';
import { checkRawHeaders, endAfterDraining, hasUnreadBody } from './request.js';

const { STATUS_CODES } = process.getBuiltinModule('node:http');
const DAY_MS = 86_400_000;

/** For programs that act on behalf of a user. */
export const SIGN_IN_INSTRUCTION =
  'Ask the user to open loginUrl in a browser and sign in there, or start the device flow at POST /api/agent/device. Never ask for a password.';

/** The type that Anthropic's SDK treats as an overload, so that its clients switch to another model. */
const ANTHROPIC_OVERLOADED = 529;

/** The error format of a route. */
export function errorClassOf(code: ErrorCode, { model, anthropic }: RouteFormat): ErrorClass {
  const found: ErrorClass = (model && ERRORS[code].onModelRoutes) || ERRORS[code];
  const isOverload = found.status === OVERLOADED.status && found.type === OVERLOADED.type;
  return anthropic && isOverload ? { ...found, status: ANTHROPIC_OVERLOADED } : found;
}

/** The format of one error: a model vendor's own status reaches clients of text routes. */
export function errorClassFor({ code, upstream }: GatewayError, format: RouteFormat): ErrorClass {
  const found = errorClassOf(code, format);
  const status = format.model ? upstream?.status : undefined;
  return status !== undefined && VENDOR_STATUSES.has(status) ? { ...found, status } : found;
}

const VENDOR_STATUSES: ReadonlySet<number> = new Set([409, 413, 422, 429]);

type RouteFormat = Pick<ErrorContext, 'model' | 'anthropic'>;

/** What is known about the failed request. */
export interface ErrorContext {
  requestId: string;
  /** Set on model routes. */
  model?: boolean;
  /** Set on routes for Anthropic's SDK: their bodies have its format. */
  anthropic?: boolean;
  /** Set on routes for OAuth clients: their bodies have the format of RFC 6749. */
  oauth?: boolean;
  /** Set if the user is not signed in: the address of the sign-in. */
  loginUrl?: string;
  /** `WWW-Authenticate` of a refused key. Default `Bearer`. */
  challenge?: ((reason: string) => string | undefined) | undefined;
  /** Set on link-data routes: their bodies contain `ok: false` and the link. */
  link?: { inputUrl?: string; platform?: string };
  /** Set if the request waited for an image: its job, and whether it has failed; otherwise it is open or cancelled. */
  imageJob?: { id: string; failed: boolean };
  /** Set if the key's rate limit refused; a plan's quota or another guard is a different policy. */
  isRateLimit?: boolean;
  /** Path of the request, for `instance` of a problem body. */
  path?: string;
}

/** Converts anything thrown to the error sent to the client. An unexpected error becomes `internal_error`. */
export function toGatewayError(error: unknown): GatewayError {
  // Another copy of the package may have codes that this one does not know.
  if (isGatewayError(error) && Object.hasOwn(ERRORS, error.code)) return error;
  return new GatewayError('internal_error', 'The gateway failed. The request id names this failure in its log.', {
    cause: error,
  });
}

/** The usual body: `{"error":{message,type,param,code,request_id}}`, with the fields of link-data routes. */
export function encodeError(error: GatewayError, context: ErrorContext): string {
  if (context.anthropic) return encodeAnthropicError(error, context);
  if (context.oauth) return encodeOauthError(error, context.requestId);
  const { status, type } = errorClassFor(error, context);
  const body = {
    message: messageOf(error, context),
    type,
    param: error.param ?? null,
    ...codesOf(error, context),
    request_id: context.requestId,
  };
  if (context.imageJob) return JSON.stringify(describeImageFailure(error, context.imageJob, body));
  if (error.code === 'not_signed_in' && context.loginUrl) {
    return JSON.stringify({ error: body, loginUrl: context.loginUrl, instruction: SIGN_IN_INSTRUCTION });
  }
  if (!context.link) return JSON.stringify({ error: body });
  const isMessageShown = status === 422 || status === 502 || status === 504;
  return JSON.stringify({
    ok: false,
    error: isMessageShown
      ? { ...body, reason: error.reason, retryable: error.retryable, attempts: error.attempts }
      : body,
    platform: error.platform ?? context.link.platform,
    input_url: context.link.inputUrl,
  });
}

/** The vendor's code takes the place of the gateway's own, which is then beside it. */
function codesOf({ code, upstream }: GatewayError, { model }: Pick<ErrorContext, 'model'>) {
  return model && upstream ? { code: upstream.code ?? code, gateway_code: code } : { code };
}

/** Clients of models show only the message, so it must contain the model's own message. */
function messageOf({ message, reason, upstream }: GatewayError, { model }: ErrorContext): string {
  if (model && upstream?.message !== undefined) return upstream.message;
  return model && reason !== undefined ? `${message} It says: ${reason}` : message;
}

/** Codes of RFC 6749 and RFC 8628 where they exist; our own otherwise. */
function encodeOauthError(error: GatewayError, requestId: string): string {
  const { status } = ERRORS[error.code];
  const known = status === 429 ? 'slow_down' : status >= 500 ? 'temporarily_unavailable' : 'invalid_request';
  return JSON.stringify({ error: known, error_description: error.message, code: error.code, request_id: requestId });
}

/** `error.type` as Anthropic's SDK knows it. */
export function anthropicTypeOf(error: GatewayError, { model }: Pick<ErrorContext, 'model'>): string {
  const { status } = errorClassFor(error, { model, anthropic: true });
  return ANTHROPIC_TYPES.get(status) ?? (status >= 500 ? 'api_error' : 'invalid_request_error');
}

/** Anthropic's SDK classifies errors by the status. */
function encodeAnthropicError(error: GatewayError, context: ErrorContext): string {
  const words = error.upstream && codesOf(error, context);
  const fields = { type: anthropicTypeOf(error, context), message: messageOf(error, context), ...words };
  const isUnthreaded = error.code === 'unsupported_value' && error.param === 'thread';
  const details = isUnthreaded ? NO_THREADS : undefined;
  return JSON.stringify({ type: 'error', error: { ...fields, details }, request_id: context.requestId });
}

/** The SDK's tool runner sends only new messages; it reads this as a request to send the whole conversation. */
const NO_THREADS = { error_code: 'thread_unsupported_request' };

const ANTHROPIC_TYPES: ReadonlyMap<number, string> = new Map([
  [401, 'authentication_error'],
  [403, 'permission_error'],
  [404, 'not_found_error'],
  [413, 'request_too_large'],
  [429, 'rate_limit_error'],
  [ANTHROPIC_OVERLOADED, 'overloaded_error'],
  [504, 'timeout_error'],
]);

/** A job that is still running can be polled. */
function describeImageFailure(error: GatewayError, { id, failed }: { id: string; failed: boolean }, body: object) {
  const { reason, retryable } = error;
  const counts = { requested: 1, succeeded: 0, failed: failed ? 1 : 0 };
  return { error: { ...body, reason, retryable, job_id: id, status_url: `/v1/images/jobs/${id}` }, ...counts };
}

/**
 * A failure inside of a successful answer: a failed job, one link of a batch. What would otherwise be in headers is a
 * field here.
 */
export function describeFailure(failure: JobFailure & { param?: string }) {
  return {
    message: failure.message,
    type: ERRORS[failure.code].type,
    param: failure.param ?? null,
    code: failure.code,
    reason: failure.reason,
    retryable: failure.retryable,
    retry_after_seconds: failure.retryAfterSeconds,
    attempts: failure.attempts,
  };
}

/** The same failure in the format of RFC 9457, for clients that ask for `application/problem+json`. */
export function encodeProblem(error: GatewayError, context: ErrorContext): string {
  const { status } = errorClassFor(error, context);
  const overQuota = status === 429;
  return JSON.stringify({
    type: overQuota ? 'https://iana.org/assignments/http-problem-types#quota-exceeded' : 'about:blank',
    title: STATUS_CODES[status],
    status,
    detail: messageOf(error, context),
    instance: context.path,
    ...codesOf(error, context),
    param: error.param ?? null,
    request_id: context.requestId,
    ...(context.isRateLimit && { 'violated-policies': ['rpm'] }),
    ...(context.imageJob && { job_id: context.imageJob.id }),
    ...(context.link && {
      platform: error.platform ?? context.link.platform,
      input_url: context.link.inputUrl,
      reason: error.reason,
      retryable: error.retryable,
      attempts: error.attempts,
    }),
  });
}

/**
 * Default in seconds. An overload of this gateway passes quickly, and one second is the minimum of Retry-After; an
 * upstream's limit without a stated time was already retried a few times in vain.
 */
function usualWait(code: ErrorCode, { type }: ErrorClass): number | undefined {
  if (type === OVERLOADED.type) return 1;
  return code === 'upstream_rate_limited' ? 5 : undefined;
}

/** Headers of an error, besides the content type. */
export function errorHeaders(error: GatewayError, context: ErrorContext): Record<string, string> {
  const found = errorClassFor(error, context);
  const { status, shouldRetry, type } = found;
  // Clients repeat it by themselves, with any body.
  const isFinal = shouldRetry === false || (type === OVERLOADED.type && !error.retryable);
  const headers: Record<string, string> = {};
  if (context.anthropic) headers['request-id'] = context.requestId;
  if (error.upstreamRequestId !== undefined) headers['x-upstream-request-id'] = error.upstreamRequestId;
  if (error.tries !== undefined && error.tries > 1) headers['x-mediagate-attempts'] = String(error.tries);
  const retryAfter = error.retryAfterSeconds ?? (isFinal ? undefined : usualWait(error.code, found));
  if (retryAfter !== undefined) headers['Retry-After'] = String(retryAfter);
  if (isFinal) headers['x-should-retry'] = 'false';
  if (error.code === 'daily_image_limit_reached') {
    headers['x-ratelimit-reset-images'] = String(Math.ceil((DAY_MS - (Date.now() % DAY_MS)) / 1000));
  }
  if (status === 401) headers['WWW-Authenticate'] = context.challenge?.(error.message) ?? 'Bearer';
  return headers;
}

/** Renders an error as an HTML page. */
export type RenderFailure = (error: GatewayError, context: RequestContext) => Promise<string>;

/** Checks the raw headers, and converts every error of the following middleware to the error format. */
export function answerErrors(logger: Logger, renderFailure?: RenderFailure) {
  async function answer(context: RequestContext, thrown: unknown): Promise<void> {
    const error = toGatewayError(thrown);
    context.state.errorCode = error.code;
    context.state.upstreamRequestId ??= error.upstreamRequestId;
    logFailure(logger, error, context.state);
    if (context.headerSent) return;
    // Also after a disconnect: the log line states the result.
    context.status = errorClassFor(error, context.state).status;
    if (!context.writable) return;
    const written = writeHead(context, error, renderFailure);
    const body = typeof written === 'string' ? written : await written;
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

function writeHead(
  context: RequestContext,
  error: GatewayError,
  renderFailure?: RenderFailure,
): string | Promise<string> {
  const { requestId, link, imageJob, model, anthropic, oauth, loginUrl, challenge, isPage } = context.state;
  const problem = !anthropic && !oauth && wantsProblem(context.req);
  const isRateLimit = error.code === 'rate_limit_exceeded' && context.res.hasHeader('RateLimit-Policy');
  const format = { link, imageJob, model, anthropic, oauth };
  const details = { requestId, path: context.path, ...format, loginUrl, challenge, isRateLimit };
  context.set(errorHeaders(error, details));
  if (error.vendorLimits && context.state.vendorLimits) sendVendorLimits(context, error.vendorLimits);
  if (isPage && renderFailure && context.accepts('json', 'html') === 'html') {
    setPageHeaders(context.res);
    context.set('Content-Type', 'text/html; charset=utf-8');
    return renderFailure(error, context);
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
