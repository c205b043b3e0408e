/*
 * Runs the methods of a platform, best first, until one has found enough or a definitive method refuses. Adjacent
 * methods of one group run concurrently. Each method has a deadline and the whole run has a budget; a method that
 * ignores its abort signal is abandoned. A method that keeps failing cools down for later calls, and is only probed if
 * nothing else succeeded. When no data was found, the error follows an order: a definitive refusal, the votes of other
 * methods, then the most informative failure. No data is shown for an item that a definitive method calls private or
 * removed.
 */

import type { Clock, Logger, MethodState } from '../contracts/index.js';
import { inSpan } from '../observability/index.js';
import {
  type Attempt,
  boundedWait,
  type Cooling,
  createCoolDown,
  type DefinitiveCode,
  failureMessage,
  GatewayError,
  isDefinitiveCode,
  isGatewayError,
  isTransientCode,
  missingPackageError,
  type TransientCode,
  watchAborted,
  withDeadline,
} from '../runtime/index.js';

/** One way to get an item's data. List methods best first. */
export interface Method<Found, Call> {
  /** Stable, snake_case; shown in `extraction_method`, `provenance.sources` and `error.attempts`. */
  readonly name: string;
  /**
   * Estimated cost in units of one plain HTTP fetch; a chain with `maxCost` stops before a method that would exceed it.
   */
  readonly cost: number;
  /** True if a definitive refusal by this method ends the chain; false if it is only one vote. */
  readonly definitive: boolean;
  /** Adjacent methods of one group run concurrently. */
  readonly group?: string;
  /** True if it only adds to what other methods found: a platform does not work by it alone. Default false. */
  readonly supplements?: boolean;
  /** Whether this gateway has what the method needs (a configured key, a browser). Default: yes. */
  available?(): boolean;
  /** Whether the method is worth trying for this call. Default: yes. */
  usable?(call: Call): boolean;
  run(call: Call, signal: AbortSignal): Promise<Outcome<Found>>;
}

/** The outcome of a method. A method may also throw a GatewayError; any other error counts as `upstream_changed`. */
export type Outcome<Found> =
  /** Data of the requested item, perhaps not all of it. */
  | { kind: 'found'; found: Found; limitations?: readonly string[] | undefined }
  /** The platform refused, with a reason. `found` contains data that could be read anyway. */
  | {
      kind: 'definitive';
      code: DefinitiveCode;
      reason?: string | undefined;
      found?: Found | undefined;
      limitations?: readonly string[] | undefined;
    }
  /** No conclusion about the item. */
  | {
      kind: 'transient';
      code: TransientCode;
      reason?: string | undefined;
      retryAfterSeconds?: number | undefined;
      cause?: unknown;
    };

export interface FallbackChainOptions<Found, Call> {
  methods: readonly Method<Found, Call>[];
  clock: Clock;
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

/** Runs methods one after the other and keeps the cool-down of each method between runs. */
export interface FallbackChain<Found, Call> {
  /**
   * With `only`, that method alone runs, and its data is always worth an answer.
   * @throws GatewayError with `attempts`, by the precedence of outcomes; the reason of an aborted signal, unless it is
   *   a deadline: then the run ends with the data it has.
   */
  run(call: Call, signal: AbortSignal, only?: string): Promise<ChainResult<Found>>;
  /** The current state of every method, in listed order. */
  methods(): MethodState[];
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
 * Methods run in the given order, adjacent methods of one group concurrently, until `isEnough` or a definitive refusal.
 * A method that keeps failing cools down. If nothing else succeeded, methods that cool down
 * for unreadable answers are tried anyway, one call at a time.
 */
export function createFallbackChain<Found, Call>(
  options: FallbackChainOptions<Found, Call>,
): FallbackChain<Found, Call> {
  const { methods, clock, logger, platform, isEnough, isWorthwhile } = options;
  const { budgetMs = BUDGET_MS, methodMs = METHOD_MS, maxCost = Number.POSITIVE_INFINITY } = options;
  const coolDown = createCoolDown({ clock, random: options.random ?? Math.random });

  async function run(call: Call, signal: AbortSignal, only?: string): Promise<ChainResult<Found>> {
    signal.throwIfAborted();
    const wanted = only === undefined ? methods : methods.filter(({ name }) => name === only);
    const start = clock.monotonic();
    const tried = new Map<string, Tried<Found>>();
    let spent = 0;

    const list = () => methods.map((method) => tried.get(method.name)).filter((one) => one !== undefined);
    const isDone = () => {
      const state = summarize(list());
      return state.ruled || isEnough(state.parts, call);
    };
    const leave = (method: Method<Found, Call>, outcome: string, late = false) =>
      tried.set(method.name, {
        method: method.name,
        definitive: method.definitive,
        attempt: { method: method.name, outcome, ms: 0 },
        late,
      });

    async function attempt(method: Method<Found, Call>): Promise<void> {
      const left = budgetMs - (clock.monotonic() - start);
      if (left <= 0 || isOverdue(signal)) {
        leave(method, 'skipped', true);
        return;
      }
      const run = await runMethod({ method, call, signal, limitMs: Math.min(methodMs, left), clock, logger, platform });
      // A method that had less than its full time, or that lacks a package, is not counted as failed.
      const isCounted = !(run.cut && (left < methodMs || isOverdue(signal))) && !missingPackageOf(run.outcome);
      if (isCounted) coolDown.report(method.name, run.outcome);
      tried.set(method.name, {
        method: method.name,
        definitive: method.definitive,
        attempt: { method: method.name, outcome: nameOf(run.outcome), ms: run.ms },
        outcome: run.outcome,
      });
    }

    async function step(group: readonly Method<Found, Call>[]): Promise<void> {
      const ready = group.filter((method) => {
        const affordable = spent + method.cost <= maxCost;
        if (!affordable || method.available?.() === false || method.usable?.(call) === false) leave(method, 'skipped');
        else if (coolDown.isCooling(method.name)) leave(method, 'resting');
        else {
          spent += method.cost;
          return true;
        }
        return false;
      });
      await Promise.all(ready.map(attempt));
    }

    for (const group of groupNeighbours(wanted)) {
      await step(group);
      if (isDone()) break;
    }
    if (!isDone() && !isWorthwhile(summarize(list()).parts, call)) {
      for (const method of methods) {
        const wasCooling = tried.get(method.name)?.attempt.outcome === 'resting';
        if (!wasCooling || spent + method.cost > maxCost || !coolDown.beginProbe(method.name)) continue;
        spent += method.cost;
        try {
          await attempt(method);
        } finally {
          coolDown.endProbe(method.name);
        }
        if (isDone() || isWorthwhile(summarize(list()).parts, call)) break;
      }
    }
    return conclude(list(), call, only !== undefined);
  }

  function conclude(tried: readonly Tried<Found>[], call: Call, alone: boolean): ChainResult<Found> {
    const { parts, restriction, refused, limitations } = summarize(tried);
    const attempts = tried.map((one) => one.attempt);
    if (refused || !(isWorthwhile(parts, call) || (alone && parts.length > 0))) {
      throw decide({ tried, cooling: (method) => coolDown.cooling(method) }).with({ attempts, platform });
    }
    const failed = tried.some(
      (one) => one.late || one.outcome?.kind === 'transient' || one.attempt.outcome === 'resting',
    );
    return {
      parts,
      attempts,
      limitations,
      ...(restriction && { restriction }),
      partial: failed && !isEnough(parts, call),
    };
  }

  function stateOf({ name, available, supplements }: Method<Found, Call>): MethodState {
    const cooling = coolDown.cooling(name);
    return {
      name,
      available: available?.() ?? true,
      ...(supplements && { supplements }),
      ...(cooling && { coolDown: { code: cooling.code, seconds: Math.ceil(cooling.remainingMs / 1000) } }),
    };
  }

  return { run, methods: () => methods.map(stateOf) };
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
type Transient = Pick<
  Extract<Outcome<unknown>, { kind: 'transient' }>,
  'code' | 'reason' | 'retryAfterSeconds' | 'cause'
>;

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

/** The error for clients, if a method lacks a package: then the platform was not asked. */
function missingPackageOf(outcome: Outcome<unknown> | Transient): GatewayError | undefined {
  const cause = 'cause' in outcome ? outcome.cause : undefined;
  const isMissing = isGatewayError(cause) && cause.code === 'plugin_unavailable' && !cause.retryable;
  return isMissing ? cause : undefined;
}

function refusal({ code, reason }: Definitive): GatewayError {
  return new GatewayError(code, failureMessage(code), { reason });
}

export interface MethodRun<Found> {
  outcome: Outcome<Found>;
  /** Whole milliseconds. */
  ms: number;
  /** True if a deadline ended it: its own, or that of a caller. */
  cut: boolean;
}

export interface MethodRunOptions<Found, Call> {
  method: Method<Found, Call>;
  call: Call;
  signal: AbortSignal;
  limitMs: number;
  clock: Clock;
  logger: Logger;
  platform: string;
}

/**
 * Runs one method under its deadline. It always returns an outcome in time: a method that ignores its signal is
 * abandoned.
 * @throws the reason of the caller's signal, at once, unless it is a deadline; and nothing else.
 */
export function runMethod<Found, Call>(options: MethodRunOptions<Found, Call>): Promise<MethodRun<Found>> {
  const { method, platform } = options;
  const attributes = { 'mediagate.platform': platform, 'mediagate.method': method.name };
  return inSpan({ name: `method ${method.name}`, attributes }, async (span) => {
    const run = await runInTime(options);
    const { outcome } = run;
    span?.set({ 'mediagate.outcome': outcome.kind, ...(outcome.kind !== 'found' && { 'error.type': outcome.code }) });
    return run;
  });
}

async function runInTime<Found, Call>(options: MethodRunOptions<Found, Call>): Promise<MethodRun<Found>> {
  const { method, call, signal, limitMs, clock, logger, platform } = options;
  const start = clock.monotonic();
  const late = new GatewayError('upstream_timeout', 'The source did not answer in time.');
  let ending: AbortSignal | undefined;
  let running: Promise<Outcome<Found>> | undefined;
  const run = (methodSignal: AbortSignal) => {
    ending = methodSignal;
    running = method.run(call, methodSignal);
    return running;
  };
  const isCut = () => ending?.aborted ?? true;

  let outcome: Outcome<Found>;
  try {
    outcome = await withDeadline(limitMs, run, { signals: [signal], clock, error: () => late });
  } catch (error) {
    if (running && isCut()) {
      const fields = { platform, extractionMethod: method.name };
      watchAborted(running, () => logger.warn('a method ignores its abort signal: it continues after its end', fields));
    }
    if (!isOverdue(signal)) signal.throwIfAborted();
    outcome = readFailure(isCut() ? late : error);
  }
  if (outcome.kind === 'transient' && outcome.retryAfterSeconds !== undefined) {
    outcome = { ...outcome, retryAfterSeconds: boundedWait(outcome.retryAfterSeconds) };
  }
  const ms = Math.round(clock.monotonic() - start);
  if (outcome.kind === 'transient') {
    const fields = { platform, extractionMethod: method.name, code: outcome.code, ms, error: outcome.cause };
    if (missingPackageOf(outcome)) logger.error('a method needs a package that is not installed', fields);
    else if (outcome.code === 'upstream_changed') logger.warn('the answer of a method could not be read', fields);
    else logger.debug('a method failed', fields);
  }
  return { outcome, ms, cut: isCut() };
}

/** Whether the caller's deadline has passed. The caller then still wants the data found so far. */
export function isOverdue({ aborted, reason }: AbortSignal): boolean {
  return aborted && isGatewayError(reason) && reason.code === 'upstream_timeout';
}

function readFailure(error: unknown): Outcome<never> {
  if (isGatewayError(error)) {
    const { code, reason, retryAfterSeconds, retryable } = error;
    if (isDefinitiveCode(code)) return { kind: 'definitive', code, reason };
    if (isTransientCode(code)) {
      // If the platform gave no reason, the error of our own client is the reason ("the host name could not be
      // resolved").
      const met = reason ?? error.message;
      return { kind: 'transient', code, reason: met, retryAfterSeconds, cause: error };
    }
    // A failure of ours rather than of the platform: a busy browser, or one that does not start, says nothing about the
    // page.
    if (retryable)
      return { kind: 'transient', code: 'upstream_error', reason: error.message, retryAfterSeconds, cause: error };
  }
  const missing = missingPackageError(error);
  if (missing) return { kind: 'transient', code: 'upstream_error', reason: missing.message, cause: missing };
  return { kind: 'transient', code: 'upstream_changed', cause: error };
}
