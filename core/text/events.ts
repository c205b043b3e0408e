/*
 * Splits a `text/event-stream` into events, for any division into chunks, and finds the data of each. It works on
 * bytes: an event that arrives in one chunk is visited in place, without a copy, and native search finds its end if
 * lines end with a bare line feed. Other line ends take a slower loop over the bytes. An event may have 32 MiB, and
 * 10,000 lines if it comes in several chunks; more is a `RangeError`. `EventReader` is the contract between this layer
 * and the readers of the routes in `usage-events.ts`.
 */

import type { Usage } from '../contracts/index.js';
import type { GatewayError } from '../runtime/index.js';
import type { TextSample } from './counting/prompts.js';
import { COLON } from './json.js';

/** What to do with an event: pass it, drop it, replace its model name, or rewrite its error message. */
export type EventAction = 'pass' | 'drop' | 'rename' | 'reword';

/** Reads the events of one route's stream, as far as the gateway needs them. One per stream. */
export interface EventReader {
  /**
   * Reads the data of one event.
   * @throws SyntaxError if it is no JSON; the event is then passed on.
   */
  read(bytes: Buffer, start: number, end: number): EventAction;
  /** After `rename`: the position of the model name, including its quotes. The same object each time. */
  readonly modelName: Readonly<{ start: number; end: number }>;
  /** Whether the terminal event of the stream has arrived. */
  readonly ended: boolean;
  /** Whether it ended with an error of the upstream. */
  readonly failed: boolean;
  readonly responseId: string | undefined;
  /** As far as the upstream reported it. */
  usage(): Usage | undefined;
  /** What it reported at the beginning of the stream, where the output is not known yet. Default: nothing. */
  firstUsage?(): Usage | undefined;
  /** The text of the model. */
  sample(): TextSample;
  /**
   * What is missing after the upstream closed the stream in good order or sent an error; undefined if nothing is
   * missing, or if the stream ended too early.
   */
  readonly closing: string | undefined;
  /** The terminal event for a stream that broke off. */
  failure(error: GatewayError): string;
}

/** Maximum size of an event: such an event contains a picture or two. */
const MAX_EVENT_BYTES = 32 * 1024 * 1024;
/** Maximum lines of an event that comes in several chunks; they are read one by one, and together. */
const MAX_EVENT_LINES = 10_000;
const LF = 0x0a;
const CR = 0x0d;

/** Finds the ends of the events of a `text/event-stream`, for any division into chunks. */
export class EventSplitter {
  #pending: Buffer[] = [];
  #pendingBytes = 0;
  #pendingLines = 0;
  #sawCarriageReturn = false;
  /** Whether nothing has arrived since the last line end. */
  #lineIsEmpty = true;
  /** Whether a following line feed belongs to the line end that was read. */
  #endedInCr = false;

  /** The number of bytes of an incomplete event. */
  get restBytes(): number {
    return this.#pendingBytes;
  }

  /** Whether lines may end other than with a bare line feed. */
  get sawCarriageReturn(): boolean {
    return this.#sawCarriageReturn;
  }

  /** The bytes of an incomplete event. */
  rest(): Buffer {
    return Buffer.concat(this.#pending);
  }

  /**
   * @param visit Called for each complete event, from `start` to `end` including its blank line.
   * @throws RangeError if an event is longer than 32 MiB, or has more than 10,000 lines.
   */
  push(chunk: Buffer, visit: (bytes: Buffer, start: number, end: number) => void): void {
    if (!this.#sawCarriageReturn) this.#sawCarriageReturn = chunk.includes(CR);
    let start = 0;
    while (start < chunk.length) {
      const end = this.#findEnd(chunk, start);
      if (end === -1) break;
      if (this.#pending.length === 0) visit(chunk, start, end);
      else {
        this.#pending.push(chunk.subarray(start, end));
        const whole = Buffer.concat(this.#pending);
        this.#pending = [];
        this.#pendingBytes = 0;
        this.#pendingLines = 0;
        visit(whole, 0, whole.length);
      }
      start = end;
    }
    if (start < chunk.length) this.#keep(chunk, start);
  }

  #keep(chunk: Buffer, start: number): void {
    this.#pendingBytes += chunk.length - start;
    if (this.#pendingBytes > MAX_EVENT_BYTES) throw new RangeError(`an event is longer than ${MAX_EVENT_BYTES} bytes`);
    for (let at = chunk.indexOf(LF, start); at !== -1; at = chunk.indexOf(LF, at + 1)) this.#pendingLines += 1;
    if (this.#pendingLines > MAX_EVENT_LINES) throw new RangeError(`an event has more than ${MAX_EVENT_LINES} lines`);
    this.#pending.push(chunk.subarray(start));
  }

  /** Index after the blank line that ends the event at `from`; -1 if it is not in the chunk. */
  #findEnd(chunk: Buffer, from: number): number {
    if (this.#sawCarriageReturn) return this.#findAnyEnd(chunk, from);
    if (this.#lineIsEmpty && chunk[from] === LF) {
      // Blank lines without an event between them are skipped at once.
      let end = from + 1;
      while (chunk[end] === LF) end += 1;
      return end;
    }
    const found = chunk.indexOf('\n\n', from, 'latin1');
    this.#lineIsEmpty = found !== -1 || chunk[chunk.length - 1] === LF;
    return found === -1 ? -1 : found + 2;
  }

  #findAnyEnd(chunk: Buffer, from: number): number {
    for (let at = from; at < chunk.length; at += 1) {
      const byte = chunk[at];
      const continues = this.#endedInCr && byte === LF;
      this.#endedInCr = byte === CR;
      if (continues) continue;
      if (byte !== LF && byte !== CR) this.#lineIsEmpty = false;
      else if (!this.#lineIsEmpty) this.#lineIsEmpty = true;
      // The line feed after a carriage return is included if it is in this chunk.
      else if (byte === CR && chunk[at + 1] === LF) {
        this.#endedInCr = false;
        return at + 2;
      } else return at + 1;
    }
    return -1;
  }
}

/** A stream may begin with a blank line that belongs to no event. */
export const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);
const SPACE = 0x20;
const LETTER_D = 0x64;

/** The position of an event's data. */
export interface EventData {
  /** After `data:` and one space. */
  start: number;
  end: number;
  /** Number of data lines; if there are several, `start` and `end` are those of the first. */
  lines: number;
}

const found: EventData = { start: 0, end: 0, lines: 0 };

/**
 * Finds the data of the event from `start` to `end`.
 * @param anyLineEnd Whether lines may end other than with a bare line feed.
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

/** Data of several lines as one text, as event readers join it; and the event without it. */
export function joinData(bytes: Buffer, start: number, end: number): { data: Buffer; others: string } {
  const data: string[] = [];
  let others = '';
  // A one-byte encoding keeps the bytes unchanged.
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

/** Reads the events of a `text/event-stream`, for a converter to another format. */
export interface EventTexts {
  /**
   * @returns The data of each complete event in order; undefined for an event without data, such as a comment.
   * @throws RangeError if an event is longer than 32 MiB.
   */
  push(chunk: Uint8Array): readonly (string | undefined)[];
}

export function createEventTexts(): EventTexts {
  const splitter = new EventSplitter();
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
