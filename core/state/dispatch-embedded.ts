import { setTimeout as sleep } from 'node:timers/promises';
import type { Dispatcher, JobService, Serving } from './dispatcher.js';

/** Other processes on the same file queue jobs, too: the command line, a second server during an upgrade. */
const POLL_MS = 1_000;
const FIRST_RETRY_MS = 100;
const LAST_RETRY_MS = 5_000;

/** Work is heard of in this process at once, and of other processes by looking every second. */
export function createEmbeddedDispatcher(): Dispatcher {
  const pumps = new Set<Pump>();
  return {
    announce: async () => undefined,
    wake(kind) {
      for (const pump of pumps) if (pump.kind === kind) pump.wake();
    },
    serve(service) {
      const pump = createPump(service, POLL_MS);
      pumps.add(pump);
      return {
        async stop() {
          pumps.delete(pump);
          await pump.stop();
        },
      };
    },
    async close() {
      await Promise.all(Array.from(pumps, (pump) => pump.stop()));
    },
  };
}

export interface Pump extends Serving {
  readonly kind: JobService['kind'];
  wake(): void;
}

/**
 * Begins jobs, one claim after the other, until there is none or all slots are taken; then again at each wake-up, each end
 * of a run, and every `pollMs`.
 */
export function createPump({ kind, concurrency, startNext, report }: JobService, pollMs: number): Pump {
  const stopping = new AbortController();
  const { signal } = stopping;
  let running = 0;
  let woken = true;
  let rouse: () => void = () => undefined;

  function wake(): void {
    woken = true;
    rouse();
  }

  async function fill(): Promise<void> {
    while (running < concurrency && !signal.aborted) {
      const run = await startNext();
      if (!run) return;
      running += 1;
      run.ended.then(() => {
        running -= 1;
        wake();
      });
    }
  }

  /** Until somebody wakes the pump, at most this long. */
  function rest(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      rouse = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  async function pump(): Promise<void> {
    let retryMs = FIRST_RETRY_MS;
    while (!signal.aborted) {
      woken = false;
      try {
        await fill();
        retryMs = FIRST_RETRY_MS;
      } catch (error) {
        report(error);
        // A wake-up does not shorten this: a database that is away is not asked once for every job.
        await sleep(retryMs, undefined, { signal }).catch(() => undefined);
        retryMs = Math.min(retryMs * 2, LAST_RETRY_MS);
        continue;
      }
      if (!woken && !signal.aborted) await rest(pollMs);
    }
  }

  const ended = pump();
  return {
    kind,
    wake,
    stop() {
      stopping.abort();
      rouse();
      return ended;
    },
  };
}
