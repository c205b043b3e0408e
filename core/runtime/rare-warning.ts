import type { Logger } from '../contracts/index.js';

const INTERVAL_MS = 60_000;

/**
 * A warning that is logged once a minute at most: what is away is away for everybody who asks.
 * @param now Milliseconds that never jump. Default: those of the process.
 */
export function createRareWarning(logger: Logger, message: string, now = () => performance.now()) {
  let loggedAt = Number.NEGATIVE_INFINITY;
  return (error: unknown): void => {
    if (now() - loggedAt < INTERVAL_MS) return;
    loggedAt = now();
    logger.warn(message, { error });
  };
}
