/*
 * Decides which addresses the gateway may connect to, against requests that reach into private networks (SSRF). A URL
 * is checked by its text, and a host name by all addresses that it resolves to; one private address refuses the whole
 * name. The connection uses the checked addresses, so a second lookup cannot change them. Origins that the operator
 * trusts are exempt and use connections of their own. With an egress proxy, the proxy resolves the names, so addresses
 * are not checked here. Lookups avoid the thread pool, which image decoding may block for seconds.
 */

import { Resolver } from 'node:dns/promises';
import { isIP, isIPv4, type LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';
import type { buildConnector, Dispatcher } from 'undici';
import { GatewayError, isGatewayError, isSystemError, withDeadline } from '../runtime/index.js';

/** Decides where requests may go: the public Internet, and the few private origins an operator trusts. */
export interface AddressGuard {
  /**
   * Checks a URL by its text; a host name only by its form. Call it again for every redirect hop.
   * @param trustedOrigins Allowed besides the guard's own.
   * @throws GatewayError `upstream_refused`
   */
  checkUrl(url: URL, trustedOrigins?: readonly string[]): void;
  /** Whether the operator trusts this exact origin (scheme, host and port). */
  isTrusted(url: URL, trustedOrigins?: readonly string[]): boolean;
  /**
   * The addresses of a host name, or the literal itself; connect to these only.
   * @throws GatewayError `upstream_refused` if one of them is not public, `upstream_error` if there is none,
   *   `upstream_timeout` if name servers do not answer, or the signal's reason.
   */
  addresses(hostname: string, signal?: AbortSignal): Promise<readonly string[]>;
}

export interface AddressGuardOptions {
  /** Allowed private origins, e.g. `http://127.0.0.1:9000`. Default: none. */
  trustedOrigins?: readonly string[];
  /** Resolves all addresses of a name. Default: the configured name servers; the hosts file is not read. */
  resolve?: (hostname: string, signal: AbortSignal) => Promise<readonly string[]>;
  /** Milliseconds for one name. Default 2,000. */
  resolveTimeoutMs?: number;
}

/** Maximum length of a URL in characters. */
export const MAX_URL_LENGTH = 8192;
const RESOLVE_TIMEOUT_MS = 2000;
const RESOLVE_TIMED_OUT = 'The host name could not be resolved in time.';

/** Names that never leave the machine or its site (RFC 6761, 6762, 8375, and ICANN's name for private use). */
const PRIVATE_NAME = /^(?:.*\.)?(?:localhost|localdomain|local|internal|intranet|lan|home\.arpa)$/;

/** Creates the guard. It is stateless except for its options; one guard may serve any number of transports. */
export function createAddressGuard(options: AddressGuardOptions = {}): AddressGuard {
  const { resolve = resolveHost, resolveTimeoutMs = RESOLVE_TIMEOUT_MS } = options;
  const ownOrigins = new Set((options.trustedOrigins ?? []).map(normalizeOrigin));

  const isTrusted = ({ origin }: URL, trustedOrigins: readonly string[] = []) =>
    // Most are normalized already, and this runs for every request.
    ownOrigins.has(origin) || trustedOrigins.some((one) => one === origin || normalizeOrigin(one) === origin);

  return {
    isTrusted,
    checkUrl(url, trustedOrigins) {
      if (url.protocol !== 'http:' && url.protocol !== 'https:') throw refusal('Only http and https can be fetched.');
      if (url.username !== '' || url.password !== '') throw refusal('A URL with user info cannot be fetched.');
      if (url.href.length > MAX_URL_LENGTH) throw refusal('The URL is too long to be fetched.');
      if (isTrusted(url, trustedOrigins)) return;
      if (url.port !== '') throw refusal('Only the standard ports of http and https are allowed.');
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
      // One private address among public ones is a DNS rebinding attack, so it refuses the whole name.
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
  // A trailing dot means the same name, resolved without a search list.
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

/**
 * IPv4 ranges that are not the public Internet: the special-purpose registry of RFC 6890, and one address of a cloud.
 */
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
 * Everything that IANA has allocated as global unicast. All other ranges are special or unassigned, including IPv4 in
 * IPv6 form (mapped, compatible, translated by NAT64), so those need no unwrapping.
 */
const GLOBAL_IPV6 = ipaddr.IPv6.parseCIDR('2000::/3');

const SPECIAL_IPV6 = [
  // Protocol assignments: Teredo, benchmarking, ORCHID.
  '2001::/23',
  '2001:db8::/32',
  // 6to4 leads to the IPv4 address that it contains.
  '2002::/16',
  '2620:4f:8000::/48',
  '3fff::/20',
].map((range) => ipaddr.IPv6.parseCIDR(range));

/** ISATAP (RFC 5214, 6.1): `[02]00:5efe` and an IPv4 address in the lower half of any prefix. */
const ISATAP_MARKER = 0x5efe;

/**
 * Whether an address is on the public Internet. False for every special-purpose range and for invalid addresses. The
 * ranges are our own: the library's "unicast" includes unassigned and tunnelled addresses.
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

/** The codes of c-ares for a name without addresses of the requested kind. */
const NO_SUCH_RECORD = 'ENODATA';

/**
 * Resolves every IPv4 and IPv6 address of a name with the configured name servers. It does not use the thread pool,
 * which image decoding may block for seconds, and does not read the hosts file.
 * @throws The resolver's own error if there is no address, or the signal's reason.
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

/** Whether a host, as in URLs or sockets, is only this machine. */
export function isLoopbackHost(host: string): boolean {
  return host === 'localhost' || host === '[::1]' || host === '::1' || (isIPv4(host) && host.startsWith('127.'));
}

/** The dispatchers that open connections. */
export interface EgressDispatchers {
  /** Connects to public addresses only. */
  guarded: Dispatcher;
  /**
   * Connects to any address of a name, for origins that the operator trusts. It is separate, so that other requests
   * never use a connection that was opened without a check.
   */
  trusted: Dispatcher;
  /** For trusted origins on this machine: an egress proxy on another machine could not reach them. */
  local: Dispatcher;
}

export interface EgressOptions {
  guard: AddressGuard;
  /** Forward proxy of the operator. It resolves names, so their addresses are not checked here. */
  proxy?: EgressProxy;
  /** Ends running lookups. */
  signal: AbortSignal;
}

const CONNECT_TIMEOUT_MS = 10_000;

const LIMITS = {
  /** Maximum sockets to one origin; further requests wait for one within their own deadline. */
  connections: 1024,
  pipelining: 1,
  /** Platforms send large policies; Node's default of 16 KiB was too small. */
  maxHeaderSize: 64 * 1024,
  // Only the deadline of the request applies.
  headersTimeout: 0,
  bodyTimeout: 0,
  // HTTP/2 would share one connection, and its failures, among all requests to an origin.
  allowH2: false,
} as const;

const DIAL = { allowH2: false, timeout: CONNECT_TIMEOUT_MS, autoSelectFamily: true };

/** Loads undici; the only place that does. */
export async function openDispatchers({ guard, proxy, signal }: EgressOptions): Promise<EgressDispatchers> {
  const undici = await import('undici');
  const direct = new undici.Agent({ ...LIMITS, connect: undici.buildConnector(DIAL) });
  if (proxy) {
    const agent = new undici.ProxyAgent({
      ...LIMITS,
      uri: proxy.origin,
      token: proxy.authorization,
      proxyTunnel: false,
      connectTimeout: CONNECT_TIMEOUT_MS,
      requestTls: DIAL,
      // The tunnel's own request has no deadline of ours: it belongs to a connection, not to a request.
      clientFactory: (origin, options) =>
        new undici.Pool(origin, { ...options, ...LIMITS, headersTimeout: CONNECT_TIMEOUT_MS }),
    });
    return { guarded: agent, trusted: agent, local: direct };
  }
  const guarded = new undici.Agent({ ...LIMITS, connect: guardedConnector(undici.buildConnector, { guard, signal }) });
  return { guarded, trusted: direct, local: direct };
}

/**
 * No second lookup: the connection uses the address that the guard resolved. Node calls a lookup function only for
 * names, so literals are checked before.
 */
function guardedConnector(build: typeof buildConnector, { guard, signal }: EgressOptions): buildConnector.connector {
  const lookup: LookupFunction = (hostname, { all }, callback) => {
    guard.addresses(hostname, signal).then(
      (addresses) => {
        const found = addresses.map((address) => ({ address, family: isIP(address) }));
        const [first] = found;
        if (all || !first) callback(null, found);
        else callback(null, first.address, first.family);
      },
      (error) => callback(error, []),
    );
  };
  const dial = build({ ...DIAL, lookup });
  return (target, callback) => {
    if (isIP(target.hostname) === 0) {
      dial(target, callback);
      return;
    }
    guard.addresses(target.hostname, signal).then(
      () => dial(target, callback),
      (error) => callback(error, null),
    );
  };
}

/** The operator's forward proxy. */
export interface EgressProxy {
  /** Without user info. */
  origin: string;
  /** Value of `proxy-authorization`. */
  authorization?: string;
}

/**
 * Parses a proxy's URL.
 * @throws Error if it is no http or https URL; the text is not quoted, since it may contain a password.
 */
export function readProxyUrl(text: string): EgressProxy {
  const url = URL.parse(text);
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:') {
    throw new Error('The egress proxy must be an http or https URL.');
  }
  if (url.username === '' && url.password === '') return { origin: url.origin };
  const credentials = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
  return { origin: url.origin, authorization: `Basic ${Buffer.from(credentials).toString('base64')}` };
}
