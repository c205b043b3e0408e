/** An event of so many bytes holds a picture or two; more is no event. */
const MAX_EVENT_BYTES = 32 * 1024 * 1024;
/** Lines of one event that comes in several chunks; they are looked at one by one, and together. */
const MAX_EVENT_LINES = 10_000;
const LF = 0x0a;
const CR = 0x0d;

/** Finds where the events of a `text/event-stream` end, wherever its chunks are cut. */
export interface EventSplitter {
  /**
   * @param visit called for each event that is now whole, from `start` to `end` with the blank line that ends it.
   * @throws RangeError where an event is longer than 32 MiB, or has more than 10,000 lines.
   */
  push(chunk: Buffer, visit: (bytes: Buffer, start: number, end: number) => void): void;
  /** What came of an event that is not whole. */
  rest(): Buffer;
  /** Whether lines may end in something else than a bare line feed. */
  readonly sawCarriageReturn: boolean;
}

export function createEventSplitter(): EventSplitter {
  let pending: Buffer[] = [];
  let pendingBytes = 0;
  let pendingLines = 0;
  let sawCarriageReturn = false;
  /** Whether nothing came since the last line end. */
  let lineIsEmpty = true;
  /** Whether a line feed that comes next belongs to the line end that was seen. */
  let endedInCr = false;

  /** Index behind the blank line that ends the event which `from` is in; -1 where the chunk does not hold it. */
  function findEnd(chunk: Buffer, from: number): number {
    if (sawCarriageReturn) return findAnyEnd(chunk, from);
    if (lineIsEmpty && chunk[from] === LF) {
      // Blank lines without an event between them are looked at once.
      let end = from + 1;
      while (chunk[end] === LF) end += 1;
      return end;
    }
    const found = chunk.indexOf('\n\n', from, 'latin1');
    lineIsEmpty = found !== -1 || chunk[chunk.length - 1] === LF;
    return found === -1 ? -1 : found + 2;
  }

  function findAnyEnd(chunk: Buffer, from: number): number {
    for (let at = from; at < chunk.length; at += 1) {
      const byte = chunk[at];
      const continues = endedInCr && byte === LF;
      endedInCr = byte === CR;
      if (continues) continue;
      if (byte !== LF && byte !== CR) lineIsEmpty = false;
      else if (!lineIsEmpty) lineIsEmpty = true;
      // The line feed of a carriage return goes with it where it is here already.
      else if (byte === CR && chunk[at + 1] === LF) {
        endedInCr = false;
        return at + 2;
      } else return at + 1;
    }
    return -1;
  }

  return {
    push(chunk, visit) {
      if (!sawCarriageReturn) sawCarriageReturn = chunk.includes(CR);
      let start = 0;
      while (start < chunk.length) {
        const end = findEnd(chunk, start);
        if (end === -1) break;
        if (pending.length === 0) visit(chunk, start, end);
        else {
          pending.push(chunk.subarray(start, end));
          const whole = Buffer.concat(pending);
          pending = [];
          pendingBytes = 0;
          pendingLines = 0;
          visit(whole, 0, whole.length);
        }
        start = end;
      }
      if (start === chunk.length) return;
      pendingBytes += chunk.length - start;
      if (pendingBytes > MAX_EVENT_BYTES) throw new RangeError(`an event is longer than ${MAX_EVENT_BYTES} bytes`);
      for (let at = chunk.indexOf(LF, start); at !== -1; at = chunk.indexOf(LF, at + 1)) pendingLines += 1;
      if (pendingLines > MAX_EVENT_LINES) throw new RangeError(`an event has more than ${MAX_EVENT_LINES} lines`);
      pending.push(chunk.subarray(start));
    },
    rest: () => Buffer.concat(pending),
    get sawCarriageReturn() {
      return sawCarriageReturn;
    },
  };
}
