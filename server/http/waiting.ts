import { GatewayError } from 'mediagate';

const RETRY_SECONDS = 5;

export interface WaitingRoomOptions {
  /** Default 2,000. */
  places?: number;
  /** Places of one holder. Default 500. */
  placesEach?: number;
}

/**
 * Requests that are held open until something ends: few enough that they cannot use up the connections, and of each holder few
 * enough that there is room for others.
 */
export interface WaitingRoom {
  /** Takes a place; what comes back gives it back. Undefined where all are taken. */
  enter(holder: string): (() => void) | undefined;
  /** As `enter`. @throws GatewayError `queue_full` where all are taken. */
  demand(holder: string): () => void;
}

export function createWaitingRoom({ places = 2_000, placesEach = 500 }: WaitingRoomOptions = {}): WaitingRoom {
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
