import { GatewayError } from 'mediagate';

const RETRY_SECONDS = 5;

/** Requests that are held open until something ends: few enough that they cannot use up the connections. */
export interface WaitingRoom {
  /** Takes a place; what comes back gives it back. Undefined where all are taken. */
  enter(): (() => void) | undefined;
  /** As `enter`. @throws GatewayError `queue_full` where all are taken. */
  demand(): () => void;
}

/** @param places Default 2,000. */
export function createWaitingRoom(places = 2_000): WaitingRoom {
  let free = places;
  function enter(): (() => void) | undefined {
    if (free === 0) return undefined;
    free -= 1;
    return () => {
      free += 1;
    };
  }
  return {
    enter,
    demand() {
      const leave = enter();
      if (leave) return leave;
      throw new GatewayError('queue_full', 'Too many requests wait for their images.', {
        retryAfterSeconds: RETRY_SECONDS,
      });
    },
  };
}
