import { randomUUID } from 'node:crypto';
import { type Database, runScript } from '../../core/database/index.js';
import { createThrottledWarning, type Logger } from '../../core/runtime/index.js';
import { dayOf } from '../format/index.js';
import type { UsageOverflowTable } from './tables.js';
import { createTotals, createUsageTable, NO_TOTAL_COUNTS, type RequestCounts, type Totals } from './usage-log.js';

/*
 * Requests that cost no money and need no entry of their own are only added to the totals of their day: each in memory,
 * all of them in one transaction after at most 2 s. A process that is killed loses the counts of these seconds.
 */

const INTERVAL_MS = 2_000;

interface Batch extends UsageOverflowTable {
  totals: Totals;
}

export interface ClosableRequestCounts extends RequestCounts {
  /** Writes what is counted, once. */
  close(): Promise<void>;
}

/** Counts requests in memory, and writes them into the totals. */
export function createRequestCounts(database: Database, logger: Logger): ClosableRequestCounts {
  const table = createUsageTable(database.queries);
  const warn = createThrottledWarning(logger, 'requests could not be counted; they are counted later');
  let counting: Batch | undefined;
  /** May have been written by a commit without an answer: its id prevents counting it twice. */
  let doubted: Batch | undefined;
  let timer: NodeJS.Timeout | undefined;
  let latest = Promise.resolve();

  async function write(batch: Batch): Promise<void> {
    const { id, at } = batch;
    await database.transaction((transaction) =>
      runScript(
        transaction,
        (function* () {
          const fresh = yield* table.insertSums([{ id, at }]);
          if (fresh.length > 0) yield* table.addTotals(batch.totals);
        })(),
      ),
    );
  }

  async function writeAll(): Promise<void> {
    try {
      if (doubted) await write(doubted);
      doubted = counting;
      counting = undefined;
      if (doubted) await write(doubted);
      doubted = undefined;
    } catch (error) {
      warn(error);
      schedule();
    }
  }

  function schedule(): void {
    timer ??= setTimeout(() => void flush(), INTERVAL_MS);
    timer.unref();
  }

  function flush(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    latest = latest.then(writeAll);
    return latest;
  }

  return {
    count({ keyId, accountId, route, model, requests, failed, latencyMs, at }) {
      counting ??= { id: randomUUID(), at: Math.floor(at), totals: createTotals() };
      const name = { keyId, day: dayOf(at), accountId, route, model };
      counting.totals.addTotal({ ...name, ...NO_TOTAL_COUNTS, requests, failed, latencyMsSum: Math.round(latencyMs) });
      schedule();
    },
    flushCounts: flush,
    async close() {
      await flush();
      clearTimeout(timer);
    },
  };
}
