import type { Clock } from './clock.js';
import { isGatewayError } from './errors.js';

/*
 * The deadline of something awaited. `withDeadline` runs work and answers in time, even where the work ignores the signal that
 * it is given: what such work does later is ignored. When time is up,
 * 1. the event loop first reads what has come meanwhile: a process that was itself held up runs its timers before it reads the
 *    answers that wait for it, and must not take them for late;
 * 2. the signal of the work aborts with the error of the deadline;
 * 3. one turn of the event loop later the caller receives that error, unless the work has ended by then. The result of work that
 *    ends at once when its signal aborts counts: it knows what it has fetched by then.
 * Timers and listeners are gone when the work has ended or time is up. `endsWithin` is for callers that only wait.
 *
 * Something else is used where there is no promise to race: a timer that closes a socket, a stream or a thread; and the deadlines
 * of HTTP requests (`net/request-life.ts`), which share one timer since every request has one.
 */

export interface DeadlineOptions {
  /** Makes the error for the caller when time is up. */
  error(): Error;
  /**
   * The work also ends when one of these aborts: the caller receives its reason at once. A list, since `AbortSignal.any` leaves
   * something behind with each signal that lasts.
   */
  signals?: readonly (AbortSignal | undefined)[];
  /** Default: the timers of Node, which cost less than the sleep of a clock. */
  clock?: Clock;
}

/**
 * @param ms Milliseconds.
 * @throws what the work throws, the error of the deadline, or the reason of the signal that aborted. After the abort an error
 * of the work counts only where it is a GatewayError.
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

/** Given, since an abort without a reason makes an error, which costs more than the timer. */
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
 * Waits for work, and no longer than `ms`. The work goes on where it ignores its signal.
 * @returns whether it ended in time.
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
