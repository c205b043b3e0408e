/*
 * Addresses: of the listener, of links in answers, of the site with its cookies, and of clients. A client's address is
 * read from `X-Forwarded-For` only if a trusted proxy sent it, from the end of the list, and through at most 32
 * proxies; a client can write anything before that. Cookies on https have the `__Host-` prefix.
 */

import type { IncomingMessage } from 'node:http';
import { BlockList, isIP, isIPv6 } from 'node:net';
import proxyAddress from 'proxy-addr';
import { isLoopbackHost } from '../../core/net/index.js';

/** Settings of the listener and of its public address. */
interface AddressSettings {
  host: string;
  port: number;
  baseUrl?: string;
  trustedProxies: readonly string[];
}

/** Whether it means all addresses of the machine. */
function isEveryAddress(host: string): boolean {
  return host === '0.0.0.0' || host === '::';
}

/** An address at which this machine reaches the listener, e.g. `http://127.0.0.1:8787`. */
export function localAddress({ host, port }: Pick<AddressSettings, 'host' | 'port'>): string {
  // Clients cannot connect to "all addresses"; the loopback address works.
  const hostname = isEveryAddress(host) ? '127.0.0.1' : host;
  return `http://${isIPv6(hostname) ? `[${hostname}]` : hostname}:${port}`;
}

/** The listening address for people. `address` as {@link localAddress} returns it. */
export function describeListening({ host }: Pick<AddressSettings, 'host'>, address: string): string {
  return isEveryAddress(host) ? `${address}, and on that port of every other address of this machine` : address;
}

/** Whether clients from other machines are expected but links would have an address that they cannot reach. */
export function hasLocalLinks({
  host,
  baseUrl,
  trustedProxies,
}: Pick<AddressSettings, 'host' | 'baseUrl' | 'trustedProxies'>): boolean {
  return baseUrl === undefined && (isEveryAddress(host) || trustedProxies.length > 0);
}

/** The base URL of links in answers, for people. */
export function describeLinks(
  settings: Pick<AddressSettings, 'host' | 'baseUrl' | 'trustedProxies'>,
  address: string,
): string {
  const links = settings.baseUrl ?? address;
  return hasLocalLinks(settings) ? `${links}, which other machines cannot use: BASE_URL is not set` : links;
}

/** The public address of the site, and its consequences. */
export interface SiteAddress {
  /** Without a trailing slash. */
  url: string;
  /** Scheme, host and port. */
  origin: string;
  /** Host and port, as in a Host header. */
  host: string;
  /** Whether it is only reachable from this machine. */
  loopback: boolean;
  /** Names of its cookies. The prefix makes browsers refuse them from any other host, and without TLS. */
  cookies: { session: string; attempt: string; passkey: string };
  /** Whether cookies are sent by TLS only. */
  secure: boolean;
}

/**
 * Creates a function that returns the address. It is called for each request, since the port is only known once the
 * gateway listens.
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
    cookies: {
      session: `${prefix}mediagate`,
      attempt: `${prefix}mediagate-sign-in`,
      passkey: `${prefix}mediagate-passkey`,
    },
    secure,
  };
}

/** A longer chain of trusted proxies is an attack on the CPU. */
const MAX_HOPS = 32;

/** Client address of a request, for limits of callers without a key. Empty if the connection is closed. */
export type AddressOf = (request: IncomingMessage) => string;

/**
 * Reads the client address. `X-Forwarded-For` counts only from a trusted proxy, and is read from its end: the last
 * address that is no trusted proxy is the one that the outermost proxy saw. A client can write anything before it.
 * @param trustedProxies Addresses and networks, as `10.0.0.7` or `10.0.0.0/8`. Empty: the header is never read.
 */
export function createAddressOf(trustedProxies: readonly string[]): AddressOf {
  if (trustedProxies.length === 0) return directAddress;
  const isTrusted = matcherOf(trustedProxies);

  return (request) => {
    const trusts = (entry: string, hop: number) => hop < MAX_HOPS && isTrusted(readEntry(entry) ?? '');
    const chain = proxyAddress.all(request, trusts);
    // The last address is the client. Proxies only write addresses: after any other entry, the nearest known address
    // counts.
    return chain.map(readEntry).findLast((address) => address !== undefined) ?? '';
  };
}

/** Whether an address is in the list or in one of its networks. */
export function matcherOf(networks: readonly string[]): (address: string) => boolean {
  const list = new BlockList();
  for (const network of networks) addNetwork(list, network);
  return (address) => {
    const family = isIP(address);
    return family !== 0 && list.check(address, family === 6 ? 'ipv6' : 'ipv4');
  };
}

/** @throws Error naming the accepted forms. */
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

/** An IPv4 address in IPv4 form: a dual-stack socket reports it in IPv6 form. */
export function plainAddress(address: string): string {
  return address.startsWith('::ffff:') && address.includes('.') ? address.slice(7) : address;
}

/** One subscriber: an IPv4 address, or the /64 of an IPv6 address. */
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
