import { type Clock, GatewayError } from 'mediagate';
import type { RequestContext } from './koa-app.js';
import { readPreferences } from './request.js';

const RETRY_SECONDS = 5;

export interface SemaphoreOptions {
  /** Default 2,000. */
  places?: number;
  /** Places of one holder. Default 500. */
  placesEach?: number;
}

/**
 * Requests that are held open until something ends: few enough that they cannot use up the connections, and of each holder few
 * enough that there is room for others.
 */
export interface Semaphore {
  /** Takes a place; what comes back gives it back. Undefined where all are taken. */
  enter(holder: string): (() => void) | undefined;
  /** As `enter`. @throws GatewayError `queue_full` where all are taken. */
  demand(holder: string): () => void;
}

export function createSemaphore({ places = 2_000, placesEach = 500 }: SemaphoreOptions = {}): Semaphore {
  const taken = new Map<string, number>();
  let free = places;

  function enter(holder: string): (() => void) | undefined {
    const own = taken.get(holder) ?? 0;
    if (free === 0 || own === placesEach) return undefined;
    free -= 1;
    taken.set(holder, own + 1);
    return () => {
      free += 1;
      const left = (taken.get(holder) ?? 1) - 1;
      if (left === 0) taken.delete(holder);
      else taken.set(holder, left);
    };
  }

  return {
    enter,
    demand(holder) {
      const leave = enter(holder);
      if (leave) return leave;
      throw new GatewayError('queue_full', 'Too many requests wait for their answers.', {
        retryAfterSeconds: RETRY_SECONDS,
      });
    },
  };
}

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

const WINDOW_MS = 1_000;
/** Polls of one key in a second. */
const MAX_POLLS = 20;
/** Counts of a second; whoever polls is good for an API key, so there is no more than one for each key in use. */
const MAX_KEYS = 10_000;

/** Polls cost no slot, so somebody has to see to it that nobody polls in a loop without a pause. */
export interface PollGuard {
  /** @throws GatewayError `rate_limit_exceeded`. */
  admit(keyId: string): void;
}

export function createPollGuard(clock: Clock): PollGuard {
  const counts = new Map<string, number>();
  let startedAt = clock.monotonic();
  return {
    admit(keyId) {
      const now = clock.monotonic();
      if (now - startedAt >= WINDOW_MS || counts.size >= MAX_KEYS) {
        counts.clear();
        startedAt = now;
      }
      const count = (counts.get(keyId) ?? 0) + 1;
      if (count > MAX_POLLS) {
        const message = `This API key may poll ${MAX_POLLS} times in a second; Retry-After of each answer says when to.`;
        throw new GatewayError('rate_limit_exceeded', message, { retryAfterSeconds: 1 });
      }
      counts.set(keyId, count);
    },
  };
}
