import type { GatewayError } from '../runtime/index.js';
import type { EventReader, Verdict } from './event-reader.js';
import { isText, readValue, walkMembers } from './json-walk.js';
import { readUsageBytes } from './reported-usage.js';
import { responsesFailure } from './terminal-events.js';
import { createSampleTaker } from './text-sample.js';

const QUOTE = 0x22;
const OPEN_BRACE = 0x7b;

/** Types of events that end a stream; `error` alone tells of a failure in which there may not even be a response. */
const ENDS = ['response.completed', 'response.incomplete', 'response.failed', 'response.cancelled', 'error'] as const;
const FAILURES: ReadonlySet<string> = new Set(['response.failed', 'error']);

export interface ResponsesReaderOptions {
  /** Public model id. */
  model: string;
  /** Milliseconds since 1970. */
  now(): number;
  /** Id of the response whose stream goes on behind an event that the caller has: there may be nothing more. */
  resumed?: string;
  /** Called once, as soon as the id of the response is known. */
  onResponseId(id: string): void;
}

/** Reads the events of `/v1/responses`. */
export function createResponsesReader(options: ResponsesReaderOptions): EventReader {
  const { model, now, resumed, onResponseId } = options;
  const modelName = { start: 0, end: 0 };
  const said = createSampleTaker();
  let usage: Buffer | undefined;
  let ended = false;
  let failed = false;
  let responseId = resumed;
  let createdAt: number | undefined;
  let sequenceNumber = -1;

  return {
    read(bytes, start, end): Verdict {
      if (bytes[start] !== OPEN_BRACE) return 'pass';
      let renames = false;
      const objectEnd = walkMembers(bytes, start, ({ nameStart, nameEnd, valueStart, valueEnd }) => {
        const first = bytes[valueStart];
        if (first === QUOTE) {
          if (isText(bytes, nameStart, nameEnd, 'type')) readType(bytes, valueStart, valueEnd);
          else if (isText(bytes, nameStart, nameEnd, 'delta')) said.add(bytes, valueStart + 1, valueEnd - 1);
          else readError(bytes, nameStart, nameEnd);
        } else if (first === OPEN_BRACE) {
          if (isText(bytes, nameStart, nameEnd, 'response')) renames = readResponse(bytes, valueStart);
          else readError(bytes, nameStart, nameEnd);
        } else if (isText(bytes, nameStart, nameEnd, 'sequence_number')) {
          const number = Number(bytes.toString('latin1', valueStart, valueEnd));
          if (Number.isSafeInteger(number)) sequenceNumber = number;
        }
      });
      // What goes on behind the data was another event's.
      if (failed && objectEnd < end) return 'reword';
      return renames && objectEnd < end ? 'rename' : 'pass';
    },
    modelName,
    get ended() {
      return ended;
    },
    get failed() {
      return failed;
    },
    get responseId() {
      return responseId;
    },
    usage: () => usage && readUsageBytes(usage),
    said: () => said.take(),
    get closing() {
      return resumed !== undefined && sequenceNumber === -1 ? '' : undefined;
    },
    failure: (error: GatewayError) =>
      responsesFailure(error, { id: responseId, createdAt, sequenceNumber, model }, now()),
  };

  function readType(bytes: Buffer, start: number, end: number): void {
    const type = ENDS.find((one) => isText(bytes, start, end, one));
    if (type === undefined) return;
    ended = true;
    failed ||= FAILURES.has(type);
  }

  /** Live servers at times send an error without a type. */
  function readError(bytes: Buffer, nameStart: number, nameEnd: number): void {
    if (!isText(bytes, nameStart, nameEnd, 'error')) return;
    ended = true;
    failed = true;
  }

  /** @returns whether there is a name of the model in it. */
  function readResponse(bytes: Buffer, start: number): boolean {
    let renames = false;
    walkMembers(bytes, start, ({ nameStart, nameEnd, valueStart, valueEnd }) => {
      const first = bytes[valueStart];
      if (first === QUOTE) {
        if (isText(bytes, nameStart, nameEnd, 'model')) {
          modelName.start = valueStart;
          modelName.end = valueEnd;
          renames = true;
        } else if (responseId === undefined && isText(bytes, nameStart, nameEnd, 'id')) {
          responseId = String(readValue(bytes, valueStart, valueEnd));
          onResponseId(responseId);
        }
      } else if (first === OPEN_BRACE) {
        if (isText(bytes, nameStart, nameEnd, 'usage')) usage = Buffer.from(bytes.subarray(valueStart, valueEnd));
      } else if (createdAt === undefined && isText(bytes, nameStart, nameEnd, 'created_at')) {
        const at = readValue(bytes, valueStart, valueEnd);
        if (typeof at === 'number') createdAt = at;
      }
    });
    return renames;
  }
}
