/** What {@link PacedBody.next} resolves with where nothing came for a while, and at the end. */
export const SILENCE = Symbol('silence');
export const END = Symbol('end');

type Came = Uint8Array | typeof SILENCE | typeof END;

/** A body that its reader need not wait for. It has no timer of its own: who watches many of them needs but one. */
export class PacedBody {
  readonly #iterator: AsyncIterator<Uint8Array>;
  #resolve: ((came: Came) => void) | undefined;
  #reject: ((error: unknown) => void) | undefined;
  /** Came while nobody waited. */
  #arrived: IteratorResult<Uint8Array> | undefined;
  #failure: { error: unknown } | undefined;
  #isAsked = false;
  #isClosed = false;

  constructor(body: AsyncIterable<Uint8Array>) {
    this.#iterator = body[Symbol.asyncIterator]();
  }

  /** The next bytes. To be called again when it has settled. Rejects with what the body throws, or what it was failed with. */
  next(): Promise<Came> {
    return new Promise((resolve, reject) => {
      if (this.#failure) reject(this.#failure.error);
      else if (this.#arrived) {
        const { done, value } = this.#arrived;
        this.#arrived = undefined;
        resolve(done ? END : value);
      } else {
        this.#resolve = resolve;
        this.#reject = reject;
        this.#ask();
      }
    });
  }

  /** Whether somebody waits for {@link next}: then it is the body that is slow. */
  get isAwaited(): boolean {
    return this.#resolve !== undefined;
  }

  /** Whoever waits is told that nothing came. */
  tellSilence(): void {
    this.#settle(SILENCE);
  }

  /** From now on it fails. */
  fail(error: unknown): void {
    this.#failure ??= { error };
    this.#reject?.(this.#failure.error);
    this.#resolve = undefined;
    this.#reject = undefined;
  }

  /** Nobody reads on: closes what is behind it. Idempotent. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    // What it may still throw is nobody's concern any more.
    this.#iterator.return?.().catch(() => undefined);
  }

  #ask(): void {
    if (this.#isAsked) return;
    this.#isAsked = true;
    this.#iterator.next().then(
      (result) => {
        this.#isAsked = false;
        if (!this.#resolve) this.#arrived = result;
        else this.#settle(result.done ? END : result.value);
      },
      (error: unknown) => this.fail(error),
    );
  }

  #settle(came: Came): void {
    this.#resolve?.(came);
    this.#resolve = undefined;
    this.#reject = undefined;
  }
}
