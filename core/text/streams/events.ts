/*
 * Splits a `text/event-stream` into events, for any division into chunks, and passes them on as whole events. It works
 * on bytes: an event that arrives in one chunk is visited in place, without a copy, and native search finds its end if
 * lines end with a bare line feed. Other line ends take a slower loop over the bytes. `EventReader` is the contract
 * between this layer and the readers of the routes in `usage-events.ts`.
 *
 * Bytes stay unchanged except for the model name, the words of an error, and events that are dropped; consecutive
 * unchanged events are sent as one piece, without a copy. Limits keep a hostile upstream from exhausting memory: an
 * event may have 32 MiB, and 10,000 lines if it comes in several chunks; the number of events and bytes without content
 * are limited, and all streams of the process together hold 128 MiB. Beyond that sum, only a stream whose own
 * incomplete event exceeds 1 MiB ends.
 */

import type { Usage } from '../../contracts/index.js';
import type { GatewayError } from '../../runtime/index.js';
import type { TextSample } from '../counting/samples.js';
import { COLON } from '../json.js';
import { rewordFailure, type Wording } from './stream-failures.js';

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
class EventSplitter {
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
interface EventData {
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
function findData(bytes: Buffer, start: number, end: number, anyLineEnd: boolean): Readonly<EventData> {
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
function joinData(bytes: Buffer, start: number, end: number): { data: Buffer; others: string } {
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

/** Bytes in a row of comments, blank lines and empty events. A comment per second stays below it for an hour. */
const MAX_SILENT_BYTES = 256 * 1024;
/**
 * Bytes of incomplete events, and of events on their way to clients, that all streams together may hold. Beyond it, a
 * stream ends whose own incomplete event is larger than a share that each has. Usual events are a thousand times smaller.
 */
const MAX_HELD_BYTES = 128 * 1024 * 1024;
const SHARE_BYTES = 1024 * 1024;
let heldByAll = 0;

/** Maximum events of one stream. The longest answers have an event for each token. */
const MAX_EVENTS = 1_000_000;

/** Passes the events of one stream on. */
export class EventRewriter {
  readonly #reader: EventReader;
  readonly #wording: Wording;
  readonly #splitter = new EventSplitter();
  #pieces: Buffer[] = [];
  /** Unchanged bytes that are not among the pieces yet. */
  #run: { bytes: Buffer; start: number; end: number } | undefined;
  #isFirst = true;
  #silentBytes = 0;
  #events = 0;
  /** Bytes of this stream, as counted. */
  #held = 0;

  constructor(reader: EventReader, wording: Wording) {
    this.#reader = reader;
    this.#wording = wording;
  }

  /**
   * @returns The bytes that can be sent now; undefined if there are none.
   * @throws RangeError if an event is longer than 32 MiB, all streams hold too much, or the upstream keeps sending
   *   without content.
   */
  push(chunk: Uint8Array): Buffer | undefined {
    this.#splitter.push(asBuffer(chunk), this.#visit);
    const output = this.#collect();
    this.#hold(this.#splitter.restBytes, output?.length ?? 0);
    return output;
  }

  /** The bytes of a final event that lacks its blank line; undefined if it is incomplete. */
  finish(): Buffer | undefined {
    const rest = this.#splitter.rest();
    // The second half of a line end; its first half ended an event.
    if (rest.length === 1 && rest[0] === LF) return rest;
    const data = findData(rest, 0, rest.length, true);
    if (data.lines === 0 || !isWhole(rest.toString('utf8', data.start, data.end))) return undefined;
    const event = Buffer.concat([rest, Buffer.from('\n\n')]);
    this.#visit(event, 0, event.length);
    return this.#collect();
  }

  /** Nothing is pushed any more. */
  close(): void {
    heldByAll -= this.#held;
    this.#held = 0;
  }

  /** Counts the bytes of the incomplete event, and those that are on their way to the client until the next push. */
  #hold(rest: number, output: number): void {
    heldByAll += rest + output - this.#held;
    this.#held = rest + output;
    if (rest <= SHARE_BYTES || heldByAll <= MAX_HELD_BYTES) return;
    throw new RangeError('the events of all streams are too long');
  }

  readonly #visit = (bytes: Buffer, start: number, end: number): void => {
    let from = start;
    if (this.#isFirst) {
      this.#isFirst = false;
      if (bytes.subarray(start, start + 3).equals(BYTE_ORDER_MARK)) from += 3;
    }
    const data = findData(bytes, from, end, this.#splitter.sawCarriageReturn);
    this.#countSilence(data.lines > 0 && data.end > data.start ? 0 : end - start);
    if (data.lines > 1) {
      this.#visitLines(bytes, from, end);
      return;
    }
    const { start: dataStart, end: dataEnd } = data;
    const action = data.lines === 0 ? 'pass' : this.#judge(bytes, dataStart, dataEnd);
    if (action === 'pass') this.#pass(bytes, start, end);
    else if (action === 'rename') this.#passBut(bytes, start, end, this.#reader.modelName, this.#wording.modelText);
    else if (action === 'reword') {
      const reworded = rewordFailure(bytes.subarray(dataStart, dataEnd), this.#wording);
      this.#passBut(bytes, start, end, { start: dataStart, end: dataEnd }, reworded);
    }
  };

  #countSilence(bytes: number): void {
    this.#silentBytes = bytes === 0 ? 0 : this.#silentBytes + bytes;
    this.#events += 1;
    if (this.#silentBytes > MAX_SILENT_BYTES) throw new RangeError('the stream continues without an event');
    if (this.#events > MAX_EVENTS) throw new RangeError(`the stream has more than ${MAX_EVENTS} events`);
  }

  /** If something changed, the data is sent in one line: its line ends can only be white space. */
  #visitLines(bytes: Buffer, start: number, end: number): void {
    const { data, others } = joinData(bytes, start, end);
    const action = this.#judge(data, 0, data.length);
    if (action === 'pass') this.#pass(bytes, start, end);
    if (action === 'pass' || action === 'drop') return;
    const changed = action === 'reword' ? rewordFailure(data, this.#wording) : this.#renamed(data);
    this.#endRun();
    this.#pieces.push(Buffer.from(`${others}data: ${changed.toString('latin1').replaceAll('\n', ' ')}\n\n`, 'latin1'));
  }

  #judge(bytes: Buffer, start: number, end: number): EventAction {
    try {
      return this.#reader.read(bytes, start, end);
    } catch (error) {
      if (error instanceof SyntaxError) return 'pass';
      throw error;
    }
  }

  #renamed(data: Buffer): Buffer {
    const { modelName } = this.#reader;
    return Buffer.concat([data.subarray(0, modelName.start), this.#wording.modelText, data.subarray(modelName.end)]);
  }

  #pass(bytes: Buffer, start: number, end: number): void {
    if (this.#run?.bytes === bytes && this.#run.end === start) this.#run.end = end;
    else {
      this.#endRun();
      this.#run = { bytes, start, end };
    }
  }

  /** Passes the event with some bytes replaced. */
  #passBut(bytes: Buffer, start: number, end: number, range: EventReader['modelName'], others: Buffer): void {
    this.#pass(bytes, start, range.start);
    this.#endRun();
    this.#pieces.push(others);
    this.#pass(bytes, range.end, end);
  }

  #endRun(): void {
    const run = this.#run;
    if (run) this.#pieces.push(run.bytes.subarray(run.start, run.end));
    this.#run = undefined;
  }

  #collect(): Buffer | undefined {
    this.#endRun();
    const pieces = this.#pieces;
    const output = pieces.length > 1 ? Buffer.concat(pieces) : pieces[0];
    this.#pieces = [];
    return output;
  }
}

function asBuffer(chunk: Uint8Array): Buffer {
  return Buffer.isBuffer(chunk) ? chunk : Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
}

/** Whether the end of the body can be the end of its last event. */
function isWhole(data: string): boolean {
  if (data.trim() === '[DONE]') return true;
  try {
    JSON.parse(data);
    return true;
  } catch {
    return false;
  }
}
