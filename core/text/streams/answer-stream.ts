/*
 * The body of an answer, and the stream that a client gets of it. A reader pulls the body: it gets at most 8 KiB per
 * turn of the event loop, since an upstream decides how much work they are, and all bodies together use at most about 5
 * ms of a turn, first come, first served. Readers are called in place, within that turn, instead of through promises.
 * The body has no timer of its own, so that one timer watches all bodies for silence, and reports that to the reader
 * that waits. Without a waiting reader (`isAwaited`) a body is paused by its client, and is not silent. `AnswerStream`
 * passes events on as they arrive; at the end of a stream without a terminal event it asks the event reader for the one
 * of the route, with an error if the answer is incomplete.
 */

import { GatewayError, isGatewayError, KEEP_ALIVE } from '../../runtime/index.js';
import { type EventReader, EventRewriter } from './events.js';
import type { Wording } from './stream-failures.js';

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

/** A body that is read by callbacks. */
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
