/** Worker processes for tests, and the ledger of what they ran. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { State } from '../../../server/state.js';
import type { Place } from '../../support/databases/engines.js';
import type { ChaosProcess, ChaosTarget } from '../../support/jobs/jobs-chaos.js';
import { openLedger } from '../../support/jobs/run-ledger.js';
import type { Working, WorkOrder } from './job-worker.js';

const script = fileURLToPath(new URL('job-worker.js', import.meta.url));

export interface WorkerProcess extends ChaosProcess {
  /** Resolves when the process is gone, for whatever reason. */
  ended: Promise<unknown>;
  signal(name: 'SIGSTOP' | 'SIGCONT'): void;
}

export type WorkerOptions = Partial<Pick<Working, 'concurrency' | 'processLeaseMs'>>;

/** Starts a process that runs the jobs of a place; resolves once it does. */
export async function startWorkerProcess(place: Place, options: WorkerOptions = {}): Promise<WorkerProcess> {
  const { dataDir, databaseUrl } = place;
  const working: Working = { dataDir, databaseUrl, ledger: ledgerFile(place), concurrency: 4, ...options };
  const child = spawn(process.execPath, [script, JSON.stringify(working)], { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(child, 'exit');
  // Whatever happens to the tests, no process of theirs outlives them.
  const end = () => child.kill('SIGKILL');
  process.once('exit', end);
  ended.finally(() => process.off('exit', end));
  await Promise.race([once(child.stdout, 'data'), ended]);
  return {
    pid: child.pid ?? 0,
    ended,
    signal: (name) => child.kill(name),
    async kill() {
      child.kill('SIGKILL');
      await ended;
    },
  };
}

export function ledgerOf(place: Place) {
  return openLedger(ledgerFile(place));
}

function ledgerFile({ dataDir }: Place): string {
  return path.join(dataDir, 'job_charges');
}

/** Jobs of 0 to `jobMs` milliseconds, accepted here and run by processes that are killed. */
export function chaosTarget(place: Place, state: State, jobMs: number): ChaosTarget {
  return {
    ledger: ledgerOf(place),
    start: () => startWorkerProcess(place),
    async submit(index) {
      const input: WorkOrder = { ms: Math.random() * jobMs };
      const accepted = await state.jobs.accept({
        job: { kind: 'extraction', owner: 'one', dedupeKey: `${index}`, input, maxActive: 10_000 },
      });
      return accepted.job?.id ?? '';
    },
    async find(id) {
      const job = await state.jobs.find(id, 'one');
      return job && { state: job.state, mark: JSON.stringify([job.finishedAt, job.result, job.error]) };
    },
  };
}
