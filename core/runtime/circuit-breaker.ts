import type { Clock } from './time.js';

/*
 * The circuit breaker: decides whether something that keeps failing is called again. Each upstream of a model has one
 * (`net/fail-over.ts`), each method of a platform (`extraction/method-results.ts`), and the cache (`storage/cache.ts`).
 * It is closed as long as calls succeed. It opens after a number of failures in a row, or at once for a time that its
 * owner chooses, and blocks calls until its cool-down is over. Then it is half-open: a call may probe, and a success
 * closes it. Each opening since the last success may last longer. Concurrent calls fail together: that is one reason to
 * open, not several, so a failure while it is open has no effect, unless it is the failure of a probe. Its state is in
 * memory, with a monotonic clock.
 */

export interface CircuitBreakerOptions {
  clock: Pick<Clock, 'monotonic'>;
  /** Failures in a row that open it. */
  maxFailures: number;
  /** Milliseconds of the next cool-down, by the number of openings since the last success. */
  coolDownMs(openings: number): number;
}

export interface CircuitBreaker {
  /** `half-open` from the end of the cool-down to the next success or opening. */
  readonly state: 'closed' | 'open' | 'half-open';
  /** Milliseconds until the cool-down is over; 0 if it is not open. */
  readonly remainingMs: number;
  /** Since the last success. */
  readonly openings: number;
  readonly isProbing: boolean;
  /** Closes it, and resets all failures. */
  succeed(): void;
  /** @returns Whether that opened it. */
  fail(): boolean;
  open(ms: number): void;
  /** False if another caller is probing. Otherwise `endProbe` must follow. */
  beginProbe(): boolean;
  endProbe(): void;
}

export function createCircuitBreaker({ clock, maxFailures, coolDownMs }: CircuitBreakerOptions): CircuitBreaker {
  let failures = 0;
  let openings = 0;
  let openUntil = 0;
  let isProbing = false;

  const remainingMs = () => Math.max(0, openUntil - clock.monotonic());
  const open = (ms: number) => {
    openings += 1;
    openUntil = clock.monotonic() + ms;
  };

  return {
    get state() {
      if (openings === 0) return 'closed';
      return remainingMs() > 0 ? 'open' : 'half-open';
    },
    get remainingMs() {
      return remainingMs();
    },
    get openings() {
      return openings;
    },
    get isProbing() {
      return isProbing;
    },
    succeed() {
      failures = 0;
      openings = 0;
      openUntil = 0;
    },
    fail() {
      failures += 1;
      if (failures < maxFailures || (remainingMs() > 0 && !isProbing)) return false;
      open(coolDownMs(openings));
      return true;
    },
    open,
    beginProbe() {
      if (isProbing) return false;
      isProbing = true;
      return true;
    },
    endProbe() {
      isProbing = false;
    },
  };
}
