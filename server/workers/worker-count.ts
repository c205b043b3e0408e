/*
 * How many workers a machine gets by `WORKERS=auto`: one per core up to four, and no more than its memory holds. Cores
 * and memory are those that a container may use.
 */

import { availableParallelism, totalmem } from 'node:os';

const MAX_WORKERS = 4;
/** Resident memory of a worker under load, by the table in docs/operate/workers.md, with some room. */
const WORKER_BYTES = 512 * 1024 * 1024;

/** Machine properties; by default those of this one. */
interface Machine {
  cores: number;
  bytes: number;
}

function thisMachine(): Machine {
  // 0 or a huge number where nothing limits this process.
  const limit = process.constrainedMemory();
  return { cores: availableParallelism(), bytes: limit > 0 ? Math.min(limit, totalmem()) : totalmem() };
}

/** The number of workers for `auto`, or the number that was set. */
export function countWorkers(workers: number | 'auto', machine: Machine = thisMachine()): number {
  if (workers !== 'auto') return workers;
  return Math.max(1, Math.min(MAX_WORKERS, machine.cores, Math.floor(machine.bytes / WORKER_BYTES)));
}
