import type { Clock } from '../contracts/index.js';
import type { GatewayError } from './errors.js';
import { unlessAborted } from './unless-aborted.js';

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
