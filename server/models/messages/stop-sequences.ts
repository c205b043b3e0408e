/** Ends texts where one of some sequences comes. */
export interface StopCutter {
  /** @returns What of the text so far can go on now: nothing that a sequence may begin with, and nothing behind one. */
  push(text: string): string;
  /** Ends a text and begins another. @returns What was held back. */
  flush(): string;
  /** The sequence that came. */
  readonly stop: string | undefined;
}

/** One sequence, and how much of it the text ends in. */
interface Search {
  sequence: string;
  /** For each beginning of the sequence, by its length less one: length of the longest shorter one that it ends in. */
  shorter: Uint16Array;
  matched: number;
}

/**
 * Wherever the text is cut, the outcome is the same: that sequence ends it which is whole first, and of those that end at the
 * same place the longest. A text takes as long as it has characters, whatever the sequences.
 */
export function createStopCutter(sequences: readonly string[]): StopCutter {
  const searches = sequences.map(createSearch);
  let held = '';
  let stop: string | undefined;

  return {
    push(text) {
      if (stop !== undefined) return '';
      if (searches.length === 0) return text;
      const all = held + text;
      for (let at = held.length; at < all.length; at += 1) {
        const letter = all.charCodeAt(at);
        for (const search of searches) {
          goOn(search, letter);
          const { sequence, matched } = search;
          if (matched === sequence.length && matched > (stop?.length ?? 0)) stop = sequence;
        }
        if (stop !== undefined) {
          held = '';
          return all.slice(0, at + 1 - stop.length);
        }
      }
      const start = all.length - searches.reduce((most, { matched }) => Math.max(most, matched), 0);
      held = all.slice(start);
      return all.slice(0, start);
    },
    flush() {
      const rest = held;
      held = '';
      for (const search of searches) search.matched = 0;
      return rest;
    },
    get stop() {
      return stop;
    },
  };
}

/** By Knuth, Morris and Pratt: nothing of a text is looked at again. */
function createSearch(sequence: string): Search {
  const search: Search = { sequence, shorter: new Uint16Array(sequence.length), matched: 0 };
  for (let at = 1; at < sequence.length; at += 1) {
    goOn(search, sequence.charCodeAt(at));
    search.shorter[at] = search.matched;
  }
  search.matched = 0;
  return search;
}

function goOn(search: Search, letter: number): void {
  const { sequence, shorter } = search;
  while (search.matched > 0 && sequence.charCodeAt(search.matched) !== letter) {
    search.matched = shorter[search.matched - 1] ?? 0;
  }
  if (sequence.charCodeAt(search.matched) === letter) search.matched += 1;
}
