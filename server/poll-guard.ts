import { type Clock, GatewayError } from 'mediagate';

const WINDOW_MS = 1_000;
/** Counts of a second; whoever polls is good for an API key, so there is no more than one for each key in use. */
const MAX_KEYS = 10_000;

export interface PollGuardOptions {
  clock: Clock;
  /** Polls of one key in a second. Default 20. */
  limit?: number;
}

/** Polls cost no slot, so somebody has to see to it that nobody polls in a loop without a pause. */
export interface PollGuard {
  /** @throws GatewayError `rate_limit_exceeded`. */
  admit(keyId: string): void;
}

export function createPollGuard({ clock, limit = 20 }: PollGuardOptions): PollGuard {
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
      if (count > limit) {
        const message = `This API key may poll ${limit} times in a second; Retry-After of each answer says when to.`;
        throw new GatewayError('rate_limit_exceeded', message, { retryAfterSeconds: 1 });
      }
      counts.set(keyId, count);
    },
  };
}
