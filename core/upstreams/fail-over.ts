/*
 * Tries several upstreams that do the same work until one succeeds. Each upstream has a circuit breaker, and a rate
 * limit after it answered 429; this state is shared by all calls, and by the workers of a machine. A failure says
 * where the work may be tried again: anywhere, at the same upstream, at another one, or nowhere if it may have been
 * done. A call makes at most three tries, or one for each upstream if there are more, within one time budget and with
 * random growing delays. A retry budget over all calls keeps retries from multiplying the load of an upstream in
 * trouble. Upstreams may share work by weight.
 */

import type { Clock, Hints, UpstreamState } from '../contracts/index.js';
import { inSpan } from '../observability/index.js';
import { boundedWait, CircuitBreaker, GatewayError, withBoundedWait } from '../runtime/index.js';
import { createUpstreamLimit, type LimitOptions, type UpstreamLimit, type UpstreamQuotas } from './quotas.js';

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

  /**
   * @param error The caller's error if this was the last try; its `retryAfterSeconds` delays the next try of this call.
   *   With one, or with the code `upstream_rate_limited`, the upstream has a limit for other calls (`quotas.ts`).
   * @param quotas What the upstream said about that limit.
   */
  constructor(
    readonly error: GatewayError,
    readonly consequence: TryConsequence,
    readonly quotas?: UpstreamQuotas,
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
   * Relative share of the work for a ready upstream, e.g. 3 against 1; 0 for one that only replaces others. It may
   * change, and differ for each model. Default, and while it is undefined: the best ready upstream gets all work.
   */
  weightOf?(upstream: Upstream, model?: string): number | undefined;
  /**
   * Retries per call, over all calls, e.g. 0.2; ten at once and one each second are free. Default: only the limit per
   * call.
   */
  retryShare?: number;
  /** Share cool-downs and limits with other processes of this machine. Default: none. */
  hints?: Hints | undefined;
  /** Distinguishes it from others with the same hints. Default: it is the only one. */
  name?: string;
}

export interface FailOverCall<Upstream, Result> {
  /** Milliseconds for all tries and the delays between them; a delay that would end later is not started. */
  budgetMs: number;
  /** Maximum delay before one of the tries, in milliseconds. Default: the remaining time. */
  longestWaitMs?: number;
  signal: AbortSignal;
  /** The model of the request, if upstreams are weighed for each. */
  model?: string;
  /** Estimated tokens of the request, for an upstream that limits them. Default 1. */
  tokens?: number;
  /** Whether the upstream can do this work at all. Default: each can. */
  suits?(upstream: Upstream): boolean;
  /**
   * One try, within the remaining milliseconds.
   * @param hasOther Whether another upstream that works is left for a next try.
   */
  work(upstream: Upstream, remainingMs: number, hasOther: boolean): Promise<Result>;
}

/** Several upstreams that do the same work; keeps the cool-down of each between calls. */
export interface FailOver<Upstream> {
  /**
   * Tries upstreams in order, or by weight, until one does the work: three tries, or as many as there are upstreams.
   * Before an upstream is tried again, there is a random part of a growing delay, or the delay that it asked for. Other
   * calls prefer another upstream for that time; without one, they are let through at the pace of its limit.
   * @throws GatewayError of the last try; `upstream_unavailable` if all upstreams cool down; `upstream_rate_limited` if
   *   the limit of an upstream lets it through too late; what else the work threw; the signal's reason.
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
  /** Set if the upstream limits us. */
  limit?: UpstreamLimit;
  tries: number;
  failures: number;
}

/** What other processes are notified of about an upstream: a cool-down that begins, 0 ms if it is over, or a limit. */
interface UpstreamHint {
  index: number;
  coolDownMs?: number;
  limit?: Omit<LimitOptions, 'now'>;
}

/** What the calls of a chain share. */
interface Chain<Upstream> {
  clock: Clock;
  restMs: number;
  circuits: readonly Circuit<Upstream>[];
  retries: RetryBudget | undefined;
  turns: WeightedRoundRobin<Circuit<Upstream>> | undefined;
  notify(circuit: Circuit<Upstream>, hint: Omit<UpstreamHint, 'index'>): void;
}

export function createFailOver<Upstream>(options: FailOverOptions<Upstream>): FailOver<Upstream> {
  const { clock, restMs = REST_MS, weightOf, retryShare, hints, name = '' } = options;
  const coolDownMs = (openings: number) => Math.min(restMs * 2 ** openings, restMs * LONGEST_REST);
  const circuits = options.upstreams.map((upstream): Circuit<Upstream> => {
    const breaker = new CircuitBreaker({ clock, maxFailures: FAILURES_BEFORE_REST, coolDownMs });
    return { upstream, breaker, tries: 0, failures: 0 };
  });
  const topic = `upstreams ${name}`;
  hints?.on(topic, (hint) => {
    const { index, coolDownMs = 0, limit } = hint as UpstreamHint;
    const circuit = circuits[index];
    if (!circuit) return;
    if (limit) circuit.limit = createUpstreamLimit({ ...limit, now: clock.monotonic() });
    else if (coolDownMs > 0) circuit.breaker.open(coolDownMs);
    else circuit.breaker.succeed();
  });
  const chain: Chain<Upstream> = {
    clock,
    restMs,
    circuits,
    retries: retryShare === undefined ? undefined : new RetryBudget(retryShare, clock),
    turns: weightOf && new WeightedRoundRobin<Circuit<Upstream>>(({ upstream }, model) => weightOf(upstream, model)),
    notify: (circuit, hint) => hints?.post(topic, { ...hint, index: circuits.indexOf(circuit) } satisfies UpstreamHint),
  };
  return {
    run: (call) => new CallTries(chain, call).run(),
    states() {
      const now = clock.monotonic();
      return circuits.map(({ breaker, limit, tries, failures }, index) => ({
        name: `upstreams.${index}`,
        isCoolingDown: breaker.state !== 'closed' || (limit?.until ?? 0) > now,
        tries,
        failures,
      }));
    },
  };
}

/** The tries of one call, one after the other. */
class CallTries<Upstream, Result> {
  readonly #chain: Chain<Upstream>;
  readonly #call: FailOverCall<Upstream, Result>;
  /** Monotonic milliseconds. */
  readonly #end: number;
  readonly #max: number;
  #candidates: readonly Circuit<Upstream>[];
  /** Delays of this call, by upstream. */
  #notBefore: Map<Circuit<Upstream>, number> | undefined;
  /** Begin of the delay before the next try. */
  #waitingSince: number | undefined;
  #asked = 0;
  /** Failed tries, but for one after which no other may follow. */
  #failed = 0;
  #isOver = false;
  #last: GatewayError | undefined;

  constructor(chain: Chain<Upstream>, call: FailOverCall<Upstream, Result>) {
    const { circuits, clock } = chain;
    const { suits, budgetMs } = call;
    this.#chain = chain;
    this.#call = call;
    this.#end = clock.monotonic() + budgetMs;
    this.#candidates = suits ? circuits.filter(({ upstream }) => suits(upstream)) : circuits;
    this.#max = Math.max(MIN_TRIES, this.#candidates.length);
    chain.retries?.earn();
  }

  async run(): Promise<Result> {
    const { signal } = this.#call;
    while (this.#failed < this.#max && !this.#isOver) {
      signal.throwIfAborted();
      const next = this.#next();
      if (next === undefined) break;
      if (typeof next === 'number') {
        await this.#chain.clock.sleep(next, signal);
        // Another call may have been first.
        continue;
      }
      const { breaker } = next;
      const isProbe = breaker.state !== 'closed';
      // While one call probes whether it works again, the others do not wait for the result.
      if (breaker.state === 'open' || (isProbe && !breaker.beginProbe())) this.#giveUp(next);
      else {
        const done = await this.#try(next, isProbe);
        if (done) return done.result;
      }
    }
    if (!this.#last) throw coolingDown(this.#chain.restMs);
    throw withBoundedWait(this.#asked > 1 ? this.#last.with({ tries: this.#asked }) : this.#last);
  }

  /** The upstream to try now, or the milliseconds until one may be tried; undefined if none may be tried in time. */
  #next(): Circuit<Upstream> | number | undefined {
    const { clock, retries, turns } = this.#chain;
    const { tokens = 1, budgetMs, longestWaitMs = budgetMs } = this.#call;
    const now = clock.monotonic();
    const { soonest, ready } = soonestOf(this.#candidates, { now, notBefore: this.#notBefore, tokens });
    if (ready.length === 0) return undefined;
    if (soonest >= this.#end || soonest - (this.#waitingSince ?? now) > longestWaitMs) {
      this.#last ??= limited(soonest - now);
      return undefined;
    }
    if (this.#waitingSince === undefined && this.#failed > 0 && retries?.spend() === false) return undefined;
    this.#waitingSince ??= now;
    if (soonest > now) return soonest - now;
    this.#waitingSince = undefined;
    return turns ? turns.next(ready, this.#call.model) : ready[0];
  }

  /** One try. @returns Undefined if it failed. @throws What is no {@link TryFailure}. */
  async #try(chosen: Circuit<Upstream>, isProbe: boolean): Promise<{ result: Result } | undefined> {
    const { clock } = this.#chain;
    const { signal, tokens = 1, work } = this.#call;
    const { breaker, limit } = chosen;
    const now = clock.monotonic();
    const taken = limit?.take(now, tokens);
    try {
      const attempt = { name: 'attempt', attributes: { 'mediagate.attempt': this.#failed + 1 } };
      chosen.tries += 1;
      this.#asked += 1;
      const hasOther = this.#failed + 1 < this.#max && hasOtherThan(chosen, this.#candidates, this.#notBefore, now);
      const result = await inSpan(attempt, () => work(chosen.upstream, this.#end - clock.monotonic(), hasOther));
      if (isProbe || breaker.state === 'closed') this.#succeed(chosen);
      // A call that began before the limit says nothing about it.
      if (limit?.succeed() && chosen.limit === limit) chosen.limit = undefined;
      return { result };
    } catch (error) {
      const isCounted = error instanceof TryFailure && error.consequence.counts;
      // A call that began before the circuit opened says nothing about the current state.
      if (isCounted && (isProbe || breaker.state === 'closed')) this.#fail(chosen);
      // If the caller of a probe disconnects, the result is unknown: the next call probes again.
      else if (isProbe && !signal.aborted) this.#succeed(chosen);
      if (!(error instanceof TryFailure)) throw error;
      this.#noteFailure(chosen, error);
      return undefined;
    } finally {
      taken?.release();
      if (isProbe) breaker.endProbe();
    }
  }

  #succeed(chosen: Circuit<Upstream>): void {
    const wasOpen = chosen.breaker.state !== 'closed';
    chosen.breaker.succeed();
    if (wasOpen) this.#chain.notify(chosen, { coolDownMs: 0 });
  }

  #fail(chosen: Circuit<Upstream>): void {
    if (chosen.breaker.fail()) this.#chain.notify(chosen, { coolDownMs: chosen.breaker.remainingMs });
  }

  #noteFailure(chosen: Circuit<Upstream>, { error, consequence, quotas }: TryFailure): void {
    const { again, counts } = consequence;
    this.#last = error;
    // A failure that no other upstream may retry and that counts against none is the caller's.
    if (again !== 'nowhere' || counts) chosen.failures += 1;
    if (again === 'nowhere') {
      this.#isOver = true;
      return;
    }
    if (again === 'elsewhere') this.#giveUp(chosen);
    if (again === 'here') this.#candidates = [chosen];
    const now = this.#chain.clock.monotonic();
    const askedMs = (error.retryAfterSeconds ?? 0) * 1000;
    this.#notBefore ??= new Map();
    // At least a millisecond, so that an upstream that has not failed this call comes first.
    this.#notBefore.set(chosen, now + Math.max(askedMs, 1 + delayMs(this.#failed)));
    this.#failed += 1;
    if (askedMs > 0 || error.code === 'upstream_rate_limited') {
      // Other calls retry soon: an hour requested by mistake must not become an hour without images.
      const wait = { askedMs: Math.min(askedMs, LONGEST_LIMIT_MS), maxMs: LONGEST_LIMIT_MS };
      chosen.limit = createUpstreamLimit({ ...wait, now, quotas });
      this.#chain.notify(chosen, { limit: { ...wait, quotas } });
    }
  }

  #giveUp(chosen: Circuit<Upstream>): void {
    this.#candidates = this.#candidates.filter((circuit) => circuit !== chosen);
  }
}

/** A random part of a delay that doubles with each failure of the call. */
function delayMs(failed: number): number {
  return Math.floor(Math.random() * Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** failed));
}

/** When something may be tried, in monotonic milliseconds, and for how many tokens. */
interface Moment<Upstream> {
  now: number;
  /** Delays of this call, by upstream. */
  notBefore: ReadonlyMap<Circuit<Upstream>, number> | undefined;
  tokens: number;
}

/**
 * The candidates that may be tried first, and when: at the earliest now. A limited one is tried before its limit ends
 * only if no other candidate can be tried now.
 */
function soonestOf<Upstream>(
  candidates: readonly Circuit<Upstream>[],
  { now, notBefore, tokens }: Moment<Upstream>,
): { soonest: number; ready: readonly Circuit<Upstream>[] } {
  const paced = candidates.map((circuit) => {
    const next = circuit.limit?.next(now, tokens);
    if (next === undefined) circuit.limit = undefined;
    return { circuit, at: Math.max(now, next ?? 0, notBefore?.get(circuit) ?? 0) };
  });
  const preferred = paced.filter(({ circuit, at }) => at <= now && (circuit.limit?.until ?? 0) <= now);
  if (preferred.length > 0) return { soonest: now, ready: preferred.map(({ circuit }) => circuit) };
  const soonest = Math.min(...paced.map(({ at }) => at));
  return { soonest, ready: paced.filter(({ at }) => at === soonest).map(({ circuit }) => circuit) };
}

/** Whether another candidate has not failed this call, does not cool down and is not limited. */
function hasOtherThan<Upstream>(
  chosen: Circuit<Upstream>,
  candidates: readonly Circuit<Upstream>[],
  notBefore: Moment<Upstream>['notBefore'],
  now: number,
): boolean {
  return candidates.some(
    (circuit) =>
      circuit !== chosen &&
      circuit.breaker.state === 'closed' &&
      (circuit.limit?.until ?? 0) <= now &&
      !notBefore?.has(circuit),
  );
}

function limited(waitMs: number): GatewayError {
  return new GatewayError('upstream_rate_limited', 'The upstream accepts no further requests at the moment.', {
    retryAfterSeconds: boundedWait(waitMs / 1000),
  });
}

function coolingDown(restMs: number): GatewayError {
  return new GatewayError('upstream_unavailable', 'The upstream keeps failing and is in cool-down.', {
    retryAfterSeconds: boundedWait(restMs / 1000),
  });
}

/** Retries that are free at once, and then one for each second. */
const FREE = 10;

/** Limits retries, so that an upstream in trouble does not get more requests. */
class RetryBudget {
  readonly #share: number;
  readonly #clock: Pick<Clock, 'monotonic'>;
  #left = FREE;
  #at: number;

  /** @param share Retries per call, e.g. 0.2. */
  constructor(share: number, clock: Pick<Clock, 'monotonic'>) {
    this.#share = share;
    this.#clock = clock;
    this.#at = clock.monotonic();
  }

  /** A call begins. */
  earn(): void {
    const now = this.#clock.monotonic();
    this.#left = Math.min(FREE, this.#left + this.#share + (now - this.#at) / 1000);
    this.#at = now;
  }

  /** Whether a retry is allowed; it is then counted. */
  spend(): boolean {
    if (this.#left < 1) return false;
    this.#left -= 1;
    return true;
  }
}

/**
 * A fair choice among the available items: each is chosen in proportion to its weight, evenly distributed; one of weight
 * 0 only if no other is available.
 */
class WeightedRoundRobin<Item> {
  readonly #weightOf: (item: Item, model?: string) => number | undefined;
  /** The credit of each item; the sum is zero, so that an item that was absent does not catch up. */
  readonly #credit = new Map<Item, number>();

  /** @param weightOf Not negative; undefined of all items if the first one is chosen. */
  constructor(weightOf: (item: Item, model?: string) => number | undefined) {
    this.#weightOf = weightOf;
  }

  next(items: readonly Item[], model?: string): Item | undefined {
    const [only] = items;
    if (only === undefined || items.length === 1 || this.#weightOf(only, model) === undefined) return only;
    const weightOf = (item: Item) => this.#weightOf(item, model) ?? 0;
    const weighed = items.filter((item) => weightOf(item) > 0);
    const total = weighed.reduce((sum, item) => sum + weightOf(item), 0);
    let chosen: Item = only;
    let max = Number.NEGATIVE_INFINITY;
    for (const item of weighed) {
      const owed = (this.#credit.get(item) ?? 0) + weightOf(item);
      this.#credit.set(item, owed);
      if (owed > max) {
        max = owed;
        chosen = item;
      }
    }
    if (weighed.length > 0) this.#credit.set(chosen, max - total);
    return chosen;
  }
}
