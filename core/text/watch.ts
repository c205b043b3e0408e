/** Something that has to look at the time now and then. */
export interface Watched {
  /** Where it stands in the list of its watch; the watch's own. */
  place: number;
  /** @param now monotonic milliseconds. */
  tick(now: number): void;
}

/** One timer for many: a timer for each request would be a good part of what a request costs. */
export interface Watch {
  /** Ticks until it is deleted. */
  add(watched: Watched): void;
  /** Of no effect where it was deleted before. */
  delete(watched: Watched): void;
}

/** @param tickMs milliseconds between ticks, and so how late one may be. */
export function createWatch(tickMs: number, monotonic: () => number): Watch {
  // No Set: each time its table is made anew, the old one keeps what was in it alive until the next major collection, and
  // with it all that every request was made of.
  const all: Watched[] = [];
  let timer: NodeJS.Timeout | undefined;

  function tick(): void {
    // It goes on for a tick after the last: those that follow each other closely need no new one.
    if (all.length === 0) {
      clearInterval(timer);
      timer = undefined;
    }
    const now = monotonic();
    // Backwards: whoever deletes itself is replaced by one that had its turn.
    for (let place = all.length - 1; place >= 0; place -= 1) all[place]?.tick(now);
  }

  return {
    add(watched) {
      watched.place = all.length;
      all.push(watched);
      timer ??= setInterval(tick, tickMs);
    },
    delete(watched) {
      if (all[watched.place] !== watched) return;
      const last = all.pop();
      if (!last || last === watched) return;
      last.place = watched.place;
      all[last.place] = last;
    },
  };
}
