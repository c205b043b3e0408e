/** A stream may begin with one, which belongs to no event. */
export const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);
const LF = 0x0a;
const CR = 0x0d;
const COLON = 0x3a;
const SPACE = 0x20;
const LETTER_D = 0x64;

/** Where the data of an event stands. */
export interface EventData {
  /** Behind `data:` and one space. */
  start: number;
  end: number;
  /** Lines of data; where there are several, `start` and `end` are those of the first. */
  lines: number;
}

const found: EventData = { start: 0, end: 0, lines: 0 };

/**
 * Finds the data of the event from `start` to `end`.
 * @param anyLineEnd whether lines may end in something else than a bare line feed.
 * @returns The same object each time.
 */
export function findData(bytes: Buffer, start: number, end: number, anyLineEnd: boolean): Readonly<EventData> {
  found.lines = 0;
  for (let at = start; at < end; ) {
    const lineEnd = endOfLine(bytes, at, end, anyLineEnd);
    if (bytes[at] === LETTER_D && isData(bytes, at, lineEnd)) {
      found.lines += 1;
      if (found.lines === 1) {
        found.start = Math.min(bytes[at + 5] === SPACE ? at + 6 : at + 5, lineEnd);
        found.end = lineEnd;
      }
    }
    at = lineEnd + 1;
  }
  return found;
}

/** Data of several lines as one text, as a reader of events understands it; and the event without it. */
export function joinData(bytes: Buffer, start: number, end: number): { data: Buffer; others: string } {
  const data: string[] = [];
  let others = '';
  // Bytes are kept as they are by a coding of one byte each.
  for (const line of bytes.toString('latin1', start, end).split(/\r\n|\n|\r/)) {
    if (line === 'data' || line.startsWith('data:')) data.push(line.slice(line[5] === ' ' ? 6 : 5));
    else if (line !== '') others += `${line}\n`;
  }
  return { data: Buffer.from(data.join('\n'), 'latin1'), others };
}

function isData(bytes: Buffer, at: number, lineEnd: number): boolean {
  const named = bytes[at + 1] === 0x61 && bytes[at + 2] === 0x74 && bytes[at + 3] === 0x61;
  return named && (bytes[at + 4] === COLON || at + 4 === lineEnd);
}

function endOfLine(bytes: Buffer, at: number, end: number, anyLineEnd: boolean): number {
  const feed = bytes.indexOf(LF, at);
  const stop = feed === -1 || feed > end ? end : feed;
  if (!anyLineEnd) return stop;
  const line = bytes.subarray(at, stop);
  const carriageReturn = line.indexOf(CR);
  return carriageReturn === -1 ? stop : at + carriageReturn;
}
