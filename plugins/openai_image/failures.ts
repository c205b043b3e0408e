import {
  asString,
  at,
  type ErrorCode,
  GatewayError,
  type ImageCall,
  isGatewayError,
  neverSent,
  TryFailure,
} from 'mediagate';
import type { Upstream } from './upstream.js';

/** An answer that is not 200. */
export interface Refusal {
  status: number;
  headers: Readonly<Record<string, string>>;
  /** Its JSON, where it is some. */
  json: unknown;
}

const MODERATION = /^(?:moderation_blocked|(?:image_)?content_policy_violation|content_?filter|safety_violation)$/i;
const NO_ACCOUNT = /^(?:insufficient_quota|billing_hard_limit_reached|account_deactivated)$/;
const NO_MODEL = /^(?:model_not_found|invalid_model|model_not_available)$/;
/** A caller's faults that have a name of their own here too. */
const SHARED_CODES: readonly ErrorCode[] = [
  'unsupported_value',
  'unsupported_parameter',
  'image_too_large',
  'image_file_too_large',
  'unsupported_image_media_type',
];
const PARAMS = new Set([
  'prompt',
  'size',
  'quality',
  'background',
  'output_format',
  'output_compression',
  'moderation',
  'input_fidelity',
  'image',
  'user',
]);
const CALLER_FAULTS = new Set([400, 413, 415, 422]);
/** A proxy before the upstream gave up waiting: the image may well be made. */
const ANSWER_LOST = new Set([504, 524]);

/** What a refusal means. It says nothing of the upstream's body but, for a caller's fault, its message without names. */
export function refusalFailure(refusal: Refusal, call: ImageCall, upstream: Upstream, now: number): TryFailure {
  const { status, json } = refusal;
  const code = asString(at(json, 'error', 'code')) ?? '';
  const isModeration =
    MODERATION.test(code) || (code === '' && at(json, 'error', 'type') === 'image_generation_user_error');
  if (isModeration && (CALLER_FAULTS.has(status) || status === 403)) {
    const reason = reasonOf(json, call, upstream);
    const message = "The request was rejected by the model's safety system.";
    return final(new GatewayError('moderation_blocked', message, { reason }));
  }
  if (status === 401 || status === 402 || status === 403 || NO_ACCOUNT.test(code)) return noAccount();
  if (status === 404 || status === 405 || (status >= 300 && status < 400) || NO_MODEL.test(code)) {
    const error = new GatewayError('upstream_error', 'The upstream does not know this model or address.');
    return new TryFailure(error, { again: 'elsewhere', counts: true });
  }
  if (CALLER_FAULTS.has(status)) return final(callerFault(refusal, call, upstream));
  const retryAfterSeconds = retryAfter(refusal.headers, now);
  if (status === 429) {
    const error = new GatewayError('upstream_rate_limited', 'The upstream limits us.', { retryAfterSeconds });
    return new TryFailure(error, { again: 'anywhere', counts: false });
  }
  if (ANSWER_LOST.has(status)) {
    return lostAnswer(new GatewayError('upstream_timeout', 'The upstream did not answer in time.'), call, upstream);
  }
  const error = new GatewayError('upstream_error', `The upstream answered with status ${status}.`, {
    retryAfterSeconds,
  });
  return new TryFailure(error, { again: 'anywhere', counts: true });
}

/** What a request means that has no answer, or one that broke off. */
export function connectionFailure(error: unknown, call: ImageCall, upstream: Upstream): unknown {
  if (call.signal.aborted || !isGatewayError(error)) return error;
  if (error.code === 'upstream_refused') {
    const message = 'The address of the upstream is not allowed.';
    const refused = new GatewayError('upstream_unavailable', message, { retryable: false, cause: error });
    return new TryFailure(refused, { again: 'elsewhere', counts: true });
  }
  if (neverSent(error)) return new TryFailure(error, { again: 'anywhere', counts: true });
  return lostAnswer(error, call, upstream);
}

/** The image may have been made, and paid for: only an upstream that knows the request again is asked again. */
export function lostAnswer(error: GatewayError, call: ImageCall, upstream: Upstream): TryFailure {
  const isKnownAgain = upstream.idempotent && call.idempotencyKey !== undefined;
  return new TryFailure(error, { again: isKnownAgain ? 'here' : 'nowhere', counts: true });
}

/** A whole answer that is of no use; asking again would pay again. */
export function uselessAnswer(message: string): TryFailure {
  return new TryFailure(new GatewayError('upstream_changed', message), { again: 'nowhere', counts: true });
}

function noAccount(): TryFailure {
  const error = new GatewayError('upstream_auth_error', 'The upstream does not serve this gateway.');
  return new TryFailure(error, { again: 'elsewhere', counts: true });
}

function final(error: GatewayError): TryFailure {
  return new TryFailure(error, { again: 'nowhere', counts: false });
}

function callerFault({ json }: Refusal, call: ImageCall, upstream: Upstream): GatewayError {
  const theirs = at(json, 'error', 'code');
  const code = SHARED_CODES.find((one) => one === theirs) ?? 'invalid_value';
  const named = asString(at(json, 'error', 'param'))?.replace(/\[\]?.*$/, '');
  const param = named !== undefined && PARAMS.has(named) ? named : undefined;
  return new GatewayError(code, 'The model refused the request.', { param, reason: reasonOf(json, call, upstream) });
}

/** Their message without what is only theirs and ours: keys, addresses, the upstream's name of the model, ids. */
function reasonOf(json: unknown, { model }: ImageCall, upstream: Upstream): string | undefined {
  let text = asString(at(json, 'error', 'message'));
  if (text === undefined) return undefined;
  if (upstream.apiKey) text = text.replaceAll(upstream.apiKey, '…');
  return text
    .replaceAll(upstream.model, model)
    .replaceAll(new URL(upstream.url).host, '…')
    .replace(/\b[a-z][a-z0-9+.-]*:\/\/\S+/gi, '…')
    .replace(/\b(?:sk|req|org|proj)[-_][A-Za-z0-9_-]{6,}/g, '…');
}

/** Whole seconds or a date; undefined where it is neither. */
function retryAfter(headers: Readonly<Record<string, string>>, now: number): number | undefined {
  const text = headers['retry-after'];
  if (text === undefined) return undefined;
  const seconds = /^\d{1,9}$/.test(text.trim()) ? Number(text) : (Date.parse(text) - now) / 1000;
  return Number.isFinite(seconds) ? Math.max(0, seconds) : undefined;
}
