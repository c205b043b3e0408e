import type { Clock, UpstreamState } from '../contracts/index.js';
import { inSpan } from '../observability/index.js';
import {
  boundedWait,
  type CircuitBreaker,
  createCircuitBreaker,
  GatewayError,
  withBoundedWait,
} from '../runtime/index.js';

/** The consequence of a failed try. */
export interface TryConsequence {
  /** Where the same work may be tried again. `nowhere` if it may have been done, or no upstream would do it. */
  again: 'anywhere' | 'here' | 'elsewhere' | 'nowhere';
  /** Whether it counts against the upstream: enough of these in a row start a cool-down. */
  counts: boolean;
}

/** Thrown by the work of a {@link FailOver}; any other error ends the call unchanged, and does not count. */
export class TryFailure extends Error {
  override readonly name = 'TryFailure';

  /** @param error The caller's error if this was the last try; its `retryAfterSeconds` delays the next try. */
  constructor(
    readonly error: GatewayError,
    readonly consequence: TryConsequence,
  ) {
    super(error.message, { cause: error });
  }
}

export interface FailOverOptions<Upstream> {
  /** Best first. */
  upstreams: readonly Upstream[];
  clock: Clock;
  /**
   * Milliseconds of an upstream's first cool-down; each further one in a row is twice as long, up to six times this.
   * Default 10,000.
   */
  restMs?: number;
  /**
   * Relative share of the work for a ready upstream, e.g. 3 against 1; 0 for one that only replaces others. Default:
   * the best ready upstream gets all work.
   */
  weightOf?(upstream: Upstream): number;
  /**
   * Retries per call, over all calls, e.g. 0.2; ten at once and one each second are free. Default: only the limit per
   * call.
   */
  retryShare?: number;
}

export interface FailOverCall<Upstream, Result> {
  /** Milliseconds for all tries and the delays between them; a delay that would end later is not started. */
  budgetMs: number;
  /** Maximum delay before one of the tries, in milliseconds. Default: the remaining time. */
  longestWaitMs?: number;
  signal: AbortSignal;
  /** Whether the upstream can do this work at all. Default: each can. */
  suits?(upstream: Upstream): boolean;
  /** One try, within the remaining milliseconds. */
  work(upstream: Upstream, remainingMs: number): Promise<Result>;
}

/** Several upstreams that do the same work; keeps the cool-down of each between calls. */
export interface FailOver<Upstream> {
  /**
   * Tries upstreams in order, or by weight, until one does the work: three tries, or as many as there are upstreams.
   * Before an upstream is tried again, there is a random part of a growing delay, or the delay that it asked for.
   * @throws GatewayError of the last try; `upstream_unavailable` if all upstreams cool down; what else the work threw;
   *   the signal's reason.
   */
  run<Result>(call: FailOverCall<Upstream, Result>): Promise<Result>;
  /** In order, named `upstreams.0` and so on. */
  states(): UpstreamState[];
}

const MIN_TRIES = 3;
const FAILURES_BEFORE_REST = 10;
const REST_MS = 10_000;
const LONGEST_REST = 6;
const LONGEST_LIMIT_MS = boundedWait(Number.POSITIVE_INFINITY) * 1000;
const FIRST_DELAY_MS = 500;
const LONGEST_DELAY_MS = 8_000;

interface Circuit<Upstream> {
  upstream: Upstream;
  breaker: CircuitBreaker;
  /** Monotonic milliseconds; set if the upstream asked all callers to wait. */
  limitedUntil: number;
  tries: number;
  failures: number;
}

export function createFailOver<Upstream>(options: FailOverOptions<Upstream>): FailOver<Upstream> {
  const { clock, restMs = REST_MS, weightOf, retryShare } = options;
  const retries = retryShare === undefined ? undefined : createRetryBudget(retryShare, clock);
  const turns = weightOf && createWeightedRoundRobin<Circuit<Upstream>>(({ upstream }) => weightOf(upstream));
  const coolDownMs = (openings: number) => Math.min(restMs * 2 ** openings, restMs * LONGEST_REST);
  const circuits = options.upstreams.map((upstream): Circuit<Upstream> => {
    const breaker = createCircuitBreaker({ clock, maxFailures: FAILURES_BEFORE_REST, coolDownMs });
    return { upstream, breaker, limitedUntil: 0, tries: 0, failures: 0 };
  });

  async function run<Result>(call: FailOverCall<Upstream, Result>): Promise<Result> {
    const { budgetMs, longestWaitMs = budgetMs, signal, suits, work } = call;
    const end = clock.monotonic() + budgetMs;
    retries?.earn();
    let candidates: readonly Circuit<Upstream>[] = suits
      ? circuits.filter(({ upstream }) => suits(upstream))
      : circuits;
    const max = Math.max(MIN_TRIES, candidates.length);
    let notBefore: Map<Circuit<Upstream>, number> | undefined;
    let failed = 0;
    let last: GatewayError | undefined;

    for (let tries = 0; tries < max; ) {
      signal.throwIfAborted();
      const now = clock.monotonic();
      const { soonest, ready } = soonestOf(candidates, now, notBefore);
      const chosen = turns ? turns.next(ready) : ready[0];
      if (!chosen) break;
      const waitMs = soonest - now;
      if (now + waitMs >= end || waitMs > longestWaitMs) {
        last ??= limited(waitMs);
        break;
      }
      if (tries > 0 && retries?.spend() === false) break;
      if (waitMs > 0) await clock.sleep(waitMs, signal);
      const { breaker } = chosen;
      const isProbe = breaker.state !== 'closed';
      // While one call probes whether it works again, the others do not wait for the result.
      if (breaker.state === 'open' || (isProbe && !breaker.beginProbe())) {
        candidates = candidates.filter((circuit) => circuit !== chosen);
        continue;
      }
      try {
        const attempt = { name: 'attempt', attributes: { 'mediagate.attempt': tries + 1 } };
        chosen.tries += 1;
        const result = await inSpan(attempt, () => work(chosen.upstream, end - clock.monotonic()));
        if (isProbe || breaker.state === 'closed') breaker.succeed();
        return result;
      } catch (error) {
        const isCounted = error instanceof TryFailure && error.consequence.counts;
        // A call that began before the circuit opened says nothing about the current state.
        if (isCounted && (isProbe || breaker.state === 'closed')) breaker.fail();
        // If the caller of a probe disconnects, the result is unknown: the next call probes again.
        else if (isProbe && !signal.aborted) breaker.succeed();
        if (!(error instanceof TryFailure)) throw error;
        last = error.error;
        const { again, counts } = error.consequence;
        // A failure that no other upstream may retry and that counts against none is the caller's.
        if (again !== 'nowhere' || counts) chosen.failures += 1;
        if (again === 'nowhere') break;
        tries++;
        if (again === 'elsewhere') candidates = candidates.filter((circuit) => circuit !== chosen);
        if (again === 'here') candidates = [chosen];
        const askedMs = (last.retryAfterSeconds ?? 0) * 1000;
        notBefore ??= new Map();
        // At least a millisecond, so that an upstream that has not failed this call comes first.
        notBefore.set(chosen, clock.monotonic() + Math.max(askedMs, 1 + delayMs(failed)));
        failed += 1;
        // Other calls retry soon: an hour requested by mistake must not become an hour without images.
        chosen.limitedUntil = Math.max(chosen.limitedUntil, clock.monotonic() + Math.min(askedMs, LONGEST_LIMIT_MS));
      } finally {
        if (isProbe) breaker.endProbe();
      }
    }
    throw last ? withBoundedWait(last) : coolingDown(restMs);
  }

  function states(): UpstreamState[] {
    const now = clock.monotonic();
    return circuits.map(({ breaker, limitedUntil, tries, failures }, index) => ({
      name: `upstreams.${index}`,
      isCoolingDown: breaker.state !== 'closed' || limitedUntil > now,
      tries,
      failures,
    }));
  }

  return { run, states };
}

/** A random part of a delay that doubles with each failure of the call. */
function delayMs(failed: number): number {
  return Math.floor(Math.random() * Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** failed));
}

/** The candidates that may be tried first, and when: monotonic milliseconds, at the earliest `now`. */
function soonestOf<Upstream>(
  candidates: readonly Circuit<Upstream>[],
  now: number,
  notBefore: ReadonlyMap<Circuit<Upstream>, number> | undefined,
): { soonest: number; ready: readonly Circuit<Upstream>[] } {
  let soonest = Number.POSITIVE_INFINITY;
  let ready: Circuit<Upstream>[] = [];
  for (const circuit of candidates) {
    const at = Math.max(now, circuit.limitedUntil, notBefore?.get(circuit) ?? 0);
    if (at === soonest) ready.push(circuit);
    else if (at < soonest) {
      soonest = at;
      ready = [circuit];
    }
  }
  return { soonest, ready };
}

function limited(waitMs: number): GatewayError {
  return new GatewayError('upstream_rate_limited', 'The upstream takes no further request for now.', {
    retryAfterSeconds: boundedWait(waitMs / 1000),
  });
}

function coolingDown(restMs: number): GatewayError {
  return new GatewayError('upstream_unavailable', 'The upstream keeps failing and is left alone for now.', {
    retryAfterSeconds: boundedWait(restMs / 1000),
  });
}

/** Limits retries, so that an upstream in trouble does not get more requests. */
export interface RetryBudget {
  /** A call begins. */
  earn(): void;
  /** Whether a retry is allowed; it is then counted. */
  spend(): boolean;
}

/** Retries that are free at once, and then one for each second. */
const FREE = 10;

/** @param share Retries per call, e.g. 0.2. */
export function createRetryBudget(share: number, clock: Pick<Clock, 'monotonic'>): RetryBudget {
  let left = FREE;
  let at = clock.monotonic();

  return {
    earn() {
      const now = clock.monotonic();
      left = Math.min(FREE, left + share + (now - at) / 1000);
      at = now;
    },
    spend() {
      if (left < 1) return false;
      left--;
      return true;
    },
  };
}

/** A fair choice among the available items. */
export interface WeightedRoundRobin<Item> {
  /**
   * Each item is chosen in proportion to its weight, evenly distributed; one of weight 0 only if no other is available.
   */
  next(items: readonly Item[]): Item | undefined;
}

/** Smooth weighted round robin. @param weightOf Not negative. */
export function createWeightedRoundRobin<Item>(weightOf: (item: Item) => number): WeightedRoundRobin<Item> {
  /** The credit of each item; the sum is zero, so that an item that was absent does not catch up. */
  const credit = new Map<Item, number>();

  return {
    next(items) {
      const [only] = items;
      if (items.length <= 1) return only;
      const weighed = items.filter((item) => weightOf(item) > 0);
      const total = weighed.reduce((sum, item) => sum + weightOf(item), 0);
      let chosen = only;
      let max = Number.NEGATIVE_INFINITY;
      for (const item of weighed) {
        const owed = (credit.get(item) ?? 0) + weightOf(item);
        credit.set(item, owed);
        if (owed > max) {
          max = owed;
          chosen = item;
        }
      }
      if (weighed.length > 0 && chosen !== undefined) credit.set(chosen, max - total);
      return chosen;
    },
  };
}
