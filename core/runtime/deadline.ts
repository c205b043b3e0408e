import type { Clock } from './clock.js';
import { GatewayError, isGatewayError } from './errors.js';

export interface DeadlineOptions {
  /** Milliseconds. */
  timeoutMs: number;
  /** The work also ends when one of these aborts. */
  signals?: readonly AbortSignal[];
  /** What the caller is told when time is up. */
  message: string;
}

/**
 * Runs work under a deadline. The answer comes in time even where the work ignores its signal; what such work does later
 * is nobody's concern any more. Work that ends at once when the deadline aborts its signal has the last word: it knows
 * what it had by then, or whom it asked.
 * @throws GatewayError that the work ended with, `upstream_timeout` at the deadline, or the reason of the signal that
 * aborted.
 */
export async function withDeadline<Result>(
  options: DeadlineOptions,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const controller = new AbortController();
  const { signals = [] } = options;
  for (const signal of signals) signal.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<Result>();
  const timer = setTimeout(() => {
    const late = new GatewayError('upstream_timeout', options.message);
    controller.abort(late);
    // Promises that the abort settles go before an immediate.
    setImmediate(reject, late);
  }, options.timeoutMs);
  const stop = ({ target }: Event) => {
    const { reason } = target as AbortSignal;
    controller.abort(reason);
    reject(reason);
  };
  for (const signal of signals) signal.addEventListener('abort', stop, { once: true });
  try {
    work(controller.signal).then(resolve, (error) =>
      reject(controller.signal.aborted && !isGatewayError(error) ? controller.signal.reason : error),
    );
    return await promise;
  } finally {
    clearTimeout(timer);
    for (const signal of signals) signal.removeEventListener('abort', stop);
  }
}

/**
 * Waits for work until the signal aborts, however long the work itself takes to notice.
 * @throws what the work throws, or the reason of the signal.
 */
export function unlessAborted<Result>(signal: AbortSignal | undefined, work: Promise<Result>): Promise<Result> {
  if (!signal) return work;
  return new Promise((resolve, reject) => {
    const leave = () => reject(signal.reason);
    if (signal.aborted) leave();
    signal.addEventListener('abort', leave, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', leave));
  });
}

/** How long a piece of work may go on. */
export interface Lifetime {
  /** Aborts when time is up, or with the reason of the first signal that aborts. */
  readonly signal: AbortSignal;
  /** Rejects as soon as the lifetime is over, however long the work itself takes to notice. */
  race<Result>(work: Promise<Result>): Promise<Result>;
  /** The work is done. Idempotent. */
  end(): void;
}

/** Given, since the one that is made otherwise costs more than the timer. */
const ENDED = new Error('the work is done');

export interface LifetimeOptions {
  clock: Clock;
  timeoutMs: number;
  signals: readonly (AbortSignal | undefined)[];
  /** The reason to abort with when time is up. */
  late(): GatewayError;
}

export function startLifetime({ clock, timeoutMs, signals, late }: LifetimeOptions): Lifetime {
  const controller = new AbortController();
  const timer = new AbortController();
  const watched = signals.filter((signal) => signal !== undefined);

  const end = () => {
    timer.abort(ENDED);
    for (const signal of watched) signal.removeEventListener('abort', stop);
  };
  const stop = () => {
    const aborted = watched.find((signal) => signal.aborted);
    if (!aborted) return;
    controller.abort(aborted.reason);
    end();
  };
  const expire = () => {
    controller.abort(late());
    end();
  };

  for (const signal of watched) signal.addEventListener('abort', stop);
  // It rejects when the work ends before its time.
  clock.sleep(timeoutMs, timer.signal).then(expire, () => {});
  stop();

  return { signal: controller.signal, end, race: (work) => unlessAborted(controller.signal, work) };
}

/**
 * Calls back when so many milliseconds have gone by, and what came meanwhile has been heard: a process that was itself held
 * up runs its timers before it reads the answers that have been waiting for it.
 * @returns ends the wait.
 */
export function startPatience(ms: number, isOver: () => void): () => void {
  let heard: NodeJS.Immediate | undefined;
  const timer = setTimeout(() => {
    heard = setImmediate(isOver);
  }, ms);
  return () => {
    clearTimeout(timer);
    clearImmediate(heard);
  };
}
