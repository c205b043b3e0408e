import { GatewayError } from 'mediagate';

const MEGABYTE = 1024 * 1024;
/** Bodies of more bytes are counted one by one, and understood in another thread. */
export const BIG_BYTES = MEGABYTE;
/** What one key may have of the budget. */
const KEY_SHARE = 3 / 8;

/** What request bodies may be in memory at the same time, over all requests. */
export interface BodyBudget {
  /**
   * Takes the place of a key's body; what comes back gives it back.
   * @throws GatewayError `queue_full` where there is none, or the key has its share: three eighths of each kind.
   */
  reserve(keyId: string, bytes: number): () => void;
  /** What is taken of each kind, 0 to 1. */
  taken(): { small: number; big: number };
}

export interface BodyBudgetOptions {
  /** Bytes of all bodies up to 1 MiB together. Default 64 MiB. */
  smallBytes?: number;
  /** Bodies beyond that. They leave the place of the small ones alone. Default 8. */
  bigBodies?: number;
}

export function createBodyBudget(options: BodyBudgetOptions = {}): BodyBudget {
  const { smallBytes = 64 * MEGABYTE, bigBodies = 8 } = options;
  const small = createPool(smallBytes);
  const big = createPool(bigBodies);
  return {
    reserve: (keyId, bytes) => (bytes > BIG_BYTES ? big.reserve(keyId, 1) : small.reserve(keyId, bytes)),
    taken: () => ({ small: small.taken(), big: big.taken() }),
  };
}

function createPool(size: number) {
  const share = size * KEY_SHARE;
  const held = new Map<string, number>();
  let free = size;

  function hold(keyId: string, change: number): void {
    const holds = (held.get(keyId) ?? 0) + change;
    free -= change;
    if (holds > 0) held.set(keyId, holds);
    else held.delete(keyId);
  }

  return {
    reserve(keyId: string, wanted: number): () => void {
      if ((held.get(keyId) ?? 0) + wanted > share) throw queueFull('Too many request bodies of this API key');
      if (free < wanted) throw queueFull('Too many request bodies');
      hold(keyId, wanted);
      return () => hold(keyId, -wanted);
    },
    taken: () => 1 - free / size,
  };
}

function queueFull(what: string): GatewayError {
  return new GatewayError('queue_full', `${what} are being read at once.`, { retryAfterSeconds: 1 });
}
