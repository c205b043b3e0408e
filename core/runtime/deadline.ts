import type { Clock } from './clock.js';
import { isGatewayError } from './errors.js';

/*
 * Deadlines of promises. `withDeadline` runs work and answers in time, even if the work ignores its signal: late
 * results of such work are ignored. When time is up,
 * 1. the event loop first reads pending input: a process that was blocked runs its timers before it reads the answers
 * that already arrived, and must not treat them as late;
 * 2. the signal of the work aborts with the error of the deadline;
 * 3. one turn of the event loop later the caller receives that error, unless the work has ended by then. The result of
 * work that ends at once when its signal aborts counts: it may return what it has fetched so far.
 * Timers and listeners are removed when the work has ended or time is up. `endsWithin` is for callers that only wait.
 *
 * Other mechanisms exist where there is no promise: a timer that closes a socket, a stream or a thread; and the
 * deadlines of HTTP requests (`net/request-life.ts`), which share one timer since every request has one.
 */

export interface DeadlineOptions {
  /** Creates the caller's error when time is up. */
  error(): Error;
  /**
   * The work also ends when one of these aborts: the caller receives its reason at once. A list, since
   * `AbortSignal.any` leaks memory with long-lived signals.
   */
  signals?: readonly (AbortSignal | undefined)[];
  /** Default: the timers of Node, which cost less than the sleep of a clock. */
  clock?: Clock;
}

/**
 * @param ms Milliseconds.
 * @throws what the work throws, the error of the deadline, or the reason of the signal that aborted. After the abort an
 *   error of the work counts only if it is a GatewayError.
 */
export async function withDeadline<Result>(
  ms: number,
  work: (signal: AbortSignal) => Result | Promise<Result>,
  { error, signals = [], clock }: DeadlineOptions,
): Promise<Result> {
  for (const signal of signals) signal?.throwIfAborted();
  const ending = new AbortController();
  const { promise, resolve, reject } = Promise.withResolvers<Result>();
  const stopTimer = startTimer(ms, clock, () => {
    const late = error();
    ending.abort(late);
    setImmediate(reject, late);
  });
  const stop = ({ target }: Event) => {
    const { reason } = target as AbortSignal;
    ending.abort(reason);
    reject(reason);
  };
  for (const signal of signals) signal?.addEventListener('abort', stop, { once: true });
  try {
    Promise.resolve(work(ending.signal)).then(resolve, (thrown) =>
      reject(ending.signal.aborted && !isGatewayError(thrown) ? ending.signal.reason : thrown),
    );
    return await promise;
  } finally {
    stopTimer();
    for (const signal of signals) signal?.removeEventListener('abort', stop);
  }
}

/** Passed, since an abort without a reason creates an error, which costs more than the timer. */
const DONE = new Error('The work is done.');

function startTimer(ms: number, clock: Clock | undefined, isOver: () => void): () => void {
  let expiring: NodeJS.Immediate | undefined;
  const expireSoon = () => {
    expiring = setImmediate(isOver);
  };
  if (!clock) {
    const timer = setTimeout(expireSoon, ms);
    return () => {
      clearTimeout(timer);
      clearImmediate(expiring);
    };
  }
  const done = new AbortController();
  clock.sleep(ms, done.signal).then(expireSoon, () => undefined);
  return () => {
    done.abort(DONE);
    clearImmediate(expiring);
  };
}

const TIME_IS_UP = new Error('Time is up.');

/**
 * Waits for work, for at most `ms`. Work that ignores its signal continues.
 * @returns Whether it ended in time.
 * @throws what the work throws, or the reason of the signal that aborted.
 */
export async function endsWithin(
  ms: number,
  work: (signal: AbortSignal) => Promise<unknown>,
  options?: Omit<DeadlineOptions, 'error'>,
): Promise<boolean> {
  try {
    await withDeadline(ms, work, { ...options, error: () => TIME_IS_UP });
    return true;
  } catch (error) {
    if (error === TIME_IS_UP) return false;
    throw error;
  }
}

/**
 * Waits for work until the signal aborts, even if the work ignores it.
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
