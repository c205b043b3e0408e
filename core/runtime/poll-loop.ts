import type { Logger } from './logger.js';

export interface PollLoop {
  /** Of the first round, whatever came of it. */
  first: Promise<void>;
  /** Waits for the round under way. */
  stop(): Promise<void>;
}

export interface PollLoopOptions {
  /** Milliseconds from the end of one to the next. */
  intervalMs: number;
  work(): Promise<void>;
  report(error: unknown): void;
}

/** Does the same again and again until stopped, one after the other: a database that is slow does not pile them up. */
export function startPollLoop({ intervalMs, work, report }: PollLoopOptions): PollLoop {
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;
  async function round(): Promise<void> {
    try {
      await work();
    } catch (error) {
      report(error);
    }
    if (!stopped) timer = setTimeout(begin, intervalMs);
  }
  function begin(): void {
    current = round();
  }
  const first = round();
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
 * A warning that is logged once a minute at most: what is away is away for everybody who asks.
 * @param now Milliseconds that never jump. Default: those of the process.
 */
export function createThrottledWarning(logger: Logger, message: string, now = () => performance.now()) {
  let loggedAt = Number.NEGATIVE_INFINITY;
  return (error: unknown): void => {
    if (now() - loggedAt < INTERVAL_MS) return;
    loggedAt = now();
    logger.warn(message, { error });
  };
}
