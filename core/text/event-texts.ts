import { BYTE_ORDER_MARK, findData, joinData } from './event-data.js';
import { createEventSplitter } from './event-splitter.js';

/** Reads the events of a `text/event-stream`, for who answers in another format. */
export interface EventTexts {
  /**
   * @returns The data of each event that is now whole, in their order; undefined for one that has none, such as a comment.
   * @throws RangeError where an event is longer than 32 MiB.
   */
  push(chunk: Uint8Array): readonly (string | undefined)[];
}

export function createEventTexts(): EventTexts {
  const splitter = createEventSplitter();
  let first = true;

  function textOf(bytes: Buffer, start: number, end: number): string | undefined {
    let from = start;
    if (first && bytes.subarray(start, start + BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK)) {
      from += BYTE_ORDER_MARK.length;
    }
    first = false;
    const { lines, ...data } = findData(bytes, from, end, splitter.sawCarriageReturn);
    if (lines === 0) return undefined;
    if (lines > 1) return joinData(bytes, from, end).data.toString('utf8');
    return bytes.toString('utf8', data.start, data.end);
  }

  return {
    push(chunk) {
      const texts: (string | undefined)[] = [];
      const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
      splitter.push(bytes, (whole, start, end) => texts.push(textOf(whole, start, end)));
      return texts;
    },
  };
}
