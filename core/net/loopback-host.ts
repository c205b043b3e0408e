import { isIPv4 } from 'node:net';

/** Whether a host, as URLs or sockets write it, is this machine and nothing else. */
export function isLoopbackHost(host: string): boolean {
  return host === 'localhost' || host === '[::1]' || host === '::1' || (isIPv4(host) && host.startsWith('127.'));
}
