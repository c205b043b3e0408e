import type { Clock } from '../contracts/index.js';
import { GatewayError, isGatewayError } from '../runtime/index.js';

/** A store that has begun to send a file may be silent for so long. */
const SILENCE_MS = 30_000;

/** Bytes as the reader takes them. A reader may take its time once it has begun, a store may not. */
export function bodyOf(response: Response, length: number, clock: Clock): AsyncGenerator<Uint8Array> {
  const begun = new AbortController();
  // A connection that nobody reads from would stay for good. The sleep rejects when the reader comes.
  clock.sleep(SILENCE_MS, begun.signal).then(
    () => response.body?.cancel().catch(() => undefined),
    () => undefined,
  );
  return readBody(response, { length, clock, begun });
}

async function* readBody(
  response: Response,
  { length, clock, begun }: { length: number; clock: Clock; begun: AbortController },
): AsyncGenerator<Uint8Array> {
  begun.abort();
  const reader = response.body?.getReader();
  let received = 0;
  try {
    // Some send more than was asked for.
    while (received < length) {
      const { done, value } = (await inTime(reader?.read(), clock)) ?? { done: true, value: undefined };
      if (done) throw new Error('The answer is shorter than it should be.');
      const wanted = value.subarray(0, length - received);
      received += wanted.byteLength;
      yield wanted;
    }
  } catch (cause) {
    if (isGatewayError(cause)) throw cause;
    throw new GatewayError('upstream_unavailable', 'The object store broke off in the middle of a file.', { cause });
  } finally {
    // Ends the connection where the reader, or the store, has left in the middle.
    await reader?.cancel().catch(() => undefined);
  }
}

async function inTime<Result>(work: Promise<Result> | undefined, clock: Clock): Promise<Result | undefined> {
  const done = new AbortController();
  const tooLong = clock.sleep(SILENCE_MS, done.signal).then(() => {
    throw new GatewayError('upstream_unavailable', 'The object store fell silent in the middle of a file.');
  });
  // It rejects as well when it is no longer needed.
  tooLong.catch(() => undefined);
  try {
    return await Promise.race([work, tooLong]);
  } finally {
    done.abort();
  }
}
