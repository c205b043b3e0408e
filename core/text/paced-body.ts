/** What {@link PacedBody.next} resolves with where nothing came for a while, and at the end. */
export const SILENCE = Symbol('silence');
export const END = Symbol('end');

type Came = Uint8Array | typeof SILENCE | typeof END;

/** A body that its reader need not wait for. It has no timer of its own: who watches many of them needs but one. */
export interface PacedBody {
  /** The next bytes. To be called again when it has settled. Rejects with what the body throws, or what it was failed with. */
  next(): Promise<Came>;
  /** Whether somebody waits for {@link next}: then it is the body that is slow. */
  readonly isAwaited: boolean;
  /** Whoever waits is told that nothing came. */
  tellSilence(): void;
  /** From now on it fails. */
  fail(error: unknown): void;
  /** Nobody reads on: closes what is behind it. Idempotent. */
  close(): void;
}

export function paceBody(body: AsyncIterable<Uint8Array>): PacedBody {
  const iterator = body[Symbol.asyncIterator]();
  let waiting: PromiseWithResolvers<Came> | undefined;
  /** Came while nobody waited. */
  let arrived: IteratorResult<Uint8Array> | undefined;
  let failure: { error: unknown } | undefined;
  let isAsked = false;
  let isClosed = false;

  const take = (result: IteratorResult<Uint8Array>) => {
    isAsked = false;
    if (waiting) settle(result.done ? END : result.value);
    else arrived = result;
  };
  const fail = (error: unknown) => {
    isAsked = false;
    failure ??= { error };
    waiting?.reject(failure.error);
    waiting = undefined;
  };

  function settle(came: Came): void {
    const settled = waiting;
    waiting = undefined;
    settled?.resolve(came);
  }

  return {
    async next() {
      if (failure) throw failure.error;
      if (arrived) {
        const { done, value } = arrived;
        arrived = undefined;
        return done ? END : value;
      }
      waiting = Promise.withResolvers();
      const { promise } = waiting;
      if (!isAsked) {
        isAsked = true;
        iterator.next().then(take, fail);
      }
      return promise;
    },
    get isAwaited() {
      return waiting !== undefined;
    },
    tellSilence: () => settle(SILENCE),
    fail,
    close() {
      if (isClosed) return;
      isClosed = true;
      // What it may still throw is nobody's concern any more.
      iterator.return?.().catch(() => undefined);
    },
  };
}
