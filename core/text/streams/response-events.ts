/*
 * The event reader of the responses route. It finds the model name, the usage, the ids of the response and of its
 * items, errors and the model's text by byte positions, and says whether an event passes, is renamed or reworded. Ids
 * are reported as soon as they are known, since a client may continue a response whose stream broke off. The output is
 * read once, at the end, where some servers send all of it.
 */

import type { Usage } from '../../contracts/index.js';
import type { GatewayError } from '../../runtime/index.js';
import { type TextSample, WrittenText } from '../counting/samples.js';
import { isText, OPEN_BRACE, OPEN_BRACKET, QUOTE, readValue, walkFields } from '../json.js';
import { countSearches, tieredUsage, withSearches } from '../usage-shapes.js';
import type { EventAction, EventReader } from './events.js';
import { responsesFailure } from './stream-failures.js';

const LETTER_A = 0x61;
/** Maximum output items of a response whose ids are read. */
export const MAX_ITEMS = 1_000;

/** Types of events that end a stream; only `error` may come without a response. */
const ENDS = ['response.completed', 'response.incomplete', 'response.failed', 'response.cancelled', 'error'] as const;

const AUDIO_DELTA = 'response.audio.delta';

const FAILURES: ReadonlySet<string> = new Set(['response.failed', 'error']);

export interface ResponseEventsOptions {
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
export class ResponseEvents implements EventReader {
  readonly modelName = { start: 0, end: 0 };
  readonly #options: ResponseEventsOptions;
  readonly #written = new WrittenText(true);
  #usage: Buffer | undefined;
  #tier: string | undefined;
  #searches = 0;
  #ended = false;
  #failed = false;
  #responseId: string | undefined;
  #createdAt: number | undefined;
  #sequenceNumber = -1;
  readonly #itemIds = new Set<string>();
  /** Whether the event has audio in place of text, and the output of its response. */
  #isAudio = false;
  #outputStart = 0;
  #outputEnd = 0;

  constructor(options: ResponseEventsOptions) {
    this.#options = options;
    this.#responseId = options.resumed;
  }

  get ended(): boolean {
    return this.#ended;
  }

  get failed(): boolean {
    return this.#failed;
  }

  get responseId(): string | undefined {
    return this.#responseId;
  }

  get closing(): string | undefined {
    return this.#options.resumed !== undefined && this.#sequenceNumber === -1 ? '' : undefined;
  }

  read(bytes: Buffer, start: number, end: number): EventAction {
    if (bytes[start] !== OPEN_BRACE) return 'pass';
    let renames = false;
    let deltaStart = 0;
    let deltaEnd = 0;
    this.#isAudio = false;
    this.#outputEnd = 0;
    const objectEnd = walkFields(bytes, start, ({ nameStart, nameEnd, valueStart, valueEnd }) => {
      const first = bytes[valueStart];
      if (first === QUOTE) {
        if (isText(bytes, nameStart, nameEnd, 'type')) this.#readType(bytes, valueStart, valueEnd);
        else if (isText(bytes, nameStart, nameEnd, 'delta')) {
          deltaStart = valueStart + 1;
          deltaEnd = valueEnd - 1;
        } else this.#readError(bytes, nameStart, nameEnd);
      } else if (first === OPEN_BRACE) {
        if (isText(bytes, nameStart, nameEnd, 'response')) renames = this.#readResponse(bytes, valueStart);
        else if (isText(bytes, nameStart, nameEnd, 'item')) this.#readItem(bytes, valueStart);
        else if (isText(bytes, nameStart, nameEnd, 'usage'))
          this.#usage ??= Buffer.from(bytes.subarray(valueStart, valueEnd));
        else this.#readError(bytes, nameStart, nameEnd);
      } else if (isText(bytes, nameStart, nameEnd, 'sequence_number')) {
        const number = Number(bytes.toString('latin1', valueStart, valueEnd));
        if (Number.isSafeInteger(number)) this.#sequenceNumber = number;
      }
    });
    if (deltaEnd > deltaStart && !this.#isAudio) this.#written.addText(bytes, deltaStart, deltaEnd);
    if (this.#ended && this.#outputEnd > 0) this.#readOutput(bytes);
    // Bytes after the data belonged to another event.
    if (this.#failed && objectEnd < end) return 'reword';
    return renames && objectEnd < end ? 'rename' : 'pass';
  }

  usage(): Usage | undefined {
    const read = tieredUsage(this.#usage, this.#tier);
    return read && withSearches(read, this.#searches);
  }

  sample(): TextSample {
    return this.#written.take();
  }

  failure(error: GatewayError): string {
    const { model, now } = this.#options;
    const broken = { id: this.#responseId, createdAt: this.#createdAt, sequenceNumber: this.#sequenceNumber, model };
    return responsesFailure(error, broken, now());
  }

  #readType(bytes: Buffer, start: number, end: number): void {
    // Nearly all events are deltas, and no type of an end has that last letter.
    if (bytes[end - 2] === LETTER_A) {
      this.#isAudio = end - start === AUDIO_DELTA.length + 2 && isText(bytes, start, end, AUDIO_DELTA);
      return;
    }
    const type = ENDS.find((one) => isText(bytes, start, end, one));
    if (type === undefined) return;
    this.#ended = true;
    this.#failed ||= FAILURES.has(type);
  }

  /** Live servers sometimes send an error without a type. */
  #readError(bytes: Buffer, nameStart: number, nameEnd: number): void {
    if (!isText(bytes, nameStart, nameEnd, 'error')) return;
    this.#ended = true;
    this.#failed = true;
  }

  /** An item comes twice: when it begins and when it is complete. */
  #readItem(bytes: Buffer, start: number): void {
    const id = readItemId(bytes, start);
    if (id === undefined || this.#itemIds.has(id) || this.#itemIds.size === MAX_ITEMS) return;
    this.#itemIds.add(id);
    this.#options.onItemId(id);
  }

  /** @returns Whether it contains a model name. */
  #readResponse(bytes: Buffer, start: number): boolean {
    let renames = false;
    walkFields(bytes, start, ({ nameStart, nameEnd, valueStart, valueEnd }) => {
      const first = bytes[valueStart];
      if (first === QUOTE) {
        if (isText(bytes, nameStart, nameEnd, 'model')) {
          this.modelName.start = valueStart;
          this.modelName.end = valueEnd;
          renames = true;
        } else if (this.#responseId === undefined && isText(bytes, nameStart, nameEnd, 'id')) {
          this.#responseId = String(readValue(bytes, valueStart, valueEnd));
          this.#options.onResponseId(this.#responseId);
        } else if (isText(bytes, nameStart, nameEnd, 'service_tier'))
          this.#tier = String(readValue(bytes, valueStart, valueEnd));
      } else if (first === OPEN_BRACE) {
        if (isText(bytes, nameStart, nameEnd, 'usage')) this.#usage = Buffer.from(bytes.subarray(valueStart, valueEnd));
      } else if (first === OPEN_BRACKET) {
        if (!isText(bytes, nameStart, nameEnd, 'output')) return;
        this.#outputStart = valueStart;
        this.#outputEnd = valueEnd;
      } else if (this.#createdAt === undefined && isText(bytes, nameStart, nameEnd, 'created_at')) {
        const at = readValue(bytes, valueStart, valueEnd);
        if (typeof at === 'number') this.#createdAt = at;
      }
    });
    return renames;
  }

  /** The output of a response that has ended. */
  #readOutput(bytes: Buffer): void {
    this.#searches = countSearches(bytes, this.#outputStart, this.#outputEnd);
    // Some servers send all of it at once.
    if (!this.#usage && this.#written.isEmpty) this.#written.add(bytes, this.#outputStart, this.#outputEnd);
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
