import type { GatewayError } from '../runtime/index.js';
import { type Placed, SwapRemoveList } from '../runtime/index.js';

/** Something that has to look at the time now and then. */
export interface Watched extends Placed {
  /** @param now monotonic milliseconds. */
  tick(now: number): void;
  /** Nothing more is to come of it. */
  giveUp(error: GatewayError): void;
}

/** One timer for many: a timer for each request would be a good part of what a request costs. */
export interface Watch {
  /** Ticks until it is deleted. */
  add(watched: Watched): void;
  /** Of no effect where it was deleted before. */
  delete(watched: Watched): void;
  giveUpAll(error: GatewayError): void;
}

/** @param tickMs milliseconds between ticks, and so how late one may be. */
export function createWatch(tickMs: number, monotonic: () => number): Watch {
  const all = new SwapRemoveList<Watched>();
  let timer: NodeJS.Timeout | undefined;

  function tick(): void {
    // It goes on for a tick after the last: those that follow each other closely need no new one.
    if (all.size === 0) {
      clearInterval(timer);
      timer = undefined;
    }
    const now = monotonic();
    all.visit((watched) => watched.tick(now));
  }

  return {
    add(watched) {
      all.add(watched);
      timer ??= setInterval(tick, tickMs);
    },
    delete: (watched) => all.delete(watched),
    giveUpAll: (error) => all.visit((watched) => watched.giveUp(error)),
  };
}
