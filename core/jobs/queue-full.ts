import { GatewayError } from '../runtime/index.js';

/** What a client is told to wait. */
const RETRY_SECONDS = 5;

/** Why a job is refused whose kind has as many as it may. */
export function queueFull(): GatewayError {
  return new GatewayError('queue_full', 'The queue of background jobs is full.', { retryAfterSeconds: RETRY_SECONDS });
}
