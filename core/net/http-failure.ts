import { type ErrorCode, GatewayError, isGatewayError } from '../runtime/index.js';
import type { RequestLife } from './request-life.js';

const TIMEOUT_CODES = new Set([
  'ETIMEDOUT',
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
]);

/** First match wins. Codes of Node (network, TLS, zlib), of undici and of its parser. */
const MESSAGES: readonly (readonly [RegExp, string])[] = [
  [/^(?:ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL|EACCES)$/, 'The origin could not be reached.'],
  [/^(?:ENOTFOUND|EAI_)/, 'The host name could not be resolved.'],
  [
    /^(?:ERR_TLS_|ERR_SSL_|CERT_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|HOSTNAME_MISMATCH|EPROTO$)/,
    'No secure connection to the origin could be made.',
  ],
  [/^(?:UND_ERR_SOCKET|ECONNRESET|EPIPE)$/, 'The origin cut the connection.'],
  [/^(?:HPE_|UND_ERR_HEADERS_OVERFLOW|UND_ERR_RES_)/, 'The origin sent something that is not HTTP.'],
  [/^(?:Z_|ZSTD_|ERR__ERROR_|ERR_BROTLI_|ERR_ZLIB_)/, 'The origin sent a body that is cut or cannot be decoded.'],
  [/^(?:UND_ERR_PRX_|UND_ERR_ABORTED$)/, 'The egress proxy did not let the request through.'],
];

/** Codes of requests that cannot have reached the origin: no connection, or none that it could be trusted over. */
const NEVER_SENT =
  /^(?:ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL|EACCES|ENOTFOUND|EAI_\w+|UND_ERR_CONNECT_TIMEOUT|ERR_TLS_CERT_\w+|CERT_\w+|UNABLE_TO_\w+|SELF_SIGNED_\w+|DEPTH_ZERO_\w+|HOSTNAME_MISMATCH)$/;

/**
 * Whether a failed request certainly never reached the origin, so that sending it again does nothing twice. False where
 * nobody can tell, as after a reset or at a deadline.
 * @param error what an {@link HttpClient} threw.
 */
export function neverSent(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (NEVER_SENT.test(codeOf(cause)) || ('syscall' in cause && cause.syscall === 'connect')) return true;
  }
  return false;
}

/**
 * A failure of a request in words that may be shown: neither address nor URL nor anything the origin said. The original
 * is kept as `cause`.
 * @param life of the request; what it was stopped with goes before everything that followed from it.
 */
export function httpFailure(error: unknown, life: Pick<RequestLife, 'stopped' | 'reason'>): unknown {
  if (life.stopped) return life.reason;
  if (isGatewayError(error)) return error;
  const code = codeOf(error);
  if (TIMEOUT_CODES.has(code)) return failure('upstream_timeout', 'The origin did not answer in time.', error);
  const known = MESSAGES.find(([codes]) => codes.test(code));
  return failure('upstream_error', known?.[1] ?? 'The request to the origin failed.', error);
}

function failure(code: ErrorCode, message: string, cause: unknown): GatewayError {
  return new GatewayError(code, message, { cause });
}

function codeOf(error: unknown): string {
  const found = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof found === 'string' ? found : '';
}
