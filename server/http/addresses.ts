import type { IncomingMessage } from 'node:http';
import { BlockList, isIP, isIPv6 } from 'node:net';
import { type Clock, GatewayError, isLoopbackHost } from 'mediagate';
import proxyAddress from 'proxy-addr';

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

/** More trusted proxies in a row are an attack on the CPU. */
const MAX_HOPS = 32;

/** Address of whoever sent a request, for limits of those who show no key. Empty where the connection is gone. */
export type AddressOf = (request: IncomingMessage) => string;

/**
 * Reads the address of the client. `X-Forwarded-For` counts only from a trusted proxy, and from its end: the last address that is
 * no trusted proxy's is the one that the outermost proxy saw. A client can write anything before it.
 * @param trustedProxies Addresses and networks, as `10.0.0.7` or `10.0.0.0/8`. Empty: the header is never read.
 */
export function createAddressOf(trustedProxies: readonly string[]): AddressOf {
  if (trustedProxies.length === 0) return directAddress;
  const isTrusted = matcherOf(trustedProxies);

  return (request) => {
    const trusts = (entry: string, hop: number) => hop < MAX_HOPS && isTrusted(readEntry(entry) ?? '');
    const chain = proxyAddress.all(request, trusts);
    // The last is the client. No proxy writes an entry that is no address: then the nearest known address counts.
    return chain.map(readEntry).findLast((address) => address !== undefined) ?? '';
  };
}

/** Whether an address is one of these, or in one of these networks. */
export function matcherOf(networks: readonly string[]): (address: string) => boolean {
  const list = new BlockList();
  for (const network of networks) addNetwork(list, network);
  return (address) => {
    const family = isIP(address);
    return family !== 0 && list.check(address, family === 6 ? 'ipv6' : 'ipv4');
  };
}

/** @throws Error that says what is accepted. */
export function networkOfProxies(text: string): string {
  const [address = '', bits, ...more] = text.split('/');
  const family = isIP(address);
  const longest = family === 6 ? 128 : 32;
  const fits = bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= longest);
  if (family !== 0 && !address.includes('%') && fits && more.length === 0) return text;
  throw new Error('addresses or networks such as 10.0.0.7 or 10.0.0.0/8, separated by commas');
}

function addNetwork(list: BlockList, network: string): void {
  const [address = '', bits] = network.split('/');
  const family = isIP(address) === 6 ? 'ipv6' : 'ipv4';
  if (bits === undefined) list.addAddress(address, family);
  else list.addSubnet(address, Number(bits), family);
}

function directAddress({ socket }: IncomingMessage): string {
  return socket.remoteAddress ?? '';
}

/** Some proxies add the port. */
function readEntry(written = ''): string | undefined {
  const entry = written.trim();
  const [, bracketed, withPort] = /^\[([^\]]*)\](?::\d+)?$|^([\d.]+):\d+$/.exec(entry) ?? [];
  const address = plainAddress(bracketed ?? withPort ?? entry);
  return isIP(address) === 0 ? undefined : address;
}

/** An IPv4 address as IPv4 writes it: on a socket of both families it is written as one of IPv6. */
export function plainAddress(address: string): string {
  return address.startsWith('::ffff:') && address.includes('.') ? address.slice(7) : address;
}

const WINDOW_MS = 60_000;
/** Default for the failed attempts of one address in a minute. */
const MAX_FAILURES = 300;
const MAX_ADDRESSES = 10_000;

/** Counts refused keys per client address, so that guessing is slow. Requests with a good key never meet it. */
export interface FixedWindowLimiter {
  /** Seconds to wait where the address has used up its failures; undefined where it has not. */
  blockedFor(address: string): number | undefined;
  add(address: string): void;
}

interface Count {
  startedAt: number;
  failures: number;
}

/** @param maxFailures Of one address in a minute. */
export function createFixedWindowLimiter(clock: Clock, maxFailures = MAX_FAILURES): FixedWindowLimiter {
  const window = createFixedWindow(clock, maxFailures);
  return {
    blockedFor: (address) => window.blockedFor(networkOf(address)),
    add: (address) => window.add(networkOf(address)),
  };
}

/** Counts events of each name in a minute that begins with the first of them, in this process. */
export interface FixedWindow {
  /** Events of one name in a minute. */
  readonly max: number;
  /** Seconds to wait where the name has used up its events; undefined where it has not. */
  blockedFor(name: string): number | undefined;
  add(name: string): void;
}

/** @param max Events of one name in a minute. Names beyond 10,000 evict the oldest. */
export function createFixedWindow(clock: Clock, max: number): FixedWindow {
  const counts = new Map<string, Count>();
  const current = (name: string): Count | undefined => {
    const count = counts.get(name);
    return count && clock.monotonic() - count.startedAt < WINDOW_MS ? count : undefined;
  };
  return {
    max,
    blockedFor(name) {
      const count = current(name);
      if (!count || count.failures < max) return undefined;
      return Math.max(1, Math.ceil((count.startedAt + WINDOW_MS - clock.monotonic()) / 1000));
    },
    add(name) {
      const count = current(name);
      if (count) {
        count.failures += 1;
        return;
      }
      counts.delete(name);
      if (counts.size >= MAX_ADDRESSES) {
        const [oldest] = counts.keys();
        if (oldest !== undefined) counts.delete(oldest);
      }
      counts.set(name, { startedAt: clock.monotonic(), failures: 1 });
    },
  };
}

/** One subscriber: an IPv4 address, or the /64 an IPv6 address is in. */
export function networkOf(address: string): string {
  const plain = plainAddress(address);
  if (!isIPv6(plain)) return plain;
  const [head = '', tail] = plain.split('::');
  const groups = head === '' ? [] : head.split(':');
  if (tail !== undefined) {
    const last = tail === '' ? [] : tail.split(':');
    while (groups.length + last.length < 8) groups.push('0');
    groups.push(...last);
  }
  return groups.slice(0, 4).join(':');
}

/** How often one client address may do something in a minute, over whatever it says it is. */
export interface AddressLimit {
  /** @throws GatewayError `rate_limit_exceeded` with the seconds to wait. */
  admit(address: string | undefined): void;
}

export interface AddressLimitOptions {
  clock: Clock;
  perMinute: number;
  /** What there is too much of, as the sentence begins. */
  what: string;
}

export function createAddressLimit({ clock, perMinute, what }: AddressLimitOptions): AddressLimit {
  const counts = createFixedWindowLimiter(clock, perMinute);
  return {
    admit(address = '') {
      const retryAfterSeconds = counts.blockedFor(address);
      if (retryAfterSeconds !== undefined) {
        throw new GatewayError('rate_limit_exceeded', `${what} from this address.`, { retryAfterSeconds });
      }
      counts.add(address);
    },
  };
}
