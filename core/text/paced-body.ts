/** Bytes that a reader gets before the event loop has a turn: an upstream decides how much work is in them. */
const MAX_BYTES_PER_TURN = 8 * 1024;
/** Milliseconds that all bodies together may take of one turn of the event loop. */
const MAX_TURN_MS = 5;

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
