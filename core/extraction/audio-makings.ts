import { LRUCache } from 'lru-cache';
import pLimit from 'p-limit';
import type { Clock } from '../contracts/index.js';
import type { GrowingFile } from '../media/index.js';
import { GatewayError, isDefinitiveCode, isGatewayError, isTransientCode, startLifetime } from '../runtime/index.js';

/** From the question where the sound is to the stored file, waiting for a place included. */
const TIME_MS = 120_000;
/** Each may hold a source of 200 MiB on disk; two of them are converted while others are fetched. */
const AT_A_TIME = 4;
const MAX_WAITING = 32;
/** A source that refuses is left alone for a while, whoever asks: the links are public. */
const REFUSAL_MS = 30_000;

/** A file that is being made. It goes on when those who asked have left, since players leave and come back. */
export interface Making {
  /** Resolves with the first bytes. */
  readonly begun: Promise<GrowingFile>;
  readonly stored: Promise<void>;
}

/** Makes one file; what it throws is a GatewayError wherever it can say why. */
export type Make = (signal: AbortSignal, begin: (growing: GrowingFile) => void) => Promise<void>;

/** Files in the making: each once, a few at a time, in bounded time. */
export interface Makings {
  has(key: string): boolean;
  /**
   * The making of this key, begun where there is none.
   * @throws GatewayError `queue_full`, or what the last one failed with a moment ago.
   */
  join(key: string, make: Make): Making;
  /** Ends all of them, and resolves when nothing is left. */
  close(): Promise<void>;
}

export function createMakings(clock: Clock): Makings {
  const makings = new Map<string, Making & { over: Promise<void> }>();
  const refusals = new LRUCache<string, GatewayError>({ max: 1_000, ttl: REFUSAL_MS });
  const limit = pLimit(AT_A_TIME);
  const closing = new AbortController();

  function start(key: string, make: Make): Making {
    if (limit.pendingCount >= MAX_WAITING) throw new GatewayError('queue_full', 'Too many MP3 files are being made.');
    const begun = Promise.withResolvers<GrowingFile>();
    const stored = Promise.withResolvers<void>();
    const fail = (failure: unknown) => {
      begun.reject(failure);
      stored.reject(failure);
    };
    // Nobody may be waiting for either of them.
    begun.promise.catch(() => undefined);
    stored.promise.catch(() => undefined);
    const lifetime = startLifetime({ clock, timeoutMs: TIME_MS, signals: [closing.signal], late: tooSlow });
    lifetime.signal.addEventListener('abort', () => fail(lifetime.signal.reason), { once: true });

    const over = limit(async () => {
      // It may have waited for a place until its time was over, which is not the source's doing.
      if (lifetime.signal.aborted) return;
      try {
        await make(lifetime.signal, begun.resolve);
        stored.resolve();
      } catch (failure) {
        fail(failure);
        if (isGatewayError(failure) && isRefusal(failure)) refusals.set(key, failure);
      }
    }).finally(() => {
      lifetime.end();
      makings.delete(key);
    });
    const making = { begun: begun.promise, stored: stored.promise, over };
    makings.set(key, making);
    return making;
  }

  return {
    has: (key) => makings.has(key),
    join(key, make) {
      const known = makings.get(key);
      if (known) return known;
      const refusal = refusals.get(key);
      if (refusal) throw refusal;
      return start(key, make);
    },
    async close() {
      closing.abort(new GatewayError('shutting_down', 'The gateway is closing.'));
      await Promise.all([...makings.values()].map(({ over }) => over));
    },
  };
}

function tooSlow(): GatewayError {
  return new GatewayError('audio_timeout', `The MP3 could not be made within ${TIME_MS / 1000} s.`);
}

/** What the source did, as opposed to a condition of ours that may have passed by the next request. */
function isRefusal({ code }: GatewayError): boolean {
  return isDefinitiveCode(code) || isTransientCode(code) || code === 'audio_unavailable' || code === 'audio_timeout';
}
