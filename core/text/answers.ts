/*
 * Reads answers of text models, as a stream or as a whole. `AnswerStream` passes events on as they arrive and adds the
 * terminal event if the upstream did not send it. `readWholeAnswer` takes ids, usage and state from the bytes without
 * parsing them as one object, and replaces the model name of the upstream by the public one. `PullStream` is the body
 * under both. It uses callbacks instead of promises, has no timer of its own, and gives at most 8 KiB per turn of the
 * event loop. All bodies together use at most about 5 ms of a turn, first come, first served.
 */

import type { Usage } from '../contracts/index.js';
import { GatewayError, isGatewayError, KEEP_ALIVE } from '../runtime/index.js';
import type { TextSample } from './counting/prompts.js';
import { sampleBytes, WrittenText } from './counting/written-text.js';
import { EventRewriter, rewordFailure, type Wording } from './event-rewriter.js';
import type { EventReader } from './events.js';
import { COMMA, isText, OPEN_BRACE, OPEN_BRACKET, QUOTE, readValue, walkElements, walkFields } from './json.js';
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
 * one reader; never rejects. It is no generator, since thousands of events pass through it per second.
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

/** Bytes given to a reader before the event loop continues: an upstream decides how much work they are. */
const MAX_BYTES_PER_TURN = 8 * 1024;
/** Milliseconds that all bodies together may use per turn of the event loop. */
const MAX_TURN_MS = 5;

/** The reader of a {@link PullStream}. Called once for each pull. */
export interface BodyReader {
  take(bytes: Uint8Array): void;
  /** Nothing arrived for a while. It may pull again. */
  noticeSilence(): void;
  /** The body has ended. */
  finish(): void;
  /** The error of the body, or the one it was failed with. */
  fail(error: unknown): void;
}

/**
 * A body that is read by callbacks. It has no timer of its own, so one timer can watch many of them. It uses callbacks
 * rather than promises, since an answer comes in many pieces and each promise costs.
 */
export class PullStream {
  readonly #iterator: AsyncIterator<Uint8Array>;
  #reader: BodyReader | undefined;
  /** Arrived while no pull was pending. */
  #arrived: IteratorResult<Uint8Array> | undefined;
  #failure: { error: unknown } | undefined;
  #isAsked = false;
  #isClosed = false;
  readonly #failureOf: (thrown: unknown) => unknown;
  /** Bytes given since the event loop last continued. */
  #given = 0;
  /** Whether the reader waits for a turn of the event loop. */
  #isDeferred = false;

  /** @param failureOf Converts an error of the body for the reader. */
  constructor(body: AsyncIterable<Uint8Array>, failureOf: (thrown: unknown) => unknown) {
    this.#iterator = body[Symbol.asyncIterator]();
    this.#failureOf = failureOf;
  }

  /** Requests the next bytes. Call it again only after the reader was called. */
  ask(reader: BodyReader): void {
    if (this.#failure) reader.fail(this.#failure.error);
    else {
      this.#reader = reader;
      if (this.#isDeferred) return;
      if (this.#given >= MAX_BYTES_PER_TURN) {
        this.#isDeferred = true;
        inTurn(this.#continue);
      } else this.#read();
    }
  }

  /** Whether a pull is pending: then the body is slow, not the reader. */
  get isAwaited(): boolean {
    return this.#reader !== undefined;
  }

  /** Reports silence to a pending pull. */
  sendKeepAlive(): void {
    const reader = this.#reader;
    this.#reader = undefined;
    reader?.noticeSilence();
  }

  /** Makes it fail from now on. */
  fail(error: unknown): void {
    this.#failure ??= { error };
    const reader = this.#reader;
    this.#reader = undefined;
    reader?.fail(this.#failure.error);
  }

  /** Stops reading and closes the body behind it. Idempotent. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    // Its later errors are ignored.
    this.#iterator.return?.().catch(() => undefined);
  }

  #read(): void {
    const arrived = this.#arrived;
    this.#arrived = undefined;
    if (arrived) this.#give(arrived);
    else if (!this.#isAsked) {
      this.#isAsked = true;
      try {
        this.#iterator.next().then(this.#take, this.#fail);
      } catch (error) {
        // An iterator of a plugin need not be a generator.
        this.#fail(error);
      }
    }
  }

  #give(result: IteratorResult<Uint8Array>): void {
    const reader = this.#reader;
    if (!reader || this.#isDeferred) {
      this.#arrived = result;
      return;
    }
    this.#reader = undefined;
    if (result.done) {
      reader.finish();
      return;
    }
    const { value } = result;
    const max = MAX_BYTES_PER_TURN - this.#given;
    if (value.length > max) this.#arrived = { done: false, value: value.subarray(max) };
    const bytes = value.length > max ? value.subarray(0, max) : value;
    this.#given += bytes.length;
    reader.take(bytes);
  }

  readonly #take = (result: IteratorResult<Uint8Array>): void => {
    this.#isAsked = false;
    if (!result?.done && !(result?.value instanceof Uint8Array)) {
      this.#fail(new TypeError('the body of a reply must yield bytes'));
      return;
    }
    this.#give(result);
  };

  readonly #continue = (): void => {
    this.#isDeferred = false;
    this.#given = 0;
    // A reader pulls again after a report of silence.
    if (this.#reader) this.#read();
  };

  readonly #fail = (error: unknown): void => this.fail(this.#failureOf(error));
}

/** Work of all bodies that is continued in later turns of the event loop, first come, first served. */
let waiting: (() => void)[] = [];

function inTurn(work: () => void): void {
  if (waiting.length === 0) setImmediate(takeTurn);
  waiting.push(work);
}

function takeTurn(): void {
  const end = performance.now() + MAX_TURN_MS;
  const now = waiting;
  waiting = [];
  let done = 0;
  // Work that is deferred again while this runs is queued behind the others.
  while (done < now.length && (done === 0 || performance.now() < end)) now[done++]?.();
  const isScheduled = waiting.length > 0;
  waiting = [...now.slice(done), ...waiting];
  if (waiting.length > 0 && !isScheduled) setImmediate(takeTurn);
}
