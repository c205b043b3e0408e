/** Random decisions of a run of faults, repeatable by their seed. */

/** What chance decides; the same for the same seed. */
export interface Dice {
  /** A number from `from` up to `to`. */
  between(from: number, to: number): number;
  pick<Item>(items: readonly [Item, ...Item[]]): Item;
  shuffle<Item>(items: readonly Item[]): Item[];
}

export function createDice(seed: number): Dice {
  const next = createChance(seed);
  return {
    between: (from, to) => from + next() * (to - from),
    pick: (items) => items[Math.floor(next() * items.length)] ?? items[0],
    shuffle: (items) =>
      items
        .map((item) => ({ item, rank: next() }))
        .sort((left, right) => left.rank - right.rank)
        .map(({ item }) => item),
  };
}

/** Numbers from 0 up to 1: mulberry32, since Math.random cannot be given a seed. */
function createChance(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
