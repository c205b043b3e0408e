import { type Clock, GatewayError, TryFailure } from 'mediagate';

export interface StartOptions {
  clock: Clock;
  /** Milliseconds to wait for the first bytes; what comes later comes to whoever reads. Default: until they are here. */
  patienceMs?: number;
  /** Default false. */
  mayBeEmpty?: boolean;
}

/**
 * A body whose first bytes are here, so that one that never begins can still be had elsewhere.
 * @throws TryFailure where it is empty and may not be; what reading it throws.
 */
export async function startBody(
  body: AsyncIterable<Uint8Array>,
  { clock, patienceMs, mayBeEmpty = false }: StartOptions,
): Promise<AsyncIterableIterator<Uint8Array>> {
  const chunks = body[Symbol.asyncIterator]();
  let first: Promise<IteratorResult<Uint8Array>> | undefined = chunks.next();
  const early = patienceMs === undefined ? await first : await within(first, patienceMs, clock);
  if (early?.done && !mayBeEmpty) {
    const error = new GatewayError('upstream_error', 'The upstream answered with nothing.');
    throw new TryFailure(error, { again: 'anywhere', counts: true });
  }
  const started: AsyncIterableIterator<Uint8Array> = {
    [Symbol.asyncIterator]: () => started,
    next() {
      const next = first ?? chunks.next();
      first = undefined;
      return next;
    },
    async return() {
      await chunks.return?.();
      return { done: true, value: undefined };
    },
  };
  return started;
}

/** Undefined where it takes longer. */
async function within<Result>(work: Promise<Result>, ms: number, clock: Clock): Promise<Result | undefined> {
  const done = new AbortController();
  const late = clock.sleep(ms, done.signal).then(
    () => undefined,
    () => undefined,
  );
  try {
    return await Promise.race([work, late]);
  } finally {
    done.abort();
    // Who reads hears of a failure; who never does shall not end the process with it.
    work.catch(() => undefined);
  }
}
