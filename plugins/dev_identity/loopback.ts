import { isIPv4 } from 'node:net';

/** Whether a host of a URL is this machine and nothing else. */
export function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || (isIPv4(hostname) && hostname.startsWith('127.'));
}
