import type { IncomingMessage } from 'node:http';
import { BlockList, isIP } from 'node:net';

/** More of them make no chain of proxies, but somebody's game. */
const MAX_HOPS = 32;

/** Address of whoever sent a request, for limits of those who show no key. Empty where the connection is gone. */
export type AddressOf = (request: IncomingMessage) => string;

/**
 * Reads who asks. `X-Forwarded-For` is believed of a trusted proxy alone, and from its end: the last address that no trusted
 * proxy has is the one that the outermost of them saw; what stands before it is only said.
 * @param trustedProxies Addresses and networks, as `10.0.0.7` or `10.0.0.0/8`. Empty: the header is never read.
 */
export function createAddressOf(trustedProxies: readonly string[]): AddressOf {
  if (trustedProxies.length === 0) return directAddress;
  const isTrusted = matcherOf(trustedProxies);

  return (request) => {
    const direct = plainAddress(directAddress(request));
    const forwarded = request.headers['x-forwarded-for'];
    if (typeof forwarded !== 'string' || isIP(direct) === 0 || !isTrusted(direct)) return direct;
    let nearest = direct;
    for (const entry of forwarded.split(',').slice(-MAX_HOPS).reverse()) {
      const address = readEntry(entry.trim());
      // What no proxy writes: whoever sent it stands behind the one that is known.
      if (address === undefined) return nearest;
      nearest = address;
      if (!isTrusted(address)) return address;
    }
    return nearest;
  };
}

/** Whether an address is one of these, or in one of these networks. */
export function matcherOf(networks: readonly string[]): (address: string) => boolean {
  const list = new BlockList();
  for (const network of networks) addNetwork(list, network);
  return (address) => list.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4');
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
function readEntry(entry: string): string | undefined {
  const [, bracketed, withPort] = /^\[([^\]]*)\](?::\d+)?$|^([\d.]+):\d+$/.exec(entry) ?? [];
  const address = plainAddress(bracketed ?? withPort ?? entry);
  return isIP(address) === 0 ? undefined : address;
}

/** An IPv4 address as IPv4 writes it: on a socket of both families it is written as one of IPv6. */
export function plainAddress(address: string): string {
  return address.startsWith('::ffff:') && address.includes('.') ? address.slice(7) : address;
}
