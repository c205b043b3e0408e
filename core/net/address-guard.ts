import { Resolver } from 'node:dns/promises';
import { isIP, isIPv4 } from 'node:net';
import ipaddr from 'ipaddr.js';
import { GatewayError, isGatewayError, isSystemError, withDeadline } from '../runtime/index.js';

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
      return await withDeadline(resolveTimeoutMs, (signal) => resolve(hostname, signal), {
        signals: [caller],
        error: () => new GatewayError('upstream_timeout', RESOLVE_TIMED_OUT),
      });
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

/** IPv4 that is not the public Internet: the special-purpose registry of RFC 6890, and one address of a cloud. */
const SPECIAL_IPV4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  // Carrier-grade NAT; one cloud has its metadata service here.
  '100.64.0.0/10',
  '127.0.0.0/8',
  // Link-local, with the metadata service of most clouds.
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.31.196.0/24',
  '192.52.193.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '192.175.48.0/24',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
  // Azure answers its machines' DHCP, DNS and health probes on this address, which looks public.
  '168.63.129.16/32',
].map((range) => ipaddr.IPv4.parseCIDR(range));

/**
 * All that IANA has handed out as global unicast. Everything outside is special or unassigned, IPv4 in IPv6 clothing
 * included (mapped, compatible, translated by NAT64), so those need no unwrapping.
 */
const GLOBAL_IPV6 = ipaddr.IPv6.parseCIDR('2000::/3');

const SPECIAL_IPV6 = [
  // Protocol assignments: Teredo, benchmarking, ORCHID.
  '2001::/23',
  '2001:db8::/32',
  // 6to4 leads to the IPv4 address it carries.
  '2002::/16',
  '2620:4f:8000::/48',
  '3fff::/20',
].map((range) => ipaddr.IPv6.parseCIDR(range));

/** ISATAP (RFC 5214, 6.1): `[02]00:5efe` and an IPv4 address in the lower half of any prefix. */
const ISATAP_MARKER = 0x5efe;

/**
 * Whether an address is on the public Internet. False for every special-purpose range and for what is no address at all.
 * The ranges are our own: the library's idea of "unicast" lets unassigned and tunnelled addresses through.
 */
export function isPublicAddress(address: string): boolean {
  // Stricter than the library, which also reads octal, hexadecimal and shortened forms.
  if (isIP(address) === 0) return false;
  const parsed = ipaddr.parse(address);
  if (parsed instanceof ipaddr.IPv4) return !SPECIAL_IPV4.some((range) => parsed.match(range));
  if (!parsed.match(GLOBAL_IPV6) || SPECIAL_IPV6.some((range) => parsed.match(range))) return false;
  const [, , , , high = 0, low] = parsed.parts;
  return !(low === ISATAP_MARKER && (high & ~0x0200) === 0);
}

/** What c-ares says where a name exists without addresses of the kind asked for. */
const NO_SUCH_RECORD = 'ENODATA';

/**
 * Every IPv4 and IPv6 address of a name, asked of the configured name servers. Does its work outside of the thread pool,
 * which image decoding may keep busy for seconds, and does not read the hosts file.
 * @throws The resolver's own error where there is no address, or the signal's reason.
 */
export async function resolveHost(hostname: string, signal: AbortSignal): Promise<readonly string[]> {
  signal.throwIfAborted();
  // A resolver of its own: cancelling ends every query of a resolver.
  const resolver = new Resolver();
  const cancel = () => resolver.cancel();
  signal.addEventListener('abort', cancel, { once: true });
  try {
    const answers = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
    signal.throwIfAborted();
    const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
    if (addresses.length > 0) return addresses;
    const errors: unknown[] = answers.flatMap((answer) => (answer.status === 'rejected' ? [answer.reason] : []));
    throw errors.find((error) => !isSystemError(error, NO_SUCH_RECORD)) ?? errors[0];
  } finally {
    signal.removeEventListener('abort', cancel);
  }
}

/** Whether a host, as URLs or sockets write it, is this machine and nothing else. */
export function isLoopbackHost(host: string): boolean {
  return host === 'localhost' || host === '[::1]' || host === '::1' || (isIPv4(host) && host.startsWith('127.'));
}
