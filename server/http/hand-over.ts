/** Hands a body to one reader, piece by piece: no more of it is in memory than the reader has not taken yet. */
export interface HandOver {
  /** To be read once, to its end or until it is told to return. */
  readonly pieces: AsyncIterable<Uint8Array>;
  /** Resolves when the reader wants the next piece, or wants none any more. */
  put(piece: Uint8Array): Promise<void>;
  /** There is no more; or, with an error, there never will be. */
  end(failure?: { error: unknown }): void;
  /** Nobody will read on. */
  leave(): void;
}

export function createHandOver(): HandOver {
  let offered: { piece: Uint8Array; taken: () => void } | undefined;
  let ended: { failure?: { error: unknown } } | undefined;
  let hasLeft = false;
  let wake: () => void = () => undefined;

  function leave(): void {
    hasLeft = true;
    offered?.taken();
    offered = undefined;
  }

  async function* read(): AsyncGenerator<Uint8Array> {
    try {
      for (;;) {
        const { promise: change, resolve } = Promise.withResolvers<void>();
        wake = resolve;
        if (offered) {
          const { piece, taken } = offered;
          yield piece;
          offered = undefined;
          taken();
        } else if (ended?.failure) throw ended.failure.error;
        else if (ended) return;
        else await change;
      }
    } finally {
      leave();
    }
  }

  return {
    pieces: read(),
    put(piece) {
      if (hasLeft) return Promise.resolve();
      const { promise, resolve: taken } = Promise.withResolvers<void>();
      offered = { piece, taken };
      wake();
      return promise;
    },
    end(failure) {
      ended = failure ? { failure } : {};
      wake();
    },
    leave,
  };
}
