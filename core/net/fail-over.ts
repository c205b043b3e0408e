import type { Clock, UpstreamState } from '../contracts/index.js';
import { inSpan } from '../observability/index.js';
import {
  boundedWait,
  type CircuitBreaker,
  createCircuitBreaker,
  GatewayError,
  withBoundedWait,
} from '../runtime/index.js';

/** What follows from a try that failed. */
export interface TryConsequence {
  /** Where the same work may be tried again. `nowhere` where it may have been done, or nobody would do it. */
  again: 'anywhere' | 'here' | 'elsewhere' | 'nowhere';
  /** Whether it says something against the upstream: enough of these in a row, and it rests. */
  counts: boolean;
}

/** Thrown by the work of a {@link FailOver}; whatever else it throws ends the call as it is, and counts for nothing. */
export class TryFailure extends Error {
  override readonly name = 'TryFailure';

  /** @param error what the caller is told where this was the last try; its `retryAfterSeconds` is waited for. */
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
  /** Milliseconds of an upstream's first rest; each further one in a row is twice as long, up to six times this. Default 10,000. */
  restMs?: number;
  /**
   * Share of the work that an upstream gets among those that are ready, e.g. 3 against 1; 0 for one that only steps in.
   * Default: the best that is ready gets all.
   */
  weightOf?(upstream: Upstream): number;
  /**
   * Further tries for each call, over all calls, e.g. 0.2; ten at once and one each second are free. Default: no bound
   * but that of each call.
   */
  retryShare?: number;
}

export interface FailOverCall<Upstream, Result> {
  /** Milliseconds for all tries and the waiting between them; nothing is waited for that would end later. */
  budgetMs: number;
  /** Longest wait before one of the tries, in milliseconds. Default: as long as there is time. */
  longestWaitMs?: number;
  signal: AbortSignal;
  /** Whether the upstream can do this work at all. Default: each can. */
  suits?(upstream: Upstream): boolean;
  /** One try, within the milliseconds that are left. */
  work(upstream: Upstream, remainingMs: number): Promise<Result>;
}

/** Several upstreams that do the same work; keeps, for as long as it lives, which of them rest. */
export interface FailOver<Upstream> {
  /**
   * Tries upstreams in their order, or by weight, until one does the work: three tries, or as many as there are upstreams.
   * Before an upstream is tried again, a random part of a growing delay passes, or what it asked for.
   * @throws GatewayError of the last try; `upstream_unavailable` where all upstreams rest; what else the work threw; the
   * signal's reason.
   */
  run<Result>(call: FailOverCall<Upstream, Result>): Promise<Result>;
  /** In their order, named `upstreams.0` and so on. */
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
  /** Monotonic milliseconds; set where the upstream asked everybody to wait. */
  limitedUntil: number;
  tries: number;
  failures: number;
}

export function createFailOver<Upstream>(options: FailOverOptions<Upstream>): FailOver<Upstream> {
  const { clock, restMs = REST_MS, weightOf, retryShare } = options;
  const retries = retryShare === undefined ? undefined : createRetryBudget(retryShare, clock);
  const turns = weightOf && createFairQueue<Circuit<Upstream>>(({ upstream }) => weightOf(upstream));
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
    const most = Math.max(MIN_TRIES, candidates.length);
    let notBefore: Map<Circuit<Upstream>, number> | undefined;
    let failed = 0;
    let last: GatewayError | undefined;

    for (let tries = 0; tries < most; ) {
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
      // While one call probes whether it works again, the others need not wait for what comes of it.
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
        // What began before the circuit opened says nothing about it now.
        if (isCounted && (isProbe || breaker.state === 'closed')) breaker.fail();
        // A probe whose caller leaves says nothing: the next call probes again.
        else if (isProbe && !signal.aborted) breaker.succeed();
        if (!(error instanceof TryFailure)) throw error;
        last = error.error;
        const { again, counts } = error.consequence;
        // What is left to nobody else and held against nobody is the caller's fault.
        if (again !== 'nowhere' || counts) chosen.failures += 1;
        if (again === 'nowhere') break;
        tries++;
        if (again === 'elsewhere') candidates = candidates.filter((circuit) => circuit !== chosen);
        if (again === 'here') candidates = [chosen];
        const askedMs = (last.retryAfterSeconds ?? 0) * 1000;
        notBefore ??= new Map();
        // At least a millisecond, so that an upstream that has not failed this call goes first.
        notBefore.set(chosen, clock.monotonic() + Math.max(askedMs, 1 + delayMs(failed)));
        failed += 1;
        // Other calls look again before long: an hour asked for by mistake shall not be an hour without images.
        chosen.limitedUntil = Math.max(chosen.limitedUntil, clock.monotonic() + Math.min(askedMs, LONGEST_LIMIT_MS));
      } finally {
        if (isProbe) breaker.endProbe();
      }
    }
    throw last ? withBoundedWait(last) : resting(restMs);
  }

  function states(): UpstreamState[] {
    const now = clock.monotonic();
    return circuits.map(({ breaker, limitedUntil, tries, failures }, index) => ({
      name: `upstreams.${index}`,
      resting: breaker.state !== 'closed' || limitedUntil > now,
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

/** Those of the candidates that may be tried first, and when: monotonic milliseconds, `now` at the earliest. */
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

function resting(restMs: number): GatewayError {
  return new GatewayError('upstream_unavailable', 'The upstream keeps failing and is left alone for now.', {
    retryAfterSeconds: boundedWait(restMs / 1000),
  });
}

/** Keeps tries that were not the first of a call few, so that an upstream in trouble is not asked all the more. */
export interface RetryBudget {
  /** A call begins. */
  earn(): void;
  /** Whether a further try may be made; it is then counted as made. */
  spend(): boolean;
}

/** Further tries that are free at once, and then one for each second. */
const FREE = 10;

/** @param share further tries for each call, e.g. 0.2. */
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

/** Whose turn it is, among those that can take it. */
export interface FairQueue<Item> {
  /** Each item is taken in proportion to its weight, evenly spread; one of weight 0 where no other can be. */
  next(items: readonly Item[]): Item | undefined;
}

/** Smooth weighted round robin. @param weightOf not negative. */
export function createFairQueue<Item>(weightOf: (item: Item) => number): FairQueue<Item> {
  /** What each is owed; together nothing, so that nobody has to catch up who was away. */
  const credit = new Map<Item, number>();

  return {
    next(items) {
      const [only] = items;
      if (items.length <= 1) return only;
      const weighed = items.filter((item) => weightOf(item) > 0);
      const total = weighed.reduce((sum, item) => sum + weightOf(item), 0);
      let chosen = only;
      let most = Number.NEGATIVE_INFINITY;
      for (const item of weighed) {
        const owed = (credit.get(item) ?? 0) + weightOf(item);
        credit.set(item, owed);
        if (owed > most) {
          most = owed;
          chosen = item;
        }
      }
      if (weighed.length > 0 && chosen !== undefined) credit.set(chosen, most - total);
      return chosen;
    },
  };
}
