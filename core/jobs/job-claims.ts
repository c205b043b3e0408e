import type { Database, OnEnd } from '../database/index.js';
import { play, type Script } from '../database/index.js';
import type { JobRow } from './job-rows.js';
import type { JobRunTable, RunKey } from './job-run-table.js';
import type { Run } from './job-workers.js';
import type { JobKind } from './jobs.js';

/** Runs that ended with their process, after which a job is suspected of having ended it. */
const SUSPECT_CUT_OFFS = 2;

export interface ClaimOccasion {
  onEnd: OnEnd;
  /** Runs of these workers that the transaction ends: their slots are free once it has committed. Default: none. */
  ended?: readonly RunKey[];
}

/**
 * Fills the slots of one set of workers. A commit costs more than all else about a small job, so a job is claimed in the
 * transaction that accepts it or frees its slot, wherever that can be; whose turn it is does not depend on that.
 */
export interface JobClaims {
  /**
   * Claims, in a transaction that changes something anyway, jobs for all free slots; they run as soon as it has committed.
   * Where it cannot tell that none is left for a slot, the workers look again by themselves.
   */
  claimNext(occasion: ClaimOccasion): Script<readonly RunKey[]>;
  /** The same in a transaction of its own. Throws GatewayError. */
  claim(): Promise<void>;
  /** From then on jobs are claimed. */
  open(): void;
  /** Claims no more. Resolves when what was claimed has begun to run. */
  close(): Promise<void>;
}

export interface JobClaimsOptions {
  kind: JobKind;
  concurrency: number;
  maxPerKey: number | undefined;
  maxAttempts: number;
  runner: string;
  /** Those that hold a slot, by job. */
  runs: Map<string, Run>;
  database: Database;
  runTable: JobRunTable;
  begin(row: JobRow, renewedAt: number): void;
  /** Has the workers look again. */
  wake(): void;
  report(error: unknown): void;
}

interface Claimed {
  rows: readonly JobRow[];
  /** Jobs may have been passed over. */
  choosy: boolean;
}

export function createJobClaims(options: JobClaimsOptions): JobClaims {
  const { kind, concurrency, maxPerKey, maxAttempts, runner, runs, database, runTable, begin, wake, report } = options;
  /** Before its last chance a job is a suspect in any case; one that has a single run never is. */
  const suspicion = Math.max(1, Math.min(SUSPECT_CUT_OFFS, maxAttempts - 1));
  let isOpen = false;
  /** One at a time: two would fill the same slots. */
  let claiming: Promise<void> | undefined;

  function* claimUpTo(most: number): Script<Claimed> {
    if (maxPerKey !== undefined) yield* runTable.lockClaims(kind);
    const rows: JobRow[] = [];
    let choosy = false;
    while (rows.length < most) {
      // A job that ends every process it runs in takes its neighbours along each time. Suspects run one at a time, so
      // those neighbours are soon no more than beginners, who have runs left when the culprit has none.
      const running = [...Array.from(runs.values(), (run) => run.row), ...rows];
      choosy = running.some(({ cut_offs }) => cut_offs >= suspicion);
      const cutOffsBelow = choosy ? suspicion : undefined;
      const row = yield* runTable.claim({ kind, runner, cutOffsBelow, maxPerKey });
      if (!row) return { rows, choosy };
      rows.push(row);
    }
    return { rows, choosy: false };
  }

  /** Whoever asked for the transaction was told that it failed, and it may have been committed all the same. */
  async function takeBack(rows: readonly JobRow[]): Promise<void> {
    try {
      await database.run(async (queries) => {
        for (const row of rows) await runTable.giveBack(queries, row);
      });
    } catch (error) {
      // What is claimed for nobody shows no life.
      report(error);
    }
    wake();
  }

  function forget({ id, attempts }: RunKey): void {
    if (runs.get(id)?.row.attempts === attempts) runs.delete(id);
  }

  /** @param unsure Called where there may be jobs left for free slots. */
  function* fill({ onEnd, ended = [] }: ClaimOccasion, unsure: () => void): Script<readonly RunKey[]> {
    const may = isOpen && !claiming;
    const free = may ? concurrency - runs.size + ended.length : 0;
    const { promise: claimedAll, resolve } = Promise.withResolvers<void>();
    if (free > 0) claiming = claimedAll;
    const renewedAt = performance.now();
    let claimed: Claimed = { rows: [], choosy: !may };
    onEnd((ending) => {
      if (free > 0) claiming = undefined;
      if (ending === 'committed') {
        ended.forEach(forget);
        for (const row of claimed.rows) begin(row, renewedAt);
        // Where there was no free slot to claim for, one may have been freed by who could not see what this one accepts.
        if (claimed.choosy || (free === 0 && runs.size < concurrency)) unsure();
      } else if (free > 0) takeBack(claimed.rows);
      resolve();
    });
    if (free > 0) claimed = yield* claimUpTo(free);
    return claimed.rows;
  }

  return {
    claimNext: (occasion) => fill(occasion, wake),
    async claim() {
      while (claiming) await claiming;
      if (!isOpen || runs.size >= concurrency) return;
      if (!(await database.run((queries) => play(queries, runTable.mayClaim(kind))))) return;
      // What is passed over waits for another run to end; and whoever claims meanwhile looks for all slots, too.
      await database.script((onEnd) => fill({ onEnd }, () => undefined));
    },
    open() {
      isOpen = true;
    },
    async close() {
      isOpen = false;
      await claiming;
    },
  };
}
