import { isIP } from 'node:net';
import { GatewayError, isGatewayError, isSystemError, withDeadline } from '../runtime/index.js';
import { resolveHost } from './host-resolver.js';
import { isPublicAddress } from './public-address.js';

export { isPublicAddress } from './public-address.js';

/** Decides where requests may go: the public Internet, and the few private origins an operator trusts. */
export interface AddressGuard {
  /**
   * Judges what a URL says by itself; of a name, only what the name shows. To be asked anew for every redirect hop.
   * @param trustedOrigins let through besides the guard's own.
   * @throws GatewayError `upstream_refused`
   */
  checkUrl(url: URL, trustedOrigins?: readonly string[]): void;
  /** Whether the operator vouches for this very origin (scheme, host and port). */
  isTrusted(url: URL, trustedOrigins?: readonly string[]): boolean;
  /**
   * The addresses of a host name, or the literal itself; dial these and nothing else.
   * @throws GatewayError `upstream_refused` where one of them is not public, `upstream_error` where there is none,
   *   `upstream_timeout` where name servers are silent, or the signal's reason.
   */
  addresses(hostname: string, signal?: AbortSignal): Promise<readonly string[]>;
}

export interface AddressGuardOptions {
  /** Origins let through although they are private, e.g. `http://127.0.0.1:9000`. Default: none. */
  trustedOrigins?: readonly string[];
  /** All addresses of a name. Default: asks the configured name servers; the hosts file is not read. */
  resolve?: (hostname: string, signal: AbortSignal) => Promise<readonly string[]>;
  /** Milliseconds for one name. Default 2,000. */
  resolveTimeoutMs?: number;
}

/** Characters; longer ones are not fetched. */
export const MAX_URL_LENGTH = 8192;
const RESOLVE_TIMEOUT_MS = 2000;
const RESOLVE_TIMED_OUT = 'The host name could not be resolved in time.';

/** Names that never leave the machine or its site (RFC 6761, 6762, 8375, and what ICANN keeps for private use). */
const PRIVATE_NAME = /^(?:.*\.)?(?:localhost|localdomain|local|internal|intranet|lan|home\.arpa)$/;

/** Makes the guard. Stateless but for its options; one may serve any number of transports. */
export function createAddressGuard(options: AddressGuardOptions = {}): AddressGuard {
  const { resolve = resolveHost, resolveTimeoutMs = RESOLVE_TIMEOUT_MS } = options;
  const ownOrigins = new Set((options.trustedOrigins ?? []).map(normalizeOrigin));

  const isTrusted = ({ origin }: URL, trustedOrigins: readonly string[] = []) =>
    // Most are written as they are compared, and this is asked for every request.
    ownOrigins.has(origin) || trustedOrigins.some((one) => one === origin || normalizeOrigin(one) === origin);

  return {
    isTrusted,
    checkUrl(url, trustedOrigins) {
      if (url.protocol !== 'http:' && url.protocol !== 'https:') throw refusal('Only http and https can be fetched.');
      if (url.username !== '' || url.password !== '') throw refusal('A URL with user info is not fetched.');
      if (url.href.length > MAX_URL_LENGTH) throw refusal('The URL is too long to be fetched.');
      if (isTrusted(url, trustedOrigins)) return;
      if (url.port !== '') throw refusal('Only the standard ports of http and https are fetched.');
      checkHost(url.hostname);
    },
    async addresses(hostname, signal) {
      const literal = unbracket(hostname);
      if (isIP(literal) !== 0) {
        if (!isPublicAddress(literal)) throw notPublic();
        return [literal];
      }
      const addresses = await resolveInTime(hostname, signal);
      if (addresses.length === 0) throw unresolved();
      // One private answer among public ones is how a name is rebound, so it refuses the name as a whole.
      if (!addresses.every(isPublicAddress)) throw notPublic();
      return addresses;
    },
  };

  async function resolveInTime(hostname: string, caller?: AbortSignal): Promise<readonly string[]> {
    try {
      return await withDeadline(
        { timeoutMs: resolveTimeoutMs, signals: caller && [caller], message: RESOLVE_TIMED_OUT },
        (signal) => resolve(hostname, signal),
      );
    } catch (error) {
      if (caller?.aborted || isGatewayError(error)) throw error;
      if (isSystemError(error, 'ETIMEOUT'))
        throw new GatewayError('upstream_timeout', RESOLVE_TIMED_OUT, { cause: error });
      throw unresolved(error);
    }
  }
}

function checkHost(hostname: string): void {
  const literal = unbracket(hostname);
  if (isIP(literal) !== 0) {
    if (!isPublicAddress(literal)) throw notPublic();
    return;
  }
  // A trailing dot means the same name, looked up without a search list.
  const name = hostname.replace(/\.$/, '');
  if (!name.includes('.') || PRIVATE_NAME.test(name)) throw refusal('The host name belongs to a private network.');
}

function normalizeOrigin(origin: string): string {
  return URL.parse(origin)?.origin ?? origin;
}

function unbracket(hostname: string): string {
  return hostname.startsWith('[') && hostname.endsWith(']') ? hostname.slice(1, -1) : hostname;
}

function refusal(message: string): GatewayError {
  return new GatewayError('upstream_refused', message, { retryable: false });
}

function notPublic(): GatewayError {
  return refusal('The host is not on the public Internet.');
}

function unresolved(cause?: unknown): GatewayError {
  return new GatewayError('upstream_error', 'The host name could not be resolved.', { cause });
}
