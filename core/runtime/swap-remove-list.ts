/** An item of a {@link SwapRemoveList}; it can be in one list at a time. */
export interface ListItem {
  /** Index in the list; set by the list. */
  listIndex: number;
}

/**
 * A list of running items with frequent changes. Unlike a Set, it does not strain the garbage collector: each time a
 * Set grows, its old table keeps its items alive until the next major collection, with everything they refer to.
 */
export class SwapRemoveList<Item extends ListItem> {
  readonly #items: Item[] = [];

  get size(): number {
    return this.#items.length;
  }

  add(item: Item): void {
    item.listIndex = this.#items.length;
    this.#items.push(item);
  }

  /** No effect if it is not in the list. */
  delete(item: Item): void {
    if (this.#items[item.listIndex] !== item) return;
    const last = this.#items.pop();
    if (last === undefined || last === item) return;
    last.listIndex = item.listIndex;
    this.#items[last.listIndex] = last;
  }

  /** Visits each item once, in any order; the item may be deleted meanwhile. */
  visit(use: (item: Item) => void): void {
    // From the end: a deleted item is replaced by one that was already visited.
    for (let index = this.#items.length - 1; index >= 0; index -= 1) {
      const item = this.#items[index];
      if (item !== undefined) use(item);
    }
  }
}

/** Something that looks at the time now and then. */
export interface Ticking extends ListItem {
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
