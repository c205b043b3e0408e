import { GatewayError } from 'mediagate';

const RETRY_SECONDS = 5;

export interface WaitingRoomOptions {
  /** Default 2,000. */
  places?: number;
  /** Places of one API key. Default 500. */
  placesPerKey?: number;
}

/** Requests that are held open until something ends: few enough that they cannot use up the connections. */
export interface WaitingRoom {
  /** Takes a place; what comes back gives it back. Undefined where all are taken. */
  enter(keyId: string): (() => void) | undefined;
  /** As `enter`. @throws GatewayError `queue_full` where all are taken. */
  demand(keyId: string): () => void;
}

export function createWaitingRoom({ places = 2_000, placesPerKey = 500 }: WaitingRoomOptions = {}): WaitingRoom {
  const taken = new Map<string, number>();
  let free = places;

  function enter(keyId: string): (() => void) | undefined {
    const own = taken.get(keyId) ?? 0;
    if (free === 0 || own === placesPerKey) return undefined;
    free -= 1;
    taken.set(keyId, own + 1);
    return () => {
      free += 1;
      const left = (taken.get(keyId) ?? 1) - 1;
      if (left === 0) taken.delete(keyId);
      else taken.set(keyId, left);
    };
  }

  return {
    enter,
    demand(keyId) {
      const leave = enter(keyId);
      if (leave) return leave;
      throw new GatewayError('queue_full', 'Too many requests wait for their answers.', {
        retryAfterSeconds: RETRY_SECONDS,
      });
    },
  };
}
