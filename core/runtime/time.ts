/*
 * Time and waiting: the replaceable clock, deadlines, shared timers, poll loops and throttled warnings. `withDeadline`
 * answers in time even if the work ignores its signal, and removes its timers and listeners in any case. A shared
 * timer and a swap-remove list serve thousands of running requests, where a timer or a growing Set per request would
 * be a considerable part of the cost. A poll loop runs one poll after the other, so a slow database does not
 * accumulate runs. Random bytes are drawn in batches for the same reason.
 */

import { randomBytes } from 'node:crypto';
import { isGatewayError } from './errors.js';
import type { Logger } from './logger.js';

/** Time, replaceable so that tests need not wait. */
export interface Clock {
  /** Milliseconds since 1970-01-01 UTC. */
  now(): number;
  /** Monotonic milliseconds, for durations. */
  monotonic(): number;
  /** Resolves after `ms`; rejects with the signal's reason if it aborts first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** The system clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  // Not the sleep of timers/promises: the error it creates for each abort costs more than the rest of a sleep.
  sleep(ms, signal) {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) {
        reject(signal.reason);
        return;
      }
      const leave = () => {
        clearTimeout(timer);
        reject(signal?.reason);
      };
      const timer = setTimeout(() => {
        signal?.removeEventListener('abort', leave);
        resolve();
      }, ms);
      signal?.addEventListener('abort', leave, { once: true });
    });
  },
};

const BATCH = 4096;

let batch = randomBytes(0);
let drawn = 0;

/**
 * Returns 1 to 64 fresh random bytes. They are generated in batches: a call for each name or id takes longer than
 * everything else that is done for it.
 */
export function drawRandomBytes(count: number): Buffer {
  if (drawn + count > batch.length) {
    batch = randomBytes(BATCH);
    drawn = 0;
  }
  drawn += count;
  return batch.subarray(drawn - count, drawn);
}

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
 * deadlines of HTTP requests (`net/request-lifetime.ts`), which share one timer since every request has one.
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

/** An item of a {@link SwapRemoveList}; it can be in one list at a time. */
export interface ListItem {
  /** Index in the list; set by the list. */
  listIndex: number;
}

/**
 * A list of running items with frequent changes. Unlike a Set, it does not strain the garbage collector: each time a
 * Set grows, its old table keeps its items alive until the next major collection, with everything they refer to.
 */
export class SwapRemoveList<Item extends ListItem> {
  readonly #items: Item[] = [];

  get size(): number {
    return this.#items.length;
  }

  add(item: Item): void {
    item.listIndex = this.#items.length;
    this.#items.push(item);
  }

  /** No effect if it is not in the list. */
  delete(item: Item): void {
    if (this.#items[item.listIndex] !== item) return;
    const last = this.#items.pop();
    if (last === undefined || last === item) return;
    last.listIndex = item.listIndex;
    this.#items[last.listIndex] = last;
  }

  /** Visits each item once, in any order; the item may be deleted meanwhile. */
  visit(use: (item: Item) => void): void {
    // From the end: a deleted item is replaced by one that was already visited.
    for (let index = this.#items.length - 1; index >= 0; index -= 1) {
      const item = this.#items[index];
      if (item !== undefined) use(item);
    }
  }
}

/** Something that checks the time regularly. */
export interface Ticking extends ListItem {
  /** @param now Monotonic milliseconds. */
  tick(now: number): void;
}

/** A shared timer: one timer per request would be a considerable part of a request's cost. */
export class SharedTimer<Item extends Ticking> extends SwapRemoveList<Item> {
  readonly #tickMs: number;
  readonly #monotonic: () => number;
  #timer: NodeJS.Timeout | undefined;

  /** @param tickMs Milliseconds between ticks, which is also the maximum delay. */
  constructor(tickMs: number, monotonic = () => performance.now()) {
    super();
    this.#tickMs = tickMs;
    this.#monotonic = monotonic;
  }

  /** Starts the ticks of the items in the list. */
  start(): void {
    this.#timer ??= setInterval(() => {
      // It runs for one more tick after the last removal, so that frequent requests need no new timer.
      if (this.size === 0) {
        clearInterval(this.#timer);
        this.#timer = undefined;
      }
      const now = this.#monotonic();
      this.visit((item) => item.tick(now));
    }, this.#tickMs);
  }
}

export interface PollLoop {
  /** Settles when the first poll has ended, successful or not. */
  first: Promise<void>;
  /** Waits for the running poll. */
  stop(): Promise<void>;
}

export interface PollLoopOptions {
  /** Milliseconds from the end of one poll to the next. */
  intervalMs: number;
  work(): Promise<void>;
  report(error: unknown): void;
}

/** Repeats work until stopped, one run after the other: a slow database does not accumulate runs. */
export function startPollLoop({ intervalMs, work, report }: PollLoopOptions): PollLoop {
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;
  async function poll(): Promise<void> {
    try {
      await work();
    } catch (error) {
      report(error);
    }
    if (!stopped) timer = setTimeout(begin, intervalMs);
  }
  function begin(): void {
    current = poll();
  }
  const first = poll();
  let current = first;
  return {
    first,
    stop() {
      stopped = true;
      clearTimeout(timer);
      return current;
    },
  };
}

/** Milliseconds that aborted work has to end. */
const ABORT_GRACE_MS = 5_000;

/** Calls `report` if aborted work has not ended 5 s later: it ignores its signal. */
export function watchAborted(work: Promise<unknown>, report: () => void): void {
  const timer = setTimeout(report, ABORT_GRACE_MS).unref();
  const stop = () => clearTimeout(timer);
  work.then(stop, stop);
}

const INTERVAL_MS = 60_000;

/**
 * A throttled warning: logged at most once a minute, since an outage affects all callers at once.
 * @param now Monotonic milliseconds. Default: those of the process.
 */
export function createThrottledWarning(logger: Logger, message: string, now = () => performance.now()) {
  let loggedAt = Number.NEGATIVE_INFINITY;
  return (error: unknown): void => {
    if (now() - loggedAt < INTERVAL_MS) return;
    loggedAt = now();
    logger.warn(message, { error });
  };
}
