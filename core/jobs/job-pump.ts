import { setTimeout as sleep } from 'node:timers/promises';
import type { JobService, Served } from './dispatcher.js';
import type { JobKind } from './jobs.js';

const FIRST_RETRY_MS = 100;
const LAST_RETRY_MS = 5_000;

/** The pumps of one process. */
export interface Pumps {
  /** Default: those of every kind. */
  wake(kind?: JobKind): void;
  serve(service: JobService): Served;
  /** Stops all. */
  close(): Promise<void>;
}

/** @param pollMs How long a pump rests at most before it looks for jobs by itself. */
export function createPumps(pollMs: number): Pumps {
  const pumps = new Map<Served, JobKind>();
  return {
    wake(kind) {
      for (const [pump, served] of pumps) if (kind === undefined || kind === served) pump.wake();
    },
    serve(service) {
      const pump = startPump(service, pollMs);
      pumps.set(pump, service.kind);
      return {
        wake: pump.wake,
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

/** Has jobs begun at once, at each wake-up, and every `pollMs`. */
function startPump({ start, report }: JobService, pollMs: number): Served {
  const stopping = new AbortController();
  const { signal } = stopping;
  let woken = false;
  let rouse: () => void = () => undefined;

  function wake(): void {
    woken = true;
    rouse();
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
        await start();
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
