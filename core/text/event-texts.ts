import { findData, joinData } from './event-data.js';
import { createEventSplitter } from './event-splitter.js';

/** As much as an event may have on its way through the gateway. */
const MAX_EVENT_BYTES = 32 * 1024 * 1024;
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);

/** Reads the events of a `text/event-stream`, for who answers in another format. */
export interface EventTexts {
  /**
   * @returns The data of each event that is now whole, in their order; undefined for one that has none, such as a comment.
   * @throws RangeError where an event is longer than 32 MiB.
   */
  push(chunk: Uint8Array): readonly (string | undefined)[];
}

export function createEventTexts(): EventTexts {
  const splitter = createEventSplitter(MAX_EVENT_BYTES);
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
