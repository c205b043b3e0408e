/*
 * Runs one method of a platform under its deadline, and turns what it throws into an outcome. An outcome always comes
 * in time: a method that ignores its abort signal is abandoned, and a warning is logged if it continues. If the
 * caller's signal aborts, its reason is thrown at once, and nothing else is ever thrown. If that reason is the caller's
 * own deadline, the outcome is a timeout instead, because the caller still wants the data that other methods found.
 */

import { type Clock, type Logger } from '../contracts/index.js';
import { inSpan } from '../observability/index.js';
import {
  boundedWait,
  type DefinitiveCode,
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

export type Transient = Pick<
  Extract<Outcome<unknown>, { kind: 'transient' }>,
  'code' | 'reason' | 'retryAfterSeconds' | 'cause'
>;

interface MethodRun<Found> {
  outcome: Outcome<Found>;
  /** Whole milliseconds. */
  ms: number;
  /** True if a deadline ended it: its own, or that of a caller. */
  cut: boolean;
}

interface MethodRunOptions<Found, Call> {
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

/** The error for clients, if a method lacks a package: then the platform was not asked. */
export function missingPackageOf(outcome: Outcome<unknown> | Transient): GatewayError | undefined {
  const cause = 'cause' in outcome ? outcome.cause : undefined;
  const isMissing = isGatewayError(cause) && cause.code === 'plugin_unavailable' && !cause.retryable;
  return isMissing ? cause : undefined;
}
