/** Ends a text where one of some sequences comes. */
export interface StopCutter {
  /** @returns What of the text so far can go on now: nothing that a sequence may begin with, and nothing behind one. */
  push(text: string): string;
  /** @returns What was held back, where nothing more comes. */
  flush(): string;
  /** The sequence that came. */
  readonly stop: string | undefined;
}

/** Wherever the text is cut, the outcome is the same: that sequence ends it which is whole first. */
export function createStopCutter(sequences: readonly string[]): StopCutter {
  const longest = Math.max(0, ...sequences.map(({ length }) => length));
  let held = '';
  let stop: string | undefined;

  function firstIn(text: string): { sequence: string; at: number } | undefined {
    let first: { sequence: string; at: number; end: number } | undefined;
    for (const sequence of sequences) {
      const at = text.indexOf(sequence);
      const end = at + sequence.length;
      if (at !== -1 && (!first || end < first.end || (end === first.end && at < first.at)))
        first = { sequence, at, end };
    }
    return first;
  }

  /** Where that begins which may become a sequence. */
  function startOfHeld(text: string): number {
    for (let at = Math.max(0, text.length - longest + 1); at < text.length; at += 1) {
      const rest = text.slice(at);
      if (sequences.some((sequence) => sequence.startsWith(rest))) return at;
    }
    return text.length;
  }

  return {
    push(text) {
      if (stop !== undefined) return '';
      const all = held + text;
      const found = firstIn(all);
      if (found) {
        stop = found.sequence;
        held = '';
        return all.slice(0, found.at);
      }
      const start = startOfHeld(all);
      held = all.slice(start);
      return all.slice(0, start);
    },
    flush() {
      const rest = held;
      held = '';
      return rest;
    },
    get stop() {
      return stop;
    },
  };
}
