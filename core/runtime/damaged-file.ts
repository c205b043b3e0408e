import { GatewayError, isGatewayError } from './errors.js';

/**
 * What a storage throws for a file that is not whole any more, that it did not write, or that it may not read.
 * @param problem For the log: which file it is, and what is wrong with it.
 */
export function damagedFile(problem: string, cause?: unknown): GatewayError {
  return new GatewayError('storage_error', 'The stored file is damaged.', {
    retryable: false,
    cause: new Error(problem, { cause }),
  });
}

/** Other errors of a storage may pass. */
export function isDamagedFile(error: unknown): boolean {
  return isGatewayError(error) && error.code === 'storage_error' && !error.retryable;
}
