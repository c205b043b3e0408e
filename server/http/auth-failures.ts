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
