/*
 * Runs the methods of a platform, best first, until the data is enough or a definitive method refuses. Adjacent methods
 * of one group run concurrently. A method has 12 s and the whole run 25 s, so after two timeouts the third gets one
 * second, which does not count against it. A method that ignores its abort signal is abandoned.
 *
 * A method cools down for later calls of all workers: after a rate limit for as long as the platform asks or else at
 * most 10 s at first; after five other transient failures in a row (unreadable, bot check, server error, timeout) for
 * 30 s. Both double, up to ten minutes. In a cool-down of the second kind, one call at a time probes it if the others
 * found too little.
 *
 * A refusal by a method that is not definitive is a vote. Without data, the error is the refusal of a definitive
 * method, else the vote of two methods, else the first vote (but no single `removed` while a definitive method gave no
 * result), else the most informative failure. An item that a definitive method calls private or removed shows no data.
 * A result is `partial` if a method failed or cooled down and the data is not enough.
 */

import type { Clock, Hints, Logger, MethodState } from '../contracts/index.js';
import {
  type Attempt,
  CoolDown,
  type Cooling,
  type DefinitiveCode,
  failureMessage,
  GatewayError,
  type TransientCode,
} from '../runtime/index.js';
import { isOverdue, type Method, missingPackageOf, type Outcome, runMethod, type Transient } from './method-run.js';

export interface FallbackChainOptions<Found, Call> {
  methods: readonly Method<Found, Call>[];
  clock: Clock;
  /** Share cool-downs with other processes of this machine. Default: none. */
  hints?: Hints | undefined;
  logger: Logger;
  platform: string;
  /** Whether the parts so far make further methods unnecessary. */
  isEnough(parts: readonly Part<Found>[], call: Call): boolean;
  /**
   * Whether the parts together are worth an answer although every method failed otherwise (a title, an author and an
   * id).
   */
  isWorthwhile(parts: readonly Part<Found>[], call: Call): boolean;
  /** Deadline of the whole run in milliseconds. Default 25,000. */
  budgetMs?: number;
  /** Deadline of one method in milliseconds. Default 12,000. */
  methodMs?: number;
  /** Maximum total cost of one call. Default: no limit. */
  maxCost?: number;
  /** Source of jitter, 0 to 1. Default `Math.random`. */
  random?(): number;
}

/** The contribution of one method. */
export interface Part<Found> {
  method: string;
  found: Found;
}

export interface ChainResult<Found> {
  /** In the order the methods are listed. */
  parts: readonly Part<Found>[];
  attempts: readonly Attempt[];
  limitations: readonly string[];
  /** The definitive outcome that came together with useful data, if any (an age gate, a region). */
  restriction?: { code: DefinitiveCode; reason?: string };
  /** True if a method that could have added data failed temporarily. */
  partial: boolean;
}

/**
 * If a definitive method returns one of these codes, no data of the item may be shown, even if other methods found
 * some.
 */
const ABSOLUTE: ReadonlySet<DefinitiveCode> = new Set<DefinitiveCode>(['private', 'removed']);
const BUDGET_MS = 25_000;
const METHOD_MS = 12_000;

/** The result of one method in one run. Without an outcome it was not tried. */
export interface Tried<Found> {
  method: string;
  definitive: boolean;
  attempt: Attempt;
  outcome?: Outcome<Found>;
  /** There was no time left to run it. */
  late?: boolean;
}

/**
 * Runs methods one after the other and keeps the cool-down of each method between runs. Methods run in the given order,
 * adjacent methods of one group concurrently, until `isEnough` or a definitive refusal. If nothing else succeeded,
 * methods that cool down for unreadable answers are tried anyway, one call at a time.
 */
export class FallbackChain<Found, Call> {
  readonly #options: FallbackChainOptions<Found, Call>;
  readonly #coolDown: CoolDown;

  constructor(options: FallbackChainOptions<Found, Call>) {
    this.#options = options;
    const { clock, hints, random = Math.random } = options;
    this.#coolDown = new CoolDown({ clock, random, hints });
  }

  /**
   * With `only`, that method alone runs, and its data is always worth an answer.
   * @throws GatewayError with `attempts`, by the precedence of outcomes; the reason of an aborted signal, unless it is
   *   a deadline: then the run ends with the data it has.
   */
  async run(call: Call, signal: AbortSignal, only?: string): Promise<ChainResult<Found>> {
    signal.throwIfAborted();
    const { methods, isWorthwhile, isEnough, platform } = this.#options;
    const run = new ChainRun(this.#options, this.#coolDown, call, signal);
    await run.tryEach(only === undefined ? methods : methods.filter(({ name }) => name === only));
    await run.probe();
    const { tried } = run;
    const { parts, restriction, refused, limitations } = summarize(tried);
    const attempts = tried.map((one) => one.attempt);
    const isAnswer = isWorthwhile(parts, call) || (only !== undefined && parts.length > 0);
    if (refused || !isAnswer) {
      throw decide({ tried, cooling: (method) => this.#coolDown.cooling(method) }).with({ attempts, platform });
    }
    const failed = tried.some((one) => one.late || one.outcome?.kind === 'transient' || wasCooling(one));
    const partial = failed && !isEnough(parts, call);
    return { parts, attempts, limitations, ...(restriction && { restriction }), partial };
  }

  /** The current state of every method, in listed order. */
  methods(): MethodState[] {
    return this.#options.methods.map(({ name, available, supplements }) => {
      const cooling = this.#coolDown.cooling(name);
      return {
        name,
        available: available?.() ?? true,
        ...(supplements && { supplements }),
        ...(cooling && { coolDown: { code: cooling.code, seconds: Math.ceil(cooling.remainingMs / 1000) } }),
      };
    });
  }
}

/** One run of a chain: what was tried, and what it has cost. */
class ChainRun<Found, Call> {
  readonly #options: FallbackChainOptions<Found, Call>;
  readonly #coolDown: CoolDown;
  readonly #call: Call;
  readonly #signal: AbortSignal;
  readonly #start: number;
  readonly #tried = new Map<string, Tried<Found>>();
  #spent = 0;

  constructor(options: FallbackChainOptions<Found, Call>, coolDown: CoolDown, call: Call, signal: AbortSignal) {
    this.#options = options;
    this.#coolDown = coolDown;
    this.#call = call;
    this.#signal = signal;
    this.#start = options.clock.monotonic();
  }

  /** In the order the methods are listed. */
  get tried(): Tried<Found>[] {
    return this.#options.methods.flatMap(({ name }) => this.#tried.get(name) ?? []);
  }

  async tryEach(methods: readonly Method<Found, Call>[]): Promise<void> {
    for (const group of groupNeighbours(methods)) {
      const ready = group.filter((method) => this.#begin(method));
      await Promise.all(ready.map((method) => this.#attempt(method)));
      if (this.#isDone()) return;
    }
  }

  /** Tries methods that cool down, if the others have found too little. */
  async probe(): Promise<void> {
    const isOver = () => this.#isDone() || this.#options.isWorthwhile(summarize(this.tried).parts, this.#call);
    for (const method of this.#options.methods) {
      if (isOver()) return;
      const before = this.#tried.get(method.name);
      if (!before || !wasCooling(before) || !this.#affords(method) || !this.#coolDown.beginProbe(method.name)) continue;
      this.#spent += method.cost;
      try {
        await this.#attempt(method);
      } finally {
        this.#coolDown.endProbe(method.name);
      }
    }
  }

  #isDone(): boolean {
    const { ruled, parts } = summarize(this.tried);
    return ruled || this.#options.isEnough(parts, this.#call);
  }

  #affords({ cost }: Method<Found, Call>): boolean {
    return this.#spent + cost <= (this.#options.maxCost ?? Number.POSITIVE_INFINITY);
  }

  /** Whether the method is to be run now; its cost is counted then. */
  #begin(method: Method<Found, Call>): boolean {
    if (!this.#affords(method) || method.available?.() === false || method.usable?.(this.#call) === false) {
      this.#note(method, { outcome: 'skipped', ms: 0 });
      return false;
    }
    if (this.#coolDown.isCooling(method.name)) {
      this.#note(method, { outcome: 'resting', ms: 0 });
      return false;
    }
    this.#spent += method.cost;
    return true;
  }

  async #attempt(method: Method<Found, Call>): Promise<void> {
    const { clock, logger, platform, budgetMs = BUDGET_MS, methodMs = METHOD_MS } = this.#options;
    const signal = this.#signal;
    const left = budgetMs - (clock.monotonic() - this.#start);
    if (left <= 0 || isOverdue(signal)) {
      this.#note(method, { outcome: 'skipped', ms: 0 }, { late: true });
      return;
    }
    const limitMs = Math.min(methodMs, left);
    const { outcome, ms, cut } = await runMethod({
      method,
      call: this.#call,
      signal,
      limitMs,
      clock,
      logger,
      platform,
    });
    // A method that had less than its full time, or that lacks a package, is not counted as failed.
    const isCounted = !(cut && (left < methodMs || isOverdue(signal))) && !missingPackageOf(outcome);
    if (isCounted) this.#coolDown.report(method.name, outcome);
    this.#note(method, { outcome: nameOf(outcome), ms }, { outcome });
  }

  #note(
    { name: method, definitive }: Method<Found, Call>,
    attempt: Omit<Attempt, 'method'>,
    result: Pick<Tried<Found>, 'outcome' | 'late'> = {},
  ): void {
    this.#tried.set(method, { method, definitive, attempt: { method, ...attempt }, ...result });
  }
}

function groupNeighbours<Found, Call>(methods: readonly Method<Found, Call>[]): Method<Found, Call>[][] {
  const steps: Method<Found, Call>[][] = [];
  for (const method of methods) {
    const last = steps.at(-1);
    if (last && method.group !== undefined && last[0]?.group === method.group) last.push(method);
    else steps.push([method]);
  }
  return steps;
}

function nameOf(outcome: Outcome<unknown>): string {
  return outcome.kind === 'found' ? 'ok' : outcome.code;
}

interface Summary<Found> {
  parts: Part<Found>[];
  limitations: string[];
  /** The refusal of a definitive method, or of a method that also returned data. */
  restriction?: { code: DefinitiveCode; reason?: string };
  /** A definitive method refused: no further method runs. */
  ruled: boolean;
  /** The refusal allows no data to be shown. */
  refused: boolean;
}

function summarize<Found>(tried: readonly Tried<Found>[]): Summary<Found> {
  const summary: Summary<Found> = { parts: [], limitations: [], ruled: false, refused: false };
  const limitations = new Set<string>();
  for (const { method, definitive, outcome } of tried) {
    if (!outcome || outcome.kind === 'transient') continue;
    if (outcome.found !== undefined) summary.parts.push({ method, found: outcome.found });
    for (const limitation of outcome.limitations ?? []) limitations.add(limitation);
    if (outcome.kind !== 'definitive') continue;
    if (definitive ? !summary.ruled : !summary.restriction && outcome.found !== undefined) {
      summary.restriction = { code: outcome.code, ...(outcome.reason !== undefined && { reason: outcome.reason }) };
    }
    summary.ruled ||= definitive;
    summary.refused ||= definitive && ABSOLUTE.has(outcome.code);
  }
  summary.limitations = [...limitations];
  return summary;
}

type Definitive = Extract<Outcome<unknown>, { kind: 'definitive' }>;
/** Most informative first. */
const INFORMATIVE: readonly TransientCode[] = [
  'bot_check',
  'upstream_rate_limited',
  'upstream_changed',
  'upstream_refused',
  'upstream_error',
  'upstream_timeout',
];

interface Decision {
  tried: readonly Tried<unknown>[];
  cooling(method: string): Cooling | undefined;
}

/**
 * The error if no data was found. A definitive refusal comes first. Then the votes of other methods: two that agree, or
 * one, but never a single `removed` if a definitive method could not be asked. Then the most informative failure.
 */
function decide({ tried, cooling }: Decision): GatewayError {
  const definitive = tried.find((one) => one.definitive && one.outcome?.kind === 'definitive')?.outcome;
  if (definitive?.kind === 'definitive') return refusal(definitive);
  const vote = elect(tried);
  if (vote) return refusal(vote);
  const failures = tried.flatMap((one) => failureOf(one, cooling) ?? []);
  return failure(failures, tried);
}

function elect(tried: readonly Tried<unknown>[]): Definitive | undefined {
  const votes = tried.flatMap(({ outcome }) => (outcome?.kind === 'definitive' ? [outcome] : []));
  const agreed = votes.find((vote, index) => votes.findIndex(({ code }) => code === vote.code) < index);
  if (agreed) return agreed;
  const isUndecided = tried.some(
    (one) => one.definitive && (one.late || wasCooling(one) || one.outcome?.kind === 'transient'),
  );
  return votes.find(({ code }) => !(isUndecided && code === 'removed'));
}

function wasCooling(one: Tried<unknown>): boolean {
  return one.attempt.outcome === 'resting';
}

function failureOf(one: Tried<unknown>, cooling: Decision['cooling']): Transient | undefined {
  const { outcome } = one;
  const pause = cooling(one.method);
  const retryAfterSeconds = pause && pause.remainingMs / 1000;
  if (outcome?.kind === 'transient')
    return { ...outcome, retryAfterSeconds: outcome.retryAfterSeconds ?? retryAfterSeconds };
  if (pause && wasCooling(one)) return { code: pause.code, retryAfterSeconds };
  return one.late ? { code: 'upstream_timeout' } : undefined;
}

function failure(failures: readonly Transient[], tried: readonly Tried<unknown>[]): GatewayError {
  for (const code of INFORMATIVE) {
    const ofCode = failures.filter((one) => one.code === code);
    if (ofCode.length === 0) continue;
    const missing = ofCode.map(missingPackageOf).find((error) => error);
    if (missing) return missing;
    const delays = ofCode.flatMap(({ retryAfterSeconds }) => retryAfterSeconds ?? []);
    return new GatewayError(code, failureMessage(code), {
      reason: ofCode.find(({ reason }) => reason)?.reason,
      retryAfterSeconds: delays.length > 0 ? Math.min(...delays) : undefined,
      cause: ofCode.find(({ cause }) => cause)?.cause,
    });
  }
  const asked = tried.some((one) => one.outcome);
  return asked
    ? new GatewayError('upstream_changed', 'The platform answered without the data of the item.')
    : new GatewayError('plugin_unavailable', 'No method for this item is configured on this gateway.');
}

function refusal({ code, reason }: Definitive): GatewayError {
  return new GatewayError(code, failureMessage(code), { reason });
}
