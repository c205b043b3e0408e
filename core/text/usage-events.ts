/*
 * Event readers of the three writing routes: chats, messages and responses. For each event they find the model name,
 * the usage, ids, errors and the model's text by byte positions, and say whether the event passes, is renamed,
 * reworded or dropped. Nothing is parsed except the few values that are needed; the usage stays bytes until the stream
 * ends, since some servers report it in every event. A reader also knows whether a stream has ended correctly, and
 * which terminal event is missing.
 */

import type { Usage } from '../contracts/index.js';
import { DONE_EVENT, encodeTypedEvent, type GatewayError } from '../runtime/index.js';
import { createWrittenText } from './counting/tokens.js';
import { chatFailure, messageFailure, responsesFailure } from './event-rewriter.js';
import type { EventAction, EventReader } from './events.js';
import { isText, readValue, walkElements, walkFields } from './json.js';
import {
  countSearches,
  hasCounts,
  laterUsage,
  nestedUsage,
  readUsage,
  readUsageBytes,
  withSearches,
  withTier,
} from './usage-shapes.js';

const QUOTE = 0x22;
const OPEN_BRACE = 0x7b;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const LETTER_A = 0x61;
const LETTER_N = 0x6e;
const DIGIT_0 = 0x30;

export interface ChatReaderOptions {
  requestId: string;
  /** Whether an event that only reports usage is dropped. */
  dropUsage: boolean;
}

/** Reads the events of `/v1/chat/completions`. */
export function createChatReader({ requestId, dropUsage }: ChatReaderOptions): EventReader {
  const modelName = { start: 0, end: 0 };
  const written = createWrittenText(false);
  /** Bytes of the last reported usage: some servers report it in each event. */
  let usage: Buffer | undefined;
  let tier: string | undefined;
  let isDone = false;
  let failed = false;
  /** Whether choices have ended, by their index. */
  const choiceEnds = new Map<number, boolean>();

  return {
    read(bytes, start, end): EventAction {
      if (isDoneEvent(bytes, start, end)) {
        isDone = true;
        return 'pass';
      }
      let renames = false;
      let usageStart = 0;
      let usageEnd = 0;
      let choicesStart = 0;
      const objectEnd = walkFields(bytes, start, ({ nameStart, nameEnd, valueStart, valueEnd }) => {
        const first = bytes[valueStart];
        if (first === QUOTE && isText(bytes, nameStart, nameEnd, 'model')) {
          modelName.start = valueStart;
          modelName.end = valueEnd;
          renames = true;
        } else if (first === OPEN_BRACKET && isText(bytes, nameStart, nameEnd, 'choices')) choicesStart = valueStart;
        else if (first === OPEN_BRACE && isText(bytes, nameStart, nameEnd, 'usage')) {
          usageStart = valueStart;
          usageEnd = valueEnd;
        } else if ((first === OPEN_BRACE || first === QUOTE) && isText(bytes, nameStart, nameEnd, 'error')) {
          failed = true;
        } else if (first === OPEN_BRACE && isText(bytes, nameStart, nameEnd, 'x_groq')) {
          usage = nestedUsage(bytes, valueStart) ?? usage;
        }
      });
      // Bytes after the data belonged to another event.
      if (objectEnd >= end) return 'pass';
      if (failed) return 'reword';
      const choices = choicesStart === 0 ? 0 : readChoices(bytes, choicesStart);
      if (usageStart > 0) {
        if (!usage || hasCounts(bytes, usageStart, usageEnd)) usage = Buffer.from(bytes.subarray(usageStart, usageEnd));
        tier = readTier(bytes, start, end) ?? tier;
        if (dropUsage && choices === 0 && choicesStart > 0) return 'drop';
      }
      return renames ? 'rename' : 'pass';
    },
    modelName,
    get ended() {
      return isDone || failed;
    },
    get failed() {
      return failed;
    },
    responseId: undefined,
    usage: () => tieredUsage(usage, tier),
    sample: () => written.take(),
    get closing() {
      if (isDone) return undefined;
      if (failed) return DONE_EVENT;
      // If it ended too early for one choice, it did for the answer.
      return choiceEnds.size > 0 && [...choiceEnds.values()].every(Boolean) ? DONE_EVENT : undefined;
    },
    failure: (error: GatewayError) => chatFailure(error, requestId),
  };

  /** @returns The number of choices. */
  function readChoices(bytes: Buffer, start: number): number {
    if (bytes[start + 1] === CLOSE_BRACKET) return 0;
    let choices = 0;
    walkElements(bytes, start, (choiceStart) => {
      choices += 1;
      let index = 0;
      let finished = false;
      let deltaStart = 0;
      let deltaEnd = 0;
      walkFields(bytes, choiceStart, ({ nameStart, nameEnd, valueStart, valueEnd }) => {
        const first = bytes[valueStart];
        if (first === OPEN_BRACE && isText(bytes, nameStart, nameEnd, 'delta')) {
          deltaStart = valueStart;
          deltaEnd = valueEnd;
        } else if (first === OPEN_BRACE && isText(bytes, nameStart, nameEnd, 'usage')) {
          if (!usage || hasCounts(bytes, valueStart, valueEnd))
            usage = Buffer.from(bytes.subarray(valueStart, valueEnd));
        } else if (isText(bytes, nameStart, nameEnd, 'index')) index = readIndex(bytes, valueStart, valueEnd);
        else if (first !== LETTER_N && isText(bytes, nameStart, nameEnd, 'finish_reason')) finished = true;
      });
      written.add(bytes, deltaStart, deltaEnd, index);
      if (finished || !choiceEnds.has(index)) choiceEnds.set(index, finished);
    });
    return choices;
  }
}

/** The service tier of an event of a chat. */
function readTier(bytes: Buffer, start: number, end: number): string | undefined {
  if (!bytes.subarray(start, end).includes(TIER)) return undefined;
  let tier: unknown;
  walkFields(bytes, start, ({ nameStart, nameEnd, valueStart, valueEnd }) => {
    if (bytes[valueStart] === QUOTE && isText(bytes, nameStart, nameEnd, 'service_tier'))
      tier = readValue(bytes, valueStart, valueEnd);
  });
  return typeof tier === 'string' ? tier : undefined;
}

const TIER = '"service_tier"';

function tieredUsage(bytes: Buffer | undefined, tier: string | undefined): Usage | undefined {
  const usage = bytes && readUsageBytes(bytes);
  return usage && tier !== undefined ? withTier(usage, tier) : usage;
}

/** Usually there is one choice, and there are never many. */
function readIndex(bytes: Buffer, start: number, end: number): number {
  return end - start === 1 ? (bytes[start] ?? DIGIT_0) - DIGIT_0 : Number(bytes.toString('latin1', start, end));
}

function isDoneEvent(bytes: Buffer, start: number, end: number): boolean {
  return bytes[start] === OPEN_BRACKET && bytes.toString('latin1', start, end).trim() === '[DONE]';
}

const MESSAGE_STOP = encodeTypedEvent('message_stop');
/** Reads the events of `/v1/messages`. */
export function createMessagesReader({ requestId }: Pick<ChatReaderOptions, 'requestId'>): EventReader {
  const modelName = { start: 0, end: 0 };
  const written = createWrittenText(false);
  /** Usage of the first event and of the last ones. Both counts are cumulative. */
  let first: Buffer | undefined;
  let last: Buffer | undefined;
  let isDone = false;
  let failed = false;

  return {
    read(bytes, start, end): EventAction {
      if (bytes[start] !== OPEN_BRACE) return 'pass';
      let renames = false;
      const objectEnd = walkFields(bytes, start, ({ nameStart, nameEnd, valueStart, valueEnd }) => {
        const kind = bytes[valueStart];
        const named = (name: string) => isText(bytes, nameStart, nameEnd, name);
        if (kind === QUOTE) {
          if (!named('type')) return;
          isDone ||= isText(bytes, valueStart, valueEnd, 'message_stop');
          failed ||= isText(bytes, valueStart, valueEnd, 'error');
        } else if (kind !== OPEN_BRACE) return;
        else if (named('delta') || named('content_block')) written.add(bytes, valueStart, valueEnd);
        else if (named('message')) renames = readMessage(bytes, valueStart);
        else if (named('usage')) {
          if (!last || hasCounts(bytes, valueStart, valueEnd)) last = Buffer.from(bytes.subarray(valueStart, valueEnd));
        } else if (named('error')) failed = true;
      });
      // Bytes after the data belonged to another event.
      if (objectEnd >= end) return 'pass';
      if (failed) return 'reword';
      return renames ? 'rename' : 'pass';
    },
    modelName,
    get ended() {
      return isDone || failed;
    },
    get failed() {
      return failed;
    },
    responseId: undefined,
    usage: () => last && readUsage(laterUsage(recordOf(first), recordOf(last))),
    firstUsage: () => first && readUsageBytes(first),
    sample: () => written.take(),
    get closing() {
      return last && !isDone && !failed ? MESSAGE_STOP : undefined;
    },
    failure: (error: GatewayError) => messageFailure(error, requestId),
  };

  /** @returns Whether it contains a model name. */
  function readMessage(bytes: Buffer, start: number): boolean {
    let renames = false;
    walkFields(bytes, start, ({ nameStart, nameEnd, valueStart, valueEnd }) => {
      const kind = bytes[valueStart];
      if (kind === QUOTE && isText(bytes, nameStart, nameEnd, 'model')) {
        modelName.start = valueStart;
        modelName.end = valueEnd;
        renames = true;
      } else if (kind === OPEN_BRACE && isText(bytes, nameStart, nameEnd, 'usage')) {
        first = Buffer.from(bytes.subarray(valueStart, valueEnd));
      }
    });
    return renames;
  }
}

/** Fields that say something; empty if it is no JSON object: so far only its end was checked. */
function recordOf(bytes: Buffer | undefined): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = bytes && readValue(bytes, 0, bytes.length);
    return { ...(value ?? {}) };
  } catch {
    return {};
  }
}

/** Maximum output items of a response whose ids are read. */
export const MAX_ITEMS = 1_000;

/** Types of events that end a stream; only `error` may come without a response. */
const ENDS = ['response.completed', 'response.incomplete', 'response.failed', 'response.cancelled', 'error'] as const;
const AUDIO_DELTA = 'response.audio.delta';
const FAILURES: ReadonlySet<string> = new Set(['response.failed', 'error']);

export interface ResponsesReaderOptions {
  /** Public model id. */
  model: string;
  /** Milliseconds since 1970. */
  now(): number;
  /** Id of a response with a stream that continues after an event the caller already has: nothing more may follow. */
  resumed?: string;
  /** Called once, as soon as the id of the response is known. */
  onResponseId(id: string): void;
  /** Called once for each output item, as soon as its id is known. */
  onItemId(id: string): void;
}

/** Reads the events of `/v1/responses`. */
export function createResponsesReader(options: ResponsesReaderOptions): EventReader {
  const { model, now, resumed, onResponseId, onItemId } = options;
  const modelName = { start: 0, end: 0 };
  const written = createWrittenText(true);
  let usage: Buffer | undefined;
  let tier: string | undefined;
  let searches = 0;
  let ended = false;
  let failed = false;
  let responseId = resumed;
  let createdAt: number | undefined;
  let sequenceNumber = -1;
  const itemIds = new Set<string>();
  /** Whether the event has audio in place of text, and the output of its response. */
  let isAudio = false;
  let outputStart = 0;
  let outputEnd = 0;

  return {
    read(bytes, start, end): EventAction {
      if (bytes[start] !== OPEN_BRACE) return 'pass';
      let renames = false;
      let deltaStart = 0;
      let deltaEnd = 0;
      isAudio = false;
      outputEnd = 0;
      const objectEnd = walkFields(bytes, start, ({ nameStart, nameEnd, valueStart, valueEnd }) => {
        const first = bytes[valueStart];
        if (first === QUOTE) {
          if (isText(bytes, nameStart, nameEnd, 'type')) readType(bytes, valueStart, valueEnd);
          else if (isText(bytes, nameStart, nameEnd, 'delta')) {
            deltaStart = valueStart + 1;
            deltaEnd = valueEnd - 1;
          } else readError(bytes, nameStart, nameEnd);
        } else if (first === OPEN_BRACE) {
          if (isText(bytes, nameStart, nameEnd, 'response')) renames = readResponse(bytes, valueStart);
          else if (isText(bytes, nameStart, nameEnd, 'item')) readItem(bytes, valueStart);
          else if (isText(bytes, nameStart, nameEnd, 'usage'))
            usage ??= Buffer.from(bytes.subarray(valueStart, valueEnd));
          else readError(bytes, nameStart, nameEnd);
        } else if (isText(bytes, nameStart, nameEnd, 'sequence_number')) {
          const number = Number(bytes.toString('latin1', valueStart, valueEnd));
          if (Number.isSafeInteger(number)) sequenceNumber = number;
        }
      });
      if (deltaEnd > deltaStart && !isAudio) written.addText(bytes, deltaStart, deltaEnd);
      if (ended && outputEnd > 0) searches = countSearches(bytes, outputStart, outputEnd);
      // Some servers send all of it at once.
      if (ended && outputEnd > 0 && !usage && written.isEmpty) written.add(bytes, outputStart, outputEnd);
      // Bytes after the data belonged to another event.
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
    usage: () => {
      const read = tieredUsage(usage, tier);
      return read && withSearches(read, searches);
    },
    sample: () => written.take(),
    get closing() {
      return resumed !== undefined && sequenceNumber === -1 ? '' : undefined;
    },
    failure: (error: GatewayError) =>
      responsesFailure(error, { id: responseId, createdAt, sequenceNumber, model }, now()),
  };

  function readType(bytes: Buffer, start: number, end: number): void {
    // Nearly all events are deltas, and no type of an end has that last letter.
    if (bytes[end - 2] === LETTER_A) {
      isAudio = end - start === AUDIO_DELTA.length + 2 && isText(bytes, start, end, AUDIO_DELTA);
      return;
    }
    const type = ENDS.find((one) => isText(bytes, start, end, one));
    if (type === undefined) return;
    ended = true;
    failed ||= FAILURES.has(type);
  }

  /** Live servers sometimes send an error without a type. */
  function readError(bytes: Buffer, nameStart: number, nameEnd: number): void {
    if (!isText(bytes, nameStart, nameEnd, 'error')) return;
    ended = true;
    failed = true;
  }

  /** An item comes twice: when it begins and when it is complete. */
  function readItem(bytes: Buffer, start: number): void {
    const id = readItemId(bytes, start);
    if (id === undefined || itemIds.has(id) || itemIds.size === MAX_ITEMS) return;
    itemIds.add(id);
    onItemId(id);
  }

  /** @returns Whether it contains a model name. */
  function readResponse(bytes: Buffer, start: number): boolean {
    let renames = false;
    walkFields(bytes, start, ({ nameStart, nameEnd, valueStart, valueEnd }) => {
      const first = bytes[valueStart];
      if (first === QUOTE) {
        if (isText(bytes, nameStart, nameEnd, 'model')) {
          modelName.start = valueStart;
          modelName.end = valueEnd;
          renames = true;
        } else if (responseId === undefined && isText(bytes, nameStart, nameEnd, 'id')) {
          responseId = String(readValue(bytes, valueStart, valueEnd));
          onResponseId(responseId);
        } else if (isText(bytes, nameStart, nameEnd, 'service_tier'))
          tier = String(readValue(bytes, valueStart, valueEnd));
      } else if (first === OPEN_BRACE) {
        if (isText(bytes, nameStart, nameEnd, 'usage')) usage = Buffer.from(bytes.subarray(valueStart, valueEnd));
      } else if (first === OPEN_BRACKET) {
        if (!isText(bytes, nameStart, nameEnd, 'output')) return;
        outputStart = valueStart;
        outputEnd = valueEnd;
      } else if (createdAt === undefined && isText(bytes, nameStart, nameEnd, 'created_at')) {
        const at = readValue(bytes, valueStart, valueEnd);
        if (typeof at === 'number') createdAt = at;
      }
    });
    return renames;
  }
}

/** The id of an output item that starts at `start`. */
export function readItemId(bytes: Buffer, start: number): string | undefined {
  let id: unknown;
  walkFields(bytes, start, ({ nameStart, nameEnd, valueStart, valueEnd }) => {
    if (bytes[valueStart] === QUOTE && isText(bytes, nameStart, nameEnd, 'id'))
      id = readValue(bytes, valueStart, valueEnd);
  });
  return typeof id === 'string' ? id : undefined;
}
