import { randomBytes } from 'node:crypto';
import type { GatewayError } from '../runtime/index.js';
import { BYTE_ORDER_MARK, createEventSplitter, type EventReader, findData, joinData } from './events.js';
import { isText, readValue, walkMembers } from './json.js';

const LF = 0x0a;
/** Bytes in a row of comments, blank lines and events that say nothing. A comment each second makes less of them in an hour. */
const MAX_SILENT_BYTES = 256 * 1024;
/** Events of one stream. The longest answers have an event for each token. */
const MAX_EVENTS = 1_000_000;

/**
 * Passes whole events on as they come: byte for byte, but for the name of the model, what the reader drops, and names in what
 * tells of a failure.
 */
export interface EventRewriter {
  /**
   * @returns What can go on now; undefined where that is nothing.
   * @throws RangeError where an event is longer than 32 MiB, or the upstream sends on and on without saying anything.
   */
  push(chunk: Uint8Array): Buffer | undefined;
  /** The same for an event that the body ended in without the blank line that it should have; undefined where it is cut off. */
  finish(): Buffer | undefined;
}

export function createEventRewriter(reader: EventReader, wording: Wording): EventRewriter {
  const { modelText } = wording;
  const splitter = createEventSplitter();
  let pieces: Buffer[] = [];
  /** What goes on as it is, and is not among the pieces yet. */
  let run: { bytes: Buffer; start: number; end: number } | undefined;
  let first = true;
  let silentBytes = 0;
  let events = 0;

  function endRun(): void {
    if (run) pieces.push(run.bytes.subarray(run.start, run.end));
    run = undefined;
  }

  function pass(bytes: Buffer, start: number, end: number): void {
    if (run?.bytes === bytes && run.end === start) run.end = end;
    else {
      endRun();
      run = { bytes, start, end };
    }
  }

  function visit(bytes: Buffer, start: number, end: number): void {
    let from = start;
    if (first) {
      first = false;
      if (bytes.subarray(start, start + 3).equals(BYTE_ORDER_MARK)) from += 3;
    }
    const data = findData(bytes, from, end, splitter.sawCarriageReturn);
    countSilence(data.lines > 0 && data.end > data.start ? 0 : end - start);
    if (data.lines > 1) {
      visitLines(bytes, from, end);
      return;
    }
    const { start: dataStart, end: dataEnd } = data;
    const verdict = data.lines === 0 ? 'pass' : judge(bytes, dataStart, dataEnd);
    if (verdict === 'pass') pass(bytes, start, end);
    else if (verdict === 'rename') passBut(bytes, start, end, reader.modelName, modelText);
    else if (verdict === 'reword') {
      const reworded = rewordFailure(bytes.subarray(dataStart, dataEnd), wording);
      passBut(bytes, start, end, { start: dataStart, end: dataEnd }, reworded);
    }
  }

  function countSilence(bytes: number): void {
    silentBytes = bytes === 0 ? 0 : silentBytes + bytes;
    events += 1;
    if (silentBytes > MAX_SILENT_BYTES) throw new RangeError('the stream goes on without an event');
    if (events > MAX_EVENTS) throw new RangeError(`the stream has more than ${MAX_EVENTS} events`);
  }

  /** Passes the event with other bytes in the place of some. */
  function passBut(bytes: Buffer, start: number, end: number, place: typeof reader.modelName, others: Buffer): void {
    pass(bytes, start, place.start);
    endRun();
    pieces.push(others);
    pass(bytes, place.end, end);
  }

  /** Where something is changed, the data goes on in one line: white space is all that its line ends can be. */
  function visitLines(bytes: Buffer, start: number, end: number): void {
    const { data, others } = joinData(bytes, start, end);
    const verdict = judge(data, 0, data.length);
    if (verdict === 'pass') pass(bytes, start, end);
    if (verdict === 'pass' || verdict === 'drop') return;
    const changed = verdict === 'reword' ? rewordFailure(data, wording) : renamed(data);
    endRun();
    pieces.push(Buffer.from(`${others}data: ${changed.toString('latin1').replaceAll('\n', ' ')}\n\n`, 'latin1'));
  }

  function renamed(data: Buffer): Buffer {
    const { modelName } = reader;
    return Buffer.concat([data.subarray(0, modelName.start), modelText, data.subarray(modelName.end)]);
  }

  function judge(bytes: Buffer, start: number, end: number) {
    try {
      return reader.read(bytes, start, end);
    } catch (error) {
      if (error instanceof SyntaxError) return 'pass';
      throw error;
    }
  }

  function collect(): Buffer | undefined {
    endRun();
    const [only] = pieces;
    const output = pieces.length > 1 ? Buffer.concat(pieces) : only;
    pieces = [];
    return output;
  }

  return {
    push(chunk) {
      splitter.push(asBuffer(chunk), visit);
      return collect();
    },
    finish() {
      const rest = splitter.rest();
      // The second half of a line end whose first half ended an event.
      if (rest.length === 1 && rest[0] === LF) return rest;
      const data = findData(rest, 0, rest.length, true);
      if (data.lines === 0 || !isWhole(rest.toString('utf8', data.start, data.end))) return undefined;
      const event = Buffer.concat([rest, Buffer.from('\n\n')]);
      visit(event, 0, event.length);
      return collect();
    },
  };
}

function asBuffer(chunk: Uint8Array): Buffer {
  return Buffer.isBuffer(chunk) ? chunk : Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
}

/** Whether the end of a body can be the end of its last event. */
function isWhole(data: string): boolean {
  if (data.trim() === '[DONE]') return true;
  try {
    JSON.parse(data);
    return true;
  } catch {
    return false;
  }
}

export const DONE_EVENT = 'data: [DONE]\n\n';

/** What a stream of the responses route said of itself before it broke off. */
export interface BrokenResponse {
  id?: string;
  /** Seconds since 1970. */
  createdAt?: number;
  /** Of the last event; -1 where there was none. */
  sequenceNumber: number;
  model: string;
}

/** Ends a chat stream that broke off: SDKs throw at the first of the two, readers that know no better stop at the second. */
export function chatFailure(error: GatewayError, requestId: string): string {
  const { message, code } = error;
  const told = { message, type: typeOf(error), param: null, code, request_id: requestId };
  return `data: ${JSON.stringify({ error: told })}\n\n${DONE_EVENT}`;
}

/** Ends a stream of the responses route that broke off: with all members that a response has to have. */
export function responsesFailure(error: GatewayError, broken: BrokenResponse, now: number): string {
  const { id, createdAt, sequenceNumber, model } = broken;
  const response = {
    id: id ?? `resp_${randomBytes(24).toString('hex')}`,
    object: 'response',
    created_at: createdAt ?? Math.floor(now / 1000),
    status: 'failed',
    background: false,
    error: { code: 'server_error', message: error.message },
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
  const event = { type: 'response.failed', sequence_number: sequenceNumber + 1, response };
  return `event: response.failed\ndata: ${JSON.stringify(event)}\n\n`;
}

function typeOf({ code }: GatewayError): string {
  if (code === 'upstream_timeout') return 'timeout_error';
  return code === 'shutting_down' ? 'overloaded_error' : 'server_error';
}

const QUOTE = 0x22;
const OPEN_BRACE = 0x7b;

export interface Wording {
  /** Public model id as JSON text. */
  modelText: Buffer;
  /** Makes an upstream's words such as a caller may read. */
  plainWords(words: string): string;
}

/**
 * What tells of a failure, as a caller may read it: an upstream's words about it name its model, its address, its keys.
 * What says nothing of the kind stays byte for byte as it is.
 * @param bytes JSON object: of an event, or a whole answer.
 * @throws SyntaxError where there is no whole object.
 */
export function rewordFailure(bytes: Buffer, { modelText, plainWords }: Wording): Buffer {
  const pieces: Buffer[] = [];
  let done = 0;

  function replace(start: number, end: number, text: Buffer): void {
    pieces.push(bytes.subarray(done, start), text);
    done = end;
  }

  function look(from: number): void {
    walkMembers(bytes, from, ({ nameStart, nameEnd, valueStart, valueEnd }) => {
      const named = (name: string) => isText(bytes, nameStart, nameEnd, name);
      const first = bytes[valueStart];
      if (first === QUOTE) {
        if (named('model')) replace(valueStart, valueEnd, modelText);
        else if (named('message') || named('error')) {
          const words = String(readValue(bytes, valueStart, valueEnd));
          const plain = plainWords(words);
          if (plain !== words) replace(valueStart, valueEnd, Buffer.from(JSON.stringify(plain)));
        }
      } else if (first === OPEN_BRACE && (named('error') || named('response'))) look(valueStart);
    });
  }

  look(0);
  if (pieces.length === 0) return bytes;
  pieces.push(bytes.subarray(done));
  return Buffer.concat(pieces);
}
