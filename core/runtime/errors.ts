/*
 * The error class of the gateway. Its codes are closed: each is declared beside its subject with status, type and texts
 * (`error-declarations.ts`), and another code does not reach a client. The message of a `GatewayError` is safe to show;
 * the underlying error is its cause, which only the log gets. Errors are recognized across copies of this
 * package by a symbol, since a plugin may bring its own. Waits that upstreams ask for are bounded to a minute, or 7
 * days for a vendor's rate limit. The file also converts errors of disks, missing packages and damaged files.
 */

import { declared, declaredCodes, type ErrorDeclaration } from './error-declarations.js';
import { type DefinitiveCode, definitiveErrors, type TransientCode, transientErrors } from './source-errors.js';
import './error-codes.js';

/** The codes of all declarations; see `error-declarations.ts`. */
// biome-ignore lint/suspicious/noEmptyInterface: folders add to it
export interface ErrorCodes {}

/** Every failure the gateway can name. A code outside of these does not reach a client. */
export type ErrorCode = keyof ErrorCodes;

/** In the order of their declarations, as far as these are loaded. */
export const ERROR_CODES = declaredCodes as readonly ErrorCode[];

/** By code, as far as the declarations are loaded. */
export const ERRORS = declared as Readonly<Record<ErrorCode, ErrorDeclaration>>;

/** Whether the source has refused with a reason: other methods cannot help. */
export function isDefinitiveCode(code: ErrorCode): code is DefinitiveCode {
  return Object.hasOwn(definitiveErrors, code);
}

/** Whether only the source failed, and nothing is known about the item. */
export function isTransientCode(code: ErrorCode): code is TransientCode {
  return Object.hasOwn(transientErrors, code);
}

/** One method that was tried for a link: names and outcomes only, never a URL or an address. */
export interface Attempt {
  method: string;
  /**
   * `ok`, `skipped` (not usable, too expensive or too late), `resting` (in cool-down), or the error code it ended with.
   */
  outcome: string;
  /** Whole milliseconds. */
  ms: number;
}

/** What a model vendor said about a request. Text routes show it in place of the gateway's own code and message. */
export interface UpstreamWords {
  /** HTTP status: 409, 413, 422 and 429 are passed on. Default: the status of the gateway's own code. */
  status?: number;
  /** Default: the gateway's own code. */
  code?: string;
  /** Without keys, addresses and the vendor's name of the model. Default: the gateway's own message. */
  message?: string;
}

export interface GatewayErrorDetails {
  /** The invalid field of the request, as the client named it. */
  param?: string;
  /**
   * The platform's own message; made well-formed, stripped of control characters and limited to 300 characters here.
   */
  reason?: string;
  /** Whether a later retry may help. Default: by code, see {@link isRetryable}. */
  retryable?: boolean;
  /** Seconds to wait before a retry, a whole number (at least 1). */
  retryAfterSeconds?: number;
  /** Platform key, if it is known. */
  platform?: string;
  attempts?: readonly Attempt[];
  /** Set by text providers only; it is removed from errors of all others. */
  upstream?: UpstreamWords | undefined;
  /** The model vendor's own id of the request. As `upstream`. */
  upstreamRequestId?: string | undefined;
  /** What the model vendor's headers say about its limits, by name in lower case: for operators' keys only. */
  vendorLimits?: Readonly<Record<string, string>> | undefined;
  /** How often upstreams were asked, if that is known. */
  tries?: number | undefined;
  cause?: unknown;
}

const MARKER = Symbol.for('mediagate.GatewayError');

/** Whether a failure of this code may be temporary. */
export function isRetryable(code: ErrorCode): boolean {
  return declared[code]?.retryable === true;
}

const MAX_UPSTREAM_WAIT_SECONDS = 60;
const MAX_VENDOR_WAIT_SECONDS = 7 * 86_400;

/**
 * Maximum Retry-After in seconds from an upstream. An upstream may ask for days, by mistake or not; its cool-down here
 * is at most a minute. Clients receive that value, unless the vendor refused them by rate: {@link withBoundedWait}.
 */
export function boundedWait(seconds: number): number {
  return Math.min(seconds, MAX_UPSTREAM_WAIT_SECONDS);
}

/**
 * The one error class of the gateway. `message` is safe to show to a client: it names what and which, never a secret,
 * an upstream body or an address. The underlying error is the `cause` and is only logged.
 */
export class GatewayError extends Error {
  readonly code: ErrorCode;
  readonly param?: string;
  readonly reason?: string;
  readonly retryable: boolean;
  readonly retryAfterSeconds?: number;
  readonly platform?: string;
  readonly attempts?: readonly Attempt[];
  readonly upstream?: UpstreamWords;
  readonly upstreamRequestId?: string;
  readonly vendorLimits?: Readonly<Record<string, string>>;
  readonly tries?: number;

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
    if (details.upstream !== undefined) this.upstream = details.upstream;
    if (details.upstreamRequestId !== undefined) this.upstreamRequestId = details.upstreamRequestId;
    if (details.vendorLimits !== undefined) this.vendorLimits = details.vendorLimits;
    if (details.tries !== undefined) this.tries = details.tries;
    Object.defineProperty(this, MARKER, { value: true });
  }

  /** The same failure with added details; existing ones stay. */
  with(details: GatewayErrorDetails): GatewayError {
    return new GatewayError(this.code, this.message, {
      param: this.param ?? details.param,
      reason: this.reason ?? details.reason,
      retryable: this.retryable,
      retryAfterSeconds: this.retryAfterSeconds ?? details.retryAfterSeconds,
      platform: this.platform ?? details.platform,
      attempts: this.attempts ?? details.attempts,
      upstream: this.upstream ?? details.upstream,
      upstreamRequestId: this.upstreamRequestId ?? details.upstreamRequestId,
      vendorLimits: this.vendorLimits ?? details.vendorLimits,
      tries: this.tries ?? details.tries,
      cause: this.cause ?? details.cause,
    });
  }
}

/** Recognizes a GatewayError across copies of this package (a plugin may bring its own). */
export function isGatewayError(error: unknown): error is GatewayError {
  return typeof error === 'object' && error !== null && MARKER in error;
}

const REASON_LIMIT = 300;

function cleanReason(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is being removed
  const flat = text.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g, ' ').trim();
  // Cutting may split a surrogate pair, so the text is made well-formed after it.
  return (flat.length > REASON_LIMIT ? `${flat.slice(0, REASON_LIMIT - 1)}…` : flat).toWellFormed();
}

/**
 * An upstream's wait applies within the call; its caller gets the length of the cool-down, and after a refusal by rate the
 * vendor's own wait, 7 days at most.
 */
export function withBoundedWait(error: GatewayError): GatewayError {
  const { code, message, param, reason, retryable, retryAfterSeconds, platform, attempts, cause } = error;
  const max = code === 'upstream_rate_limited' ? MAX_VENDOR_WAIT_SECONDS : MAX_UPSTREAM_WAIT_SECONDS;
  if (retryAfterSeconds === undefined || retryAfterSeconds <= max) return error;
  const { upstream, upstreamRequestId, vendorLimits, tries } = error;
  const ofVendor = { upstream, upstreamRequestId, vendorLimits, tries };
  const details = { param, reason, retryable, platform, attempts, ...ofVendor, cause };
  return new GatewayError(code, message, { ...details, retryAfterSeconds: max });
}

/** Whether it is an error of the system or of Node with one of these codes, e.g. `ENOENT`. */
export function isSystemError(error: unknown, ...codes: readonly string[]): boolean {
  return error instanceof Error && 'code' in error && codes.some((code) => code === error.code);
}

/** Node's words for an import of a package, by its name: files of a package have a path. */
const MISSING_PACKAGE = /^Cannot find (?:package|module) '((?:@[\w.-]+\/)?[a-z\d][\w.-]*)(?:\/[^']*)?'/i;
const MAX_CAUSES = 5;

/**
 * The error for clients if an import found no such package, as the error says or one of its causes. Undefined for any
 * other error. It is neither temporary nor the fault of an upstream.
 */
export function missingPackageError(thrown: unknown): GatewayError | undefined {
  let error = thrown;
  for (let depth = 0; depth <= MAX_CAUSES && error instanceof Error && !isGatewayError(error); depth += 1) {
    if (isSystemError(error, 'ERR_MODULE_NOT_FOUND', 'MODULE_NOT_FOUND')) {
      const name = MISSING_PACKAGE.exec(error.message)?.[1];
      const message = `The plugin needs the package "${name}", which is not installed. The operator can install it.`;
      return name ? new GatewayError('plugin_unavailable', message, { retryable: false, cause: thrown }) : undefined;
    }
    error = error.cause;
  }
  return undefined;
}

/** Converts a full, read-only or broken disk to a temporary error. Any other error stays unchanged. */
export function diskFailure(error: unknown): unknown {
  return isSystemError(error, 'ENOSPC', 'EDQUOT', 'EROFS', 'EIO', 'EMFILE', 'ENFILE')
    ? new GatewayError('upstream_unavailable', 'The file storage cannot be used now.', { cause: error })
    : error;
}

/** Whether a process with this id exists, of any user. */
export function isProcessRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM means that there is one, of another user.
    return !isSystemError(error, 'ESRCH');
  }
}

/**
 * The error of a storage for a file that is damaged, foreign, or unreadable.
 * @param problem For the log: which file it is, and what is wrong with it.
 */
export function damagedFile(problem: string, cause?: unknown): GatewayError {
  return new GatewayError('storage_error', 'The stored file is damaged.', {
    retryable: false,
    cause: new Error(problem, { cause }),
  });
}

/** Other errors of a storage may be temporary. */
export function isDamagedFile(error: unknown): boolean {
  return isGatewayError(error) && error.code === 'storage_error' && !error.retryable;
}
