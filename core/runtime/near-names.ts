/** Of longer names two edits may be a slip; of shorter ones they make another word. */
const LONG_NAME = 6;
const MOST_EDITS = 2;

/**
 * The known name that another one may be a slip of: nearest by edits (a letter too many, too few, another one, or two
 * neighbours swapped), of which a name of six letters or more may have two and a shorter one a single one.
 * @param mayBeMeant Whether a name as near as that is one that may be meant. Default: each is.
 */
export function nearestName(
  name: string,
  known: Iterable<string>,
  mayBeMeant: (candidate: string) => boolean = () => true,
): string | undefined {
  let nearest: { name: string; edits: number } | undefined;
  for (const candidate of known) {
    // Of most pairs their lengths tell, without all letters of both.
    if (Math.abs(name.length - candidate.length) > MOST_EDITS) continue;
    const edits = countEdits(name, candidate);
    if (edits > (candidate.length < LONG_NAME ? 1 : MOST_EDITS) || !mayBeMeant(candidate)) continue;
    if (!nearest || edits < nearest.edits) nearest = { name: candidate, edits };
  }
  return nearest?.name;
}

/** By rows of the usual table, of which the last three are enough to see a swap. */
function countEdits(one: string, other: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (let row = 1; row <= one.length; row++) {
    const current = [row];
    for (let column = 1; column <= other.length; column++) {
      const same = one[row - 1] === other[column - 1];
      const swapped = one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1];
      current[column] = Math.min(
        (last[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
        (last[column - 1] ?? 0) + (same ? 0 : 1),
        swapped && row > 1 && column > 1 ? (beforeLast[column - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY,
      );
    }
    [beforeLast, last] = [last, current];
  }
  return last[other.length] ?? 0;
}
