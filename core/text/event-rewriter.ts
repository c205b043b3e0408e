/*
 * Passes the events of a stream on as whole events. Their bytes stay unchanged except for the model name, the words of
 * an error, and events that are dropped; consecutive unchanged events are sent as one piece, without a copy. The file
 * also has the limits that keep a hostile upstream from exhausting memory: the length and number of events, bytes
 * without content, and 128 MiB held by all streams of the process together. Beyond that sum, only a stream whose own
 * incomplete event exceeds 1 MiB ends. It also builds the terminal events of broken streams for each route.
 */

import { randomBytes } from 'node:crypto';
import { DONE_EVENT, encodeEvent, encodeTypedEvent, type GatewayError } from '../runtime/index.js';
import { BYTE_ORDER_MARK, type EventAction, type EventReader, EventSplitter, findData, joinData } from './events.js';
import { isText, OPEN_BRACE, QUOTE, readValue, walkFields } from './json.js';
import type { VectorForm } from './vectors.js';

const LF = 0x0a;
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

/** What a stream of the responses route reported about itself before it broke off. */
export interface BrokenResponse {
  id?: string;
  /** Seconds since 1970. */
  createdAt?: number;
  /** Of the last event; -1 if there was none. */
  sequenceNumber: number;
  model: string;
}

/** Ends a chat stream that broke off: SDKs throw at the first event, simpler readers stop at the second. */
export function chatFailure(error: GatewayError, requestId: string): string {
  const { message, ...codes } = wordsOf(error, error.code);
  const encoded = { message, type: typeOf(error), param: null, ...codes, request_id: requestId };
  return encodeEvent(JSON.stringify({ error: encoded })) + DONE_EVENT;
}

/** Ends a stream of the messages route that broke off. */
export function messageFailure(error: GatewayError, requestId: string): string {
  const type = typeOf(error);
  const encoded = { type: type === 'server_error' ? 'api_error' : type, message: error.message };
  return encodeTypedEvent('error', { error: encoded, request_id: requestId });
}

/** Ends a stream of the responses route that broke off, with all required fields. */
export function responsesFailure(error: GatewayError, broken: BrokenResponse, now: number): string {
  const { id, createdAt, sequenceNumber, model } = broken;
  const response = {
    id: id ?? `resp_${randomBytes(24).toString('hex')}`,
    object: 'response',
    created_at: createdAt ?? Math.floor(now / 1000),
    status: 'failed',
    background: false,
    error: wordsOf(error, CALLER_ENDS.has(error.code) ? error.code : 'server_error'),
    incomplete_details: null,
    instructions: null,
    max_output_tokens: null,
    metadata: {},
    model,
    output: [],
    parallel_tool_calls: true,
    previous_response_id: null,
    temperature: null,
    tool_choice: 'auto',
    tools: [],
    top_p: null,
    usage: null,
  };
  return encodeTypedEvent('response.failed', { sequence_number: sequenceNumber + 1, response });
}

/** A model vendor's words take the place of the gateway's own, as in other errors. */
function wordsOf({ message, code: own, upstream }: GatewayError, code: string) {
  if (!upstream) return { code, message };
  return { code: upstream.code ?? code, message: upstream.message ?? message, gateway_code: own };
}

/** Codes of a stream that ended because its caller may no longer read it: its client must not try again. */
const CALLER_ENDS: ReadonlyMap<string, string> = new Map([
  ['revoked_api_key', 'authentication_error'],
  ['account_suspended', 'permission_error'],
]);

function typeOf({ code }: GatewayError): string {
  const ofCaller = CALLER_ENDS.get(code);
  if (ofCaller !== undefined) return ofCaller;
  if (code === 'upstream_timeout') return 'timeout_error';
  return code === 'shutting_down' ? 'overloaded_error' : 'server_error';
}

export interface Wording {
  /** Public model id as JSON text. */
  modelText: Buffer;
  /** Removes what callers must not read from an upstream's message. */
  plainWords(words: string): string;
  /** Form of the vectors in a whole answer. Default: as the upstream sent them. */
  vectors?: VectorForm;
}

/**
 * Returns an error event as callers may read it: an upstream's message names its model, address and keys. An event
 * without such content stays byte for byte the same.
 * @param bytes JSON object: of an event, or a whole answer.
 * @throws SyntaxError if there is no whole object.
 */
export function rewordFailure(bytes: Buffer, { modelText, plainWords }: Wording): Buffer {
  const pieces: Buffer[] = [];
  let done = 0;

  function replace(start: number, end: number, text: Buffer): void {
    pieces.push(bytes.subarray(done, start), text);
    done = end;
  }

  function scan(from: number): void {
    walkFields(bytes, from, ({ nameStart, nameEnd, valueStart, valueEnd }) => {
      const named = (name: string) => isText(bytes, nameStart, nameEnd, name);
      const first = bytes[valueStart];
      if (first === QUOTE) {
        if (named('model')) replace(valueStart, valueEnd, modelText);
        else if (named('message') || named('error')) {
          const words = String(readValue(bytes, valueStart, valueEnd));
          const plain = plainWords(words);
          if (plain !== words) replace(valueStart, valueEnd, Buffer.from(JSON.stringify(plain)));
        }
      } else if (first === OPEN_BRACE && (named('error') || named('response'))) scan(valueStart);
    });
  }

  scan(0);
  if (pieces.length === 0) return bytes;
  pieces.push(bytes.subarray(done));
  return Buffer.concat(pieces);
}
