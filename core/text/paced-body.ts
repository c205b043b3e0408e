/** Who reads a {@link PacedBody}: is called once for each time it asks. */
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
export class PacedBody {
  readonly #iterator: AsyncIterator<Uint8Array>;
  #reader: BodyReader | undefined;
  /** Came while nobody waited. */
  #arrived: IteratorResult<Uint8Array> | undefined;
  #failure: { error: unknown } | undefined;
  #isAsked = false;
  #isClosed = false;
  readonly #failureOf: (thrown: unknown) => unknown;

  /** @param failureOf What the reader is told where the body threw this. */
  constructor(body: AsyncIterable<Uint8Array>, failureOf: (thrown: unknown) => unknown) {
    this.#iterator = body[Symbol.asyncIterator]();
    this.#failureOf = failureOf;
  }

  /** Asks for the next bytes. To be called again once the reader was called. */
  ask(reader: BodyReader): void {
    if (this.#failure) reader.fail(this.#failure.error);
    else if (this.#arrived) {
      const result = this.#arrived;
      this.#arrived = undefined;
      give(result, reader);
    } else {
      this.#reader = reader;
      if (this.#isAsked) return;
      this.#isAsked = true;
      try {
        this.#iterator.next().then(this.#take, this.#fail);
      } catch (error) {
        // An iterator of a plugin need not be a generator.
        this.#fail(error);
      }
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

  readonly #take = (result: IteratorResult<Uint8Array>): void => {
    this.#isAsked = false;
    if (!result?.done && !(result?.value instanceof Uint8Array)) {
      this.#fail(new TypeError('the body of a reply gave something else than bytes'));
      return;
    }
    const reader = this.#reader;
    this.#reader = undefined;
    if (reader) give(result, reader);
    else this.#arrived = result;
  };

  readonly #fail = (error: unknown): void => this.fail(this.#failureOf(error));
}

function give({ done, value }: IteratorResult<Uint8Array>, reader: BodyReader): void {
  if (done) reader.finish();
  else reader.take(value);
}
