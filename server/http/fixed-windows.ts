/*
 * Limits how often something may happen: counts events per name in fixed windows of a minute, in memory. A window
 * begins with its first event. The workers of a machine tell each other what they count, so an attacker who reaches all
 * of them gains only one burst of a few milliseconds; a worker that starts again begins at zero. A window
 * keeps at most 10,000 names and evicts the oldest. Limits by address count an IPv4 address, or the /64 of an IPv6
 * address.
 */

import { type Clock, GatewayError, noSiblings, type Siblings } from '../../core/runtime/index.js';
import { networkOf } from './addresses.js';

const MINUTE_MS = 60_000;
const MAX_NAMES = 10_000;

export interface FixedWindowOptions {
  clock: Clock;
  /** Events per name and window. */
  max: number;
  /** Default a minute. */
  windowMs?: number;
  /** Equal in all workers, and unlike that of any other window. */
  name: string;
  /** Workers that count together. Default: this process counts alone. */
  siblings?: Siblings;
}

interface Count {
  startedAt: number;
  events: number;
}

/** Counts events per name. */
export class FixedWindow {
  /** Maximum number of events per name and window. */
  readonly max: number;
  readonly #clock: Clock;
  readonly #windowMs: number;
  readonly #counts = new Map<string, Count>();
  readonly #siblings: Siblings;
  readonly #topic: string;

  constructor({ clock, max, windowMs = MINUTE_MS, name, siblings = noSiblings }: FixedWindowOptions) {
    this.max = max;
    this.#clock = clock;
    this.#windowMs = windowMs;
    this.#siblings = siblings;
    this.#topic = `counted ${name}`;
    siblings.on(this.#topic, (counted) => this.#count(counted as string));
  }

  /** Seconds to wait if the name has reached the limit; undefined otherwise. */
  blockedFor(name: string): number | undefined {
    const count = this.#current(name);
    if (!count || count.events < this.max) return undefined;
    return Math.max(1, Math.ceil((count.startedAt + this.#windowMs - this.#clock.monotonic()) / 1000));
  }

  add(name: string): void {
    this.#count(name);
    this.#siblings.post(this.#topic, name);
  }

  #count(name: string): void {
    const count = this.#current(name);
    if (count) {
      count.events += 1;
      return;
    }
    this.#counts.delete(name);
    if (this.#counts.size >= MAX_NAMES) {
      const [oldest] = this.#counts.keys();
      if (oldest !== undefined) this.#counts.delete(oldest);
    }
    this.#counts.set(name, { startedAt: this.#clock.monotonic(), events: 1 });
  }

  #current(name: string): Count | undefined {
    const count = this.#counts.get(name);
    return count && this.#clock.monotonic() - count.startedAt < this.#windowMs ? count : undefined;
  }
}

export interface AddressLimitOptions extends Pick<FixedWindowOptions, 'clock' | 'name' | 'siblings'> {
  perMinute: number;
  /** Start of the error message, e.g. "Too many sign-ins". */
  what: string;
}

/** Limits how often a client address may do something per minute, under any identity. */
export class AddressLimit {
  readonly #window: FixedWindow;
  readonly #what: string;

  constructor({ perMinute, what, ...window }: AddressLimitOptions) {
    this.#window = new FixedWindow({ ...window, max: perMinute });
    this.#what = what;
  }

  /** Counts one event. @throws what {@link check} throws. */
  admit(address = ''): void {
    this.check(address);
    this.add(address);
  }

  /** @throws GatewayError `rate_limit_exceeded` with the seconds to wait, if the address has reached the limit. */
  check(address: string, cause?: unknown): void {
    const retryAfterSeconds = this.#window.blockedFor(networkOf(address));
    if (retryAfterSeconds === undefined) return;
    throw new GatewayError('rate_limit_exceeded', `${this.#what} from this address.`, { retryAfterSeconds, cause });
  }

  add(address: string): void {
    this.#window.add(networkOf(address));
  }
}

const SECOND_MS = 1_000;
/** Maximum polls of one key per second. */
const MAX_POLLS = 20;

/** Polls are not rate limited per minute, so this prevents polling in a loop without a pause. */
export class PollGuard {
  readonly #window: FixedWindow;

  constructor(options: Pick<FixedWindowOptions, 'clock' | 'siblings'>) {
    this.#window = new FixedWindow({ ...options, name: 'polls', max: MAX_POLLS, windowMs: SECOND_MS });
  }

  /** @throws GatewayError `rate_limit_exceeded`. */
  admit(keyId: string): void {
    if (this.#window.blockedFor(keyId) !== undefined) {
      const message = `This API key may poll ${MAX_POLLS} times in a second; wait as long as Retry-After says.`;
      throw new GatewayError('rate_limit_exceeded', message, { retryAfterSeconds: 1 });
    }
    this.#window.add(keyId);
  }
}
