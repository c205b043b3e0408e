/** What a platform may say about an item that ends the question: it cannot be had, and why. */
export const DEFINITIVE_CODES = [
  'removed',
  'private',
  'login_required',
  'age_restricted',
  'geo_blocked',
  'members_only',
  'paid',
  'under_review',
  'unavailable',
  'short_link_dead',
  'redirected_to_unsupported',
] as const;

/** How a source may fail without anything being said about the item. */
export const TRANSIENT_CODES = [
  'bot_check',
  'upstream_rate_limited',
  'upstream_refused',
  'upstream_changed',
  'upstream_error',
  'upstream_timeout',
] as const;

/**
 * Every failure the gateway can name. The set is closed: a code not in this list does not reach a client, and
 * `server/http/error-response.ts` holds the one table from code to HTTP status.
 */
export const ERROR_CODES = [
  // The caller's request
  'invalid_json',
  'invalid_value',
  'missing_required_parameter',
  'unsupported_parameter',
  'unsupported_value',
  'invalid_url',
  'unsupported_platform',
  'unsupported_link',
  'too_many_images',
  'invalid_image_url',
  'invalid_base64_image',
  'invalid_image',
  'unsupported_image_media_type',
  'image_file_too_large',
  'image_too_large',
  'failed_to_download_image',
  'model_not_supported',
  'invalid_idempotency_key',
  'moderation_blocked',
  'invalid_prompt',
  'content_filter',
  'context_length_exceeded',
  'previous_response_not_found',
  'bad_request',
  // Keys and grants
  'missing_api_key',
  'invalid_api_key',
  'expired_api_key',
  'revoked_api_key',
  'route_not_allowed',
  'model_not_allowed',
  'ip_not_allowed',
  'account_suspended',
  // Signing in
  'not_signed_in',
  'sign_in_failed',
  'cross_site_request',
  // What a bank tells
  'invalid_signature',
  // Things that are not there
  'model_not_found',
  'job_not_found',
  'response_not_found',
  'file_not_found',
  'route_not_found',
  'account_not_found',
  'user_not_found',
  'key_not_found',
  'order_not_found',
  'method_not_allowed',
  'link_expired',
  'file_expired',
  'job_expired',
  // Conflicts
  'job_already_terminal',
  'idempotency_in_progress',
  'idempotency_key_reused',
  'price_not_configured',
  'too_many_open_orders',
  'order_state_conflict',
  'key_exists',
  'no_active_key',
  'too_many_keys',
  'key_replaced',
  // HTTP framing
  'request_timeout',
  'request_too_large',
  'unsupported_media_type',
  // Limits of ours
  'rate_limit_exceeded',
  'daily_image_limit_reached',
  'insufficient_quota',
  'queue_full',
  'shutting_down',
  // A link that could not be had, definitively
  ...DEFINITIVE_CODES,
  // An upstream (platform or model vendor) that did not do its part
  ...TRANSIENT_CODES,
  'upstream_auth_error',
  'upstream_unavailable',
  'sign_in_unavailable',
  'audio_unavailable',
  'audio_timeout',
  // Ours
  'plugin_unavailable',
  'storage_error',
  // A job that came to no result
  'queue_expired',
  'job_timeout',
  'cancelled',
  'interrupted',
  'internal_error',
] as const;

export type ErrorCode = (typeof ERROR_CODES)[number];
export type DefinitiveCode = (typeof DEFINITIVE_CODES)[number];
export type TransientCode = (typeof TRANSIENT_CODES)[number];

const DEFINITIVE: ReadonlySet<string> = new Set(DEFINITIVE_CODES);
const TRANSIENT: ReadonlySet<string> = new Set(TRANSIENT_CODES);

/** Whether the source has said why it does not show the item: asking another way is of no use. */
export function isDefinitiveCode(code: ErrorCode): code is DefinitiveCode {
  return DEFINITIVE.has(code);
}

/** Whether nothing is known about the item, only that the source failed us. */
export function isTransientCode(code: ErrorCode): code is TransientCode {
  return TRANSIENT.has(code);
}

/** One method that was tried for a link: names and outcomes only, never a URL or an address. */
export interface Attempt {
  method: string;
  /** `ok`, `skipped` (not usable, too dear or too late), `resting` (after failures), or the error code it ended with. */
  outcome: string;
  /** Whole milliseconds. */
  ms: number;
}

export interface GatewayErrorDetails {
  /** The request member that is wrong, as the client named it. */
  param?: string;
  /** The platform's own words; made well-formed, stripped of control characters and capped at 300 characters here. */
  reason?: string;
  /** Whether asking again later may help. Default: by code, see {@link isRetryable}. */
  retryable?: boolean;
  /** How long to wait before asking again, in whole seconds (at least 1). */
  retryAfterSeconds?: number;
  /** Platform key, where it is known. */
  platform?: string;
  attempts?: readonly Attempt[];
  cause?: unknown;
}

const MARKER = Symbol.for('mediagate.GatewayError');

const RETRYABLE: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'sign_in_unavailable',
  'failed_to_download_image',
  'request_timeout',
  'rate_limit_exceeded',
  'queue_full',
  'shutting_down',
  'idempotency_in_progress',
  'under_review',
  'bot_check',
  'upstream_rate_limited',
  'upstream_refused',
  'upstream_error',
  'upstream_timeout',
  'upstream_unavailable',
  'audio_unavailable',
  'audio_timeout',
  'plugin_unavailable',
  'storage_error',
  'queue_expired',
  'job_timeout',
  'interrupted',
]);

/** Whether a failure of this code may go away by itself. */
export function isRetryable(code: ErrorCode): boolean {
  return RETRYABLE.has(code);
}

const MAX_UPSTREAM_WAIT_SECONDS = 60;

/**
 * Seconds that a client is told to wait because an upstream asked for it. An upstream may ask for days, by mistake or not; the
 * gateway leaves it alone for a minute at the most, and that is what clients are told.
 */
export function boundedWait(seconds: number): number {
  return Math.min(seconds, MAX_UPSTREAM_WAIT_SECONDS);
}

/**
 * The one error class of the gateway. `message` is safe to show to a client: it names what and which, never a secret,
 * an upstream body or an address. Whatever lies behind it travels as `cause` and is only logged.
 */
export class GatewayError extends Error {
  readonly code: ErrorCode;
  readonly param?: string;
  readonly reason?: string;
  readonly retryable: boolean;
  readonly retryAfterSeconds?: number;
  readonly platform?: string;
  readonly attempts?: readonly Attempt[];

  constructor(code: ErrorCode, message: string, details: GatewayErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = 'GatewayError';
    this.code = code;
    this.retryable = details.retryable ?? isRetryable(code);
    if (details.param !== undefined) this.param = details.param;
    if (details.reason !== undefined) this.reason = cleanReason(details.reason);
    if (details.retryAfterSeconds !== undefined) {
      this.retryAfterSeconds = Math.max(1, Math.ceil(details.retryAfterSeconds) || 1);
    }
    if (details.platform !== undefined) this.platform = details.platform;
    if (details.attempts !== undefined) this.attempts = details.attempts;
    Object.defineProperty(this, MARKER, { value: true });
  }

  /** The same failure with more said about it; what is already there stays. */
  with(details: GatewayErrorDetails): GatewayError {
    return new GatewayError(this.code, this.message, {
      param: this.param ?? details.param,
      reason: this.reason ?? details.reason,
      retryable: this.retryable,
      retryAfterSeconds: this.retryAfterSeconds ?? details.retryAfterSeconds,
      platform: this.platform ?? details.platform,
      attempts: this.attempts ?? details.attempts,
      cause: this.cause ?? details.cause,
    });
  }
}

/** Recognises a GatewayError across copies of this package (a plugin may bring its own). */
export function isGatewayError(error: unknown): error is GatewayError {
  return typeof error === 'object' && error !== null && MARKER in error;
}

const REASON_LIMIT = 300;

function cleanReason(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is being removed
  const flat = text.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g, ' ').trim();
  // Cutting may part a surrogate pair, so what is cut is made well-formed after it.
  return (flat.length > REASON_LIMIT ? `${flat.slice(0, REASON_LIMIT - 1)}…` : flat).toWellFormed();
}

/** What an upstream asked for counts within the call that asked it; its caller is told how long it is left alone. */
export function withBoundedWait(error: GatewayError): GatewayError {
  const { code, message, param, reason, retryable, retryAfterSeconds, platform, attempts, cause } = error;
  if (retryAfterSeconds === undefined || retryAfterSeconds <= MAX_UPSTREAM_WAIT_SECONDS) return error;
  const details = { param, reason, retryable, platform, attempts, cause };
  return new GatewayError(code, message, { ...details, retryAfterSeconds: boundedWait(retryAfterSeconds) });
}

/** Whether it is an error of the system or of Node with one of these codes, e.g. `ENOENT`. */
export function isSystemError(error: unknown, ...codes: readonly string[]): boolean {
  return error instanceof Error && 'code' in error && codes.some((code) => code === error.code);
}

/** Full, read-only or broken: conditions of a disk, which may pass. Anything else stays as it is. */
export function diskFailure(error: unknown): unknown {
  return isSystemError(error, 'ENOSPC', 'EDQUOT', 'EROFS', 'EIO', 'EMFILE', 'ENFILE')
    ? new GatewayError('upstream_unavailable', 'The file storage cannot be used now.', { cause: error })
    : error;
}

/** Whether there is a process of this id, whoever's it is. */
export function isProcessRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM says that there is one, of another user.
    return !isSystemError(error, 'ESRCH');
  }
}

/**
 * What a storage throws for a file that is not whole any more, that it did not write, or that it may not read.
 * @param problem For the log: which file it is, and what is wrong with it.
 */
export function damagedFile(problem: string, cause?: unknown): GatewayError {
  return new GatewayError('storage_error', 'The stored file is damaged.', {
    retryable: false,
    cause: new Error(problem, { cause }),
  });
}

/** Other errors of a storage may pass. */
export function isDamagedFile(error: unknown): boolean {
  return isGatewayError(error) && error.code === 'storage_error' && !error.retryable;
}
