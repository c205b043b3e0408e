/*
 * The circuit breaker: says whether something that keeps failing should be called again. Each upstream of a model has
 * one, each method of a platform, and the cache; its owner decides what an open one means.
 *
 * It is closed as long as calls succeed. It opens after a number of failures in a row, or at once for a time that its
 * owner chooses. Upstreams and the cache are not called while it is open; a method of a platform is probed even then,
 * by one call at a time, if all others found too little and no rate limit opened it. After the cool-down it is
 * half-open: a success closes it, and a failure opens it again. Concurrent calls fail together and are one reason to
 * open, so a failure while it is open has no effect, unless a probe failed. Its state is in memory, with a monotonic
 * clock.
 */

import type { Hints } from './siblings.js';
import type { TransientCode } from './source-errors.js';
import type { Clock } from './time.js';

export interface CircuitBreakerOptions {
  clock: Pick<Clock, 'monotonic'>;
  /** Failures in a row that open it. */
  maxFailures: number;
  /** Milliseconds of the next cool-down, by the number of openings since the last success. */
  coolDownMs(openings: number): number;
}

export class CircuitBreaker {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #maxFailures: number;
  readonly #coolDownMs: (openings: number) => number;
  #failures = 0;
  #openings = 0;
  #openUntil = 0;
  #isProbing = false;

  constructor({ clock, maxFailures, coolDownMs }: CircuitBreakerOptions) {
    this.#clock = clock;
    this.#maxFailures = maxFailures;
    this.#coolDownMs = coolDownMs;
  }

  /** `half-open` from the end of the cool-down to the next success or opening. */
  get state(): 'closed' | 'open' | 'half-open' {
    if (this.#openings === 0) return 'closed';
    return this.remainingMs > 0 ? 'open' : 'half-open';
  }

  /** Milliseconds until the cool-down is over; 0 if it is not open. */
  get remainingMs(): number {
    return Math.max(0, this.#openUntil - this.#clock.monotonic());
  }

  /** Since the last success. */
  get openings(): number {
    return this.#openings;
  }

  get isProbing(): boolean {
    return this.#isProbing;
  }

  /** Closes it, and resets all failures. */
  succeed(): void {
    this.#failures = 0;
    this.#openings = 0;
    this.#openUntil = 0;
  }

  /** @returns Whether that opened it. */
  fail(): boolean {
    this.#failures += 1;
    if (this.#failures < this.#maxFailures || (this.remainingMs > 0 && !this.#isProbing)) return false;
    this.open(this.#coolDownMs(this.#openings));
    return true;
  }

  open(ms: number): void {
    this.#openings += 1;
    this.#openUntil = this.#clock.monotonic() + ms;
  }

  /** False if another caller is probing. Otherwise `endProbe` must follow. */
  beginProbe(): boolean {
    if (this.#isProbing) return false;
    this.#isProbing = true;
    return true;
  }

  endProbe(): void {
    this.#isProbing = false;
  }
}

const LIMITED_FIRST_MS = 10_000;
const UNREADABLE_FIRST_MS = 30_000;
const LONGEST_MS = 600_000;
const SHORTEST_MS = 1_000;
/** Unreadable answers in a row that start a cool-down. */
const MAX_UNREADABLE = 5;

/** What a call of a method says about the platform. */
type MethodResult =
  | { kind: 'found' | 'definitive' }
  | { kind: 'transient'; code: TransientCode; retryAfterSeconds?: number | undefined };

/** The cause of a cool-down and its remaining time. */
export interface Cooling {
  code: TransientCode;
  remainingMs: number;
}

/** Topic of hints between processes, and what they say: 0 ms if a cool-down is over. */
const COOL_DOWN = 'cool-down';
interface CoolDownHint extends Cooling {
  method: string;
}

interface Circuit {
  breaker: CircuitBreaker;
  /** Why it was opened last. */
  code: TransientCode;
}

/**
 * The cool-down of each method, with one circuit breaker per method. A rate limit starts a cool-down at once, for as
 * long as the platform asks or else for 10 s, doubling, with full jitter. Five unreadable answers in a row start one of
 * 30 s, doubling. None is longer than 10 minutes. Data or a definitive outcome resets everything. Other processes are
 * notified when a cool-down begins and when it is over.
 */
export class CoolDown {
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #hints: Hints | undefined;
  readonly #circuits = new Map<string, Circuit>();

  constructor({ clock, random, hints }: { clock: Clock; random: () => number; hints?: Hints | undefined }) {
    this.#clock = clock;
    this.#random = random;
    this.#hints = hints;
    hints?.on(COOL_DOWN, (hint) => {
      const { method, code, remainingMs } = hint as CoolDownHint;
      const circuit = this.#of(method);
      circuit.code = code;
      if (remainingMs > 0) circuit.breaker.open(remainingMs);
      else circuit.breaker.succeed();
    });
  }

  report(method: string, result: MethodResult): void {
    const circuit = this.#of(method);
    const { breaker } = circuit;
    if (result.kind !== 'transient') {
      const wasOpen = breaker.state !== 'closed';
      breaker.succeed();
      if (wasOpen) this.#notify(method, circuit);
      return;
    }
    if (result.code !== 'upstream_rate_limited') {
      if (breaker.fail()) {
        circuit.code = result.code;
        this.#notify(method, circuit);
      }
      return;
    }
    // Concurrent calls are limited together and count once.
    if (this.cooling(method)?.code === 'upstream_rate_limited' && !breaker.isProbing) return;
    const askedMs = (result.retryAfterSeconds ?? 0) * 1000;
    breaker.open(bounded(askedMs || this.#random() * LIMITED_FIRST_MS * doublings(breaker.openings)));
    circuit.code = result.code;
    this.#notify(method, circuit);
  }

  isCooling(method: string): boolean {
    return this.cooling(method) !== undefined;
  }

  cooling(method: string): Cooling | undefined {
    const { breaker, code } = this.#of(method);
    const { remainingMs } = breaker;
    return remainingMs > 0 ? { code, remainingMs } : undefined;
  }

  /**
   * True if the method cools down for unreadable answers and no other call is testing it. Then `endProbe` must follow.
   */
  beginProbe(method: string): boolean {
    return this.cooling(method)?.code !== 'upstream_rate_limited' && this.#of(method).breaker.beginProbe();
  }

  endProbe(method: string): void {
    this.#of(method).breaker.endProbe();
  }

  #notify(method: string, { code, breaker }: Circuit): void {
    this.#hints?.post(COOL_DOWN, { method, code, remainingMs: breaker.remainingMs } satisfies CoolDownHint);
  }

  #of(method: string): Circuit {
    const known = this.#circuits.get(method);
    if (known) return known;
    const coolDownMs = (openings: number) => bounded(UNREADABLE_FIRST_MS * doublings(openings));
    const breaker = new CircuitBreaker({ clock: this.#clock, maxFailures: MAX_UNREADABLE, coolDownMs });
    const fresh: Circuit = { breaker, code: 'upstream_error' };
    this.#circuits.set(method, fresh);
    return fresh;
  }
}

function doublings(openings: number): number {
  return 2 ** Math.min(openings, 10);
}

function bounded(ms: number): number {
  return Math.min(LONGEST_MS, Math.max(SHORTEST_MS, ms));
}
