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
