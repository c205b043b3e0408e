import { GatewayError } from '../errors.js';

/** What {@link PacedBody.next} resolves with where nothing came for a while, and at the end. */
export const SILENCE = Symbol('silence');
export const END = Symbol('end');

export interface PaceOptions {
  /** Milliseconds of silence after which a reader is told. Default: not before the silence is too long. */
  silenceMs?: number;
  /** Milliseconds of silence after which nothing more is expected. */
  idleMs: number;
  signal: AbortSignal;
}

/** A body whose silence is noticed. */
export interface PacedBody {
  /**
   * The next bytes. To be called again when it has settled.
   * @throws GatewayError `upstream_timeout` after `idleMs`, the signal's reason, or what the body throws.
   */
  next(): Promise<Uint8Array | typeof SILENCE | typeof END>;
  /** Nobody reads on: closes what is behind the body. Idempotent. */
  close(): void;
}

export function paceBody(body: AsyncIterable<Uint8Array>, { silenceMs, idleMs, signal }: PaceOptions): PacedBody {
  const iterator = body[Symbol.asyncIterator]();
  const tickMs = Math.min(silenceMs ?? idleMs, idleMs);
  let waiting: PromiseWithResolvers<Uint8Array | typeof SILENCE | typeof END> | undefined;
  /** Came while nobody waited. */
  let arrived: { result: IteratorResult<Uint8Array> } | { error: unknown } | undefined;
  let asked = false;
  let silentMs = 0;
  let closed = false;

  const take = (result: IteratorResult<Uint8Array>) => {
    asked = false;
    if (waiting) hand(result);
    else arrived = { result };
  };
  const fail = (error: unknown) => {
    asked = false;
    if (waiting) reject(error);
    else arrived = { error };
  };
  const abort = () => reject(signal.reason);
  const timer = setTimeout(() => {
    // Who does not ask for more is slow, not the body.
    if (waiting) {
      silentMs += tickMs;
      if (silentMs >= idleMs) reject(new GatewayError('upstream_timeout', 'The model has fallen silent.'));
      else settle(SILENCE);
    }
    if (!closed) timer.refresh();
  }, tickMs);
  signal.addEventListener('abort', abort, { once: true });

  function settle(value: Uint8Array | typeof SILENCE | typeof END): void {
    waiting?.resolve(value);
    waiting = undefined;
  }

  function hand(result: IteratorResult<Uint8Array>): void {
    silentMs = 0;
    settle(result.done ? END : result.value);
  }

  function reject(error: unknown): void {
    waiting?.reject(error);
    waiting = undefined;
  }

  return {
    next() {
      waiting = Promise.withResolvers();
      const { promise } = waiting;
      if (signal.aborted) abort();
      else if (arrived) {
        const came = arrived;
        arrived = undefined;
        if ('result' in came) hand(came.result);
        else reject(came.error);
      } else {
        if (silentMs === 0) timer.refresh();
        if (!asked) {
          asked = true;
          iterator.next().then(take, fail);
        }
      }
      return promise;
    },
    close() {
      if (closed) return;
      closed = true;
      clearTimeout(timer);
      signal.removeEventListener('abort', abort);
      // What it may still throw is nobody's concern any more.
      iterator.return?.().catch(() => undefined);
    },
  };
}
