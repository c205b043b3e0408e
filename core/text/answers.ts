/*
 * Reads answers of text models, as a stream or as a whole. `AnswerStream` passes events on as they arrive; at the end
 * of a stream without a terminal event it asks the event rewriter for the one of the route, with an error if the
 * answer is incomplete. `readWholeAnswer` takes ids, usage and state from the bytes without parsing them as one
 * object, and replaces the model name of the upstream by the public one.
 */

import type { Usage } from '../contracts/index.js';
import { GatewayError, isGatewayError, KEEP_ALIVE } from '../runtime/index.js';
import type { TextSample } from './counting/prompts.js';
import { sampleBytes, WrittenText } from './counting/written-text.js';
import { EventRewriter, rewordFailure, type Wording } from './event-rewriter.js';
import type { EventReader } from './events.js';
import { COMMA, isText, OPEN_BRACE, OPEN_BRACKET, QUOTE, readValue, walkElements, walkFields } from './json.js';
import { type BodyReader, PullStream } from './pull-stream.js';
import { MAX_ITEMS, readItemId } from './response-events.js';
import { countSearches, nestedUsage, readUsage, readUsageBytes, withSearches, withTier } from './usage-shapes.js';
import { convertVectors } from './vectors.js';

const SILENCE = Buffer.from(KEEP_ALIVE);
const NO_MORE = { done: true, value: undefined } as const;

export interface AnswerStreamOptions {
  body: PullStream;
  reader: EventReader;
  wording: Wording;
  /** Whether the caller has disconnected; then nothing is sent. */
  hasLeft(): boolean;
  /** Called whenever bytes arrive. */
  onBytes(): void;
  /** Called once in any case, with the failure if the answer did not complete. */
  onEnd(failure: GatewayError | undefined): void;
}

/**
 * Passes events on as they arrive, and adds the terminal event if the upstream did not send it. Must be read once, by
 * one reader; never rejects.
 */
export class AnswerStream implements AsyncIterableIterator<Buffer>, BodyReader {
  readonly #options: AnswerStreamOptions;
  readonly #rewriter: EventRewriter;
  #resolve: ((result: IteratorResult<Buffer>) => void) | undefined;
  #isOver = false;

  constructor(options: AnswerStreamOptions) {
    this.#options = options;
    this.#rewriter = new EventRewriter(options.reader, options.wording);
  }

  next(): Promise<IteratorResult<Buffer>> {
    if (this.#isOver) return Promise.resolve(NO_MORE);
    return new Promise((resolve) => {
      this.#resolve = resolve;
      this.#options.body.ask(this);
    });
  }

  /** The reader has stopped. */
  return(): Promise<IteratorResult<Buffer>> {
    if (!this.#isOver) this.#end(new GatewayError('bad_request', 'The client closed the connection.'));
    this.#give(undefined);
    return Promise.resolve(NO_MORE);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  take(bytes: Uint8Array): void {
    if (this.#isOver) return;
    this.#options.onBytes();
    let output: Buffer | undefined;
    try {
      output = this.#rewriter.push(bytes);
    } catch (error) {
      this.fail(error);
      return;
    }
    if (output) this.#give(output);
    else this.#options.body.ask(this);
  }

  noticeSilence(): void {
    this.#give(SILENCE);
  }

  finish(): void {
    if (this.#isOver) return;
    const { reader } = this.#options;
    const last = this.#rewriter.finish();
    const { closing } = reader;
    const failure = closing === undefined ? this.#end(brokenOff()) : this.#end(undefined);
    this.#giveLast(last, failure ? reader.failure(failure) : closing);
  }

  fail(error: unknown): void {
    if (this.#isOver) return;
    const failure = this.#end(failureOf(error));
    const { reader } = this.#options;
    this.#giveLast(undefined, failure ? reader.failure(failure) : reader.closing);
  }

  /** @returns The failure, unless it came after the end, where nothing is missing. */
  #end(failure: GatewayError | undefined): GatewayError | undefined {
    const { body, reader, onEnd } = this.#options;
    this.#isOver = true;
    const missed = reader.ended ? undefined : failure;
    body.close();
    this.#rewriter.close();
    onEnd(missed);
    return missed;
  }

  #giveLast(last: Buffer | undefined, terminal: string | undefined): void {
    const ending = terminal === undefined || this.#options.hasLeft() ? undefined : Buffer.from(terminal);
    this.#give(last && ending ? Buffer.concat([last, ending]) : (last ?? ending));
  }

  #give(bytes: Buffer | undefined): void {
    const resolve = this.#resolve;
    this.#resolve = undefined;
    resolve?.(bytes ? { done: false, value: bytes } : NO_MORE);
  }
}

function brokenOff(cause?: unknown): GatewayError {
  return new GatewayError('upstream_error', 'The stream of the model was interrupted.', { cause });
}

function failureOf(error: unknown): GatewayError {
  if (!isGatewayError(error)) return brokenOff(error);
  // The state of the connection is reported as an error of the answer.
  return error.code === 'upstream_error' ? brokenOff(error) : error;
}

/** An answer with more values than this was written by the model, even if no text is found in it. */
const MAX_VALUES = 100_000;
/** States of a response that is still in progress. */
const OPEN_STATES: ReadonlySet<unknown> = new Set(['queued', 'in_progress']);
const LAST_STATES: ReadonlySet<unknown> = new Set(['completed', 'incomplete', 'failed', 'cancelled']);

/** An answer that came in one piece. */
export interface WholeAnswer {
  /** Contains the public name of the model. */
  body: Buffer;
  usage?: Usage;
  /** Id of a response. */
  id?: string;
  /** Ids of its output items. */
  itemIds: readonly string[];
  /** Whether it is a background response without a known usage. */
  open: boolean;
  /** Whether it is a response that the upstream reports as ended, in any state. */
  ended: boolean;
  /** `upstream_error` if the body only contains an error. */
  refusal?: GatewayError;
  /** The text of the model in it. */
  sample(): TextSample;
}

/**
 * Reads what the gateway needs to know of an answer, and replaces the upstream's model name by the public one.
 * @param isResponse Whether it is an object of the responses route, which has an id and may be in progress.
 * @throws GatewayError `upstream_error` if it is no JSON object.
 */
export function readWholeAnswer(bytes: Buffer, wording: Wording, isResponse: boolean): WholeAnswer {
  const answer: WholeAnswer = {
    body: bytes,
    itemIds: [],
    open: false,
    ended: false,
    sample: () => sampleAnswer(bytes, isResponse),
  };
  let modelStart = 0;
  let modelEnd = 0;
  let failed = false;
  let ending = false;
  let tier: unknown;
  let searches = 0;
  let nested: Buffer | undefined;
  let choicesStart = 0;
  try {
    const end = walkFields(bytes, 0, ({ nameStart, nameEnd, valueStart, valueEnd }) => {
      const first = bytes[valueStart];
      if (first === QUOTE) {
        if (isText(bytes, nameStart, nameEnd, 'model')) {
          modelStart = valueStart;
          modelEnd = valueEnd;
        } else if (isText(bytes, nameStart, nameEnd, 'error')) failed ||= valueEnd - valueStart > 2;
        else if (isText(bytes, nameStart, nameEnd, 'service_tier')) tier = readValue(bytes, valueStart, valueEnd);
        else if (!isResponse) return;
        else if (isText(bytes, nameStart, nameEnd, 'id')) answer.id = String(readValue(bytes, valueStart, valueEnd));
        else if (isText(bytes, nameStart, nameEnd, 'status')) {
          const state = readValue(bytes, valueStart, valueEnd);
          answer.open = OPEN_STATES.has(state);
          answer.ended = LAST_STATES.has(state);
        }
      } else if (first === OPEN_BRACE) {
        if (isText(bytes, nameStart, nameEnd, 'usage'))
          answer.usage = readUsage(readValue(bytes, valueStart, valueEnd));
        else if (isText(bytes, nameStart, nameEnd, 'error')) failed = true;
        else if (isText(bytes, nameStart, nameEnd, 'x_groq')) nested = nestedUsage(bytes, valueStart);
      } else if (first === OPEN_BRACKET) {
        ending = true;
        if (isResponse && isText(bytes, nameStart, nameEnd, 'output')) {
          answer.itemIds = itemIdsOf(bytes, valueStart);
          searches = countSearches(bytes, valueStart, valueEnd);
        } else if (isText(bytes, nameStart, nameEnd, 'choices')) choicesStart = valueStart;
      }
    });
    if (!answer.usage && choicesStart > 0) nested ??= usageOfChoices(bytes, choicesStart);
    if (!answer.usage && nested) answer.usage = readUsageBytes(nested);
    if (answer.usage) withSearches(withTier(answer.usage, tier), searches);
    if (bytes.toString('latin1', end + 1).trim() !== '') throw new SyntaxError('There is more than one object.');
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new GatewayError('upstream_error', 'The model did not answer with JSON.');
  }
  // A failed response still has its output list, or at least a final status; an error body has neither.
  if (failed && !ending && !(answer.ended && answer.id !== undefined))
    answer.refusal = new GatewayError('upstream_error', 'The model answered with an error.');
  else if (failed) answer.body = rewordFailure(bytes, wording);
  else if (modelStart > 0) {
    answer.body = Buffer.concat([bytes.subarray(0, modelStart), wording.modelText, bytes.subarray(modelEnd)]);
  }
  if (wording.vectors && !failed) answer.body = convertVectors(answer.body, wording.vectors);
  return answer;
}

/** Of the last choice that has one: of Kimi, and no list of anything else. */
function usageOfChoices(bytes: Buffer, start: number): Buffer | undefined {
  let found: Buffer | undefined;
  walkElements(bytes, start, (choiceStart) => {
    if (bytes[choiceStart] === OPEN_BRACE) found = nestedUsage(bytes, choiceStart) ?? found;
  });
  return found;
}

function itemIdsOf(bytes: Buffer, start: number): string[] {
  const ids: string[] = [];
  walkElements(bytes, start, (itemStart) => {
    if (bytes[itemStart] !== OPEN_BRACE || ids.length === MAX_ITEMS) return;
    const id = readItemId(bytes, itemStart);
    if (id !== undefined) ids.push(id);
  });
  return ids;
}

/** What the model wrote in an answer, which may be cut off. */
export function sampleAnswer(bytes: Buffer, isResponse: boolean): TextSample {
  const written = new WrittenText(isResponse);
  written.addAnswer(bytes);
  return written.isEmpty && hasManyValues(bytes) ? sampleBytes([bytes]) : written.take();
}

/** @param ratio Of the whole answer to these bytes. */
export function hasManyValues(bytes: Buffer, ratio = 1): boolean {
  if (bytes.length * ratio <= MAX_VALUES) return false;
  let values = 0;
  for (const byte of bytes) if (byte === COMMA || byte === OPEN_BRACE || byte === OPEN_BRACKET) values += 1;
  return values * ratio > MAX_VALUES;
}
