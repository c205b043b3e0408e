import type { Clock, Logger } from '../contracts/index.js';
import { inSpan } from '../observability/index.js';
import { boundedWait, GatewayError, isDefinitiveCode, isGatewayError, isTransientCode } from '../runtime/index.js';
import type { Outcome, Rung } from './ladder.js';

export interface RungRun<Found> {
  outcome: Outcome<Found>;
  /** Whole milliseconds. */
  ms: number;
  /** True where a deadline ended it: its own, or one of whoever called. */
  cut: boolean;
}

export interface RungRunOptions<Found, Call> {
  rung: Rung<Found, Call>;
  call: Call;
  signal: AbortSignal;
  limitMs: number;
  clock: Clock;
  logger: Logger;
  platform: string;
}

/**
 * One rung under its deadline. Whatever the rung does, there is an outcome, and in time: a rung that ignores its signal is
 * left behind.
 * @throws the reason of the caller's signal, at once, unless that is a deadline; and nothing else.
 */
export function runRung<Found, Call>(options: RungRunOptions<Found, Call>): Promise<RungRun<Found>> {
  const { rung, platform } = options;
  const attributes = { 'mediagate.platform': platform, 'mediagate.rung': rung.name };
  return inSpan({ name: `rung ${rung.name}`, attributes }, async (span) => {
    const run = await runInTime(options);
    const { outcome } = run;
    span?.set({ 'mediagate.outcome': outcome.kind, ...(outcome.kind !== 'found' && { 'error.type': outcome.code }) });
    return run;
  });
}

async function runInTime<Found, Call>(options: RungRunOptions<Found, Call>): Promise<RungRun<Found>> {
  const { rung, call, signal, limitMs, clock, logger, platform } = options;
  const start = clock.monotonic();
  const late = new GatewayError('upstream_timeout', 'The source did not answer in time.');
  const ending = new AbortController();
  const timer = new AbortController();
  let stop = () => {};
  const ended = new Promise<never>((_resolve, reject) => {
    stop = () => ending.abort(signal.reason);
    signal.addEventListener('abort', stop, { once: true });
    ending.signal.addEventListener('abort', () => reject(ending.signal.reason), { once: true });
  });
  // Rejects when the rung ends first, which is the usual case and not worth a word.
  clock.sleep(limitMs, timer.signal).then(
    () => ending.abort(late),
    () => {},
  );

  let outcome: Outcome<Found>;
  try {
    // A rung may throw before it returns a promise.
    outcome = await Promise.race([ended, (async () => rung.run(call, ending.signal))()]);
  } catch (error) {
    if (!isOverdue(signal)) signal.throwIfAborted();
    outcome = readFailure(ending.signal.aborted ? late : error);
  } finally {
    timer.abort();
    signal.removeEventListener('abort', stop);
  }
  if (outcome.kind === 'transient' && outcome.retryAfterSeconds !== undefined) {
    outcome = { ...outcome, retryAfterSeconds: boundedWait(outcome.retryAfterSeconds) };
  }
  const ms = Math.round(clock.monotonic() - start);
  if (outcome.kind === 'transient') {
    const fields = { platform, rung: rung.name, code: outcome.code, ms, error: outcome.cause };
    if (outcome.code === 'upstream_changed') logger.warn('a rung could not be understood', fields);
    else logger.debug('a rung failed', fields);
  }
  return { outcome, ms, cut: ending.signal.aborted };
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
