import type { Clock, Logger, MethodState } from '../contracts/index.js';
import { inSpan } from '../observability/index.js';
import {
  type Attempt,
  boundedWait,
  type DefinitiveCode,
  GatewayError,
  isDefinitiveCode,
  isGatewayError,
  isTransientCode,
  type TransientCode,
  withDeadline,
} from '../runtime/index.js';
import { createCoolDown, decide } from './method-results.js';

/** One way to get an item's data. Methods are listed best first. */
export interface Method<Found, Call> {
  /** Stable, snake_case; shown in `extraction_method`, `provenance.sources` and `error.attempts`. */
  readonly name: string;
  /** Rough expense in units of one plain HTTP fetch; a chain's `maxCost` stops it before a method that would exceed it. */
  readonly cost: number;
  /** True where a definitive "no" of this method ends the chain; false where it is one vote. */
  readonly authority: boolean;
  /** Neighbouring methods of one group are tried at the same time. */
  readonly group?: string;
  /** Whether this gateway has what the method needs (a key is configured, a browser is there). Default: yes. */
  available?(): boolean;
  /** Whether the method is worth trying for this call. Default: yes. */
  usable?(call: Call): boolean;
  run(call: Call, signal: AbortSignal): Promise<Outcome<Found>>;
}

/** What a method came back with. A method may also throw a GatewayError; anything else thrown counts as `upstream_changed`. */
export type Outcome<Found> =
  /** Data of the requested item, perhaps not all of it. */
  | { kind: 'found'; found: Found; limitations?: readonly string[] | undefined }
  /** The platform said no, and why. `found` carries what could be read all the same. */
  | {
      kind: 'definitive';
      code: DefinitiveCode;
      reason?: string | undefined;
      found?: Found | undefined;
      limitations?: readonly string[] | undefined;
    }
  /** Nothing to be concluded about the item. */
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
  /** Whether what has been found so far makes further methods needless. */
  isEnough(parts: readonly Part<Found>[], call: Call): boolean;
  /** Whether parts together are worth an answer although every method ended otherwise (a title, an author and an id). */
  isWorthwhile(parts: readonly Part<Found>[]): boolean;
  /** Milliseconds for the whole run. Default 25,000. */
  budgetMs?: number;
  /** Milliseconds for one method. Default 12,000. */
  methodMs?: number;
  /** Sum of costs that may be spent on one call. Default: no limit. */
  maxCost?: number;
  /** Source of jitter, 0 to 1. Default `Math.random`. */
  random?(): number;
}

/** What one method contributed. */
export interface Part<Found> {
  method: string;
  found: Found;
}

export interface ChainResult<Found> {
  /** In the order the methods are listed. */
  parts: readonly Part<Found>[];
  attempts: readonly Attempt[];
  limitations: readonly string[];
  /** The definitive answer that came along with worthwhile data, if any (an age gate, a region). */
  verdict?: { code: DefinitiveCode; reason?: string };
  /** True where a method that could have added more failed in a way that may pass. */
  partial: boolean;
}

/** Runs methods one after the other; keeps, for as long as it lives, which method rests after failing. */
export interface FallbackChain<Found, Call> {
  /**
   * With `only`, that method alone is tried, and whatever it gives is worth an answer.
   * @throws GatewayError with `attempts`, by the precedence of outcomes; the reason of a signal that aborts, unless that
   * is a deadline: then the run ends with what it has.
   */
  run(call: Call, signal: AbortSignal, only?: string): Promise<ChainResult<Found>>;
  /** Every method as it is now, in the order they are listed. */
  methods(): MethodState[];
}

/** Codes that an authority gives only where nothing of the item may be shown, whatever else was found. */
const ABSOLUTE: ReadonlySet<DefinitiveCode> = new Set<DefinitiveCode>(['private', 'removed']);
const BUDGET_MS = 25_000;
const RUNG_MS = 12_000;

/** What became of one method in one run. Without an outcome it was not tried. */
export interface Tried<Found> {
  method: string;
  authority: boolean;
  attempt: Attempt;
  outcome?: Outcome<Found>;
  /** There was no time left for it. */
  late?: boolean;
}

/**
 * Methods are tried in the order given, neighbours of one group together, until `isEnough` or an authority's "no". A method
 * that keeps failing rests; see `method-results.ts`. Where nothing else helped, methods that rest for being unreadable are
 * tried all the same, one call at a time.
 */
export function createFallbackChain<Found, Call>(
  options: FallbackChainOptions<Found, Call>,
): FallbackChain<Found, Call> {
  const { methods, clock, logger, platform, isEnough, isWorthwhile } = options;
  const { budgetMs = BUDGET_MS, methodMs = RUNG_MS, maxCost = Number.POSITIVE_INFINITY } = options;
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
        authority: method.authority,
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
      // A method that was given less than its time is not to blame for being cut.
      if (!(run.cut && (left < methodMs || isOverdue(signal)))) coolDown.report(method.name, run.outcome);
      tried.set(method.name, {
        method: method.name,
        authority: method.authority,
        attempt: { method: method.name, outcome: nameOf(run.outcome), ms: run.ms },
        outcome: run.outcome,
      });
    }

    async function step(group: readonly Method<Found, Call>[]): Promise<void> {
      const ready = group.filter((method) => {
        const affordable = spent + method.cost <= maxCost;
        if (!affordable || method.available?.() === false || method.usable?.(call) === false) leave(method, 'skipped');
        else if (coolDown.rests(method.name)) leave(method, 'resting');
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
    if (!isDone() && !isWorthwhile(summarize(list()).parts)) {
      for (const method of methods) {
        const resting = tried.get(method.name)?.attempt.outcome === 'resting';
        if (!resting || spent + method.cost > maxCost || !coolDown.beginProbe(method.name)) continue;
        spent += method.cost;
        try {
          await attempt(method);
        } finally {
          coolDown.endProbe(method.name);
        }
        if (isDone() || isWorthwhile(summarize(list()).parts)) break;
      }
    }
    return conclude(list(), call, only !== undefined);
  }

  function conclude(tried: readonly Tried<Found>[], call: Call, alone: boolean): ChainResult<Found> {
    const { parts, verdict, refused, limitations } = summarize(tried);
    const attempts = tried.map((one) => one.attempt);
    if (refused || !(isWorthwhile(parts) || (alone && parts.length > 0))) {
      throw decide({ tried, rest: (method) => coolDown.rest(method) }).with({ attempts, platform });
    }
    const failed = tried.some(
      (one) => one.late || one.outcome?.kind === 'transient' || one.attempt.outcome === 'resting',
    );
    return { parts, attempts, limitations, ...(verdict && { verdict }), partial: failed && !isEnough(parts, call) };
  }

  function stateOf({ name, available }: Method<Found, Call>): MethodState {
    const rest = coolDown.rest(name);
    return {
      name,
      available: available?.() ?? true,
      ...(rest && { rest: { code: rest.code, seconds: Math.ceil(rest.remainingMs / 1000) } }),
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
  /** The "no" of an authority, or of a method that gave data along with it. */
  verdict?: { code: DefinitiveCode; reason?: string };
  /** An authority said no: nobody else is asked. */
  ruled: boolean;
  /** It said so in a way that leaves no room for data. */
  refused: boolean;
}

function summarize<Found>(tried: readonly Tried<Found>[]): Summary<Found> {
  const summary: Summary<Found> = { parts: [], limitations: [], ruled: false, refused: false };
  const limitations = new Set<string>();
  for (const { method, authority, outcome } of tried) {
    if (!outcome || outcome.kind === 'transient') continue;
    if (outcome.found !== undefined) summary.parts.push({ method, found: outcome.found });
    for (const limitation of outcome.limitations ?? []) limitations.add(limitation);
    if (outcome.kind !== 'definitive') continue;
    if (authority ? !summary.ruled : !summary.verdict && outcome.found !== undefined) {
      summary.verdict = { code: outcome.code, ...(outcome.reason !== undefined && { reason: outcome.reason }) };
    }
    summary.ruled ||= authority;
    summary.refused ||= authority && ABSOLUTE.has(outcome.code);
  }
  summary.limitations = [...limitations];
  return summary;
}

export interface MethodRun<Found> {
  outcome: Outcome<Found>;
  /** Whole milliseconds. */
  ms: number;
  /** True where a deadline ended it: its own, or one of whoever called. */
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
 * One method under its deadline. Whatever the method does, there is an outcome, and in time: a method that ignores its signal is
 * left behind.
 * @throws the reason of the caller's signal, at once, unless that is a deadline; and nothing else.
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
  const run = (methodSignal: AbortSignal) => {
    ending = methodSignal;
    return method.run(call, methodSignal);
  };
  const isCut = () => ending?.aborted ?? true;

  let outcome: Outcome<Found>;
  try {
    outcome = await withDeadline(limitMs, run, { signals: [signal], clock, error: () => late });
  } catch (error) {
    if (!isOverdue(signal)) signal.throwIfAborted();
    outcome = readFailure(isCut() ? late : error);
  }
  if (outcome.kind === 'transient' && outcome.retryAfterSeconds !== undefined) {
    outcome = { ...outcome, retryAfterSeconds: boundedWait(outcome.retryAfterSeconds) };
  }
  const ms = Math.round(clock.monotonic() - start);
  if (outcome.kind === 'transient') {
    const fields = { platform, extractionMethod: method.name, code: outcome.code, ms, error: outcome.cause };
    if (outcome.code === 'upstream_changed') logger.warn('a method could not be understood', fields);
    else logger.debug('a method failed', fields);
  }
  return { outcome, ms, cut: isCut() };
}

/** Whether time is up for the caller, who then still wants to know what was had by now. */
export function isOverdue({ aborted, reason }: AbortSignal): boolean {
  return aborted && isGatewayError(reason) && reason.code === 'upstream_timeout';
}

function readFailure(error: unknown): Outcome<never> {
  if (isGatewayError(error)) {
    const { code, reason, retryAfterSeconds, retryable } = error;
    if (isDefinitiveCode(code)) return { kind: 'definitive', code, reason };
    if (isTransientCode(code)) {
      // Where the platform said nothing, what our own client met ("the host name could not be resolved") is the reason.
      const met = reason ?? error.message;
      return { kind: 'transient', code, reason: met, retryAfterSeconds, cause: error };
    }
    // Ours rather than the platform's: a browser that is busy or does not start says nothing of what it would have shown.
    if (retryable)
      return { kind: 'transient', code: 'upstream_error', reason: error.message, retryAfterSeconds, cause: error };
  }
  return { kind: 'transient', code: 'upstream_changed', cause: error };
}
