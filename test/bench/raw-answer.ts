/** Reads HTTP answers from their bytes with little work, for load tests. */

/** An answer as its bytes come, read with as little work as can be. */
export interface RawAnswer {
  status: number;
  /** Its first kilobytes, enough to say what was wrong. */
  text: string;
  /** Events of a stream. */
  events: number;
  /** Whether the server closes the connection after it. */
  closes: boolean;
}

const STORED_BYTES = 4_096;

export interface AnswerReader {
  /** True once the answer is whole. @throws Error where it is no HTTP. */
  take(bytes: Buffer): boolean;
  readonly answer: RawAnswer;
}

/** @param onEvents Called when events have come, with how many there are by now. */
export function createAnswerReader(onEvents?: (events: number) => void): AnswerReader {
  const answer: RawAnswer = { status: 0, text: '', events: 0, closes: false };
  let head = '';
  let inHead = true;
  let chunked = false;
  /** Bytes still to come of the body, or of the chunk with its line end. */
  let left = 0;
  let sizeLine = '';
  let lastChunk = false;
  let endsWithLine = false;

  function readHead(bytes: Buffer): Buffer | undefined {
    head += bytes.toString('latin1');
    const end = head.indexOf('\r\n\r\n');
    if (end === -1) return undefined;
    const rest = bytes.subarray(bytes.length - (head.length - end - 4));
    const fields = head.slice(0, end).toLowerCase();
    answer.status = Number(fields.slice(9, 12));
    answer.closes = fields.includes('\r\nconnection: close');
    chunked = fields.includes('\r\ntransfer-encoding: chunked');
    const length = fields.indexOf('\r\ncontent-length: ');
    if (!chunked && length === -1) throw new Error(`an answer without an end: ${fields}`);
    if (!chunked) left = Number.parseInt(fields.slice(length + 18), 10);
    inHead = false;
    return rest;
  }

  function readChunks(bytes: Buffer): boolean {
    let at = 0;
    while (at < bytes.length) {
      if (left === 0) {
        const lineEnd = bytes.indexOf(0x0a, at);
        sizeLine += bytes.toString('latin1', at, lineEnd === -1 ? bytes.length : lineEnd);
        if (lineEnd === -1) return false;
        at = lineEnd + 1;
        const size = Number.parseInt(sizeLine, 16);
        if (Number.isNaN(size)) throw new Error(`no size of a chunk: ${sizeLine}`);
        sizeLine = '';
        lastChunk = size === 0;
        left = size + 2;
      }
      const taken = Math.min(left, bytes.length - at);
      // The line end of a chunk is none of its data.
      const data = Math.min(at + Math.max(0, left - 2), at + taken);
      if (data > at) readData(bytes, at, data);
      at += taken;
      left -= taken;
      if (left === 0 && lastChunk) return true;
    }
    return false;
  }

  function readData(bytes: Buffer, from: number, to: number): void {
    if (answer.text.length < STORED_BYTES) answer.text += bytes.toString('latin1', from, to);
    const before = answer.events;
    if (endsWithLine && bytes[from] === 0x0a) answer.events += 1;
    for (let end = bytes.indexOf('\n\n', from); end !== -1 && end + 2 <= to; end = bytes.indexOf('\n\n', end + 2)) {
      answer.events += 1;
    }
    endsWithLine = bytes[to - 1] === 0x0a && bytes[to - 2] !== 0x0a;
    if (answer.events > before) onEvents?.(answer.events);
  }

  return {
    take(bytes) {
      const body = inHead ? readHead(bytes) : bytes;
      if (body === undefined) return false;
      if (chunked) return readChunks(body);
      if (answer.text.length < STORED_BYTES) answer.text += body.toString('latin1');
      left -= body.length;
      return left <= 0;
    },
    answer,
  };
}
