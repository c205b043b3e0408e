import { isIPv6 } from 'node:net';
import { isLoopbackHost } from 'mediagate';

/** Settings of the listener and of what is in front of it. */
interface AddressSettings {
  host: string;
  port: number;
  baseUrl?: string;
  trustedProxies: readonly string[];
}

/** Whether it stands for all addresses of the machine. */
function isEveryAddress(host: string): boolean {
  return host === '0.0.0.0' || host === '::';
}

/** An address at which this machine itself reaches the listener, e.g. `http://127.0.0.1:8787`. */
export function localAddress({ host, port }: Pick<AddressSettings, 'host' | 'port'>): string {
  // Nobody can connect to "all addresses"; this machine's own is one that works.
  const shown = isEveryAddress(host) ? '127.0.0.1' : host;
  return `http://${isIPv6(shown) ? `[${shown}]` : shown}:${port}`;
}

/** What is listened on, for people. `address` is as {@link localAddress} has it. */
export function describeListening({ host }: Pick<AddressSettings, 'host'>, address: string): string {
  return isEveryAddress(host) ? `${address}, and on that port of every other address of this machine` : address;
}

/** Whether callers from elsewhere are expected, and links would name an address that they cannot use. */
export function hasLocalLinks({
  host,
  baseUrl,
  trustedProxies,
}: Pick<AddressSettings, 'host' | 'baseUrl' | 'trustedProxies'>): boolean {
  return baseUrl === undefined && (isEveryAddress(host) || trustedProxies.length > 0);
}

/** What links in answers begin with, for people. */
export function describeLinks(
  settings: Pick<AddressSettings, 'host' | 'baseUrl' | 'trustedProxies'>,
  address: string,
): string {
  const links = settings.baseUrl ?? address;
  return hasLocalLinks(settings) ? `${links}, which callers from elsewhere cannot use: BASE_URL is not set` : links;
}

/** Where people reach the site, and what follows from that. */
export interface SiteAddress {
  /** Without a trailing slash. */
  url: string;
  /** Scheme, host and port. */
  origin: string;
  /** Host and port, as a Host header names them. */
  host: string;
  /** Whether it is this machine alone. */
  loopback: boolean;
  /** Names of its cookies. The prefix makes browsers refuse them from any other host, and without TLS. */
  cookies: { session: string; attempt: string };
  /** Whether cookies travel by TLS alone. */
  secure: boolean;
}

/**
 * Makes a function that tells the address. It is asked for each request, since which port was taken is known only once
 * the gateway listens.
 */
export function createSiteAddress(url: () => string): () => SiteAddress {
  let known: SiteAddress | undefined;
  return () => {
    const now = url();
    if (known?.url !== now) known = describeAddress(now);
    return known;
  };
}

function describeAddress(url: string): SiteAddress {
  const { origin, host, hostname, protocol } = new URL(url);
  const secure = protocol === 'https:';
  const prefix = secure ? '__Host-' : '';
  return {
    url,
    origin,
    host,
    loopback: isLoopbackHost(hostname),
    cookies: { session: `${prefix}mediagate`, attempt: `${prefix}mediagate-sign-in` },
    secure,
  };
}
