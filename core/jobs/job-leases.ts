import type { Logger, Meter } from '../contracts/index.js';
import { createBeats, DATABASE_PATIENCE_MS, type Database, hasEnded } from '../database/index.js';
import { startRounds } from '../runtime/index.js';
import type { JobEnds } from './job-ends.js';
import type { JobRunTable, RunSeen } from './job-run-table.js';
import { namesOf } from './job-scope.js';
import type { Sweeper } from './job-sweep.js';
import type { Run } from './job-workers.js';
import type { JobKind, JobRecord } from './jobs.js';

/*
 * How a lease works. A live run counts its row's `beat` up, three times per lease. Whoever sees the same beat for a whole
 * lease, by its own steady clock and while it could look, takes the run for dead; the statement that says so names
 * that beat, so a sign of life that comes first wins. No two clocks are ever compared: one that jumps, or differs from
 * another's, neither frees a run early nor keeps a dead one. A process that could not count up for a whole lease aborts its
 * runs by itself, since others may have taken them.
 */

export interface LeaseWatchOptions {
  kind: JobKind;
  maxAttempts: number;
  maxQueuedMs: number | undefined;
  leaseMs: number;
  database: Database;
  runTable: JobRunTable;
  ends: JobEnds;
  sweeper: Sweeper;
  runner: string;
  /** Those of this runner, by job. */
  runs: ReadonlyMap<string, Run>;
  /** Told of jobs that were cancelled with nobody saying so in time. */
  cancelled(id: string): void;
  /** See {@link WorkOptions}. */
  endedUnrun: ((job: JobRecord) => void) | undefined;
  report(error: unknown): void;
  logger: Logger;
  meter?: Meter;
}

export interface LeaseWatch {
  /** Resolves when the jobs of processes that are known to have ended are back in their old places. */
  looked: Promise<void>;
  stop(): Promise<void>;
}

/** Keeps the leases of this runner, ends those of the dead and of jobs that waited too long, and has old rows swept. */
export function createLeaseWatch(options: LeaseWatchOptions): LeaseWatch {
  const {
    kind,
    maxAttempts,
    maxQueuedMs,
    leaseMs,
    database,
    runTable,
    ends,
    sweeper,
    runner,
    runs,
    cancelled,
    endedUnrun,
    report,
    logger,
    meter,
  } = options;
  const intervalMs = leaseMs / 3;
  const patienceMs = Math.min(DATABASE_PATIENCE_MS, intervalMs);
  const beats = createBeats(leaseMs);

  async function renew(): Promise<void> {
    const held = [...runs.values()];
    if (held.length === 0) return;
    const begun = performance.now();
    try {
      const ids = held.map(({ row }) => row.id);
      const alive = await database.run((queries) => runTable.beat(queries, runner, ids), { patienceMs });
      const attempts = new Map(alive.map((run) => [run.id, run.attempts]));
      const gone: Run[] = [];
      for (const run of held) {
        if (attempts.get(run.row.id) === run.row.attempts) run.renewedAt = begun;
        else gone.push(run);
      }
      await giveUp(gone);
    } finally {
      // The next round would come too late for these.
      for (const run of held) if (performance.now() + intervalMs - run.renewedAt >= leaseMs) lose(run);
    }
  }

  /** Runs that are no longer this runner's: on SQLite nobody hears of it when another process cancels a job. */
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

  async function endTheDead(): Promise<void> {
    const running = await database.run((queries) => runTable.running(queries, kind));
    const isSilent = beats.look();
    const others = running.filter(({ id, attempts }) => runs.get(id)?.row.attempts !== attempts);
    for (const run of others) {
      if (isSilent(run.id, `${run.attempts} ${run.beat}`) || hasEnded(run.runner)) await cutOff(run);
    }
  }

  async function cutOff(run: RunSeen): Promise<void> {
    const fails = run.cutOffs + 1 >= maxAttempts;
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

  const start = (work: () => Promise<void>) => startRounds({ intervalMs, work, report });
  const looking = start(endTheDead);
  const rounds = [looking, start(renew), start(expire), start(sweeper.sweep)];
  return {
    looked: looking.first,
    async stop() {
      await Promise.all(rounds.map((each) => each.stop()));
    },
  };
}
