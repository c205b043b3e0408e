import { GatewayError } from 'mediagate';

/** Lets few in at a time; the others wait in the order they came. */
export interface Turns {
  /** @throws GatewayError `queue_full` where too many wait; the signal's reason; what the work throws. */
  take<Result>(signal: AbortSignal, work: () => Promise<Result>): Promise<Result>;
}

export function createTurns({ atOnce, waiting }: { atOnce: number; waiting: number }): Turns {
  const queue: (() => void)[] = [];
  let running = 0;

  function wait(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const enter = () => {
        signal.removeEventListener('abort', leave);
        resolve();
      };
      const leave = () => {
        queue.splice(queue.indexOf(enter), 1);
        reject(signal.reason);
      };
      queue.push(enter);
      signal.addEventListener('abort', leave, { once: true });
    });
  }

  return {
    async take(signal, work) {
      signal.throwIfAborted();
      if (running < atOnce) running++;
      else if (queue.length >= waiting) throw new GatewayError('queue_full', 'Too many pictures are being drawn.');
      // Whoever leaves hands its place on, so that `running` stays as it is.
      else await wait(signal);
      try {
        return await work();
      } finally {
        const next = queue.shift();
        if (next) next();
        else running--;
      }
    },
  };
}
