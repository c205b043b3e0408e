import type { Clock } from '../contracts/services.js';
import { GatewayError } from '../errors.js';

/** How long one request may go on, body included. */
export interface RequestLifetime {
  /** Aborts at the deadline with an `upstream_timeout`, or with the reason of the first signal that aborts. */
  readonly signal: AbortSignal;
  /** Rejects as soon as the lifetime is over, however long the work itself takes to notice. */
  race<Result>(work: Promise<Result>): Promise<Result>;
  /** The request is done. Idempotent. */
  end(): void;
}

export interface LifetimeOptions {
  clock: Clock;
  timeoutMs: number;
  signals: readonly (AbortSignal | undefined)[];
}

export function startLifetime({ clock, timeoutMs, signals }: LifetimeOptions): RequestLifetime {
  const controller = new AbortController();
  const timer = new AbortController();
  const watched = signals.filter((signal) => signal !== undefined);

  const end = () => {
    timer.abort();
    for (const signal of watched) signal.removeEventListener('abort', stop);
  };
  const stop = () => {
    const aborted = watched.find((signal) => signal.aborted);
    if (!aborted) return;
    controller.abort(aborted.reason);
    end();
  };
  const expire = () => {
    controller.abort(new GatewayError('upstream_timeout', 'The origin did not answer in time.'));
    end();
  };

  for (const signal of watched) signal.addEventListener('abort', stop);
  // It rejects when the request ends before its time.
  clock.sleep(timeoutMs, timer.signal).then(expire, () => {});
  stop();

  return {
    signal: controller.signal,
    end,
    race: (work) =>
      new Promise((resolve, reject) => {
        const over = () => reject(controller.signal.reason);
        if (controller.signal.aborted) over();
        controller.signal.addEventListener('abort', over, { once: true });
        work.then(resolve, reject).finally(() => controller.signal.removeEventListener('abort', over));
      }),
  };
}
