import { GatewayError, isGatewayError } from './errors.js';

/** What a storage throws for a file that is not whole any more, or that it did not write. */
export function damagedFile(): GatewayError {
  return new GatewayError('internal_error', 'A stored file is damaged.');
}

export function isDamagedFile(error: unknown): boolean {
  return isGatewayError(error) && error.code === 'internal_error';
}
