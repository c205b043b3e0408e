import type { Database, JobClock } from '../database/index.js';
import type { JobTable } from './job-table.js';
import type { JobKind } from './jobs.js';

const INTERVAL_MS = 10 * 60_000;
const ROWS = 500;

export interface SweeperOptions {
  kind: JobKind;
  database: Database;
  table: JobTable;
  clock: JobClock;
}

export interface Sweeper {
  /** Does nothing where it is too early for that. */
  sweep(): Promise<void>;
}

/** Deletes old jobs of a kind, which nobody may see any more. */
export function createSweeper({ kind, database, table, clock }: SweeperOptions): Sweeper {
  let sweptAt = Number.NEGATIVE_INFINITY;
  return {
    async sweep() {
      if (performance.now() - sweptAt < INTERVAL_MS) return;
      const deleted = await database.run(async (queries) => {
        return table.deleteKept(queries, kind, await clock.read(queries), ROWS);
      });
      // A full batch means that there are more: the next round goes on.
      if (deleted < ROWS) sweptAt = performance.now();
    },
  };
}
