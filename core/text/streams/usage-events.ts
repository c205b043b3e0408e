/*
 * Event readers of chats and messages; `response-events.ts` has that of responses. For each event they find the model
 * name, the usage, errors and the model's text by byte positions, and say whether the event passes, is renamed,
 * reworded or dropped. Nothing is parsed except the few values that are needed; the usage stays bytes until the stream
 * ends, since some servers report it in every event. A reader also knows whether a stream has ended correctly, and
 * which terminal event is missing.
 */

import type { Usage } from '../../contracts/index.js';
import { DONE_EVENT, encodeTypedEvent, type GatewayError } from '../../runtime/index.js';
import { type TextSample, WrittenText } from '../counting/samples.js';
import {
  CLOSE_BRACKET,
  isText,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
  readValue,
  walkElements,
  walkFields,
} from '../json.js';
import { laterUsage, latestUsage, nestedUsage, readUsage, readUsageBytes, tieredUsage } from '../usage-shapes.js';
import type { EventAction, EventReader } from './events.js';
import { chatFailure, messageFailure } from './stream-failures.js';

const LETTER_N = 0x6e;
const DIGIT_0 = 0x30;

export interface ChatEventsOptions {
  requestId: string;
  /** Whether an event that only reports usage is dropped. */
  dropUsage: boolean;
}

/** Reads the events of `/v1/chat/completions`. */
export class ChatEvents implements EventReader {
  readonly modelName = { start: 0, end: 0 };
  readonly responseId = undefined;
  readonly #options: ChatEventsOptions;
  readonly #written = new WrittenText(false);
  /** Bytes of the last reported usage: some servers report it in each event. */
  #usage: Buffer | undefined;
  #tier: string | undefined;
  #isDone = false;
  #failed = false;
  /** Whether choices have ended, by their index. */
  readonly #choiceEnds = new Map<number, boolean>();

  constructor(options: ChatEventsOptions) {
    this.#options = options;
  }

  get ended(): boolean {
    return this.#isDone || this.#failed;
  }

  get failed(): boolean {
    return this.#failed;
  }

  get closing(): string | undefined {
    if (this.#isDone) return undefined;
    if (this.#failed) return DONE_EVENT;
    // If it ended too early for one choice, it did for the answer.
    return this.#choiceEnds.size > 0 && [...this.#choiceEnds.values()].every(Boolean) ? DONE_EVENT : undefined;
  }

  read(bytes: Buffer, start: number, end: number): EventAction {
    if (isDoneEvent(bytes, start, end)) {
      this.#isDone = true;
      return 'pass';
    }
    let renames = false;
    let usageStart = 0;
    let usageEnd = 0;
    let choicesStart = 0;
    const objectEnd = walkFields(bytes, start, ({ nameStart, nameEnd, valueStart, valueEnd }) => {
      const first = bytes[valueStart];
      if (first === QUOTE && isText(bytes, nameStart, nameEnd, 'model')) {
        this.modelName.start = valueStart;
        this.modelName.end = valueEnd;
        renames = true;
      } else if (first === OPEN_BRACKET && isText(bytes, nameStart, nameEnd, 'choices')) choicesStart = valueStart;
      else if (first === OPEN_BRACE && isText(bytes, nameStart, nameEnd, 'usage')) {
        usageStart = valueStart;
        usageEnd = valueEnd;
      } else if ((first === OPEN_BRACE || first === QUOTE) && isText(bytes, nameStart, nameEnd, 'error')) {
        this.#failed = true;
      } else if (first === OPEN_BRACE && isText(bytes, nameStart, nameEnd, 'x_groq')) {
        this.#usage = nestedUsage(bytes, valueStart) ?? this.#usage;
      }
    });
    // Bytes after the data belonged to another event.
    if (objectEnd >= end) return 'pass';
    if (this.#failed) return 'reword';
    const choices = choicesStart === 0 ? 0 : this.#readChoices(bytes, choicesStart);
    if (usageStart > 0) {
      this.#usage = latestUsage(this.#usage, bytes, usageStart, usageEnd);
      this.#tier = readTier(bytes, start, end) ?? this.#tier;
      if (this.#options.dropUsage && choices === 0 && choicesStart > 0) return 'drop';
    }
    return renames ? 'rename' : 'pass';
  }

  usage(): Usage | undefined {
    return tieredUsage(this.#usage, this.#tier);
  }

  sample(): TextSample {
    return this.#written.take();
  }

  failure(error: GatewayError): string {
    return chatFailure(error, this.#options.requestId);
  }

  /** @returns The number of choices. */
  #readChoices(bytes: Buffer, start: number): number {
    if (bytes[start + 1] === CLOSE_BRACKET) return 0;
    let choices = 0;
    walkElements(bytes, start, (choiceStart) => {
      choices += 1;
      this.#readChoice(bytes, choiceStart);
    });
    return choices;
  }

  #readChoice(bytes: Buffer, start: number): void {
    let index = 0;
    let finished = false;
    let deltaStart = 0;
    let deltaEnd = 0;
    walkFields(bytes, start, ({ nameStart, nameEnd, valueStart, valueEnd }) => {
      const first = bytes[valueStart];
      if (first === OPEN_BRACE && isText(bytes, nameStart, nameEnd, 'delta')) {
        deltaStart = valueStart;
        deltaEnd = valueEnd;
      } else if (first === OPEN_BRACE && isText(bytes, nameStart, nameEnd, 'usage')) {
        this.#usage = latestUsage(this.#usage, bytes, valueStart, valueEnd);
      } else if (isText(bytes, nameStart, nameEnd, 'index')) index = readIndex(bytes, valueStart, valueEnd);
      else if (first !== LETTER_N && isText(bytes, nameStart, nameEnd, 'finish_reason')) finished = true;
    });
    this.#written.add(bytes, deltaStart, deltaEnd, index);
    if (finished || !this.#choiceEnds.has(index)) this.#choiceEnds.set(index, finished);
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

/** Usually there is one choice, and there are never many. */
function readIndex(bytes: Buffer, start: number, end: number): number {
  return end - start === 1 ? (bytes[start] ?? DIGIT_0) - DIGIT_0 : Number(bytes.toString('latin1', start, end));
}

function isDoneEvent(bytes: Buffer, start: number, end: number): boolean {
  return bytes[start] === OPEN_BRACKET && bytes.toString('latin1', start, end).trim() === '[DONE]';
}

const MESSAGE_STOP = encodeTypedEvent('message_stop');

/** Reads the events of `/v1/messages`. */
export class MessageEvents implements EventReader {
  readonly modelName = { start: 0, end: 0 };
  readonly responseId = undefined;
  readonly #requestId: string;
  readonly #written = new WrittenText(false);
  /** Usage of the first event and of the last ones. Both counts are cumulative. */
  #first: Buffer | undefined;
  #last: Buffer | undefined;
  #isDone = false;
  #failed = false;

  constructor(requestId: string) {
    this.#requestId = requestId;
  }

  get ended(): boolean {
    return this.#isDone || this.#failed;
  }

  get failed(): boolean {
    return this.#failed;
  }

  get closing(): string | undefined {
    return this.#last && !this.ended ? MESSAGE_STOP : undefined;
  }

  read(bytes: Buffer, start: number, end: number): EventAction {
    if (bytes[start] !== OPEN_BRACE) return 'pass';
    let renames = false;
    const objectEnd = walkFields(bytes, start, ({ nameStart, nameEnd, valueStart, valueEnd }) => {
      const kind = bytes[valueStart];
      const named = (name: string) => isText(bytes, nameStart, nameEnd, name);
      if (kind === QUOTE) {
        if (!named('type')) return;
        this.#isDone ||= isText(bytes, valueStart, valueEnd, 'message_stop');
        this.#failed ||= isText(bytes, valueStart, valueEnd, 'error');
      } else if (kind !== OPEN_BRACE) return;
      else if (named('delta') || named('content_block')) this.#written.add(bytes, valueStart, valueEnd);
      else if (named('message')) renames = this.#readMessage(bytes, valueStart);
      else if (named('usage')) this.#last = latestUsage(this.#last, bytes, valueStart, valueEnd);
      else if (named('error')) this.#failed = true;
    });
    // Bytes after the data belonged to another event.
    if (objectEnd >= end) return 'pass';
    if (this.#failed) return 'reword';
    return renames ? 'rename' : 'pass';
  }

  usage(): Usage | undefined {
    return this.#last && readUsage(laterUsage(recordOf(this.#first), recordOf(this.#last)));
  }

  firstUsage(): Usage | undefined {
    return this.#first && readUsageBytes(this.#first);
  }

  sample(): TextSample {
    return this.#written.take();
  }

  failure(error: GatewayError): string {
    return messageFailure(error, this.#requestId);
  }

  /** @returns Whether it contains a model name. */
  #readMessage(bytes: Buffer, start: number): boolean {
    let renames = false;
    walkFields(bytes, start, ({ nameStart, nameEnd, valueStart, valueEnd }) => {
      const kind = bytes[valueStart];
      if (kind === QUOTE && isText(bytes, nameStart, nameEnd, 'model')) {
        this.modelName.start = valueStart;
        this.modelName.end = valueEnd;
        renames = true;
      } else if (kind === OPEN_BRACE && isText(bytes, nameStart, nameEnd, 'usage')) {
        this.#first = Buffer.from(bytes.subarray(valueStart, valueEnd));
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
