import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

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
