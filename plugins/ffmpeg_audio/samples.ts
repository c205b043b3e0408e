/** Samples a second of a `pcm`. */
export const RATE = 24_000;

/** A sound whose first bytes have been waited for, so that what hinders them is told before there is an answer. */
export async function begun(
  samples: AsyncIterable<Uint8Array>,
  failEmpty?: () => never,
): Promise<AsyncIterableIterator<Uint8Array>> {
  const rest = samples[Symbol.asyncIterator]();
  let ready: IteratorResult<Uint8Array> | undefined = await rest.next();
  if (ready.done) failEmpty?.();
  const whole: AsyncIterableIterator<Uint8Array> = {
    [Symbol.asyncIterator]() {
      return whole;
    },
    async next() {
      const result = ready ?? (await rest.next());
      ready = undefined;
      return result;
    },
    async return() {
      await rest.return?.();
      return { done: true, value: undefined };
    },
  };
  return whole;
}
