import { type Clock, GatewayError } from 'mediagate';

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
