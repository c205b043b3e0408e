import { GatewayError } from 'mediagate';

/** Bounds how many calls are open, whether they work or wait. */
export interface Places {
  /**
   * @param signal Gives the place back when it aborts.
   * @returns gives the place back.
   * @throws GatewayError `queue_full` where none is left; the signal's reason.
   */
  take(signal: AbortSignal): () => void;
}

export function createPlaces(count: number): Places {
  let taken = 0;
  return {
    take(signal) {
      signal.throwIfAborted();
      if (taken >= count) throw new GatewayError('queue_full', 'Too many calls are waiting for the offline engine.');
      taken += 1;
      let held = true;
      const giveBack = () => {
        if (held) taken -= 1;
        held = false;
        signal.removeEventListener('abort', giveBack);
      };
      signal.addEventListener('abort', giveBack, { once: true });
      return giveBack;
    },
  };
}
