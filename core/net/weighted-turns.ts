/** Whose turn it is, among those that can take it. */
export interface WeightedTurns<Item> {
  /** Each item is taken in proportion to its weight, evenly spread; one of weight 0 where no other can be. */
  next(items: readonly Item[]): Item | undefined;
}

/** Smooth weighted round robin. @param weightOf not negative. */
export function createWeightedTurns<Item>(weightOf: (item: Item) => number): WeightedTurns<Item> {
  /** What each is owed; together nothing, so that nobody has to catch up who was away. */
  const credit = new Map<Item, number>();

  return {
    next(items) {
      const [only] = items;
      if (items.length <= 1) return only;
      const weighed = items.filter((item) => weightOf(item) > 0);
      const total = weighed.reduce((sum, item) => sum + weightOf(item), 0);
      let chosen = only;
      let most = Number.NEGATIVE_INFINITY;
      for (const item of weighed) {
        const owed = (credit.get(item) ?? 0) + weightOf(item);
        credit.set(item, owed);
        if (owed > most) {
          most = owed;
          chosen = item;
        }
      }
      if (weighed.length > 0 && chosen !== undefined) credit.set(chosen, most - total);
      return chosen;
    },
  };
}
