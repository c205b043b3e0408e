import type { Dispatcher, Serving } from './dispatcher.js';

/** For hints that were lost, and for other processes on the same file, which give none. */
const LOOK_MS = 1_000;

/** Those who wait for work to end. */
export interface EndWaits {
  /** Begins at once, so that no end is missed that comes after this call. */
  begin(id: string): EndWait;
  stop(): Promise<void>;
}

export interface EndWait {
  /** Resolves when the work has ended or the time is over; rejects with the signal's reason. */
  over(timeoutMs: number, signal?: AbortSignal): Promise<void>;
  stop(): void;
}

export interface EndWaitsOptions {
  /** Which of these have ended, or are gone. Asked about all that are waited for at once. */
  findEnded(ids: readonly string[]): Promise<readonly string[]>;
  dispatcher: Dispatcher;
  /** Default 1,000. */
  pollMs?: number;
  report(error: unknown): void;
}

export function createEndWaits({ findEnded, dispatcher, pollMs = LOOK_MS, report }: EndWaitsOptions): EndWaits {
  const waiting = new Map<string, Set<() => void>>();
  let watching: Serving | undefined;
  let timer: NodeJS.Timeout | undefined;
  let looking: Promise<void> | undefined;

  function wake(id: string): void {
    for (const end of waiting.get(id) ?? []) end();
  }

  async function look(): Promise<void> {
    const ids = [...waiting.keys()];
    if (ids.length > 0) for (const id of await findEnded(ids)) wake(id);
  }

  function lookNow(): void {
    looking ??= look()
      .catch(report)
      .finally(() => {
        looking = undefined;
      });
  }

  return {
    begin(id) {
      watching ??= dispatcher.watchEnds({ ended: wake, missed: lookNow, report });
      timer ??= setInterval(lookNow, pollMs);
      const { promise: over, resolve } = Promise.withResolvers<void>();
      let hasEnded = false;
      const end = () => {
        hasEnded = true;
        resolve();
      };
      const others = waiting.get(id) ?? new Set();
      waiting.set(id, others.add(end));
      return {
        async over(timeoutMs, signal) {
          const tooLong = setTimeout(resolve, timeoutMs);
          const enough = () => resolve();
          signal?.addEventListener('abort', enough);
          if (!signal?.aborted) await over;
          signal?.removeEventListener('abort', enough);
          clearTimeout(tooLong);
          if (!hasEnded) signal?.throwIfAborted();
        },
        stop() {
          others.delete(end);
          if (others.size === 0) waiting.delete(id);
          if (waiting.size > 0) return;
          clearInterval(timer);
          timer = undefined;
        },
      };
    },
    async stop() {
      for (const id of waiting.keys()) wake(id);
      clearInterval(timer);
      await looking;
      await watching?.stop();
    },
  };
}
