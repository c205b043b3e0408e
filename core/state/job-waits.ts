import type { Database } from './database.js';
import type { Dispatcher, Serving } from './dispatcher.js';
import type { JobTable } from './job-table.js';

/** For hints that were lost, and for other processes on the same file, which give none. */
const LOOK_MS = 1_000;
const MAX_IDS = 500;

/** Those who wait for jobs to end. */
export interface JobWaits {
  /** Begins at once, so that no end is missed that comes after this call. */
  begin(id: string): JobWait;
  stop(): Promise<void>;
}

export interface JobWait {
  /** Resolves when the job has ended or the time is over; rejects with the signal's reason. */
  over(timeoutMs: number, signal?: AbortSignal): Promise<void>;
  stop(): void;
}

export interface JobWaitsOptions {
  database: Database;
  table: JobTable;
  dispatcher: Dispatcher;
  /** Default 1,000. */
  pollMs?: number;
  report(error: unknown): void;
}

export function createJobWaits({ database, table, dispatcher, pollMs = LOOK_MS, report }: JobWaitsOptions): JobWaits {
  const waiting = new Map<string, Set<() => void>>();
  let watching: Serving | undefined;
  let timer: NodeJS.Timeout | undefined;
  let looking: Promise<void> | undefined;

  function wake(id: string): void {
    for (const end of waiting.get(id) ?? []) end();
  }

  async function look(): Promise<void> {
    const ids = [...waiting.keys()];
    for (let from = 0; from < ids.length; from += MAX_IDS) {
      const some = ids.slice(from, from + MAX_IDS);
      for (const id of await database.run((queries) => table.findEnded(queries, some))) wake(id);
    }
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
