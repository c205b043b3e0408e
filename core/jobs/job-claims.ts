import type { Logger, Meter } from '../contracts/index.js';
import {
  createSilenceWatch,
  DATABASE_PATIENCE_MS,
  type Database,
  type Instances,
  type OnEnd,
  play,
  type Script,
} from '../database/index.js';
import { startPollLoop } from '../runtime/index.js';
import type { JobEnds } from './job-ends.js';
import type { JobRunTable, RunKey, RunSeen } from './job-runs.js';
import type { Sweeper } from './job-service.js';
import type { JobRow } from './job-statements.js';
import type { Run } from './job-workers.js';
import { type JobKind, type JobRecord, namesOf } from './jobs.js';

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
  instances: Instances;
  /** Those that hold a slot, by job. */
  runs: Map<string, Run>;
  database: Database;
  runTable: JobRunTable;
  begin(row: JobRow, claimedAt: number): void;
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
  const { kind, concurrency, maxPerKey, maxAttempts, instances, runs, database, runTable, begin, wake, report } =
    options;
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
      choosy = running.some(({ crashCount }) => crashCount >= suspicion);
      const crashCountBelow = choosy ? suspicion : undefined;
      const row = yield* runTable.claim({ kind, processId: instances.id, crashCountBelow, maxPerKey });
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
      // What is claimed for no run is found by the run watch.
      report(error);
    }
    wake();
  }

  function forget({ id, attempts }: RunKey): void {
    if (runs.get(id)?.row.attempts === attempts) runs.delete(id);
  }

  /** @param unsure Called where there may be jobs left for free slots. */
  function* fill({ onEnd, ended = [] }: ClaimOccasion, unsure: () => void): Script<readonly RunKey[]> {
    // What is claimed by a process that may be taken for dead is cut off; the workers look again once it has a heartbeat.
    const may = isOpen && !claiming && instances.isFresh();
    const free = may ? concurrency - runs.size + ended.length : 0;
    const { promise: claimedAll, resolve } = Promise.withResolvers<void>();
    if (free > 0) claiming = claimedAll;
    const claimedAt = performance.now();
    let claimed: Claimed = { rows: [], choosy: !may };
    onEnd((ending) => {
      if (free > 0) claiming = undefined;
      if (ending === 'committed') {
        ended.forEach(forget);
        for (const row of claimed.rows) begin(row, claimedAt);
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

export interface RunWatchOptions {
  kind: JobKind;
  maxAttempts: number;
  maxQueuedMs: number | undefined;
  instances: Instances;
  database: Database;
  runTable: JobRunTable;
  ends: JobEnds;
  sweeper: Sweeper;
  /** Those of these workers, by job. */
  runs: ReadonlyMap<string, Run>;
  /** Whether any workers of this process have this run. */
  isHeld(run: RunKey): boolean;
  /** Told of jobs that were cancelled with nobody saying so in time. */
  cancelled(id: string): void;
  /** See {@link WorkOptions}. */
  endedUnrun: ((job: JobRecord) => void) | undefined;
  report(error: unknown): void;
  logger: Logger;
  meter?: Meter;
}

export interface RunWatch {
  /** Resolves when the jobs of processes that are known to have ended are back in their old places. */
  looked: Promise<void>;
  stop(): Promise<void>;
}

/**
 * Aborts runs that are no longer this process's, puts back those of dead processes (see heartbeat.ts), fails jobs that waited
 * too long, and has old rows swept. A row that this living process runs according to the database, but not in fact, since a
 * claim or an end could not be written, is treated as that of a dead process after a lease.
 */
export function createRunWatch(options: RunWatchOptions): RunWatch {
  const { kind, maxAttempts, maxQueuedMs, instances, database, runTable, ends, sweeper, runs, isHeld } = options;
  const { cancelled, endedUnrun, report, logger, meter } = options;
  const intervalMs = instances.leaseMs / 3;
  const patienceMs = Math.min(DATABASE_PATIENCE_MS, intervalMs);
  const silence = createSilenceWatch(instances.leaseMs);

  async function checkRuns(): Promise<void> {
    const held = [...runs.values()];
    const rows = await database.run((queries) => runTable.runsOf(queries, kind, instances.id), { patienceMs });
    const attempts = new Map(rows.map((run) => [run.id, run.attempts]));
    await giveUp(held.filter(({ row }) => attempts.get(row.id) !== row.attempts));
    const isOld = silence.look();
    const orphans = rows.filter((run) => !isHeld(run) && isOld(run.id, `${run.attempts}`));
    for (const run of orphans) await cutOff(run);
  }

  /** Runs that are no longer this process's: on SQLite nobody hears of it when another process cancels a job. */
  async function giveUp(gone: readonly Run[]): Promise<void> {
    if (gone.length === 0) return;
    const ids = gone.map(({ row }) => row.id);
    let ended: readonly string[] = [];
    try {
      ended = await database.run((queries) => runTable.cancelled(queries, ids), { patienceMs });
    } finally {
      for (const run of gone) {
        if (ended.includes(run.row.id)) cancelled(run.row.id);
        else lose(run);
      }
    }
  }

  function lose({ row, abort, settling }: Run): void {
    // Where the work is over there is nothing to abort, and its row may have been finished a moment ago.
    if (settling || abort.signal.aborted) return;
    meter?.leaseLost({ kind });
    logger.warn('a background job lost its lease and is aborted', { ...namesOf(row), attempt: row.attempts });
    abort.abort(new Error('The lease of the job was lost.'));
  }

  async function cutOff(run: RunSeen): Promise<void> {
    const fails = run.crashCount + 1 >= maxAttempts;
    const job = await ends.cutOff(kind, run, fails);
    if (!job) return;
    if (fails) endedUnrun?.(job);
    meter?.jobCutOff({ kind, fails });
    const message = `a background job was cut off and ${fails ? 'has failed' : 'will run again'}`;
    logger.warn(message, { ...namesOf(run), attempt: run.attempts });
  }

  async function expire(): Promise<void> {
    if (maxQueuedMs === undefined) return;
    const expired = await ends.expire(kind, maxQueuedMs);
    if (expired.length === 0) return;
    logger.warn('background jobs waited too long for their turn and have failed', { count: expired.length });
    for (const job of expired) endedUnrun?.(job);
  }

  const ignoreDead = instances.onProcessDead({
    holders: () => runTable.holders(kind),
    async release(dead) {
      for (const run of await database.run((queries) => runTable.runsOf(queries, kind, dead))) await cutOff(run);
    },
  });
  const ignoreLost = instances.onLost(() => {
    for (const run of runs.values()) lose(run);
  });
  const start = (work: () => Promise<void>) => startPollLoop({ intervalMs, work, report });
  const rounds = [start(checkRuns), start(expire), start(sweeper.sweep)];
  return {
    looked: instances.look().catch(report),
    async stop() {
      ignoreDead();
      ignoreLost();
      await Promise.all(rounds.map((each) => each.stop()));
    },
  };
}
