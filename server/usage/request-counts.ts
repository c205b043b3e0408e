/*
 * Counts requests that need no log entry, such as links. They are summed in memory for 2 s and then written into the
 * totals of their day by write-behind; a process that is killed loses the counts of these seconds. Each sum has an id
 * that is written with it, so it counts once even if the answer to a commit is lost. While the database is unavailable,
 * sums that wait are added up, so they stay few.
 */

import { randomUUID } from 'node:crypto';
import type { Logger } from '../../core/contracts/index.js';
import { type Database, WriteBehind } from '../../core/database/index.js';
import { dayOf } from '../format/index.js';
import { type CountedRequests, type CountedTogether, createUsageTable, NO_TOTAL_COUNTS, Totals } from './usage-log.js';

const INTERVAL_MS = 2_000;
/** Maximum sums that wait for the database. */
const CAPACITY = 10;

export interface RequestCountsOptions {
  database: Pick<Database, 'queries' | 'script'>;
  logger: Logger;
}

export class RequestCounts {
  /** Not added up yet. */
  #counted: CountedRequests[] = [];
  #timer: NodeJS.Timeout | undefined;
  readonly #writing: WriteBehind<CountedTogether>;

  constructor({ database, logger }: RequestCountsOptions) {
    const table = createUsageTable(database.queries);
    this.#writing = new WriteBehind({
      database,
      name: 'counts of requests',
      capacity: CAPACITY,
      evict: addTogether,
      *write(sums) {
        const totals = new Totals();
        yield* table.insertSums(sums, totals);
        yield* table.addTotals(totals);
      },
      logger,
    });
  }

  /** In memory; written within 2 s, and again if the database did not answer. */
  count(requests: CountedRequests): void {
    this.#counted.push(requests);
    this.#timer ??= setTimeout(() => this.#addUp(), INTERVAL_MS).unref();
  }

  /** Resolves when everything is written, or the database has been unavailable for 2.4 s. */
  async flush(): Promise<void> {
    this.#addUp();
    await this.#writing.flushInTime();
  }

  /** Writes what is counted, once. */
  async close(): Promise<void> {
    this.#addUp();
    await this.#writing.close();
  }

  #addUp(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const [first] = this.#counted;
    if (!first) return;
    const totals = new Totals();
    for (const { at, latencyMs, ...count } of this.#counted) {
      totals.addTotal({ ...NO_TOTAL_COUNTS, ...count, day: dayOf(at), latencyMsSum: Math.round(latencyMs) });
    }
    this.#counted = [];
    this.#writing.push({ id: randomUUID(), at: Math.floor(first.at), totals });
  }
}

function addTogether([first, ...others]: readonly CountedTogether[]): CountedTogether[] {
  if (!first) return [];
  for (const { totals } of others) for (const row of totals.rows()) first.totals.addTotal(row);
  return [first];
}
