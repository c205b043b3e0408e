import { GatewayError } from 'mediagate';
import { readPreferences } from './preferences.js';
import type { RequestContext } from './request-state.js';

export const MAX_WAIT_SECONDS = 60;

/**
 * Seconds that an answer may be held back, as `?wait=` or `Prefer: wait=` has it; 0 where neither is there.
 * @throws GatewayError `invalid_value`.
 */
export function readWait({ query: { wait }, req }: RequestContext): number {
  if (wait === undefined) return Math.min(readPreferences(req.headers).wait ?? 0, MAX_WAIT_SECONDS);
  const seconds = typeof wait === 'string' && /^\d{1,6}$/.test(wait) ? Number(wait) : Number.NaN;
  if (seconds <= MAX_WAIT_SECONDS) return seconds;
  const message = `wait must be a whole number of seconds from 0 to ${MAX_WAIT_SECONDS}.`;
  throw new GatewayError('invalid_value', message, { param: 'wait' });
}
