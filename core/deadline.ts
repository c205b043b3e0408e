import { GatewayError } from './errors.js';

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
 * is nobody's concern any more.
 * @throws GatewayError `upstream_timeout` at the deadline, or the reason of the signal that aborted.
 */
export async function withDeadline<Result>(
  options: DeadlineOptions,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const controller = new AbortController();
  const { signals = [] } = options;
  for (const signal of signals) signal.throwIfAborted();
  const timer = setTimeout(
    () => controller.abort(new GatewayError('upstream_timeout', options.message)),
    options.timeoutMs,
  );
  const stop = (event: Event) => controller.abort((event.target as AbortSignal).reason);
  for (const signal of signals) signal.addEventListener('abort', stop, { once: true });
  try {
    return await new Promise<Result>((resolve, reject) => {
      controller.signal.addEventListener('abort', () => reject(controller.signal.reason), { once: true });
      work(controller.signal).then(resolve, (error) =>
        reject(controller.signal.aborted ? controller.signal.reason : error),
      );
    });
  } finally {
    clearTimeout(timer);
    for (const signal of signals) signal.removeEventListener('abort', stop);
  }
}
