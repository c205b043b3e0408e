import { GatewayError, isGatewayError } from '../runtime/index.js';
import type { EventReader } from './event-reader.js';
import { createEventRewriter, type EventRewriter } from './event-rewriter.js';
import type { BodyReader, PacedBody } from './paced-body.js';
import type { Wording } from './told-failure.js';

/** A comment: readers of events pass over it, and proxies see that the connection is alive. */
const KEEP_ALIVE = Buffer.from(': keep-alive\n\n');
const NO_MORE = { done: true, value: undefined } as const;

export interface AnswerStreamOptions {
  body: PacedBody;
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
