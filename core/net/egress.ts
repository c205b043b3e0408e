import { isIP, type LookupFunction } from 'node:net';
import type { buildConnector, Dispatcher } from 'undici';
import type { AddressGuard } from './address-guard.js';

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
