import { setTimeout as sleep } from 'node:timers/promises';
import type { JobService, Serving } from './dispatcher.js';
import type { JobKind } from './jobs.js';

const FIRST_RETRY_MS = 100;
const LAST_RETRY_MS = 5_000;

/** The pumps of one process. */
export interface Pumps {
  /** Default: those of every kind. */
  wake(kind?: JobKind): void;
  serve(service: JobService): Serving;
  /** Stops all. */
  close(): Promise<void>;
}

/** @param pollMs How long a pump rests at most before it looks for jobs by itself. */
export function createPumps(pollMs: number): Pumps {
  const pumps = new Map<Pump, JobKind>();
  return {
    wake(kind) {
      for (const [pump, served] of pumps) if (kind === undefined || kind === served) pump.wake();
    },
    serve(service) {
      const pump = startPump(service, pollMs);
      pumps.set(pump, service.kind);
      return {
        async stop() {
          pumps.delete(pump);
          await pump.stop();
        },
      };
    },
    async close() {
      await Promise.all(Array.from(pumps.keys(), (pump) => pump.stop()));
    },
  };
}

interface Pump extends Serving {
  wake(): void;
}

/**
 * Begins jobs until there is none or all slots are taken; then again at each wake-up, each end
 * of a run, and every `pollMs`.
 */
function startPump({ concurrency, start, report }: JobService, pollMs: number): Pump {
  const stopping = new AbortController();
  const { signal } = stopping;
  let running = 0;
  let woken = false;
  let rouse: () => void = () => undefined;

  function wake(): void {
    woken = true;
    rouse();
  }

  async function fill(): Promise<void> {
    while (running < concurrency && !signal.aborted) {
      const free = concurrency - running;
      const runs = await start(free);
      running += runs.length;
      for (const { ended } of runs) {
        ended.then(() => {
          running -= 1;
          wake();
        });
      }
      if (runs.length < free) return;
    }
  }

  /** Until somebody wakes the pump, at most `pollMs`. */
  function rest(): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, pollMs);
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
        if (!woken && !signal.aborted) await rest();
      } catch (error) {
        report(error);
        // Nothing shortens this: a database that is away is not asked once for every job.
        await sleep(retryMs, undefined, { signal }).catch(() => undefined);
        retryMs = Math.min(retryMs * 2, LAST_RETRY_MS);
      }
    }
  }

  const ended = pump();
  return {
    wake,
    stop() {
      stopping.abort();
      rouse();
      return ended;
    },
  };
}
