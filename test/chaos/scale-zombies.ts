/** Stops processes for longer than their lease and continues them after others took over their jobs. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../../core/database/database.js';
import { comes } from './image-kills.js';
import type { ScaleNode, ScaleSite } from './scale-site.js';

/** Of a lease, as every node has it. */
const LEASE_MS = 15_000;
const CHANCE_MS = 20_000;
const POLL_MS = 20;
const TAKE_OVER_MS = 180_000;
const TAKEN_POLL_MS = 1_000;

export interface ZombieFindings {
  /** Jobs that a process had in its hands when it was stopped. */
  heldJobs: number;
  /** Of them, those that no process had taken over after three leases. Must be 0. */
  abandoned: number;
  /** Of them, those that were over by then, and changed once the process went on. Must be 0. */
  staleCommits: number;
}

/** Processes that stop as a machine does that was put to sleep, and go on when others have done their work. */
export interface Zombies {
  /** Stops the process for three leases, or until others have taken its jobs over. False where it had none. */
  hold(node: ScaleNode): Promise<boolean>;
  judge(): Promise<ZombieFindings>;
}

export function createZombies(site: Pick<ScaleSite, 'openDatabase' | 'moments'>): Zombies {
  const held = new Set<string>();
  const over = new Map<string, string>();
  let abandoned = 0;

  async function query<Result>(ask: (database: Database) => Promise<Result>): Promise<Result> {
    for (;;) {
      try {
        const database = await site.openDatabase();
        try {
          return await ask(database);
        } finally {
          await database.close();
        }
      } catch {
        // Another fault has just stopped the database; it comes back.
        await sleep(POLL_MS);
      }
    }
  }

  const heldBy = (pid: number) =>
    query(({ queries }) =>
      queries
        .selectFrom('jobs')
        .select(['id', 'attempts'])
        .where('state', '=', 'running')
        .where('processId', 'like', `%,${pid},%`)
        .execute(),
    );

  const rowsOf = (ids: readonly string[]) =>
    query(({ queries }) =>
      queries
        .selectFrom('jobs')
        .select(['id', 'state', 'attempts', 'finishedAt', 'result', 'error'])
        .where('id', 'in', ids)
        .execute(),
    );

  return {
    async hold({ process: victim }) {
      if (!victim) return false;
      const { pid } = victim;
      for (const end = performance.now() + CHANCE_MS; performance.now() < end; await sleep(POLL_MS)) {
        // A process is asking its model at this moment, maybe this one.
        await comes(site, 'asked', CHANCE_MS);
        process.kill(pid, 'SIGSTOP');
        try {
          const runs = await heldBy(pid);
          if (runs.length === 0) continue;
          await sleep(3 * LEASE_MS);
          const attempts = new Map(runs.map((run) => [run.id, run.attempts]));
          const isHeld = ({ id, state, ...row }: { id: string; state: string; attempts: number }) =>
            state === 'running' && row.attempts === attempts.get(id);
          let rows = await rowsOf([...attempts.keys()]);
          // Those who would take them over are done harm as well, and then watch the lease anew.
          for (const last = performance.now() + TAKE_OVER_MS; rows.some(isHeld) && performance.now() < last; ) {
            await sleep(TAKEN_POLL_MS);
            rows = await rowsOf([...attempts.keys()]);
          }
          for (const row of rows) {
            held.add(row.id);
            if (row.finishedAt !== null) over.set(row.id, JSON.stringify(row));
          }
          abandoned += rows.filter(isHeld).length;
          return true;
        } finally {
          process.kill(pid, 'SIGCONT');
        }
      }
      return false;
    },
    async judge() {
      const rows = over.size > 0 ? await rowsOf([...over.keys()]) : [];
      const staleCommits = rows.filter((row) => over.get(row.id) !== JSON.stringify(row)).length;
      return { heldJobs: held.size, abandoned, staleCommits };
    },
  };
}
