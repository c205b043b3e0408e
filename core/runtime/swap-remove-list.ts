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
