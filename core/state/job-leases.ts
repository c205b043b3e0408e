import type { Logger } from '../contracts/services.js';
import { DATABASE_PATIENCE_MS, type Database } from './database.js';
import type { Dispatcher } from './dispatcher.js';
import { toJson } from './job-rows.js';
import type { JobTable, RunSeen } from './job-table.js';
import type { Run } from './job-workers.js';
import type { JobFailure, JobKind } from './jobs.js';
import { hasEnded } from './runner.js';

/*
 * How a lease works. A live run counts its row's `beat` up, three times per lease. Whoever sees the same beat for a whole
 * lease, by its own steady clock and while it could look, takes the run for dead; the statement that says so names
 * that beat, so a sign of life that comes first wins. No two clocks are ever compared: one that jumps, or differs from
 * another's, neither frees a run early nor keeps a dead one. A process that could not count up for a whole lease aborts its
 * runs by itself, since others may have taken them.
 */

const SWEEP_INTERVAL_MS = 10 * 60_000;
const SWEEP_ROWS = 500;

export interface LeaseWatchOptions {
  kind: JobKind;
  maxAttempts: number;
  leaseMs: number;
  database: Database;
  table: JobTable;
  dispatcher: Dispatcher;
  runner: string;
  /** Those of this runner, by job. */
  runs: ReadonlyMap<string, Run>;
  report(error: unknown): void;
  logger: Logger;
}

interface Rounds {
  /** Of the first round, whatever came of it. */
  first: Promise<void>;
  /** Waits for the round under way. */
  stop(): Promise<void>;
}

export interface LeaseWatch {
  /** Resolves when the jobs of processes that are known to have ended are back in their old places. */
  looked: Promise<void>;
  stop(): Promise<void>;
}

/** Keeps the leases of this runner, ends those of the dead, and deletes what has been finished long ago. */
export function createLeaseWatch(options: LeaseWatchOptions): LeaseWatch {
  const { kind, maxAttempts, leaseMs, database, table, dispatcher, runner, runs, report, logger } = options;
  const intervalMs = leaseMs / 3;
  const patienceMs = Math.min(DATABASE_PATIENCE_MS, intervalMs);
  /** Beats of others, by job, and since when they have been the same. */
  let seen = new Map<string, { attempts: number; beat: number; since: number }>();
  let lookedAt = Number.NEGATIVE_INFINITY;
  let sweptAt = Number.NEGATIVE_INFINITY;

  async function renew(): Promise<void> {
    const held = [...runs.values()];
    if (held.length === 0) return;
    const begun = performance.now();
    try {
      const ids = held.map(({ row }) => row.id);
      const alive = await database.run((queries) => table.beat(queries, runner, ids), { patienceMs });
      const attempts = new Map(alive.map((run) => [run.id, run.attempts]));
      for (const run of held) {
        if (attempts.get(run.row.id) === run.row.attempts) run.renewedAt = begun;
        else lose(run);
      }
    } finally {
      // The next round would come too late for these.
      for (const run of held) if (performance.now() + intervalMs - run.renewedAt >= leaseMs) lose(run);
    }
  }

  function lose({ row, abort, settling }: Run): void {
    // Where the work is over there is nothing to abort, and its row may have been finished a moment ago.
    if (settling || abort.signal.aborted) return;
    logger.warn('a background job lost its lease and is aborted', { id: row.id, attempt: row.attempts });
    abort.abort(new Error('The lease of the job was lost.'));
  }

  async function endTheDead(): Promise<void> {
    const running = await database.run((queries) => table.running(queries, kind));
    const now = performance.now();
    // Where this process could not look for so long (it was stopped, the database away), others may not have been able to
    // show life either.
    if (now - lookedAt >= leaseMs) seen.clear();
    lookedAt = now;
    const others = running.filter(({ id, attempts }) => runs.get(id)?.row.attempts !== attempts);
    const before = seen;
    seen = new Map();
    for (const run of others) {
      const known = before.get(run.id);
      const same = known !== undefined && known.attempts === run.attempts && known.beat === run.beat;
      const since = same ? known.since : now;
      if (now - since >= leaseMs || hasEnded(run.runner)) await cutOff(run);
      else seen.set(run.id, { attempts: run.attempts, beat: run.beat, since });
    }
  }

  async function cutOff(run: RunSeen): Promise<void> {
    const fails = run.cutOffs + 1 >= maxAttempts;
    const done = await database.transaction(async (transaction) => {
      if (!(await table.cutOff(transaction, run, fails ? toJson(INTERRUPTED) : undefined))) return false;
      if (!fails) await dispatcher.announce(transaction, kind);
      return true;
    });
    if (!done) return;
    const message = `a background job was cut off and ${fails ? 'has failed' : 'will run again'}`;
    logger.warn(message, { id: run.id, attempt: run.attempts });
    if (!fails) dispatcher.wake(kind);
  }

  async function sweep(): Promise<void> {
    if (performance.now() - sweptAt < SWEEP_INTERVAL_MS) return;
    // A full batch means that there are more: the next round goes on.
    const deleted = await database.run((queries) => table.deleteKept(queries, SWEEP_ROWS));
    if (deleted < SWEEP_ROWS) sweptAt = performance.now();
  }

  /** One after the other: a database that is slow does not pile them up. */
  function startRounds(work: () => Promise<void>): Rounds {
    let timer: NodeJS.Timeout | undefined;
    let stopped = false;
    async function round(): Promise<void> {
      try {
        await work();
      } catch (error) {
        report(error);
      }
      if (!stopped) timer = setTimeout(begin, intervalMs);
    }
    function begin(): void {
      current = round();
    }
    const first = round();
    let current = first;
    return {
      first,
      stop() {
        stopped = true;
        clearTimeout(timer);
        return current;
      },
    };
  }

  const looking = startRounds(endTheDead);
  const rounds = [looking, startRounds(renew), startRounds(sweep)];
  return {
    looked: looking.first,
    async stop() {
      await Promise.all(rounds.map((each) => each.stop()));
    },
  };
}

const INTERRUPTED: JobFailure = {
  code: 'interrupted',
  message: 'The job was cut off too often while it ran.',
  retryable: true,
};
