import type { Usage } from '../contracts/index.js';
import { GatewayError, isGatewayError } from '../runtime/index.js';
import { createEventRewriter, type EventRewriter, rewordFailure, type Wording } from './event-rewriter.js';
import type { EventReader } from './events.js';
import { isText, readValue, walkMembers } from './json.js';
import { NO_TEXT, readUsage, sampleBytes, sampleTexts, type TextSample } from './tokens.js';

/** A comment: readers of events pass over it, and proxies see that the connection is alive. */
const KEEP_ALIVE = Buffer.from(': keep-alive\n\n');
const NO_MORE = { done: true, value: undefined } as const;

export interface AnswerStreamOptions {
  body: PullStream;
  reader: EventReader;
  wording: Wording;
  /** Whether the caller has gone; then nobody is told anything. */
  hasLeft(): boolean;
  /** Called whenever bytes come. */
  onBytes(): void;
  /** Called once, whatever happens: with what kept the answer from coming to its own end, where something did. */
  onEnd(failure: GatewayError | undefined): void;
}

/**
 * Events as they come, and the event that ends them well where the upstream did not send it. To be read once, by one reader;
 * never rejects. No generator: thousands of events go through here in a second.
 */
export class AnswerStream implements AsyncIterableIterator<Buffer>, BodyReader {
  readonly #options: AnswerStreamOptions;
  readonly #rewriter: EventRewriter;
  #resolve: ((result: IteratorResult<Buffer>) => void) | undefined;
  #isOver = false;

  constructor(options: AnswerStreamOptions) {
    this.#options = options;
    this.#rewriter = createEventRewriter(options.reader, options.wording);
  }

  next(): Promise<IteratorResult<Buffer>> {
    if (this.#isOver) return Promise.resolve(NO_MORE);
    return new Promise((resolve) => {
      this.#resolve = resolve;
      this.#options.body.ask(this);
    });
  }

  /** Nobody reads on. */
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
    this.#give(KEEP_ALIVE);
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

  /** @returns The failure, unless it came after the end, where nobody misses anything. */
  #end(failure: GatewayError | undefined): GatewayError | undefined {
    const { body, reader, onEnd } = this.#options;
    this.#isOver = true;
    const missed = reader.ended ? undefined : failure;
    body.close();
    onEnd(missed);
    return missed;
  }

  #giveLast(last: Buffer | undefined, terminal: string | undefined): void {
    const told = terminal === undefined || this.#options.hasLeft() ? undefined : Buffer.from(terminal);
    this.#give(last && told ? Buffer.concat([last, told]) : (last ?? told));
  }

  #give(bytes: Buffer | undefined): void {
    const resolve = this.#resolve;
    this.#resolve = undefined;
    resolve?.(bytes ? { done: false, value: bytes } : NO_MORE);
  }
}

function brokenOff(cause?: unknown): GatewayError {
  return new GatewayError('upstream_error', 'The stream of the model broke off.', { cause });
}

function failureOf(error: unknown): GatewayError {
  if (!isGatewayError(error)) return brokenOff(error);
  // What became of the connection is told by words that say what became of the answer.
  return error.code === 'upstream_error' ? brokenOff(error) : error;
}

/** An answer with more is not taken apart to find what is said in it: that would hold up everybody else. */
const MAX_VALUES = 100_000;
const COMMA = 0x2c;
const QUOTE = 0x22;
const OPEN_BRACE = 0x7b;
const OPEN_BRACKET = 0x5b;
/** States of a response that is still to be made. */
const OPEN_STATES: ReadonlySet<unknown> = new Set(['queued', 'in_progress']);
const LAST_STATES: ReadonlySet<unknown> = new Set(['completed', 'incomplete', 'failed', 'cancelled']);

/** An answer that came in one piece. */
export interface WholeAnswer {
  /** With the public name of the model. */
  body: Buffer;
  usage?: Usage;
  /** Of a response. */
  id?: string;
  /** Whether it is a response that is made in the background, and what it uses is not known yet. */
  open: boolean;
  /** Whether it is a response that the upstream says has come to an end, of whatever sort. */
  ended: boolean;
  /** `upstream_error` where it only tells why there is no answer. */
  refusal?: GatewayError;
  /** What the model says in it. */
  said(): TextSample;
}

/**
 * Reads what the gateway has to know of an answer, and puts the public name of the model in the place of the upstream's.
 * @param isResponse whether it is one of the responses route, which has an id to be found by, and may be open.
 * @throws GatewayError `upstream_error` where it is no JSON object.
 */
export function readWholeAnswer(bytes: Buffer, wording: Wording, isResponse: boolean): WholeAnswer {
  const answer: WholeAnswer = { body: bytes, open: false, ended: false, said: () => saidIn(bytes) };
  let modelStart = 0;
  let modelEnd = 0;
  let failed = false;
  let told = false;
  try {
    const end = walkMembers(bytes, 0, ({ nameStart, nameEnd, valueStart, valueEnd }) => {
      const first = bytes[valueStart];
      if (first === QUOTE) {
        if (isText(bytes, nameStart, nameEnd, 'model')) {
          modelStart = valueStart;
          modelEnd = valueEnd;
        } else if (isText(bytes, nameStart, nameEnd, 'error')) failed ||= valueEnd - valueStart > 2;
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
      } else if (first === OPEN_BRACKET) told = true;
    });
    if (bytes.toString('latin1', end + 1).trim() !== '') throw new SyntaxError('There is more than one object.');
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new GatewayError('upstream_error', 'The model did not answer with JSON.');
  }
  // A response that failed still has its list of output, or says at least that it has ended; an error instead of an answer has nothing.
  if (failed && !told && !(answer.ended && answer.id !== undefined))
    answer.refusal = new GatewayError('upstream_error', 'The model answered with an error.');
  else if (failed) answer.body = rewordFailure(bytes, wording);
  else if (modelStart > 0) {
    answer.body = Buffer.concat([bytes.subarray(0, modelStart), wording.modelText, bytes.subarray(modelEnd)]);
  }
  return answer;
}

function saidIn(bytes: Buffer): TextSample {
  if (hasManyValues(bytes)) return sampleBytes([bytes]);
  try {
    const { choices, output } = JSON.parse(bytes.toString('utf8')) as Readonly<Record<string, unknown>>;
    return sampleTexts([choices, output]);
  } catch {
    // Only where objects end was looked at before.
    return NO_TEXT;
  }
}

function hasManyValues(bytes: Buffer): boolean {
  if (bytes.length <= MAX_VALUES) return false;
  let values = 0;
  for (const byte of bytes) if (byte === COMMA || byte === OPEN_BRACE || byte === OPEN_BRACKET) values += 1;
  return values > MAX_VALUES;
}

/** Bytes that a reader gets before the event loop has a turn: an upstream decides how much work is in them. */
const MAX_BYTES_PER_TURN = 8 * 1024;
/** Milliseconds that all bodies together may take of one turn of the event loop. */
const MAX_TURN_MS = 5;

/** Who reads a {@link PullStream}: is called once for each time it asks. */
export interface BodyReader {
  take(bytes: Uint8Array): void;
  /** Nothing came for a while. It may ask again. */
  noticeSilence(): void;
  /** There is no more. */
  finish(): void;
  /** With what the body threw, or what it was failed with. */
  fail(error: unknown): void;
}

/**
 * A body that its reader need not wait for. It has no timer of its own: who watches many of them needs but one. It calls
 * rather than promises: what an answer says comes in many pieces, and each promise less is one.
 */
export class PullStream {
  readonly #iterator: AsyncIterator<Uint8Array>;
  #reader: BodyReader | undefined;
  /** Came while nobody waited. */
  #arrived: IteratorResult<Uint8Array> | undefined;
  #failure: { error: unknown } | undefined;
  #isAsked = false;
  #isClosed = false;
  readonly #failureOf: (thrown: unknown) => unknown;
  /** Bytes given since the event loop last had a turn. */
  #given = 0;
  /** Whether the reader waits for a turn of the event loop. */
  #isDeferred = false;

  /** @param failureOf What the reader is told where the body threw this. */
  constructor(body: AsyncIterable<Uint8Array>, failureOf: (thrown: unknown) => unknown) {
    this.#iterator = body[Symbol.asyncIterator]();
    this.#failureOf = failureOf;
  }

  /** Asks for the next bytes. To be called again once the reader was called. */
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

  /** Whether somebody waits: then it is the body that is slow. */
  get isAwaited(): boolean {
    return this.#reader !== undefined;
  }

  /** Whoever waits is told that nothing came. */
  tellSilence(): void {
    const reader = this.#reader;
    this.#reader = undefined;
    reader?.noticeSilence();
  }

  /** From now on it fails. */
  fail(error: unknown): void {
    this.#failure ??= { error };
    const reader = this.#reader;
    this.#reader = undefined;
    reader?.fail(this.#failure.error);
  }

  /** Nobody reads on: closes what is behind it. Idempotent. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    // What it may still throw is nobody's concern any more.
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
    const most = MAX_BYTES_PER_TURN - this.#given;
    if (value.length > most) this.#arrived = { done: false, value: value.subarray(most) };
    const bytes = value.length > most ? value.subarray(0, most) : value;
    this.#given += bytes.length;
    reader.take(bytes);
  }

  readonly #take = (result: IteratorResult<Uint8Array>): void => {
    this.#isAsked = false;
    if (!result?.done && !(result?.value instanceof Uint8Array)) {
      this.#fail(new TypeError('the body of a reply gave something else than bytes'));
      return;
    }
    this.#give(result);
  };

  readonly #continue = (): void => {
    this.#isDeferred = false;
    this.#given = 0;
    // Who was told of silence meanwhile asks again.
    if (this.#reader) this.#read();
  };

  readonly #fail = (error: unknown): void => this.fail(this.#failureOf(error));
}

/** Work of all bodies that goes on in later turns of the event loop, first come, first served. */
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
  // What is put off again while this runs comes behind those who still wait.
  while (done < now.length && (done === 0 || performance.now() < end)) now[done++]?.();
  const isScheduled = waiting.length > 0;
  waiting = [...now.slice(done), ...waiting];
  if (waiting.length > 0 && !isScheduled) setImmediate(takeTurn);
}
