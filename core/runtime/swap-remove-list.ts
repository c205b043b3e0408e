/** What stands in a {@link SwapRemoveList}, in one at a time. */
export interface Placed {
  /** Where it stands; the list's own. */
  place: number;
}

/**
 * What is under way, where much comes and goes. A Set would do but for the collector: each time its table is made anew, the
 * old one keeps what was in it alive until the next major collection, and with it all that every request was made of.
 */
export class SwapRemoveList<Item extends Placed> {
  readonly #items: Item[] = [];

  get size(): number {
    return this.#items.length;
  }

  add(item: Item): void {
    item.place = this.#items.length;
    this.#items.push(item);
  }

  /** Of no effect where it is not there. */
  delete(item: Item): void {
    if (this.#items[item.place] !== item) return;
    const last = this.#items.pop();
    if (last === undefined || last === item) return;
    last.place = item.place;
    this.#items[last.place] = last;
  }

  /** Once with each, in any order; it may be deleted then. */
  visit(use: (item: Item) => void): void {
    // From the end: into the place of one that is deleted comes one that had its turn.
    for (let place = this.#items.length - 1; place >= 0; place -= 1) {
      const item = this.#items[place];
      if (item !== undefined) use(item);
    }
  }
}

/** Something that looks at the time now and then. */
export interface Ticking extends Placed {
  /** @param now Monotonic milliseconds. */
  tick(now: number): void;
}

/** One timer for many: a timer for each request would be a good part of what a request costs. */
export class SharedTimer<Item extends Ticking> extends SwapRemoveList<Item> {
  readonly #tickMs: number;
  readonly #monotonic: () => number;
  #timer: NodeJS.Timeout | undefined;

  /** @param tickMs Milliseconds between ticks, and so how late one may be. */
  constructor(tickMs: number, monotonic = () => performance.now()) {
    super();
    this.#tickMs = tickMs;
    this.#monotonic = monotonic;
  }

  /** From now on those in the list tick. */
  start(): void {
    this.#timer ??= setInterval(() => {
      // It goes on for a tick after the last: those that follow each other closely need no new one.
      if (this.size === 0) {
        clearInterval(this.#timer);
        this.#timer = undefined;
      }
      const now = this.#monotonic();
      this.visit((item) => item.tick(now));
    }, this.#tickMs);
  }
}
