import { isIPv6 } from 'node:net';
import type { Clock } from 'mediagate';
import { plainAddress } from './client-address.js';

const WINDOW_MS = 60_000;
/** Default for the failed attempts of one address in a minute. */
const MAX_FAILURES = 300;
const MAX_ADDRESSES = 10_000;

/** Counts refused keys per client address, so that guessing is slow. Requests with a good key never meet it. */
export interface AuthFailures {
  /** Seconds to wait where the address has used up its failures; undefined where it has not. */
  blockedFor(address: string): number | undefined;
  add(address: string): void;
}

interface Count {
  startedAt: number;
  failures: number;
}

/** @param maxFailures Of one address in a minute. */
export function createAuthFailures(clock: Clock, maxFailures = MAX_FAILURES): AuthFailures {
  const counts = new Map<string, Count>();
  const current = (network: string): Count | undefined => {
    const count = counts.get(network);
    return count && clock.monotonic() - count.startedAt < WINDOW_MS ? count : undefined;
  };
  return {
    blockedFor(address) {
      const count = current(networkOf(address));
      if (!count || count.failures < maxFailures) return undefined;
      return Math.max(1, Math.ceil((count.startedAt + WINDOW_MS - clock.monotonic()) / 1000));
    },
    add(address) {
      const network = networkOf(address);
      const count = current(network);
      if (count) {
        count.failures += 1;
        return;
      }
      counts.delete(network);
      if (counts.size >= MAX_ADDRESSES) {
        const [oldest] = counts.keys();
        if (oldest !== undefined) counts.delete(oldest);
      }
      counts.set(network, { startedAt: clock.monotonic(), failures: 1 });
    },
  };
}

/** One subscriber: an IPv4 address, or the /64 an IPv6 address is in. */
function networkOf(address: string): string {
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
