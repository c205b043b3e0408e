import type { Logger } from './logger.js';

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
